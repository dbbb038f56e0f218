"""What was said and proposed travels too, and one person's memory can be taken out by itself."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import orjson
import pytest
import zstandard

from memoranda import Author, ChangeSet, MemoryStore, Write
from memoranda.store.turns import RecordedTurn, Turn
from memoranda.transfer import BundleCorruptError, SourceError, export_bundle, export_folder, import_bundle
from tests.store.forget_support import TEAM, fill

AT = datetime(2026, 3, 1, tzinfo=UTC)
OpenHere = Callable[..., MemoryStore]


def lines_of(path: Path) -> list[dict[str, Any]]:
    with path.open("rb") as file:
        text = zstandard.ZstdDecompressor().stream_reader(file, read_across_frames=True).read()
    return [orjson.loads(line) for line in text.splitlines()]


def repacked(path: Path, lines: list[dict[str, Any]]) -> None:
    text = b"".join(orjson.dumps(line) + b"\n" for line in lines)
    path.write_bytes(zstandard.ZstdCompressor(write_checksum=True).compress(text))


def said(store: MemoryStore, namespace: tuple[str, ...]) -> list[tuple[Any, ...]]:
    """What a reader sees of all conversations of a namespace, place and time of recording aside."""
    turns = [turn for thread in store.threads(namespace) for turn in store.turns(namespace, thread.thread_id)]
    return sorted(
        (t.thread_id, number, t.message_id, t.role, t.text, t.speaker, t.at, t.tools, t.other_blocks, t.size, who(t))
        for number, t in enumerate(turns)
    )


def who(turn: RecordedTurn) -> tuple[str, ...]:
    return tuple(name or "" for name in (turn.user, turn.org, turn.agent, turn.run_id))


def talk(store: MemoryStore) -> None:
    """Conversations of every kind, one of them longer than a batch, with times that jump about."""
    turns = [
        Turn("m1", "user", "Ünïcode \x00 and more?", "Ann", AT),
        Turn("m2", "assistant", "Noted.", at=AT - timedelta(days=3), tools=("grep", "write_file")),
        Turn("m3", "tool", "", at=AT, other_blocks=2, size=10_000),
    ]
    store.record_turns(("ann",), "t1", turns, user="ann", org="acme", agent="helper", run_id="r1")
    store.record_turns(("ann",), "t1", [*turns, Turn("m4", "user", "again")], user="bob")
    many = [Turn(f"m{n}", "user", f"hello {n}", at=AT + timedelta(minutes=(n * 7) % 50)) for n in range(450)]
    store.record_turns(("talk", "only"), "long", many, user="ann")


def test_conversations_come_back_once(
    store: MemoryStore, other_store_url: str, open_here: OpenHere, tmp_path: Path
) -> None:
    talk(store)
    store.write(("ann",), "/tea.md", "green")
    bundle = tmp_path / "all.mbundle"
    report = export_bundle(store, bundle)
    assert (report.items, report.turns) == (1, 454)
    assert report.namespaces == (("ann",), ("talk", "only"))
    other = open_here(other_store_url)
    assert import_bundle(other, bundle, dry_run=True).turns == 454
    assert other.threads((), below=True) == []
    assert import_bundle(other, bundle).turns == 454
    for place in (("ann",), ("talk", "only")):
        assert said(other, place) == said(store, place)
    assert other.recall(("talk", "only"), "hello").hits
    again = import_bundle(other, bundle, on_existing="skip")
    assert (again.items, again.turns, again.namespaces) == (0, 0, ())
    assert said(other, ("talk", "only")) == said(store, ("talk", "only"))


def test_a_bundle_of_conversations_alone(store: MemoryStore, open_here: OpenHere, tmp_path: Path) -> None:
    talk(store)
    export_bundle(store, tmp_path / "talk.mbundle", namespace=("talk",))
    other = open_here("memory://")
    report = import_bundle(other, tmp_path / "talk.mbundle", into=lambda labels: ("moved", *labels))
    assert report.namespaces == (("moved", "talk", "only"),)
    assert said(other, ("moved", "talk", "only")) == said(store, ("talk", "only"))
    export_folder(store, tmp_path / "folder")
    assert list((tmp_path / "folder").iterdir()) == []


def test_an_import_goes_on_in_a_conversation_that_went_on(
    store: MemoryStore, open_here: OpenHere, tmp_path: Path
) -> None:
    talk(store)
    other = open_here("memory://")
    turns = [Turn("m2", "assistant", "Noted."), Turn("m9", "user", "later")]
    other.record_turns(("ann",), "t1", turns)
    export_bundle(store, tmp_path / "all.mbundle")
    assert import_bundle(other, tmp_path / "all.mbundle").turns == 453
    assert [turn.message_id for turn in other.turns(("ann",), "t1")][:3] == ["m1", "m2", "m3"]
    assert {turn.message_id for turn in other.turns(("ann",), "t1")} == {"m1", "m2", "m3", "m4", "m9"}


def test_one_person_gets_everything_about_them(store: MemoryStore, open_here: OpenHere, tmp_path: Path) -> None:
    words = {person: fill(store, person) for person in ("ann", "bob")}
    bundle = tmp_path / "ann.mbundle"
    report = export_bundle(store, bundle, subject="ann")
    lines = lines_of(bundle)
    assert {tuple(line["namespace"]) for line in lines if line.get("type") == "item"} == {
        ("ann",),
        ("ann", "sub"),
    }
    assert lines[0]["subject"] == "ann"
    turns = [line for line in lines if line.get("type") == "turn"]
    assert {(tuple(turn["namespace"]), turn["thread_id"], turn["user"]) for turn in turns} == {
        (("ann",), "thread-ann", "ann"),
        (TEAM, "team-ann", "ann"),
        (TEAM, "shared", "ann"),
    }
    assert (len(turns), report.turns, report.proposals) == (10, 10, 3)
    proposals = [line for line in lines if line.get("type") == "proposal"]
    assert {tuple(change["namespace"]) for each in proposals for change in each["changes"]} == {("ann",)}
    assert [each.get("partial", False) for each in proposals] == [False, True, False]
    assert proposals[2]["note"] == words["ann"].text(17)
    text = orjson.dumps(lines).decode()
    assert not [word for word in words["bob"].all if word in text]
    other = open_here("memory://")
    import_bundle(other, bundle)
    mine = {each.namespace: each.digest for each in store.verify().namespaces if each.namespace[0] == "ann"}
    assert {each.namespace: each.digest for each in other.verify().namespaces if each.items} == mine
    assert said(other, ("ann",)) == said(store, ("ann",))
    assert other.proposals(status=None) == []


def test_one_namespace_without_those_below(store: MemoryStore, tmp_path: Path) -> None:
    fill(store, "ann")
    report = export_bundle(store, tmp_path / "ann.mbundle", namespace=("ann",), below=False)
    assert report.namespaces == (("ann",),)
    with pytest.raises(SourceError, match="nothing was said by that user"):
        export_bundle(store, tmp_path / "x.mbundle", subject="nobody")
    with pytest.raises(SourceError, match="in acme, and"):
        export_bundle(store, tmp_path / "x.mbundle", namespace=("acme",), subject="nobody")


def test_a_bundle_of_the_first_version_is_read(store: MemoryStore, open_here: OpenHere, tmp_path: Path) -> None:
    store.write(("ann",), "/tea.md", "green")
    path = tmp_path / "old.mbundle"
    export_bundle(store, path)
    lines = lines_of(path)
    lines[0]["version"] = 1
    for name in ("turns", "proposals"):
        del lines[-1][name]
    del lines[-1]["namespaces"][0]["turns"]
    repacked(path, lines)
    other = open_here("memory://")
    assert import_bundle(other, path).items == 1
    assert other.verify() == store.verify()


@pytest.mark.parametrize(
    ("kind", "change"),
    [
        ("turn", {"role": "system"}),
        ("turn", {"message_id": ""}),
        ("turn", {"thread_id": "x" * 2_000}),
        ("turn", {"user": "a\0b"}),
        ("turn", {"tools": [1]}),
        ("turn", {"at": 1 << 61}),
        ("turn", {"size": -1}),
        ("turn", {"namespace": ["other"]}),
        ("turn", None),
        ("proposal", None),
        ("proposal", {"changes": 7}),
        ("trailer", {"turns": 1}),
        ("trailer", {"proposals": 0}),
    ],
)
def test_damaged_lines(tmp_path: Path, open_here: OpenHere, kind: str, change: dict[str, Any] | None) -> None:
    store = open_here("memory://")
    talk(store)
    store.propose(ChangeSet([Write(("ann",), "/a.md", "x")], Author("user:ann")))
    path = tmp_path / "damaged.mbundle"
    export_bundle(store, path)
    lines = lines_of(path)
    number = next(number for number, line in enumerate(lines) if line.get("type") == kind)
    if change is None:
        del lines[number]
    else:
        lines[number] |= change
    repacked(path, lines)
    other = open_here("memory://")
    with pytest.raises(BundleCorruptError):
        import_bundle(other, path)
    assert other.threads((), below=True) == []
