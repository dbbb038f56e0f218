"""People with memory of every kind, and a look at everything that a database holds, decoded."""

from __future__ import annotations

import random
import string
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import apsw
import numpy as np
import psycopg

from memoranda import Append, Author, ChangeSet, CursorMove, Edit, MemoryStore, RunChange, Write
from memoranda.files.delta import apply_delta
from memoranda.search import blocks
from memoranda.search.tokens import terms_of
from memoranda.search.wordblocks import TERM_MASK
from memoranda.store.companions import accompanied
from memoranda.store.operations.forget_namespaces import NOBODY
from memoranda.store.operations.indexing import Part
from memoranda.store.operations.item_passages import unpack_placed
from memoranda.store.runs import RunRecord
from memoranda.store.turns import Turn

TEAM = ("acme", "team")

NUMBERS_OF: dict[int, Callable[[bytes], list[int]]] = {
    Part.WORDS: lambda body: blocks.WordBlock.unpack(body).number.tolist(),
    Part.DEAD: lambda body: blocks.unpack_numbers(body).tolist(),
    Part.VECTORS: lambda body: blocks.VectorBlock.unpack(body).number.tolist(),
    Part.WAITING: lambda body: [entry.number for entry in blocks.unpack_waiting(body)],
}

Rows = list[dict[str, Any]]


class Words:
    """Words that one person uses and nobody else."""

    def __init__(self, name: str, seed: int = 0) -> None:
        rng = random.Random(f"{name}/{seed}")
        self.name = name
        self.all = ["".join(rng.choices(string.ascii_lowercase, k=14)) for _ in range(40)]

    def text(self, number: int = 0, count: int = 6) -> str:
        """Some of them, always the same for a number."""
        rng = random.Random(f"{self.name}/{number}")
        return " ".join(rng.choices(self.all, k=count))

    def document(self, number: int, paragraphs: int = 12) -> str:
        """Paragraphs of them."""
        return "\n\n".join(self.text(100 * number + each, 12) for each in range(paragraphs))


def fill(store: MemoryStore, person: str) -> Words:
    """Give a person a memory of every kind, in a namespace of their own and in their team's."""
    words, own = Words(person), (person,)
    by = Author(f"user:{person}", f"thread-{person}", "run-1", "call-1", words.text(1))
    store.write(own, "/notes.md", words.document(1), author=by)
    store.edit(own, "/notes.md", words.document(1)[:40], words.text(2), author=by)
    store.write(own, "/notes.md", words.document(3, 14), author=by)
    store.append(own, "/notes.md", words.text(4))
    store.restore(own, "/notes.md", 1)
    store.write(own, f"/{words.all[0]}.md", words.text(5))
    store.commit(ChangeSet([Write(own, f"/{words.all[1]}/deep.bin", b"\xff\x00" + words.text(6).encode())], by))
    store.write(own, "/deleted.md", words.document(7))
    store.delete(own, "/deleted.md")
    store.put(own, words.all[2], {"likes": words.text(8), words.all[3]: [1, 2]})
    store.put(own, words.all[2], {"likes": words.text(9)})
    store.put(own, "soon", {"x": words.text(10)}, ttl=60)
    store.put((person, "sub"), "below", {"x": words.text(11)})
    said = [Turn(f"m{n}", "user" if n % 2 else "assistant", words.text(20 + n), speaker=words.all[4]) for n in range(6)]
    store.record_turns(own, f"thread-{person}", said, user=person, agent="helper")
    store.record_turns(TEAM, f"team-{person}", said[:3], user=person)
    store.record_turns(TEAM, "shared", [Turn(f"{person}-1", "user", words.text(30))], user=person)
    store.move(own, "/notes.md", "/moved-within.md")
    store.write(own, "/neutral.md", "nothing in particular")
    store.move(own, "/neutral.md", f"/from-{person}.md", to_namespace=TEAM)
    store.write(TEAM, f"/by-{person}.md", "written for the team", author=Author(f"user:{person}"))
    store.propose(ChangeSet([Write(own, "/wish.md", words.text(12))], by), reason=words.text(13))
    both = [Append(TEAM, "/list.md", words.text(14)), Write(own, "/wish.md", words.text(15))]
    store.propose(ChangeSet(both, by))
    refused = store.propose(ChangeSet([Edit(own, "/moved-within.md", "a", words.text(16))], by))
    store.reject_proposal(refused.id, author=by, note=words.text(17))
    store.commit(ChangeSet(advance=[CursorMove("consolidation", own, 0, 3)]))
    consolidate(store, words, own, 0, 6)
    consolidate(store, words, TEAM, store.runs.cursor("tidy", TEAM), max(t.position for t in store.turns(TEAM)))
    store.schedules.put(f"for-{person}", "tidy", cron="0 * * * *", prefix=own, payload={"why": words.text(51)})
    spread = {"kind": "fan_out", "prefix": [person, "sub"], "why": words.text(52)}
    store.jobs.enqueue("tidy", origin=f"spread-{person}", payload=spread)
    return words


def consolidate(store: MemoryStore, words: Words, scope: tuple[str, ...], after: int, to: int) -> None:
    """A job that failed once, and a run that says much about a person."""
    own = scope[0] == words.name
    made = store.jobs.enqueue("tidy", scope, payload={"asked": words.text(41)} if own else None)
    assert made
    job = store.jobs.claim(["tidy"], worker="w", number=made.number)
    assert job
    store.jobs.retry(job, error=words.text(42), at=job.due_at)
    positions = tuple(turn.position for turn in store.turns(scope) if after < turn.position <= to)
    change = RunChange(scope, "/list.md", "append", sources=positions, lines={words.text(43): positions} if own else {})
    began = datetime.now(UTC)
    error, summary = words.text(44), words.text(45)
    run = RunRecord(
        store.runs.new_id(), "tidy", scope, after, to, to - after, began, (change,), summary=summary, error=error
    )
    with accompanied(store.runs.record(run)):
        store.commit(ChangeSet([] if own else [Append(scope, "/list.md", "a line")]))


@dataclass
class Contents:
    """What a database holds.

    Args:
        tables: All rows of all tables.
        texts: Every text, and every body that holds one, decoded, with where it is.
        terms: The terms of all passages in the index.
        vectors: All vectors in the index.
        waiting: How many passages wait for an embedder.
    """

    tables: dict[str, Rows]
    texts: list[tuple[str, bytes]] = field(default_factory=list)
    terms: set[int] = field(default_factory=set)
    vectors: list[np.ndarray] = field(default_factory=list)
    waiting: int = 0

    def holding(self, words: Sequence[str]) -> set[str]:
        """Where any of these words is."""
        return {where for where, text in self.texts for word in words if word.encode() in text.lower()}

    def indexed(self, words: Sequence[str]) -> set[str]:
        """Which of these words the index knows."""
        return {word for word in words if any(term & TERM_MASK in self.terms for term in terms_of(word))}

    def near(self, vector: Sequence[float]) -> float:
        """How alike the most similar vector in the index is."""
        wanted = np.asarray(vector) / np.linalg.norm(vector)
        found = [
            float((block @ wanted / np.maximum(np.linalg.norm(block, axis=1), 1e-9)).max()) for block in self.vectors
        ]
        return max(found, default=0.0)

    def passages(self, part: Part) -> set[tuple[int, int]]:
        """The scopes and numbers of the passages that are in blocks of a part."""
        numbers = NUMBERS_OF[part]
        rows = _of(self.tables["blocks"], "part", part)
        return {(row["scope"], number) for row in rows for number in numbers(row["body"])}

    @property
    def named(self) -> set[int]:
        """The ids of the namespaces that somebody has."""
        return {row["id"] for row in self.tables["namespaces"] if row["tenant"] != NOBODY}

    @property
    def living(self) -> set[tuple[int, int]]:
        """The scopes and numbers of the passages that items and turns have now."""
        return {
            (row["namespace_id"] * 2 + kind, entry.number)
            for kind, table in enumerate(("items", "turns"))
            for row in self.tables[table]
            for entry in unpack_placed(row["passages"])
        }

    def bodies(self) -> Iterator[bytes]:
        """Every value that is bytes, and every text, as it lies in the database."""
        for rows in self.tables.values():
            for row in rows:
                yield from (bytes(value) for value in row.values() if isinstance(value, (bytes, memoryview)))
                yield from (value.encode() for value in row.values() if isinstance(value, str))


def contents_of(url: str) -> Contents:
    """Read and decode everything."""
    contents = Contents(_tables(url))
    for table, rows in contents.tables.items():
        for row in rows:
            for column, value in row.items():
                if isinstance(value, (bytes, str)):
                    raw = value.encode() if isinstance(value, str) else value
                    contents.texts.append((f"{table}.{column}", raw))
    for item in contents.tables["items"]:
        body = item["body"] if item["live"] else b""
        for entry in sorted(_of(contents.tables["revisions"], "item_id", item["id"]), key=lambda row: -row["revision"]):
            if entry["delta"] is not None:
                body = apply_delta(entry["delta_kind"], entry["delta"], body)
                contents.texts.append(("revisions.delta, decoded", body))
    known = {item["id"] for item in contents.tables["items"]}
    for entry in contents.tables["revisions"]:
        assert entry["item_id"] in known or entry["namespace_id"] not in contents.named, "a revision without its item"
    for block in contents.tables["blocks"]:
        if block["part"] == Part.WORDS:
            contents.terms |= set(blocks.WordBlock.unpack(block["body"]).terms.tolist())
        elif block["part"] == Part.VECTORS:
            contents.vectors.append(blocks.VectorBlock.unpack(block["body"]).rounded.astype(np.float64))
        elif block["part"] == Part.WAITING:
            contents.waiting += len(blocks.unpack_waiting(block["body"]))
    return contents


def _of(rows: Rows, column: str, value: object) -> Rows:
    return [row for row in rows if row[column] == value]


def _tables(url: str) -> dict[str, Rows]:
    if url.startswith("sqlite"):
        connection = apsw.Connection(url.removeprefix("sqlite:///"))
        try:
            names = [name for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
            return {name: _read(connection.execute(f"SELECT * FROM {name}")) for name in names}
        finally:
            connection.close()
    with psycopg.connect(url, options="-c search_path=memoranda") as server:
        listed = server.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'memoranda'").fetchall()
        return {name: _read(server.execute(f"SELECT * FROM {name}")) for (name,) in listed}  # type: ignore[arg-type]


def _read(cursor: Any) -> Rows:
    rows = []
    for row in cursor:
        columns = [each[0] for each in cursor.description]
        rows.append(dict(zip(columns, row, strict=True)))
    return rows


def raw_files(url: str) -> bytes:
    """The bytes of a SQLite database's files."""
    path = url.removeprefix("sqlite:///")
    return b"".join(part.read_bytes() for end in ("", "-wal", "-shm") if (part := Path(path + end)).exists())
