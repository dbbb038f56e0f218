"""Files of any backend at all: they are listed, read, and indexed for one question."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from memoranda.backends.finding.in_memory import (
    MOST_BYTES,
    Candidate,
    Text,
    candidate,
    chosen_steps,
    findable_texts,
    left_out,
)
from memoranda.backends.finding.parts import Findable, Question
from memoranda.backends.places import Place
from memoranda.backends.protocol import FILE_NOT_FOUND, FileInfo
from memoranda.backends.runtime import unnoticed
from memoranda.backends.steps import Steps
from memoranda.files.path import parent_of

if TYPE_CHECKING:
    from memoranda.backends.base import Backend

_AT_ONCE = 100


def findable_by_reading(backend: Backend, place: Place, question: Question) -> Steps[Findable]:
    """What can be found in the files of a backend that brings no index."""
    from memoranda.backends.routes import entries_below, tree_path

    infos: dict[Place, FileInfo] = {}
    is_folder = True
    if place.path != "/":  # not every backend answers when a file is listed, or what is not there
        folder = Place(parent_of(place.path), parent_of(place.shown))
        answer = yield from backend.ls_steps(folder)
        if answer.error is not None:
            return Findable(error=answer.error)
        named = [entry for entry in answer.entries or () if tree_path(folder, entry["path"]) == place.path]
        is_folder = any(entry.get("is_dir") for entry in named)
        infos.update((place, entry) for entry in named if not entry.get("is_dir"))
    if is_folder:
        infos.update((yield from entries_below(backend, place)))
    wanted, notices = yield from chosen_steps(place, question, [candidate(*each) for each in infos.items()])
    texts: list[Text] = []
    warnings: list[str] = []
    for start in range(0, len(wanted), _AT_ONCE):
        if sum(len(one.text) for one in texts) > MOST_BYTES:  # it did not say how large its files are
            notices = (left_out(place, start, len(infos)),)
            break
        texts += yield from _read(backend, wanted[start : start + _AT_ONCE], warnings)
    found = yield from findable_texts(lambda: texts, notices)
    found.warnings = tuple(warnings)
    return found


def _read(backend: Backend, files: Sequence[Candidate], warnings: list[str]) -> Steps[list[Text]]:
    """The texts among some files. Nobody has seen them by that: a passage says nothing about the whole."""
    with unnoticed():
        answers = yield from backend.download_steps([file.place for file in files])
    texts: list[Text] = []
    for file, answer in zip(files, answers, strict=True):
        if answer.error not in (None, FILE_NOT_FOUND):
            warnings.append(f"{file.place.shown} could not be read: {answer.error.removeprefix('Error: ')}")
        try:
            text = None if answer.content is None else answer.content.decode()
        except UnicodeDecodeError:
            continue
        if text is not None:
            texts.append(Text(file.place, text, file.at, answer.revision))
    return texts
