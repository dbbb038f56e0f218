"""Noting, for quarantine, which untrusted files a tool call reads and what it writes in an untrusted context."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from memoranda.backends.guard.layers import Layers
from memoranda.backends.places import Place
from memoranda.backends.runtime import current_tool_call
from memoranda.backends.steps import Steps


def judges_of(layers: Layers) -> list[Any]:
    """The hooks that judge where a text comes from."""
    return [hook for hook in layers.deciding if hasattr(hook, "is_untrusted_file") and hasattr(hook, "is_tainted")]


def note_read(layers: Layers, places: Sequence[Place]) -> Steps[None]:
    """Note that the text of files was shown to whoever called the tool at hand."""
    call, judges = current_tool_call(), judges_of(layers)
    if call is None or not judges or not places:
        return
    for names in (yield from layers.names(list(dict.fromkeys(places)))):
        call.origins.read(names)
        for name in names:
            if any(judge.is_untrusted_file((name,)) for judge in judges):
                call.origins.files.add(name)


def note_written(layers: Layers, places: Sequence[tuple[Place, bool]]) -> Steps[None]:
    """Note that files were changed.

    Args:
        layers: The hooks that judge whether what led to it is untrusted.
        places: Each file, and whether nothing of its former text is left.
    """
    call, judges = current_tool_call(), judges_of(layers)
    if call is None or not judges or not places:
        return
    untrusted = call.untrusted or any(judge.is_tainted(call.origins) for judge in judges)
    known = yield from layers.names([place for place, _ in places])
    for names, (_, whole) in zip(known, places, strict=True):
        call.origins.write(names, untrusted=untrusted, whole=whole)
