"""Where knowledge lives: a store of ours, a namespace, a key; each checked when it is given."""

from __future__ import annotations

from typing import Any, cast

from memoranda.backends.misuse import checked_store
from memoranda.backends.scopes import NamespaceLike, resolve_namespace
from memoranda.knowledge.errors import InvalidSettingError
from memoranda.store.keys import file_key
from memoranda.store.store import MemoryStore


def checked_memory_store(store: Any) -> MemoryStore:
    """A store that keeps a history.

    Raises:
        NotAStoreError: It is no store.
        InvalidSettingError: It is a store without a history.
    """
    if isinstance(store, MemoryStore):
        return store
    name = type(checked_store(store)).__name__
    article = "An" if name[0] in "AEIOU" else "A"
    raise InvalidSettingError(
        f"{article} {name} keeps no history.", 'Pass open_store("memory://") or another store of Memoranda.'
    )


def checked_folder(name: Any) -> str:
    """The name of the one folder that a kind of knowledge lies in.

    Raises:
        InvalidSettingError: It is more than a name, or none.
    """
    if not isinstance(name, str):
        raise InvalidSettingError(f"name={name!r} is no name.", "Pass a string.")
    if "/" in name:
        raise InvalidSettingError(f"name={name!r} is more than one folder.", "Leave out the slash.")
    return name


def checked_model(model: Any) -> Any:
    """A chat model or its name, as far as can be told without loading it; None: no model.

    Raises:
        InvalidSettingError: It is none.
    """
    if model is None or isinstance(model, str) or callable(getattr(model, "bind_tools", None)):
        return model
    raise InvalidSettingError(
        f"model={model!r} is no chat model.", "Pass one of LangChain's, or its name, such as 'openai:gpt-5-mini'."
    )


def checked_place(namespace: Any, key: Any) -> tuple[NamespaceLike, str]:
    """A namespace, as far as it is known yet, and a key.

    Raises:
        InvalidNamespaceError: The namespace cannot be stored.
        InvalidKeyError: The key cannot be stored.
    """
    if not callable(namespace):
        namespace = resolve_namespace(namespace)
    return cast("NamespaceLike", namespace), file_key(key)
