"""Files that were put into a store by hand, with nothing but their content: indexed as documents, shown as text."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import cast

from langgraph.store.base import GetOp

from memoranda.backends.protocol import SearchMatch
from memoranda.backends.steps import Steps, ask
from memoranda.errors import MemorandaError
from memoranda.files.format import read_file_data
from memoranda.search.passages import passages_of
from memoranda.search.tokens import terms_of
from memoranda.store.changes import Namespace
from memoranda.store.store import MemoryStore
from memoranda.store.types import StoredItem


def texts_of_documents(store: MemoryStore, namespace: Namespace, keys: Collection[str]) -> Steps[dict[str, str]]:
    """The texts of those among some documents that are shown as text, by their keys."""
    if not keys:
        return {}
    asked = [GetOp(namespace, key, False) for key in keys]
    items = cast("list[StoredItem | None]", (yield from ask(store.batch, asked)))
    texts: dict[str, str] = {}
    for item in items:
        if item is not None:
            try:
                data = read_file_data(item.value, lenient=True)
            except MemorandaError:
                continue
            if data["encoding"] == "utf-8":
                texts[item.key] = data["content"]
    return texts


def in_text(match: SearchMatch, text: str) -> SearchMatch:
    """A passage of a document, as it stands in the text that is shown."""
    terms = terms_of(match.text).keys()
    passages = passages_of(text, path=match.path)
    if not passages:
        return match
    best = max(passages, key=lambda passage: len(terms & terms_of(passage.text).keys()))
    return replace(match, first_line=best.first_line, last_line=best.last_line, text=best.text, heading=best.heading)
