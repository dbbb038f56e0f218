"""Our store passes every check, and the page says what is true of it and of LangGraph's stores."""

from __future__ import annotations

import subprocess
import sys
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from langgraph.store.base import BaseStore
from langgraph.store.memory import InMemoryStore

from memoranda import MemoryStore, open_store
from memoranda.testing.store_conformance import (
    Capabilities,
    CheckResult,
    StoreConformance,
    markdown_table,
    run_conformance,
)
from memoranda.testing.store_conformance.suite import checks
from tests.conformance.page import PAGE, answers
from tests.conformance.stores import KEPT_IN_STEP, run_all

NAMES = [name for _, name, _ in checks()]
OURS = [name for name in KEPT_IN_STEP if name.startswith("Memoranda")]


@pytest.fixture(scope="module")
def results(postgres_server: str, tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, CheckResult]]:
    found = run_all(postgres_server, tmp_path_factory.mktemp("conformance"), KEPT_IN_STEP)
    return {store: {result.name: result for result in listed} for store, listed in found.items()}


@pytest.mark.parametrize("store_name", OURS)
@pytest.mark.parametrize("name", NAMES)
def test_ours_passes(results: dict[str, dict[str, CheckResult]], store_name: str, name: str) -> None:
    result = results[store_name][name]
    assert result.passed, f"{result.title} {result.detail}"


@pytest.mark.parametrize("store_name", KEPT_IN_STEP)
def test_page_is_in_step(results: dict[str, dict[str, CheckResult]], store_name: str) -> None:
    now = answers(markdown_table({store_name: list(results[store_name].values())}))[store_name]
    assert answers(PAGE.read_text("utf-8"))[store_name] == now, "run `python -m tests.conformance.page`"


class TestAsPytestCollectsIt(StoreConformance):
    """How an author of a store uses the suite."""

    capabilities = Capabilities(ttl=False, dotted_labels=True)

    @contextmanager
    def _store(self):
        with open_store("memory://") as store:
            yield store

    def store_factory(self, *, ttl=None):
        return self._store()


class Forgetful(InMemoryStore):
    """A store with a mistake that the suite must find."""

    def get(self, namespace, key, *, refresh_ttl=None):
        return None


class LeakyPrefix(MemoryStore):
    """A store whose prefix search leaks a neighbour's items."""

    def search(self, namespace_prefix, /, **given):
        found = super().search((), **(given | {"limit": 10_000}))
        text = "/".join(namespace_prefix)
        return [item for item in found if "/".join(item.namespace).startswith(text)]


def failed(results: list[CheckResult]) -> set[str]:
    return {result.name for result in results if not result.passed and not result.skipped}


def test_suite_finds_mistakes() -> None:
    found = failed(run_conformance(Forgetful, capabilities=Capabilities(ttl=False)))
    assert {"test_get_returns_what_was_put", "test_values_round_trip", "test_keys_are_opaque"} <= found
    assert "test_missing_is_none" not in found


def test_suite_finds_a_leak() -> None:
    with open_store("memory://") as inner:

        def factory() -> BaseStore:
            return LeakyPrefix(inner.engine, inner.context, url=inner.url)

        found = failed(run_conformance(factory, capabilities=Capabilities(ttl=False)))
    assert {"test_labels_are_whole", "test_labels_do_not_run_together"} <= found
    assert "test_get_returns_what_was_put" not in found


def test_what_is_not_claimed_is_skipped() -> None:
    results = run_conformance(InMemoryStore, capabilities=Capabilities(ttl=False))
    skipped = {result.name for result in results if result.skipped}
    assert "test_expired_is_hidden" in skipped and "test_labels_with_a_dot" in skipped
    assert not any(result.passed for result in results if result.skipped)


def test_context_managers_are_closed() -> None:
    opened: list[MemoryStore] = []

    def factory():
        opened.append(open_store("memory://"))
        return closing(opened[-1])

    results = run_conformance(factory, capabilities=Capabilities(ttl=False))
    assert not failed(results)
    assert len(opened) == len([result for result in results if not result.skipped])
    for store in opened:
        with pytest.raises(Exception, match="closed"):
            store.get(("a",), "b")


def test_pytest_is_not_needed() -> None:
    code = "import sys, memoranda.testing.store_conformance; sys.exit('pytest' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_command_line() -> None:
    command = [sys.executable, "-W", "ignore", "-m", "memoranda.testing.store_conformance", "--no-ttl"]
    done = subprocess.run(
        [*command, "langgraph.store.memory:InMemoryStore"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1, done.stderr
    assert done.stdout.startswith("| check | langgraph.store.memory:InMemoryStore |")
    wrong = subprocess.run([*command, "no.such:thing"], capture_output=True, text=True, check=False)
    assert wrong.returncode == 2 and "package.module:callable" in wrong.stderr


def test_page_names_every_check() -> None:
    text = PAGE.read_text("utf-8")
    for _, _, title in checks():
        assert title.replace("|", "\\|") in text, f"{title}: run `python -m tests.conformance.page`"
    assert Path(PAGE).name == "conformance.md"
