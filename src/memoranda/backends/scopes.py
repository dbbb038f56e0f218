"""Namespaces from the runtime: who shares a memory is decided by who runs, never by what a model says."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, Final, TypeAlias, cast
from uuid import UUID

from memoranda.backends.misuse import check_function, dismissed, must_not_be_async
from memoranda.backends.runtime import agent_name, current_config, current_runtime, read_channel
from memoranda.errors import MemorandaError
from memoranda.store.changes import Namespace
from memoranda.store.namespaces import InvalidNamespaceError, validate_labels


class ScopeError(MemorandaError, LookupError):
    """The runtime does not name the user, assistant or organisation that a memory belongs to."""


class ScopeRuntime:
    """What a namespace function is given: LangGraph's runtime, with the fields of older releases beside it.

    Everything that `Runtime` has is here; `runtime`, `state` and `config` serve functions that were written for Deep
    Agents' earlier `BackendContext`.
    """

    def __init__(self, runtime: Any) -> None:
        self._runtime = runtime

    def __getattr__(self, name: str) -> Any:
        return getattr(self._runtime, name)

    @property
    def runtime(self) -> ScopeRuntime:
        """Itself."""
        return self

    @property
    def state(self) -> dict[str, Any]:
        """The messages of the thread, where a graph runs."""
        state = getattr(self._runtime, "state", None)
        return cast("dict[str, Any]", state) if state is not None else {"messages": read_channel("messages") or []}

    @property
    def config(self) -> Mapping[str, Any]:
        """The run's configuration."""
        config = getattr(self._runtime, "config", None)
        return config if config is not None else (current_config() or {})


NamespaceFunction: TypeAlias = Callable[[Any], Namespace]
NamespaceLike: TypeAlias = "Namespace | Scope | NamespaceFunction"


@dataclass(frozen=True)
class Scope:
    """A namespace that is made from the runtime at every operation.

    Add scopes and labels to combine them; call one to change its settings, or with a runtime to get the namespace.

    Args:
        parts: Labels, and the kinds `user`, `assistant` and `org` that are filled in.
        read_only: Whether a model may only read; None: it may only read what an organisation shares.

    Example:
        >>> by_assistant + by_user + "notes"
        by_assistant + by_user + 'notes'
        >>> by_org(read_only=False).is_read_only
        False
    """

    parts: tuple[str | _Kind, ...]
    read_only: bool | None = None

    def __call__(self, runtime: Any = None, /, *, read_only: bool | None = None) -> Any:
        """The namespace of a runtime; or without one, this scope with other settings."""
        if runtime is None:
            return self if read_only is None else replace(self, read_only=read_only)
        return self.resolve(runtime)

    def __add__(self, other: Scope | str | tuple[str, ...]) -> Scope:
        if isinstance(other, Scope):
            read_only = other.read_only if self.read_only is None else self.read_only
            return Scope((*self.parts, *other.parts), read_only)
        labels = (other,) if isinstance(other, str) else tuple(other)
        return Scope((*self.parts, *labels), self.read_only)

    def __radd__(self, other: str | tuple[str, ...]) -> Scope:
        labels = (other,) if isinstance(other, str) else tuple(other)
        return Scope((*labels, *self.parts), self.read_only)

    def __repr__(self) -> str:
        return " + ".join(f"by_{part.name}" if isinstance(part, _Kind) else repr(part) for part in self.parts)

    @property
    def is_read_only(self) -> bool:
        """Whether a model may only read here: by default what an organisation shares, unless a user is named too."""
        if self.read_only is not None:
            return self.read_only
        return _ORG in self.parts and not self.names_user

    @property
    def names_user(self) -> bool:
        """Whether the namespace is of one user."""
        return _USER in self.parts

    def resolve(self, runtime: Any) -> Namespace:
        """The namespace for a runtime.

        Args:
            runtime: LangGraph's runtime; None outside a graph.

        Raises:
            ScopeError: The runtime does not name whom it takes.
        """
        return tuple(part.label(runtime) if isinstance(part, _Kind) else part for part in self.parts)


@dataclass(frozen=True)
class _Kind:
    """A label that is filled in from the runtime."""

    name: str
    noun: str
    server: Callable[[Any], Any]
    field: str
    remedy: str

    def label(self, runtime: Any) -> str:
        info = getattr(runtime, "server_info", None)
        found = self.server(info) if info is not None else None
        if found is None:
            found = _field(getattr(runtime, "context", None), self.field)
        if found is None and self.field == "assistant_id":
            found = _local_assistant()
        if found is None or found == "":
            raise ScopeError(self._unknown(getattr(runtime, "context", None), found), self.remedy)
        # Whatever else prints as something would become a scope of its own, perhaps another at every run.
        if isinstance(found, bool) or not isinstance(found, (str, int, UUID)) or not str(found).strip():
            raise ScopeError(
                f"{_short(found)} names no {self.noun}.", "Pass a string that names it, or a number or UUID."
            )
        return str(found)

    def _unknown(self, context: Any, found: Any) -> str:
        """Why nothing is known, as far as it can be seen from where it was looked for in vain."""
        cause = f"No {self.noun} is known to this run"
        if found is not None:
            return f"{cause}: its {self.field} is empty."
        given: Mapping[str, Any] = (current_config() or {}).get("configurable") or {}
        within = given.get("context")  # where a context lands that was put into the configuration
        if self.field in given or (isinstance(within, Mapping) and self.field in within):
            return (
                f"{cause}: {self.field!r} came with its configuration (configurable), and a scope comes from the "
                "context alone, which is an argument of its own."
            )
        names = _names_in(context)
        if self.field in names:
            return f"{cause}: the {self.field} of its context is None."
        shown = ", ".join(map(repr, names))
        return f"{cause}: its context has {shown}, not {self.field!r}." if names else f"{cause}."


def _names_in(context: Any) -> list[str]:
    """The names of what a context holds, whatever kind of object it is."""
    if isinstance(context, Mapping):
        return [str(name) for name in cast("Mapping[Any, Any]", context)]
    names = [field.name for field in fields(context)] if is_dataclass(context) else getattr(context, "__dict__", {})
    return [name for name in names if not name.startswith("_")]


def _field(holder: Any, name: str) -> Any:
    if holder is None:
        return None
    if isinstance(holder, Mapping):
        return cast("Mapping[str, Any]", holder).get(name)
    try:
        found = getattr(holder, name, None)
        return holder[name] if found is None else found
    except (TypeError, KeyError, AttributeError, IndexError, NotImplementedError):
        return None
    except Exception as error:
        raise ScopeError(
            f"Reading {name!r} of the context failed with {type(error).__name__}: {error}.", "Mend the context."
        ) from error


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:80]}…"


_assistant: ContextVar[str | None] = ContextVar("memoranda_assistant", default=None)


def bound_assistant() -> str | None:
    """The assistant that the agent around was built as; `""` for one without a name, None outside our agents."""
    return _assistant.get()


@contextmanager
def inside_assistant(name: str) -> Generator[None]:
    """Say which assistant runs inside the block; `""` says that it has no name."""
    token = _assistant.set(name)
    try:
        yield
    finally:
        _assistant.reset(token)


def _local_assistant() -> str | None:
    """Without a server, the agent's own name; inside a subagent that of the agent whose run it is."""
    bound = bound_assistant()
    # Other agents have their name in the run's metadata, which their callers can set.
    return agent_name() if bound is None else bound or None


def _identity(info: Any) -> Any:
    return getattr(getattr(info, "user", None), "identity", None)


_USER = _Kind(
    "user",
    "user",
    _identity,
    "user_id",
    'Pass context={"user_id": "…"} to invoke, or run on a server that authenticates its users.',
)
_ASSISTANT = _Kind(
    "assistant",
    "assistant",
    lambda info: getattr(info, "assistant_id", None) or None,
    "assistant_id",
    'Give the agent a name with create_deep_agent(name="…"), or pass context={"assistant_id": "…"} to invoke.',
)
_ORG = _Kind(
    "org",
    "organisation",
    lambda info: _field(getattr(info, "user", None), "org_id"),
    "org_id",
    'Pass context={"org_id": "…"} to invoke, or let the server\'s authentication give its users an org_id.',
)

by_user: Final = Scope((_USER,))
"""The user's own memory: `(user_id,)`."""

by_assistant: Final = Scope((_ASSISTANT,))
"""What all users of one agent share: `(assistant_id,)`."""

by_org: Final = Scope((_ORG,))
"""What an organisation shares: `(org_id,)`; read-only for a model unless `by_org(read_only=False)`."""


def resolve_namespace(namespace: NamespaceLike, runtime: Any | None = None) -> Namespace:
    """The namespace that a tuple, a scope or a function of the runtime stands for now.

    Args:
        namespace: What a backend was made with.
        runtime: The runtime it was made with, in the older style; None takes that of the running graph.

    Raises:
        ScopeError: The runtime does not give what is needed.
        InvalidNamespaceError: What came of it is no namespace.
    """
    runtime = current_runtime() if runtime is None else runtime
    if isinstance(namespace, Scope):
        found: Any = namespace.resolve(runtime)
    elif callable(namespace):
        try:
            found = namespace(None if runtime is None else ScopeRuntime(runtime))
        except MemorandaError:
            raise
        except Exception as error:
            check_function(namespace, "namespace", ScopeError)
            where = "" if runtime is not None else " outside a graph"
            raise ScopeError(
                f"The namespace function failed{where} with {type(error).__name__}: {error}.",
                "Pass what it reads from with context=… to invoke, or use by_user, by_assistant and by_org.",
            ) from error
        if inspect.isawaitable(found):
            dismissed(found)
            raise must_not_be_async("namespace", ScopeError)
    else:
        found = namespace
    if isinstance(found, str) or not isinstance(found, (tuple, list)) or not found:
        raise InvalidNamespaceError(
            f"{found!r} is no namespace.", 'Give a tuple of labels, such as ("ann",), or a function that returns one.'
        )
    labels: Namespace = tuple(cast("list[str]", found))
    validate_labels(labels)
    return labels
