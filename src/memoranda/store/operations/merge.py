"""Merging stored values: text by line, JSON by field."""

from __future__ import annotations

from typing import Any

from memoranda.files.merge import merge_json, merge_text
from memoranda.store.values import Kind, Stored, encode_value, stored_json, with_text

_SHOWN = 3


def merge_stored(base: Stored | None, theirs: Stored, yours: Stored, at: int) -> tuple[Stored | None, str]:
    """Merge two values that were made from one.

    Args:
        base: What both were made from; None where it did not exist.
        theirs: What is there now.
        yours: What is to be written.
        at: The time of the write, for the file's `modified_at`.

    Returns:
        The merged value, or None and a phrase that says what overlaps.
    """
    if theirs.kind == yours.kind and theirs.body == yours.body:
        return yours, ""
    # Where one side changed nothing there is nothing to merge, whatever the kind.
    if base is not None and (base.kind, base.body) == (theirs.kind, theirs.body):
        return yours, ""
    if base is not None and (base.kind, base.body) == (yours.kind, yours.body):
        return theirs, ""
    if theirs.kind == Kind.JSON and yours.kind == Kind.JSON:
        return _merge_json(base, theirs, yours)
    base_text = "" if base is None else base.text
    theirs_text, yours_text = theirs.text, yours.text
    if base_text is None or theirs_text is None or yours_text is None or Kind.JSON in (theirs.kind, yours.kind):
        return None, "the two are not both text, so they cannot be merged"
    if base is None:
        return None, "both are new files with different text"
    merged = merge_text(base_text, theirs_text, yours_text)
    if merged.text is None:
        lines = ", ".join(str(overlap.base_start + 1) for overlap in merged.conflicts[:_SHOWN])
        more = " …" if len(merged.conflicts) > _SHOWN else ""
        return None, f"both changed the text around line {lines}{more} of that revision"
    return with_text(theirs, merged.text, at), ""


def _merge_json(base: Stored | None, theirs: Stored, yours: Stored) -> tuple[Stored | None, str]:
    before: dict[str, Any] = stored_json(base.body) if base is not None and base.kind == Kind.JSON else {}
    merged = merge_json(before, stored_json(theirs.body), stored_json(yours.body))
    if merged.value is None:
        fields = ", ".join(merged.conflicts[:_SHOWN]) + (" …" if len(merged.conflicts) > _SHOWN else "")
        return None, f"both changed {fields}"
    return encode_value(merged.value), ""
