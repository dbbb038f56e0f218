"""`memoranda.integrations.deepagents`: the little that is said in words."""

from __future__ import annotations

import doctest
import subprocess
import sys

import pytest
from deepagents.backends import protocol as theirs
from deepagents.middleware.filesystem import FilesystemMiddleware

import memoranda.integrations.deepagents as module
from memoranda import MemoryStore
from memoranda.backends import CompositeBackend, GuardedBackend, StagedBackend, StateBackend, StoreBackend
from memoranda.integrations.deepagents import as_deepagents_backend, is_recognised


def backends() -> list[object]:
    own = StoreBackend(namespace=("ann",))
    routed = CompositeBackend(StateBackend(), {"/memories/": own})
    return [own, StateBackend(), routed, GuardedBackend(routed), StagedBackend(own), GuardedBackend(own)]


@pytest.mark.parametrize("backend", backends(), ids=repr)
def test_ours_are_recognised(backend: object) -> None:
    assert is_recognised(backend)
    assert as_deepagents_backend(backend) is backend  # type: ignore[arg-type]
    FilesystemMiddleware(backend=as_deepagents_backend(backend))  # type: ignore[arg-type]


def test_others_are_refused() -> None:
    with pytest.raises(TypeError, match="no backend"):
        as_deepagents_backend(object())  # type: ignore[arg-type]
    assert not is_recognised(object()) and not is_recognised(lambda rt: StateBackend())


def test_results_are_theirs_too(store: MemoryStore) -> None:
    files = StoreBackend(namespace=("ann",), store=store)
    files.write("/a.md", "one")
    assert isinstance(files.read("/a.md"), theirs.ReadResult)
    assert isinstance(files.ls("/"), theirs.LsResult)
    assert isinstance(files.edit("/a.md", "one", "two"), theirs.EditResult)


def test_the_example() -> None:
    assert doctest.testmod(module).failed == 0


@pytest.mark.parametrize(
    "imports",
    ["import memoranda.backends, deepagents.backends", "import deepagents.backends, memoranda.backends"],
)
def test_in_either_order(imports: str) -> None:
    check = (
        f"{imports}; from memoranda.backends import StateBackend; "
        "assert isinstance(StateBackend(), deepagents.backends.StateBackend)"
    )
    subprocess.run([sys.executable, "-c", check], check=True)
