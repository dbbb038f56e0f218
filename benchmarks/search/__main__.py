"""The command line of `benchmarks.search`."""

from __future__ import annotations

from argparse import Namespace as Options

from benchmarks.search.suite import Suite
from benchmarks.support import bench, running
from benchmarks.support.bench import Bench

PARTS = ("sizes", "large")


def main() -> int:
    """Run what is asked for."""
    return bench.run("benchmarks.search", _options(), _measure)


def _measure(given: Bench) -> None:
    """All parts that are wanted, on each engine."""
    suite = Suite(given)
    for engine in given.options.engines:
        if "sizes" in given.options.parts:
            suite.sizes(engine)
        if "large" in given.options.parts:
            suite.large_scope(engine)


def _options() -> Options:
    parser = running.parser(
        "benchmarks.search",
        "Time recall by words, and by words and vectors, and writes with the index.\n\n"
        "  sizes  a scope of 2,000 passages in stores of several sizes\n"
        "  large  one scope of 100,000 passages",
        "examples:\n"
        "  python -m benchmarks.search --engines sqlite --sizes 1000,10000\n"
        "  python -m benchmarks.search --sizes 1000000 --parts sizes   (takes half an hour and 5 GB)",
    )
    parser.add_argument(
        "--sizes",
        type=running.numbers,
        default=(1_000, 10_000, 100_000),
        metavar="LIST",
        help="passages in the store (default: 1000,10000,100000)",
    )
    parser.add_argument("--scope", type=int, default=2_000, metavar="N", help="passages in a scope (default: 2000)")
    parser.add_argument("--large", type=int, default=100_000, metavar="N", help="passages in the large scope")
    parser.add_argument(
        "--parts", type=running.choices(PARTS), default=PARTS, metavar="LIST", help=f"default: {','.join(PARTS)}"
    )
    parser.add_argument("--no-vectors", dest="vectors", action="store_false", help="words alone")
    parser.add_argument("--samples", type=int, default=200, metavar="N", help="queries of each kind (default: 200)")
    parser.add_argument("--seconds", type=float, default=5.0, metavar="S", help="seconds for each kind (default: 5)")
    options = parser.parse_args()
    if options.quick:
        options.sizes, options.scope, options.large, options.samples, options.seconds = (40,), 20, 60, 3, 0.2
    return options


if __name__ == "__main__":
    running.guarded(main)
