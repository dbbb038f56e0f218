"""The contenders: one face over Memoranda, LangGraph's stores used raw, and Deep Agents' `StoreBackend`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import islice
from typing import Any, Protocol

from deepagents.backends import StoreBackend
from langgraph.store.base import BaseStore, PutOp

from memoranda import ChangeSet, MemoryStore, Write
from memoranda.files.format import create_file_data

Namespace = tuple[str, ...]


class Contender(Protocol):
    """Files in one namespace. Listing and searching return how much they found."""

    name: str
    operations: frozenset[str]

    def put(self, key: str, text: str) -> None:
        """Set a file's text, whatever was there."""
        ...

    def get(self, key: str) -> str:
        """A file's text."""
        ...

    def edit(self, key: str, old: str, new: str) -> None:
        """Replace a piece of a file's text."""
        ...

    def delete(self, key: str) -> None:
        """Delete a file."""
        ...

    def ls(self, folder: str) -> int:
        """Count the files of a folder."""
        ...

    def glob(self, folder: str) -> int:
        """Count the Markdown files of a folder."""
        ...

    def grep(self, text: str, path: str | None) -> int:
        """Count the lines with a text, in one file or in all."""
        ...

    def search(self) -> int:
        """Count the items on the first page of ten."""
        ...

    def drop(self, key: str) -> None:
        """Delete a file in the cheapest way, to tidy up."""
        ...


FILES = frozenset({"put", "get", "edit", "ls", "glob", "grep", "delete"})
RAW = frozenset({"put", "get", "edit", "search", "delete"})


class Native:
    """Memoranda's own methods."""

    operations = FILES | RAW

    def __init__(self, name: str, store: MemoryStore, namespace: Namespace) -> None:
        self.name = name
        self._store = store
        self._namespace = namespace

    def put(self, key: str, text: str) -> None:
        self._store.put(self._namespace, key, dict(create_file_data(text)))

    def get(self, key: str) -> str:
        item = self._store.get(self._namespace, key)
        assert item is not None, key
        return item.value["content"]

    def edit(self, key: str, old: str, new: str) -> None:
        self._store.edit(self._namespace, key, old, new)

    def delete(self, key: str) -> None:
        self._store.delete(self._namespace, key)

    def ls(self, folder: str) -> int:
        return len(self._store.list_keys(self._namespace, folder))

    def glob(self, folder: str) -> int:
        return len(self._store.glob(self._namespace, "*.md", folder))

    def grep(self, text: str, path: str | None) -> int:
        return len(self._store.grep(self._namespace, text, path or "/").matches)

    def search(self) -> int:
        return len(self._store.search(self._namespace))

    drop = delete


class Raw:
    """Any LangGraph store through its own methods; an edit reads, replaces and puts."""

    operations = RAW

    def __init__(self, name: str, store: BaseStore, namespace: Namespace) -> None:
        self.name = name
        self._store = store
        self._namespace = namespace

    def put(self, key: str, text: str) -> None:
        self._store.put(self._namespace, key, dict(create_file_data(text)))

    def get(self, key: str) -> str:
        item = self._store.get(self._namespace, key)
        assert item is not None, key
        return item.value["content"]

    def edit(self, key: str, old: str, new: str) -> None:
        item = self._store.get(self._namespace, key)
        assert item is not None and item.value["content"].count(old) == 1, key
        self._store.put(self._namespace, key, {**item.value, "content": item.value["content"].replace(old, new)})

    def delete(self, key: str) -> None:
        self._store.delete(self._namespace, key)

    def search(self) -> int:
        return len(self._store.search(self._namespace))

    drop = delete

    def ls(self, folder: str) -> int:
        raise NotImplementedError

    def glob(self, folder: str) -> int:
        raise NotImplementedError

    def grep(self, text: str, path: str | None) -> int:
        raise NotImplementedError


class DeepAgents:
    """Deep Agents' `StoreBackend` over any LangGraph store."""

    operations = FILES

    def __init__(self, name: str, store: BaseStore, namespace: Namespace) -> None:
        self.name = name
        self._store = store
        self._namespace = namespace
        self._backend = StoreBackend(store=store, namespace=lambda _: namespace)

    def put(self, key: str, text: str) -> None:
        _fine(self._backend.write(key, text))

    def get(self, key: str) -> str:
        data = _fine(self._backend.read(key)).file_data
        return data["content"]

    def edit(self, key: str, old: str, new: str) -> None:
        _fine(self._backend.edit(key, old, new))

    def delete(self, key: str) -> None:
        _fine(self._backend.delete(key))

    def ls(self, folder: str) -> int:
        return len(_fine(self._backend.ls(folder)).entries or ())

    def glob(self, folder: str) -> int:
        return len(_fine(self._backend.glob("*.md", folder)).matches or ())

    def grep(self, text: str, path: str | None) -> int:
        return len(_fine(self._backend.grep(text, path)).matches or ())

    def search(self) -> int:
        raise NotImplementedError

    def drop(self, key: str) -> None:
        self._store.delete(self._namespace, key)


def _fine(result: Any) -> Any:
    if result.error:
        raise RuntimeError(result.error)
    return result


def fill(
    store: BaseStore,
    namespace: Namespace,
    files: Iterable[tuple[str, str]],
    progress: Callable[[int], None],
    batch: int = 1_000,
) -> None:
    """Put many files into a store, as fast as it allows.

    Args:
        store: Any LangGraph store.
        namespace: Where.
        files: Keys and texts.
        progress: Called with the number of files after each batch.
        batch: Files of one transaction.
    """
    rest = iter(files)
    while some := list(islice(rest, batch)):
        if isinstance(store, MemoryStore):
            store.commit(ChangeSet([Write(namespace, key, text) for key, text in some]))
        else:
            store.batch([PutOp(namespace, key, dict(create_file_data(text))) for key, text in some])
        progress(len(some))
