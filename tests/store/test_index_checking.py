"""`verify` notices an index that does not hold what it should, and `reindex(rebuild=True)` mends it."""

from __future__ import annotations

import pytest

from memoranda import MemoryStore
from memoranda.search.blocks import pack_numbers
from memoranda.store.effects import Batch, Body, Sql, query, transact

ANN = ("ann",)


@pytest.mark.parametrize("damage", ["lost", "twice", "dead", "garbled"])
def test_damage_is_told_and_mended(store: MemoryStore, damage: str) -> None:
    for number in range(50):
        store.write(ANN, f"/{number}.md", f"wagtail {number}")
    store.delete(ANN, "/3.md")
    assert store.verify().ok

    def hurt() -> Body[None]:
        rows = yield from query("blocks_of_scope", scope=2)
        block = next(row for row in rows if row[0] == 0)
        ((_, body),) = yield from query("block_body", id=block[1])
        row = {"scope": 2, "part": 0, "index_id": 0, "count": block[3], "body": body}
        match damage:
            case "lost":
                statements = [Sql("delete_block", {"id": block[1]})]
            case "twice":
                statements = [Sql("insert_block", row)]
            case "dead":
                statements = [Sql("insert_block", {**row, "part": 1, "count": 1, "body": pack_numbers([1])})]
            case _:
                garbled = body[:-5] + bytes([body[-5] ^ 0xFF]) + body[-4:]
                statements = [Sql("delete_block", {"id": block[1]}), Sql("insert_block", {**row, "body": garbled})]
        yield Batch(statements, last=True)

    store.engine.run(transact("write", hurt))
    store.context.blocks.clear()
    problems = store.verify().problems
    assert problems and all("memoranda reindex --rebuild" in problem for problem in problems)
    store.reindex(rebuild=True)
    assert store.verify().ok
    assert len(store.recall(ANN, "wagtail", k=100)) == 49
