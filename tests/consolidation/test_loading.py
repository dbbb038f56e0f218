"""Consolidators by the name that a command line gives them."""

from __future__ import annotations

import doctest
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

from memoranda import MemoryStore, open_store
from memoranda.consolidation.loading import ConsolidatorNotLoadedError, load_consolidators

APP = """\
from helper import NAME

from memoranda import open_store
from memoranda.backends import StoreBackend
from memoranda.consolidation import Consolidator

store = open_store("memory://")


def note(task):
    return "noted"


def make(store):
    return Consolidator(note, store=store, target=StoreBackend(namespace=("ann",), store=store), name=NAME)


def make_two(*, store):
    return [make(store), Consolidator(note, store=store, target=StoreBackend(namespace=("b",), store=store), name="b")]


def make_none(store):
    return None


def make_of_too_much(store, model):
    return None


def make_badly(store):
    raise RuntimeError("no key")


consolidator = make(store)
nothing = []


class Home:
    consolidator = consolidator
"""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    (tmp_path / "helper.py").write_text("NAME = 'tidy'\n")
    (tmp_path / "memory_app.py").write_text(APP)
    monkeypatch.chdir(tmp_path)
    before, path = set(sys.modules), list(sys.path)
    yield tmp_path
    sys.path[:] = path
    for name in set(sys.modules) - before:
        if str(tmp_path) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]


@pytest.fixture
def mine() -> Iterator[MemoryStore]:
    with open_store("memory://") as store:
        yield store


@pytest.mark.parametrize("where", ["memory_app.py", "./memory_app.py", "{place}/memory_app.py", "memory_app"])
def test_a_file_or_a_module(place: Path, mine: MemoryStore, where: str) -> None:
    (found,) = load_consolidators(f"{where.format(place=place)}:consolidator", lambda: mine)
    assert found.name == "tidy" and found.store is not mine
    (same,) = load_consolidators(f"{where.format(place=place)}:Home.consolidator", lambda: mine)
    assert same is found  # imported once


@pytest.mark.parametrize(("name", "names"), [("make", ["tidy"]), ("make_two", ["tidy", "b"])])
def test_a_function_of_the_store(place: Path, mine: MemoryStore, name: str, names: list[str]) -> None:
    found = load_consolidators(f"memory_app.py:{name}", lambda: mine)
    assert [each.name for each in found] == names and all(each.store is mine for each in found)


@pytest.mark.parametrize(
    ("reference", "cause", "remedy"),
    [
        ("memory_app.py", "no name after a colon", "app.py:consolidator"),
        (":consolidator", "no name after a colon", "app.py:consolidator"),
        ("memory_app:", "no name after a colon", "app.py:consolidator"),
        ("other.py:consolidator", "There is no file other.py", "Check the path"),
        ("./memory_app:consolidator", "There is no file ./memory_app", "Check the path"),
        ("no_such_module:consolidator", "There is no module no_such_module", "name its file"),
        ("memory_app.inner:consolidator", "There is no module memory_app.inner", "name its file"),
        ("memory_app.py:consolidater", "memory_app.py has no consolidater", "Did you mean memory_app.py:consolidator?"),
        ("memory_app.py:Home.x", "memory_app.py has no Home.x", "Did you mean memory_app.py:consolidator?"),
        ("helper.py:make", "helper.py has no make", "make = Consolidator(…)"),
        ("memory_app.py:store", "memory_app.py:store is a MemoryStore, and no Consolidator", "a list of them"),
        ("memory_app.py:make_none", "memory_app.py:make_none returns None, and no Consolidator", "a list of them"),
        ("memory_app.py:nothing", "holds no consolidator", "at least one"),
        ("memory_app.py:make_of_too_much", "is a function of store, model", "take the store and nothing else"),
        ("memory_app.py:make_badly", "make_badly fails at line 31 of", "Mend it there"),
    ],
)
def test_what_is_none(place: Path, mine: MemoryStore, reference: str, cause: str, remedy: str) -> None:
    with pytest.raises(ConsolidatorNotLoadedError) as error:
        load_consolidators(reference, lambda: mine)
    assert cause in error.value.cause and remedy in error.value.remedy, str(error.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("import nothing_of_that_name", "at line 1 of {file} with ModuleNotFoundError: No module named"),
        ("x = (", "at line 1 of {file} with SyntaxError: '(' was never closed"),
        ("x = 1\n1 / 0", "at line 2 of {file} with ZeroDivisionError: division by zero"),
        ("import sys\nsys.exit(3)", "at line 2 of {file} with SystemExit: 3"),
        ("from memoranda import open_store\nopen_store('foo://x')", "Importing broken.py fails: "),
    ],
)
@pytest.mark.parametrize("named", ["broken.py", "broken"])
def test_a_file_that_fails(place: Path, mine: MemoryStore, text: str, said: str, named: str) -> None:
    file = place / "broken.py"
    file.write_text(text)
    with pytest.raises(ConsolidatorNotLoadedError) as error:
        load_consolidators(f"{named}:consolidator", lambda: mine)
    assert said.format(file=file).replace("broken.py fails", f"{named} fails") in error.value.cause
    assert error.value.remedy and "broken" not in sys.modules


def test_a_file_is_called_as_a_module_that_is_there(place: Path, mine: MemoryStore) -> None:
    """A file `json.py` is imported and does not take the place of the module of that name."""
    import json

    (place / "json.py").write_text(APP)
    (found,) = load_consolidators("json.py:make", lambda: mine)
    assert found.name == "tidy" and sys.modules["json"] is json


@pytest.mark.parametrize("name", ["loading", "triggers", "waking", "worker"])
def test_examples(name: str) -> None:
    failed, tried = doctest.testmod(import_module(f"memoranda.consolidation.{name}"))
    assert tried and not failed
