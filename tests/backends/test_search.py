"""Searching files by what they say: the same questions over every kind of backend."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from langgraph.store.memory import InMemoryStore

from memoranda import MemoryStore, open_store
from memoranda.backends import (
    Backend,
    CompositeBackend,
    FilesystemBackend,
    FilesystemPermission,
    GuardedBackend,
    StagedBackend,
    StateBackend,
    StoreBackend,
    as_backend,
)
from memoranda.backends.finding import by_reading, in_memory
from memoranda.backends.protocol import FileDownloadResponse, LsResult, SearchMatch, SearchResult
from memoranda.files.format import create_file_data

ANN = ("ann",)
TREE = {
    "/food.md": "# Food\n\n## Tea\n\nLikes it green.\n\n## Coffee\n\nNever after noon, for it keeps her awake.\n",
    "/people/ben.md": "Ben is her brother. He drinks coffee all day.\n",
    "/people/.private.md": "Her coffee machine has the number 4711.\n",
    "/people2/cara.md": "Cara plays the cello.\n",
}


class Bare(Backend):
    """A backend that can only list and read."""

    def __init__(self, files: dict[str, str]) -> None:
        self.files = files
        self.read_paths: list[str] = []

    def ls_steps(self, place: Any) -> Any:
        yield from ()
        from memoranda.backends.tree import list_folder

        values: Any = {path: create_file_data(text) for path, text in self.files.items()}
        return LsResult(entries=list_folder(values, place))

    def download_steps(self, places: Any) -> Any:
        yield from ()
        self.read_paths += [place.path for place in places]
        found = [(place, self.files.get(place.path)) for place in places]
        return [
            FileDownloadResponse(place.shown, None, "file_not_found")
            if text is None
            else FileDownloadResponse(place.shown, text.encode())
            for place, text in found
        ]


def filled(backend: Any, files: dict[str, str] = TREE) -> Any:
    for path, text in files.items():
        assert backend.write(path, text).error is None
    return backend


def on_store(store: MemoryStore, tmp_path: Path) -> Backend:
    return filled(StoreBackend(namespace=ANN, store=store))


def without_index(store: MemoryStore, tmp_path: Path) -> Backend:
    other = open_store(f"sqlite:///{tmp_path / 'plain.db'}", index=False)
    return filled(StoreBackend(namespace=ANN, store=other))


def on_disk(store: MemoryStore, tmp_path: Path) -> Backend:
    return filled(FilesystemBackend(tmp_path / "files"))


def on_another_store(store: MemoryStore, tmp_path: Path) -> Backend:
    return filled(StoreBackend(namespace=ANN, store=InMemoryStore()))


def bare(store: MemoryStore, tmp_path: Path) -> Backend:
    return Bare(TREE)


def theirs(store: MemoryStore, tmp_path: Path) -> Backend:
    from deepagents.backends import FilesystemBackend as Theirs

    filled(FilesystemBackend(tmp_path / "theirs"))
    return as_backend(Theirs(root_dir=tmp_path / "theirs", virtual_mode=True))


def staged(store: MemoryStore, tmp_path: Path) -> Backend:
    first = dict(list(TREE.items())[:2])
    below = filled(StoreBackend(namespace=ANN, store=store), {**first, "/people2/cara.md": "Cara plays nothing."})
    return filled(StagedBackend(below))


def guarded(store: MemoryStore, tmp_path: Path) -> Backend:
    rules = [FilesystemPermission(["read"], ["/secret/**"], "deny")]
    inner = filled(StoreBackend(namespace=ANN, store=store), {**TREE, "/secret/a.md": "coffee, coffee, coffee"})
    return GuardedBackend(inner, rules)


def routed(store: MemoryStore, tmp_path: Path) -> Backend:
    people = StoreBackend(namespace=("people",), store=store)
    tree = CompositeBackend(FilesystemBackend(tmp_path / "routed"), {"/people/": people})
    filled(tree.default, {"/people/shadowed.md": "coffee, coffee, coffee"})
    return filled(tree)


def of_runtime(store: MemoryStore, tmp_path: Path) -> Backend:
    backend = on_store(store, tmp_path)
    return as_backend(lambda _: backend)


KINDS: list[Callable[[MemoryStore, Path], Backend]] = [
    on_store,
    without_index,
    on_disk,
    on_another_store,
    bare,
    theirs,
    staged,
    guarded,
    routed,
    of_runtime,
]


@pytest.fixture(params=KINDS, ids=lambda kind: kind.__name__)
def files(request: pytest.FixtureRequest, store: MemoryStore, tmp_path: Path) -> Iterator[Backend]:
    if request.param in (on_disk, on_another_store, bare, theirs) and store.engine.name != "sqlite":
        yield request.param(None, tmp_path)  # nothing of the store is in it
    else:
        yield request.param(store, tmp_path)


def found(result: SearchResult) -> list[str]:
    assert result.error is None, result.error
    assert result.matches is not None
    return list(dict.fromkeys(match.path for match in result.matches))


def only(result: SearchResult) -> SearchMatch:
    assert result.matches is not None
    (match,) = result.matches
    return match


def places(result: SearchResult) -> list[str]:
    assert result.error is None and result.matches is not None, result.error
    return [match.place for match in result.matches]


# --- over every kind -------------------------------------------------------------------------------------------


def test_what_a_match_says(files: Backend) -> None:
    match = only(files.search("does she like green tea?", k=1))
    assert (match.path, match.heading) == ("/food.md", "Food > Tea")
    (answer,) = files.download_files(["/food.md"])
    lines = (answer.content or b"").decode().splitlines()
    assert "\n".join(lines[match.first_line - 1 : match.last_line]) == match.text
    assert "green" in match.text and match.score > 0
    assert answer.revision in (None, match.revision)
    assert match.at is None or abs(datetime.now(UTC) - match.at) < timedelta(minutes=5)


def test_everything_that_answers_is_found(files: Backend) -> None:
    assert set(found(files.search("coffee"))) == {"/food.md", "/people/ben.md", "/people/.private.md"}
    assert found(files.search("cello")) == ["/people2/cara.md"]
    assert found(files.search("zebra")) == []
    scores = [match.score for match in files.search("her brother's coffee machine").matches or ()]
    assert scores == sorted(scores, reverse=True) and len(scores) >= 3


def test_below_a_path(files: Backend) -> None:
    assert set(found(files.search("coffee", "/people"))) == {"/people/ben.md", "/people/.private.md"}
    assert set(found(files.search("coffee", "people//"))) == {"/people/ben.md", "/people/.private.md"}
    assert set(found(files.search("coffee", "/food.md"))) == {"/food.md"}
    assert found(files.search("coffee", "/people2")) == found(files.search("coffee", "/nowhere")) == []
    assert len(files.search("coffee brother", "/people", k=1).matches or ()) == 1


def test_errors_are_answered(files: Backend) -> None:
    for asked in ({"query": " "}, {"query": "tea", "k": 0}, {"query": "tea", "path": "/../etc"}, {"query": None}):
        result = files.search(**asked)  # type: ignore[arg-type]
        assert result.error is not None and result.error.startswith("Error: ") and result.matches is None
    assert "no time" in (files.search("tea", since="yesterday").error or "")  # type: ignore[arg-type]


async def test_without_blocking(files: Backend) -> None:
    blocking = files.search("coffee", "/people")
    assert places(await files.asearch("coffee", "/people")) == places(blocking)


def test_a_query_that_is_too_long(files: Backend) -> None:
    result = files.search("coffee " + "word " * 1_000)
    assert found(result)[0] and len(result.notices) == 1


def test_times(files: Backend) -> None:
    moment = datetime.now(UTC)
    assert found(files.search("coffee", since=moment + timedelta(hours=1))) == []
    assert found(files.search("coffee", until=moment - timedelta(hours=1))) == []


# --- one store -------------------------------------------------------------------------------------------------


def test_what_a_listing_shows_is_found(store: MemoryStore) -> None:
    """Documents under paths are files too; names that are no paths are none."""
    files = StoreBackend(namespace=ANN, store=store)
    store.put(ANN, "fact", {"text": "marmots whistle"})
    store.put(ANN, "notes/fact", {"text": "marmots whistle"})
    store.put(ANN, "/document", {"about": "nothing", "text": "marmots whistle"})
    store.write(("ann", "below"), "/other.md", "a marmot elsewhere")
    match = only(files.search("marmot"))
    assert match.path == "/document"
    shown = files.read("/document").file_data
    assert shown is not None
    assert "marmots" in "".join(shown["content"].splitlines()[match.first_line - 1 : match.last_line])


def test_every_change_is_found_at_once(store: MemoryStore) -> None:
    files = filled(StoreBackend(namespace=ANN, store=store))
    files.edit("/food.md", "green", "smoky")
    assert {match.revision for match in files.search("smoky").matches} == {2}
    assert found(files.search("green")) == []
    files.move("/people", "/friends")
    assert set(found(files.search("coffee"))) == {"/food.md", "/friends/ben.md", "/friends/.private.md"}
    files.delete("/friends")
    assert found(files.search("coffee")) == ["/food.md"]


def test_a_path_that_no_store_can_keep(store: MemoryStore) -> None:
    files = filled(StoreBackend(namespace=ANN, store=store))
    assert found(files.search("coffee", "/" + "x" * 2_000)) == []


# --- files without an index ------------------------------------------------------------------------------------


def test_only_so_much_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(in_memory, "MOST_BYTES", 100_000)
    files = FilesystemBackend(tmp_path)
    for number in range(3):
        files.write(f"/large/{number}.md", f"marmot {number}\n\n" + "Nothing much. " * 5_000)
    files.write("/small/a.md", "marmot")
    result = files.search("marmot")
    assert len(found(result)) == 2 and "/small/a.md" in found(result)
    assert len(result.notices) == 1 and "2 of 4" in result.notices[0] and "/" in result.notices[0]
    assert files.search("marmot", "/small").notices == ()


def test_only_so_much_is_read_of_what_tells_no_sizes(monkeypatch: pytest.MonkeyPatch) -> None:
    class Sizeless(Bare):
        def ls_steps(self, place: Any) -> Any:
            answer = yield from super().ls_steps(place)
            for entry in answer.entries:
                entry["size"] = 0
            return answer

    monkeypatch.setattr(by_reading, "MOST_BYTES", 1_000)
    monkeypatch.setattr(by_reading, "_AT_ONCE", 2)
    files = Sizeless({f"/{number}.md": "marmot " + "Nothing much. " * 50 for number in range(9)})
    result = files.search("marmot", k=100)
    assert 0 < len(found(result)) < 9 and len(files.read_paths) < 9
    assert "of 9 were searched" in result.notices[0]


def test_binary_files_are_passed_over(tmp_path: Path) -> None:
    files = FilesystemBackend(tmp_path)
    files.upload_files([("/a.bin", b"marmot \xff\x00"), ("/b.md", b"marmot")])
    assert found(files.search("marmot")) == ["/b.md"]


def test_a_search_is_no_reading(store: MemoryStore, in_thread: Any) -> None:
    """What a thread was shown passages of, it has not seen whole: a write from it is still refused."""
    below = open_store("memory://", index=False)
    for backend in (StoreBackend(namespace=ANN, store=below), Bare(TREE), StoreBackend(namespace=ANN, store=store)):
        if not isinstance(backend, Bare):
            filled(backend)

            def work(backend: Any = backend) -> Any:
                assert found(backend.search("coffee"))
                return backend.write("/food.md", "all new", base="seen")

            assert in_thread("1", work).error is not None


def test_inside_a_graph_state(in_thread: Any) -> None:
    from langgraph.graph import START, StateGraph

    from tests.guard.support import FilesState

    answers: list[Any] = []

    def node(state: FilesState) -> dict[str, Any]:
        files = StateBackend()
        answers.append(files.search("coffee", "/people"))
        files.write("/new.md", "A new coffee.")
        answers.append(files.search("coffee"))
        return {}

    builder = StateGraph(FilesState)
    builder.add_node("work", node)
    builder.add_edge(START, "work")
    builder.compile().invoke({"files": {path: create_file_data(text) for path, text in TREE.items()}})
    assert set(found(answers[0])) == {"/people/ben.md", "/people/.private.md"}
    assert "/new.md" in found(answers[1])
    assert "inside a running graph" in (StateBackend().search("coffee").error or "")


# --- subclasses and foreign backends ---------------------------------------------------------------------------


class WithoutCoffee(StoreBackend):
    """A subclass with a rule in `search`."""

    asked: list[Any] = []  # noqa: RUF012

    def search(self, query: str, path: str | None = None, **options: Any) -> Any:
        self.asked.append((query, path, options["k"]))
        result = super().search(query, path, **options)
        result.matches = [match for match in result.matches or [] if "coffee" not in match.text]
        return result


class WithoutPeople(StoreBackend):
    """A subclass with a rule in `read`."""

    def read(self, file_path: str, offset: int = 0, limit: int = 2000) -> Any:
        if file_path.startswith("/people/"):
            from memoranda.backends.protocol import ReadResult

            return ReadResult(error="Error: not for you.")
        return super().read(file_path, offset, limit)


def test_a_rule_in_a_subclass_holds_behind_a_route(store: MemoryStore) -> None:
    filled(StoreBackend(namespace=ANN, store=store))
    tree = CompositeBackend(FilesystemBackend("nowhere"), {"/m/": WithoutCoffee(namespace=ANN, store=store)})
    assert found(tree.search("coffee tea")) == ["/m/food.md"]
    assert found(tree.search("coffee", "/m/people")) == []
    assert WithoutCoffee.asked[0][:2] == ("coffee tea", "/")
    rules = [FilesystemPermission(["read"], ["/m/food.md"], "deny")]
    assert found(GuardedBackend(tree, rules).search("tea cello")) == ["/m/people2/cara.md"]
    tree = CompositeBackend(FilesystemBackend("nowhere"), {"/m/": WithoutPeople(namespace=ANN, store=store)})
    result = tree.search("coffee")
    assert found(result) == ["/m/food.md"]
    assert all("4711" not in warning for warning in result.warnings)


async def test_a_subclass_in_one_form_has_the_other(store: MemoryStore) -> None:
    filled(StoreBackend(namespace=ANN, store=store))
    assert found(await WithoutCoffee(namespace=ANN, store=store).asearch("coffee tea", k=10)) == ["/food.md"]


# --- staged changes --------------------------------------------------------------------------------------------


def test_staged_changes_are_seen(store: MemoryStore) -> None:
    below = filled(StoreBackend(namespace=ANN, store=store))
    staged = StagedBackend(below)
    staged.edit("/people/ben.md", "coffee", "cocoa")
    staged.write("/new.md", "Coffee beans are on the list.")
    staged.move("/food.md", "/kitchen/food.md")
    staged.delete("/people/.private.md")
    assert set(found(staged.search("coffee"))) == {"/new.md", "/kitchen/food.md"}
    assert found(staged.search("cocoa")) == ["/people/ben.md"]
    assert found(staged.search("coffee", "/kitchen")) == ["/kitchen/food.md"]
    match = only(staged.search("cocoa"))
    assert match.revision == staged.download_files(["/people/ben.md"])[0].revision
    assert set(found(below.search("coffee"))) == {"/food.md", "/people/ben.md", "/people/.private.md"}
    guard = GuardedBackend(staged, [FilesystemPermission(["read"], ["/kitchen/**"], "deny")])
    assert found(guard.search("coffee")) == ["/new.md"]
    assert staged.commit_staged().error is None
    assert set(found(below.search("coffee"))) == {"/new.md", "/kitchen/food.md"}
