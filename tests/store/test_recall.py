"""Finding passages: the index follows every write, and nothing of another scope has any influence."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest

from memoranda import ChangeSet, Delete, Edit, MemoryStore, Move, Write, open_store
from memoranda.errors import InvalidValueError
from memoranda.store.operations.indexing import IndexKind, IndexScope
from memoranda.store.operations.tending import tend

ANN = ("ann",)


def places(store: MemoryStore, query: str, scope: tuple[str, ...] = ANN, **options: object) -> list[str]:
    return [hit.place for hit in store.recall(scope, query, **options)]  # type: ignore[arg-type]


def test_a_hit_says_where_and_what(store: MemoryStore) -> None:
    store.write(ANN, "/food.md", "# Food\n\n## Tea\n\nLikes it green.\nNo sugar.\n\n## Coffee\n\nNever after noon.\n")
    store.edit(ANN, "/food.md", "No sugar.", "No sugar, no milk.")
    hit = store.recall(ANN, "is she fond of milk?", k=1, explain=True).hits[0]
    assert (hit.kind, hit.namespace, hit.key, hit.revision) == ("file", ANN, "/food.md", 2)
    lines = store.get(ANN, "/food.md").value["content"].splitlines()
    assert "\n".join(lines[hit.first_line - 1 : hit.last_line]) == hit.text
    assert "milk" in hit.text and "Never" not in hit.text
    assert hit.heading.endswith("Tea")
    assert hit.score > 0 and hit.parts.words > 0 and hit.parts.meaning == 0
    assert hit.why is not None and "milk" in hit.why
    assert hit.place == f"/food.md:{hit.first_line}-{hit.last_line}"


def test_every_kind_of_change_is_found_at_once(store: MemoryStore) -> None:
    store.write(ANN, "/a.md", "zebra")
    assert places(store, "zebra") == ["/a.md:1"]
    store.edit(ANN, "/a.md", "zebra", "giraffe")
    assert places(store, "zebra") == []
    assert places(store, "giraffe") == ["/a.md:1"]
    store.append(ANN, "/a.md", "- and an okapi")
    assert "/a.md" in places(store, "okapi")[0]
    store.move(ANN, "/a.md", "/animals/b.md")
    assert [place.split(":")[0] for place in places(store, "okapi")] == ["/animals/b.md"]
    store.restore(ANN, "/animals/b.md", 1)
    assert "/animals/b.md" in places(store, "giraffe")[0]
    store.write(ANN, "/animals/b.md", "penguin")
    assert places(store, "okapi") == places(store, "giraffe") == []
    store.delete(ANN, "/animals/b.md")
    assert places(store, "penguin") == []
    store.commit(
        ChangeSet(
            [
                Write(ANN, "/x", "walrus"),
                Move(ANN, "/x", "/y"),
                Edit(ANN, "/y", "walrus", "seal"),
                Delete(ANN, "/x", missing_ok=True),
            ]
        )
    )
    assert places(store, "walrus") == []
    assert places(store, "seal") == ["/y:1"]


def test_what_did_not_change_keeps_its_time(store: MemoryStore) -> None:
    parts = [
        f"## Topic{number}\n\n" + f"Something about subject{number} that fills a line or two. " * 3
        for number in range(30)
    ]
    store.write(ANN, "/long.md", "\n\n".join(parts))
    first = store.recall(ANN, "subject3", k=1).hits[0]
    time.sleep(0.01)
    parts[20] = "## Topic20\n\nQuite another thing, namely quicksilver."
    store.write(ANN, "/long.md", "\n\n".join(parts))
    assert store.recall(ANN, "subject3", k=1).hits[0].at == first.at
    assert store.recall(ANN, "quicksilver", k=1).hits[0].at > first.at
    assert store.recall(ANN, "subject29", k=1).hits[0].revision == 2


def test_other_scopes_have_no_influence(store: MemoryStore) -> None:
    """A thousand nearly equal passages of others; one's own five come back, scored as if alone."""
    for number in range(5):
        store.write(ANN, f"/own{number}.md", f"The quarterly report number {number} is due on Friday.")
    alone = [(hit.key, hit.score) for hit in store.recall(ANN, "when is the quarterly report due?", k=5)]
    assert len(alone) == 5
    for labels in (("ann", "work"), ("anna",), ("bob",), ("ann", "x")):
        store.commit(
            ChangeSet(
                [
                    Write(labels, f"/n{number}.md", f"The quarterly report number {number} is due on Friday.")
                    for number in range(250)
                ]
            )
        )
    found = store.recall(ANN, "when is the quarterly report due?", k=5)
    assert [(hit.key, hit.score) for hit in found] == alone
    assert all(hit.namespace == ANN for hit in store.recall(ANN, "quarterly report", k=100))


def test_a_scope_can_take_in_what_lies_below(store: MemoryStore) -> None:
    store.write(("acme",), "/a.md", "the falcon project")
    store.write(("acme", "ann"), "/b.md", "the falcon deadline")
    store.write(("acme2",), "/c.md", "the falcon elsewhere")
    assert [hit.key for hit in store.recall(("acme",), "falcon")] == ["/a.md"]
    assert {hit.key for hit in store.recall(("acme",), "falcon", below=True)} == {"/a.md", "/b.md"}
    assert {item.key for item in store.search(("acme",), query="falcon")} == {"/a.md", "/b.md"}
    assert {item.key for item in store.search((), query="falcon")} == {"/a.md", "/b.md", "/c.md"}


def test_kinds_and_times(store: MemoryStore) -> None:
    store.write(ANN, "/note.md", "a marmot in the garden")
    store.put(ANN, "fact", {"text": "marmots whistle"})
    assert {hit.kind for hit in store.recall(ANN, "marmot")} == {"file", "item"}
    assert [hit.key for hit in store.recall(ANN, "marmot", kinds=["file"])] == ["/note.md"]
    assert [hit.key for hit in store.recall(ANN, "marmot", kinds={"item"})] == ["fact"]
    assert store.recall(ANN, "marmot", kinds=["turn"]).hits == ()
    now = datetime.now(UTC)
    assert len(store.recall(ANN, "marmot", since=now - timedelta(minutes=1))) == 2
    assert len(store.recall(ANN, "marmot", since=now + timedelta(minutes=1))) == 0
    assert len(store.recall(ANN, "marmot", until=now - timedelta(minutes=1))) == 0


def test_as_of_an_earlier_time(store: MemoryStore) -> None:
    store.write(ANN, "/home.md", "Lives in Lisbon.")
    store.write(ANN, "/gone.md", "Lisbon has trams.")
    between = datetime.now(UTC)
    time.sleep(0.002)
    store.write(ANN, "/home.md", "Lives in Porto.")
    store.delete(ANN, "/gone.md")
    store.write(ANN, "/new.md", "Lisbon was warmer.")
    assert [hit.key for hit in store.recall(ANN, "Lisbon")] == ["/new.md"]
    past = store.recall(ANN, "Lisbon", as_of=between)
    assert {(hit.key, hit.revision, hit.text) for hit in past} == {
        ("/home.md", 1, "Lives in Lisbon."),
        ("/gone.md", 1, "Lisbon has trams."),
    }
    assert len(store.recall(ANN, "Lisbon", as_of=between - timedelta(hours=1))) == 0


def test_items_are_found_whole_filtered_and_in_pages(store: MemoryStore) -> None:
    for number in range(60):
        store.put(
            ANN, f"k{number:02}", {"text": f"note about heron {'heron ' * (number % 7)}", "even": number % 2 == 0}
        )
    store.put(ANN, "other", {"text": "nothing of that", "even": True})
    whole = [(item.key, item.score) for item in store.search(ANN, query="heron", limit=100)]
    assert len(whole) == 60 and len({key for key, _ in whole}) == 60
    assert [score for _, score in whole] == sorted((score for _, score in whole), reverse=True)
    pages = [item.key for start in range(0, 70, 7) for item in store.search(ANN, query="heron", limit=7, offset=start)]
    assert pages == [key for key, _ in whole]
    even = [item.key for item in store.search(ANN, query="heron", filter={"even": True}, limit=100)]
    assert even == [key for key, _ in whole if int(key[1:]) % 2 == 0]
    assert [item.key for item in store.search(ANN, query="heron", filter={"even": True}, limit=5, offset=3)] == even[
        3:8
    ]


def test_which_fields_are_indexed(store: MemoryStore) -> None:
    store.put(ANN, "a", {"text": "red fox", "secret": "blue whale"}, index=["text"])
    store.put(ANN, "b", {"text": "red fox"}, index=False)
    store.put(ANN, "c", {"deep": {"texts": ["one hedgehog", "two badgers"]}}, index=["deep.texts[*]"])
    assert [item.key for item in store.search(ANN, query="fox")] == ["a"]
    assert store.search(ANN, query="whale") == []
    assert [item.key for item in store.search(ANN, query="badgers")] == ["c"]
    # What was said stays said for edits; another put says it anew.
    store.edit(ANN, "b", "red fox", "red vixen")
    assert store.search(ANN, query="vixen") == []
    store.put(ANN, "b", {"text": "red vixen"})
    assert [item.key for item in store.search(ANN, query="vixen")] == ["b"]
    assert store.get(ANN, "a").value == {"text": "red fox", "secret": "blue whale"}


def test_what_was_written_without_an_index_is_found_later(
    store_url: str, open_here: Callable[..., MemoryStore]
) -> None:
    plain = open_here(store_url, index=False)
    indexed = open_here(store_url)
    for number in range(450):
        plain.write(ANN, f"/{number}.md", f"pelican {number}")
    assert len(indexed.recall(ANN, "pelican", k=1000)) == 450
    # It may be changed through a store without an index, too: what is gone is not found.
    plain.write(ANN, "/1.md", "cormorant")
    plain.delete(ANN, "/2.md")
    assert [hit.key for hit in indexed.recall(ANN, "cormorant")] == ["/1.md"]
    assert len(indexed.recall(ANN, "pelican", k=1000)) == 448


def test_many_writes_leave_few_blocks(store: MemoryStore) -> None:
    for number in range(200):
        store.write(ANN, f"/{number % 50}.md", f"entry {number} about ospreys")
    for number in range(0, 50, 2):
        store.delete(ANN, f"/{number}.md")
    found = {hit.key: hit.text for hit in store.recall(ANN, "osprey", k=100)}
    assert found == {f"/{number % 50}.md": f"entry {number} about ospreys" for number in range(151, 200, 2)}
    rows = store.engine.run(_blocks(store))
    assert len(rows) < 100
    with_all = [(hit.key, hit.score) for hit in store.recall(ANN, "entry 171 ospreys", k=100)]
    assert with_all[0][0] == "/21.md"
    fresh = open_store("memory://")
    # The same memory indexed afresh, in the same order, ranks the same.
    for key in sorted(found, key=lambda key: found[key]):
        fresh.write(ANN, key, found[key])
    again = {hit.key: round(hit.score, 9) for hit in fresh.recall(ANN, "entry 171 ospreys", k=100)}
    assert again == {key: round(score, 9) for key, score in with_all}
    fresh.close()


def _blocks(store: MemoryStore):
    from memoranda.store.effects import query, transact

    (row,) = yield from transact("read", lambda: query("namespace_head", tenant="", labels="ann\x01"))
    return (yield from transact("read", lambda: query("blocks_of_scope", scope=row[0] * 2)))


def test_tending_twice_changes_nothing(store: MemoryStore) -> None:
    for number in range(70):
        store.write(ANN, f"/{number}.md", f"tern {number}")
    before = [(hit.key, hit.score) for hit in store.recall(ANN, "tern 7", k=100)]
    store.engine.run(tend(store.context, IndexScope(1, IndexKind.ITEMS)))
    store.engine.run(tend(store.context, IndexScope(1, IndexKind.ITEMS)))
    assert [(hit.key, hit.score) for hit in store.recall(ANN, "tern 7", k=100)] == before


def test_expired_items_are_not_found(store: MemoryStore) -> None:
    store.put(ANN, "brief", {"text": "a mayfly"}, ttl=0.0005)
    store.put(ANN, "long", {"text": "an old mayfly"})
    time.sleep(0.05)
    assert [hit.key for hit in store.recall(ANN, "mayfly")] == ["long"]
    assert [item.key for item in store.search(ANN, query="mayfly")] == ["long"]
    store.sweep_ttl()
    assert [hit.key for hit in store.recall(ANN, "mayfly")] == ["long"]


def test_tenants_share_nothing(store_url: str, open_here: Callable[..., MemoryStore]) -> None:
    one, two = open_here(store_url, tenant="one"), open_here(store_url, tenant="two")
    one.write(ANN, "/a.md", "narwhal of one")
    two.write(ANN, "/b.md", "narwhal of two")
    assert places(one, "narwhal") == ["/a.md:1"]
    assert [item.key for item in two.search((), query="narwhal")] == ["/b.md"]


def test_a_large_document_and_a_large_query(store: MemoryStore) -> None:
    lines = [
        f"Line {number} tells of item{number} and little else, but it tells it in a sentence."
        for number in range(12_500)
    ]
    text = "\n".join(lines)
    assert len(text) > 900_000
    store.write(ANN, "/book.md", text)
    for number in (0, 1, 6_250, 12_499):
        hit = store.recall(ANN, f"item{number}", k=1).hits[0]
        assert hit.first_line <= number + 1 <= hit.last_line
    answer = store.recall(ANN, "item77 " + text[-100_000:], k=1)
    assert any("cut" in notice for notice in answer.notices)
    assert answer.hits[0].key == "/book.md"


@pytest.mark.parametrize("bad", [{"k": 0}, {"k": True}, {"kinds": "file"}, {"kinds": ["page"]}, {"kinds": []}])
def test_nonsense_is_refused(store: MemoryStore, bad: dict[str, object]) -> None:
    with pytest.raises(InvalidValueError):
        store.recall(ANN, "tea", **bad)  # type: ignore[arg-type]


def test_an_empty_query_and_an_empty_store(store: MemoryStore) -> None:
    for nothing in ("", "  ", None, 7):
        with pytest.raises(InvalidValueError):
            store.recall(ANN, nothing)  # type: ignore[arg-type]
    assert store.recall(ANN, "anything").hits == ()
    assert store.recall((), "anything", below=True).hits == ()
    store.write(ANN, "/a.md", "…")
    assert store.recall(ANN, "?!").hits == ()


async def test_the_async_face_finds_the_same(store: MemoryStore) -> None:
    await store.awrite(ANN, "/a.md", "puffins breed in burrows")
    assert [hit.key for hit in await store.arecall(ANN, "puffin")] == ["/a.md"]
    assert [item.key for item in await store.asearch(ANN, query="burrow")] == ["/a.md"]


def test_the_vectors_of_the_dead_go_in_time(store_url: str, open_here: Callable[..., MemoryStore]) -> None:
    store = open_here(store_url, index={"embed": lambda texts: [[float(len(text)), 1.0] for text in texts], "dims": 2})
    for number in range(400):
        store.write(ANN, f"/{number % 20}.md", f"shrike {number}")
    assert store.wait_for_index(20)
    for _ in range(40):
        store.write(ANN, "/0.md", f"shrike {time.time_ns()}")
    assert store.wait_for_index(20)
    store.engine.run(tend(store.context, IndexScope(1, IndexKind.ITEMS)))
    held = sum(count for part, _, _, count in store.engine.run(_blocks(store)) if part == 2)
    assert 20 <= held <= 20 + 64 + 32
    assert len(store.recall(ANN, "shrike", k=100)) == 20
