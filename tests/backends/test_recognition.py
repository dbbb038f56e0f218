"""Deep Agents takes our backends and results for its own, in whatever order the two are loaded."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from itertools import permutations

import pytest

CHECK = """
from memoranda.backends import (
    CompositeBackend, FilesystemBackend, GuardedBackend, StagedBackend, StateBackend, StoreBackend, protocol,
)
from deepagents.backends import CompositeBackend as TheirComposite, StateBackend as TheirState
from deepagents.backends import StoreBackend as TheirStore, FilesystemBackend as TheirDisk
from deepagents.backends import protocol as theirs

state = StateBackend()
store = StoreBackend(namespace=("ann",))
tree = CompositeBackend(state, {"/m/": store})
kinds = (theirs.BackendProtocol, TheirState, TheirComposite)

def told(backend):
    return [isinstance(backend, kind) for kind in kinds]

assert told(state) == [True, True, False], told(state)
assert told(store) == [True, False, False], told(store)
assert told(tree) == [True, False, True], told(tree)
for around in (GuardedBackend, StagedBackend, lambda inner: GuardedBackend(StagedBackend(GuardedBackend(inner)))):
    assert told(around(state)) == [True, True, False]
    assert told(around(TheirState())) == [True, True, False]
    assert told(around(store)) == [True, False, False]
    assert told(around(tree)) == [True, False, True]
    assert isinstance(around(tree), (GuardedBackend, StagedBackend)) and not isinstance(around(tree), CompositeBackend)
    assert type(around(tree)) in (GuardedBackend, StagedBackend) and hash(around(tree))
for name in RESULTS:
    ours, other = getattr(protocol, name), getattr(theirs, name)
    made = ours("/x") if name.startswith("File") else ours(error="why")
    assert isinstance(made, other) and issubclass(ours, other), name
    assert made == (ours("/x") if name.startswith("File") else ours(error="why"))
assert isinstance(StoreBackend(namespace=("a",)).read("/x"), theirs.ReadResult)
assert isinstance(state.ls("/"), theirs.LsResult)
assert not any(isinstance(backend, (TheirStore, TheirDisk)) for backend in (state, store, tree))
"""

RESULTS = """
RESULTS = [
    "LsResult", "ReadResult", "GrepResult", "GlobResult", "WriteResult", "EditResult", "DeleteResult",
    "FileUploadResponse", "FileDownloadResponse",
]
"""

LOADED = [
    "import memoranda.backends",
    "import deepagents",
    "from memoranda.backends import protocol; early = protocol.ReadResult(error='early')",
    "from memoranda.backends import StateBackend, CompositeBackend; old = CompositeBackend(StateBackend(), {})",
]


FORKING = """
import json, os, sys, tempfile, traceback
import langchain.agents, langgraph.store.memory  # what takes longest to load, whoever loads it
assert not {"deepagents", "memoranda"} & {*sys.modules}
for line in sys.stdin:
    with tempfile.TemporaryFile("w+") as said:
        child = os.fork()
        if not child:
            try:
                exec(json.loads(line), {"__name__": "__main__"})
            except BaseException:
                traceback.print_exc(file=said)
                said.flush()
                os._exit(1)
            os._exit(0)
        ended = os.waitpid(child, 0)[1]
        said.seek(0)
        print(json.dumps([ended, said.read()]), flush=True)
"""

Run = Callable[[str], None]


@pytest.fixture(scope="module")
def run() -> Iterator[Run]:
    """Run code in a new process that has loaded neither Deep Agents nor Memoranda."""
    with subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", FORKING], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None and process.stdout is not None

        def running(code: str) -> None:
            print(json.dumps(code), file=process.stdin, flush=True)
            ended, said = json.loads(process.stdout.readline())
            assert ended == 0, said

        try:
            yield running
        finally:
            process.kill()


@pytest.mark.parametrize("order", list(permutations(range(3))), ids=str)
def test_in_every_order(run: Run, order: tuple[int, ...]) -> None:
    run("\n".join([*(LOADED[at] for at in order), RESULTS, CHECK, "assert isinstance(early, theirs.ReadResult)"]))


@pytest.mark.parametrize(
    "first",
    [
        "import deepagents.backends.protocol",
        "from deepagents.backends.state import StateBackend as _",
        "import memoranda.backends.composite",
        "import memoranda.backends.protocol",
        "import memoranda.backends.state, deepagents.backends",
        "import memoranda.agents",
        "import memoranda.integrations.deepagents",
        LOADED[3] + "; import deepagents; assert isinstance(old, deepagents.backends.CompositeBackend)",
    ],
)
def test_from_every_door(run: Run, first: str) -> None:
    run("\n".join([first, RESULTS, CHECK]))


def test_without_deep_agents(run: Run) -> None:
    run(
        "import sys; sys.modules['deepagents'] = None\n"
        "from memoranda.backends import CompositeBackend, GuardedBackend, StagedBackend, StateBackend, protocol\n"
        "tree = StagedBackend(GuardedBackend(CompositeBackend(StateBackend(), {})))\n"
        "assert tree.read('/x').error and tree.__class__ is StagedBackend\n"
        "assert protocol.ReadResult.__mro__[1:] == (protocol.Result, object)\n"
    )


def test_loading_backends_does_not_load_deep_agents(run: Run) -> None:
    run(
        "import sys, memoranda.backends\n"
        "from memoranda.backends import CompositeBackend, StateBackend, StoreBackend\n"
        "CompositeBackend(StateBackend(), {'/m/': StoreBackend(namespace=('a',))})\n"
        "assert 'deepagents' not in sys.modules\n"
    )


def test_a_release_that_changed_can_still_be_imported(run: Run) -> None:
    run(
        "import sys, types, logging, memoranda.backends\n"
        "records = []\n"
        "handler = logging.Handler(); handler.emit = records.append\n"
        "logging.getLogger('memoranda').addHandler(handler)\n"
        "from memoranda.backends import recognition\n"
        "recognition._recognise_or_say(types.ModuleType('deepagents.backends'))\n"
        "assert 'does not recognise' in records[0].getMessage()\n"
    )


def test_a_guard_hands_out_no_route_around_it(run: Run) -> None:
    run(
        "import deepagents\n"
        "from memoranda.backends import CompositeBackend, GuardedBackend, StagedBackend, StateBackend, StoreBackend\n"
        "inner = StoreBackend(namespace=('ann',))\n"
        "guard = GuardedBackend(CompositeBackend(StateBackend(), {'/m/': inner}, artifacts_root='/work'))\n"
        "assert guard.default is not guard.backend.default and guard.routes == {} and guard.sorted_routes == []\n"
        "assert guard.artifacts_root == '/work'\n"
        "from deepagents.middleware.filesystem import FilesystemMiddleware, supports_execution\n"
        "assert FilesystemMiddleware(backend=guard)._large_tool_results_prefix == '/work/large_tool_results'\n"
        "staged = StagedBackend(guard)\n"
        "assert FilesystemMiddleware(backend=staged)._large_tool_results_prefix == '/work/large_tool_results'\n"
        "from deepagents.backends import LocalShellBackend\n"
        "shell = GuardedBackend(CompositeBackend(LocalShellBackend('.'), {}))\n"
        "assert not supports_execution(shell)\n"
    )
