"""Times and times to live that no datetime and no database can hold, in what is imported."""

from __future__ import annotations

import io
import sqlite3
from pathlib import Path
from typing import Any

import orjson
import pytest
import zstandard

from memoranda import MemoryStore, open_store
from memoranda.transfer import BundleCorruptError, export_bundle, import_bundle, import_langgraph


@pytest.mark.parametrize(
    "fields",
    [
        {"ttl": 1e300},
        {"ttl": -5},
        {"created_at": -(1 << 62)},
        {"created_at": -100_000_000_000_000_000},
    ],
)
def test_of_a_bundle(store: MemoryStore, tmp_path: Path, fields: dict[str, Any]) -> None:
    path = tmp_path / "a.mbundle"
    with open_store("memory://") as source:
        source.put(("ann",), "k", {"a": 1}, ttl=5)
        export_bundle(source, path)
    text = zstandard.ZstdDecompressor().stream_reader(io.BytesIO(path.read_bytes()), read_across_frames=True).read()
    lines = [orjson.loads(line) for line in text.splitlines()]
    (item,) = [line for line in lines if line.get("type") == "item"]
    item.update(fields)
    changed = b"".join(orjson.dumps(line) + b"\n" for line in lines)
    path.write_bytes(zstandard.ZstdCompressor(write_checksum=True).compress(changed))
    with pytest.raises(BundleCorruptError):
        import_bundle(store, path)
    assert store.get(("ann",), "k") is None


@pytest.mark.parametrize("minutes", [-5, 1e300])
def test_of_a_langgraph_store(store: MemoryStore, tmp_path: Path, minutes: float) -> None:
    path = tmp_path / "langgraph.db"
    with sqlite3.connect(path) as connection:
        connection.execute(
            "CREATE TABLE store (prefix text, key text, value text, created_at timestamp, updated_at timestamp,"
            " expires_at timestamp, ttl_minutes real)"
        )
        connection.execute("INSERT INTO store VALUES ('ann', 'k', '{}', NULL, NULL, NULL, ?)", (minutes,))
    connection.close()
    report = import_langgraph(store, str(path))
    assert (report.items, len(report.skipped)) == (0, 1)
