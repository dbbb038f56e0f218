"""Files in one namespace of any LangGraph `BaseStore`, with that store's guarantees."""

from __future__ import annotations

import re
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, NamedTuple, cast

import orjson
from langgraph.store.base import BaseStore, GetOp, Item, PutOp, SearchItem

from memoranda.backends.finding.in_memory import findable_files
from memoranda.backends.finding.parts import Findable, Question
from memoranda.backends.gate import gate_of
from memoranda.backends.places import Place
from memoranda.backends.plans import Plan, Planner, R, Unreadable
from memoranda.backends.protocol import EditResult, GlobResult, GrepResult, LsResult
from memoranda.backends.steps import Steps, ask
from memoranda.backends.tree import Search, glob_files, grep_files, list_folder
from memoranda.backends.unversioned import UnversionedFiles
from memoranda.errors import InvalidPathError, MemorandaError
from memoranda.files.format import FileData, read_file_data
from memoranda.files.path import canonical_path
from memoranda.store.changes import Namespace
from memoranda.store.namespaces import RESERVED_ROOT
from memoranda.store.values import encode_value

_ALL = 2**31 - 1
_PAGE = 1_000
_FILE_FIELDS = frozenset(["content", "encoding", "created_at", "modified_at"])

# --- labels ----------------------------------------------------------------------------------------------------

_ESCAPED = re.compile("~(2E|7E|6C)")


def encode_label(label: str, *, is_root: bool) -> str:
    """A label as any LangGraph store takes it; one that it takes as it is stays as it is.

    `.` becomes `~2E` and the reserved root `langgraph` becomes `~6Canggraph`. So that no two labels meet, a `~` that
    would look like such a sign becomes `~7E`.

    Example:
        >>> encode_label("ann@example.com", is_root=True), encode_label("ann~1", is_root=True)
        ('ann@example~2Ecom', 'ann~1')
    """
    if is_root and label == RESERVED_ROOT:
        return "~6C" + label[1:]
    return _ESCAPED.sub(r"~7E\1", label).replace(".", "~2E")


def decode_label(label: str) -> str:
    """The label that `encode_label` was given.

    Example:
        >>> decode_label("ann@example~2Ecom")
        'ann@example.com'
    """
    return _ESCAPED.sub(lambda found: {"2E": ".", "7E": "~", "6C": "l"}[found[1]], label)


def encode_labels(namespace: Namespace) -> Namespace:
    """A namespace as any LangGraph store takes it."""
    return tuple(encode_label(label, is_root=not at) for at, label in enumerate(namespace))


# --- items as files --------------------------------------------------------------------------------------------


class _Loaded(NamedTuple):
    """Files by path, with the values they come from."""

    files: dict[str, FileData]
    values: dict[str, Mapping[str, Any]]
    warnings: tuple[str, ...] = ()


def _is_document(value: Mapping[str, Any]) -> bool:
    try:
        read_file_data(value, lenient=True)
    except MemorandaError:
        return True
    return False


def _as_file(item: Item) -> FileData:
    """An item as a file; a document that is none is shown as JSON text."""
    changed = item.updated_at.isoformat()
    if _is_document(item.value):
        text = encode_value(item.value).text or ""
        return {
            "content": text,
            "encoding": "utf-8",
            "created_at": item.created_at.isoformat(),
            "modified_at": changed,
        }
    data = read_file_data(item.value, lenient=True)
    data.setdefault("created_at", item.created_at.isoformat())
    data.setdefault("modified_at", changed)
    return data


def _as_value(data: FileData, before: Mapping[str, Any] | None) -> dict[str, Any]:
    """What a store keeps of a file: documents stay documents, and fields that are none of a file's stay with it."""
    if before is None:
        return {**data}
    if _is_document(before):
        return _as_document(data) or {**data}
    return {**{name: part for name, part in before.items() if name not in _FILE_FIELDS}, **data}


def _as_document(data: FileData) -> dict[str, Any] | None:
    try:
        value = orjson.loads(data["content"])
    except orjson.JSONDecodeError:
        return None
    return cast("dict[str, Any]", value) if isinstance(value, dict) else None


class PlainFiles(UnversionedFiles):
    """The files of one namespace, in one store that keeps no revisions.

    Every listing and search loads the whole namespace, with those below it, and keeps what lies in exactly this one:
    such a store can ask for no less. A change is read and written with nothing in between as far as this process
    goes; other processes can come between, since such a store cannot compare before it sets. Several files of one
    change are handed over in one batch; whether that lands as a whole is up to the store.

    Args:
        store: The store.
        namespace: Where; exactly this one. Labels that LangGraph refuses are encoded (see `encode_label`).
    """

    def __init__(self, store: BaseStore, namespace: Namespace) -> None:
        self.store = store
        self.namespace = namespace
        self.stored_namespace = encode_labels(namespace)

    def __repr__(self) -> str:
        return f"PlainFiles({type(self.store).__name__}, {self.namespace!r})"

    def scope_key(self) -> Hashable:
        return (id(self.store), self.namespace)

    def file_id(self, path: str) -> str:
        # It is kept with the thread and read by later processes, so it names the kind of store, not the object.
        return f"{type(self.store).__qualname__}|{'/'.join(self.stored_namespace)}|{path}"

    # --- reading --------------------------------------------------------------------------------------------

    def ls_steps(self, place: Place) -> Steps[LsResult]:
        loaded = yield from self._everything()
        return LsResult(entries=list_folder(loaded.files, place), warnings=loaded.warnings)

    def glob_steps(self, place: Place, pattern: str) -> Steps[GlobResult]:
        loaded = yield from self._everything()
        return GlobResult(matches=glob_files(loaded.files, place, pattern), warnings=loaded.warnings)

    def grep_steps(self, place: Place, pattern: str, glob: str | None, max_count: int | None) -> Steps[GrepResult]:
        search = Search(place, pattern, glob, max_count)
        loaded = yield from self._everything()
        grep_files(loaded.files, search)
        return search.result(loaded.warnings)

    def search_steps(self, place: Place, question: Question) -> Steps[Findable]:
        loaded = yield from self._everything()
        found = yield from findable_files(loaded.files, place, question)
        found.warnings = loaded.warnings
        return found

    def load_steps(self, places: Sequence[Place]) -> Steps[list[FileData | Unreadable | None]]:
        loaded = yield from self._alone([place.path for place in places])
        return [loaded.files.get(place.path) for place in places]

    def _alone(self, paths: Sequence[str]) -> Steps[_Loaded]:
        wanted = list(dict.fromkeys(paths))
        items: Sequence[Item | None]
        if len(wanted) == 1:
            items = [(yield from ask(self.store.get, self.stored_namespace, wanted[0]))]
        else:
            asked = [GetOp(self.stored_namespace, path) for path in wanted]
            items = cast("list[Item | None]", (yield from ask(self.store.batch, asked))) if asked else []
        return _loaded([(path, item) for path, item in zip(wanted, items, strict=True) if item is not None])

    def _everything(self) -> Steps[_Loaded]:
        """Every file of exactly this namespace, in one answer of the store wherever it gives one."""
        found: dict[str, Item] = {}
        offset, size = 0, _ALL
        while True:
            try:
                page = yield from self._search(size, offset)
            except Exception:
                if size == _PAGE:
                    raise
                size = _PAGE  # a store that does not like large numbers
                continue
            found |= {item.key: item for item in page if tuple(item.namespace) == self.stored_namespace}
            offset += len(page)
            if not page or (len(page) < size and not _may_be_capped(len(page))):
                break
        named: list[tuple[str, Item]] = []
        unreachable = 0
        for key, item in found.items():
            if not key.startswith("/"):
                continue  # a name that is no path belongs to somebody else's use of the namespace
            if _is_canonical(key):
                named.append((key, item))
            else:
                unreachable += 1
        warnings = (f"{unreachable} stored keys are no proper paths and cannot be reached.",) if unreachable else ()
        return _loaded(named, warnings)

    def _search(self, limit: int, offset: int) -> Steps[list[SearchItem]]:
        for attempt in range(5):
            try:
                found = yield from ask(
                    self.store.search, self.stored_namespace, limit=limit, offset=offset, refresh_ttl=False
                )
            except RuntimeError as error:
                # LangGraph's in-memory store, while another thread adds to it.
                if attempt == 4 or "changed size during iteration" not in str(error):
                    raise
            else:
                return found
        raise AssertionError("unreachable")

    # --- changing -------------------------------------------------------------------------------------------

    def change_steps(self, alone: Sequence[Place], planner: Planner[R], below: Sequence[Place] = ()) -> Steps[Plan[R]]:
        gate = gate_of((id(self.store), self.stored_namespace))
        entered = yield from ask(gate.enter)
        try:
            if below:
                loaded = yield from self._everything()
            else:
                loaded = yield from self._alone([place.path for place in alone])
            plan = planner(loaded.files)
            if (refusal := _leaves_no_document(plan, loaded, alone)) is not None:
                return refusal
            if plan.updates:
                yield from self._keep(plan.updates, loaded)
            return plan
        finally:
            gate.leave(entered)

    def _keep(self, updates: Mapping[str, FileData | None], loaded: _Loaded) -> Steps[None]:
        values = {
            path: None if data is None else _as_value(data, loaded.values.get(path)) for path, data in updates.items()
        }
        if len(values) == 1:
            ((path, value),) = values.items()
            if value is None:
                yield from ask(self.store.delete, self.stored_namespace, path)
            else:
                yield from ask(self.store.put, self.stored_namespace, path, value)
            return
        ttl = (self.store.ttl_config or {}).get("default_ttl")
        # What is new comes first: if the store stops halfway, a move leaves two files rather than none.
        ordered = sorted(values.items(), key=lambda pair: pair[1] is None)
        yield from ask(
            self.store.batch, [PutOp(self.stored_namespace, path, value, ttl=ttl) for path, value in ordered]
        )


def _loaded(items: Sequence[tuple[str, Item]], warnings: tuple[str, ...] = ()) -> _Loaded:
    return _Loaded({path: _as_file(item) for path, item in items}, {path: item.value for path, item in items}, warnings)


def _leaves_no_document(plan: Plan[R], loaded: _Loaded, alone: Sequence[Place]) -> Plan[R] | None:
    """An edit has to leave a JSON document one."""
    if not isinstance(plan.result, EditResult):
        return None
    for path, data in plan.updates.items():
        before = loaded.values.get(path)
        if data is not None and before is not None and _is_document(before) and _as_document(data) is None:
            refused = EditResult(
                error=f"Error: The edit would leave text that is no JSON object. {alone[0].shown} is a JSON document; "
                "keep it valid."
            )
            return cast("Plan[R]", Plan(refused))
    return None


def _is_canonical(key: str) -> bool:
    try:
        return canonical_path(key) == key != "/"
    except InvalidPathError:
        return False


def _may_be_capped(count: int) -> bool:
    """Whether a store may have given fewer items than it has, because it never gives more than so many at once."""
    return count % 10 == 0 or (count >= 16 and count & (count - 1) == 0)
