"""Our backends pass every check, and the page says what is true of them and of Deep Agents' own."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from contextlib import contextmanager
from typing import Any

import pytest
from langgraph.store.memory import InMemoryStore

from memoranda import open_store
from memoranda.backends import CompositeBackend, StateBackend, StoreBackend
from memoranda.backends.protocol import GrepResult, ReadResult
from memoranda.testing.backend_conformance import (
    BackendConformance,
    Capabilities,
    CheckResult,
    Routed,
    in_graph,
    markdown_table,
    run_conformance,
)
from memoranda.testing.backend_conformance.suite import checks
from tests.conformance.backends import OURS, THEIRS, run_all
from tests.conformance.backends_page import PAGE, REASONS, UNSTEADY
from tests.conformance.page import answers

NAMES = [name for _, name, _ in checks()]
TITLES = {name: title.replace("|", "\\|") for _, name, title in checks()}


@pytest.fixture(scope="module")
def results(postgres_server: str, tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, CheckResult]]:
    found = run_all(postgres_server, tmp_path_factory.mktemp("conformance"))
    return {backend: {result.name: result for result in listed} for backend, listed in found.items()}


@pytest.mark.parametrize("backend", OURS)
def test_ours_pass(results: dict[str, dict[str, CheckResult]], backend: str) -> None:
    failed = {name: result.detail for name, result in results[backend].items() if not result.passed}
    assert {name: why for name, why in failed.items() if not results[backend][name].skipped} == {}


def test_only_what_is_documented_is_skipped(results: dict[str, dict[str, CheckResult]]) -> None:
    routes = {name for group, name, _ in checks() if group == "Routes"} | {"test_search_over_routes"}
    passages = {name for group, name, _ in checks() if group == "Finding passages"}
    for backend in (*OURS, *THEIRS):
        skipped = {name for name, result in results[backend].items() if result.skipped}
        if not any(kind in backend for kind in ("Composite", "Guarded", "Staged")):
            assert skipped >= routes
            skipped -= routes
        if backend in THEIRS:
            assert skipped >= passages - routes
            skipped -= passages
        if "StateBackend" in backend:
            assert skipped == {"test_edits_in_threads_lose_nothing"}
        elif "SqliteStore" in backend:
            assert len(skipped) == 4
        else:
            assert skipped == set()


@pytest.mark.parametrize("backend", [*OURS, *THEIRS])
def test_page_is_in_step(results: dict[str, dict[str, CheckResult]], backend: str) -> None:
    written = answers(PAGE.read_text("utf-8"))[backend]
    now = answers(markdown_table({backend: list(results[backend].values())}))[backend]
    for name in UNSTEADY if backend in THEIRS else ():
        del written[TITLES[name]], now[TITLES[name]]
    assert written == now, "run `python -m tests.conformance.backends_page`"


def test_every_difference_has_its_reason(results: dict[str, dict[str, CheckResult]]) -> None:
    failed = {
        name
        for found in results.values()
        for name, result in found.items()
        if not result.passed and not result.skipped and name not in UNSTEADY
    }
    text = PAGE.read_text("utf-8")
    for name in failed:
        assert f"- {TITLES[name]} *{REASONS[name]}*" in text
    assert set(REASONS) - UNSTEADY == failed


# --- the suite itself ------------------------------------------------------------------------------------------


class TestAsPytestCollectsIt(BackendConformance):
    """How an author of a backend uses the suite."""

    @contextmanager
    def _backend(self):
        with open_store("memory://") as store:
            yield StoreBackend(namespace=("ann",), store=store)

    def backend_factory(self):
        return self._backend()

    def routed_factory(self, routes):
        default, *others = (StoreBackend(namespace=("n",), store=InMemoryStore()) for _ in range(len(routes) + 1))
        behind = {name: backend or others.pop() for name, backend in routes.items()}
        return Routed(CompositeBackend(default, behind), default)


class Numbered(StoreBackend):
    """A backend with a mistake that the suite must find: it numbers the lines."""

    def read(self, file_path: str, offset: int = 0, limit: int = 2000) -> ReadResult:
        result = super().read(file_path, offset, limit)
        if result.file_data is not None:
            result.file_data = {**result.file_data, "content": "1\t" + result.file_data["content"]}
        return result


class Uncapped(StoreBackend):
    """A backend that takes no notice of a cap."""

    def grep(
        self, pattern: str, path: str | None = None, glob: str | None = None, *, max_count: int | None = None
    ) -> GrepResult:
        return super().grep(pattern, path, glob)


class Raising(StoreBackend):
    """A backend that raises for a missing file."""

    def read(self, file_path: str, offset: int = 0, limit: int = 2000) -> ReadResult:
        result = super().read(file_path, offset, limit)
        if result.error is not None:
            raise FileNotFoundError(file_path)
        return result


def failed(results: list[CheckResult]) -> set[str]:
    return {result.name for result in results if not result.passed and not result.skipped}


def over(kind: type[StoreBackend]) -> list[CheckResult]:
    return run_conformance(lambda: kind(namespace=("ann",), store=InMemoryStore()))


def test_suite_finds_mistakes() -> None:
    found = failed(over(Numbered))
    assert {"test_read_gives_what_was_written", "test_windows"} <= found and "test_ls_sorts" not in found
    assert failed(over(Uncapped)) == {"test_grep_is_capped"}
    found = failed(over(Raising))
    assert {"test_missing_file", "test_reads_never_raise"} <= found and "test_window_fields" not in found


def test_suite_finds_a_composite_that_leaks() -> None:
    class Leaky(CompositeBackend):
        def glob(self, pattern: str, path: str | None = None) -> Any:
            result = super().glob(pattern, path)
            result.matches = [*(result.matches or []), *(self.default.glob(pattern, path).matches or [])]
            return result

    def tree() -> StoreBackend:
        return StoreBackend(namespace=("ann",), store=InMemoryStore())

    def routed(routes: Mapping[str, Any]) -> Routed:
        default = tree()
        return Routed(Leaky(default, {name: to or tree() for name, to in routes.items()}), default)

    assert "test_hidden_files_are_in_nothing" in failed(run_conformance(tree, routed=routed))


def test_a_state_works_inside_a_graph_only() -> None:
    outside = run_conformance(StateBackend, capabilities=Capabilities(concurrent=False))
    assert len(failed(outside)) > 50
    assert failed(run_conformance(StateBackend, inside=in_graph, capabilities=Capabilities(concurrent=False))) == set()


def test_neither_pytest_nor_deepagents_is_needed() -> None:
    code = (
        "import sys, memoranda.testing.backend_conformance as suite; sys.modules['deepagents'] = None\n"
        "from memoranda.backends import StoreBackend; from langgraph.store.memory import InMemoryStore\n"
        "found = suite.run_conformance(lambda: StoreBackend(namespace=('a',), store=InMemoryStore()))\n"
        "sys.exit('pytest' in sys.modules or any(not one.passed and not one.skipped for one in found))"
    )
    subprocess.run([sys.executable, "-W", "ignore", "-c", code], check=True)


def test_command_line() -> None:
    command = [sys.executable, "-W", "ignore", "-m", "memoranda.testing.backend_conformance"]
    state = "memoranda.backends:StateBackend"
    done = subprocess.run([*command, "--in-graph", "--no-threads", state], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr
    assert done.stdout.startswith(f"| check | {state} |")
    assert subprocess.run([*command, state], capture_output=True, check=False).returncode == 1
    wrong = subprocess.run([*command, "no.such:thing"], capture_output=True, text=True, check=False)
    assert wrong.returncode == 2 and "package.module:callable" in wrong.stderr


def test_page_names_every_check() -> None:
    text = PAGE.read_text("utf-8")
    for name in NAMES:
        assert TITLES[name] in text, f"{name}: run `python -m tests.conformance.backends_page`"
