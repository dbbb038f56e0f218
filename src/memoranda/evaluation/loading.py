"""Reading the files in which conversations with labelled questions are published."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, cast

from memoranda.evaluation.datasets import Dataset, Message, Question, Scope
from memoranda.transfer.errors import SourceError

_LOCOMO_CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", 5: "adversarial"}
_TRAJECTORIES = 20


def load(name: str, path: Path) -> Dataset:
    """Read a set from the files of its authors.

    Args:
        name: One of `SETS`: `locomo`, `memdaily` or `beam`.
        path: Its file; for MemDaily also the folder of its files, for BEAM also a folder of chats, such as
            `chats/100K`.

    Returns:
        The set.

    Raises:
        SourceError: There is no such set, or the files are not its own.
    """
    loader = SETS.get(name)
    if loader is None:
        raise SourceError(f"There is no set {name!r}.", f"Use {', '.join(SETS)}.")
    if not path.exists():
        raise SourceError(f"{path} does not exist.", f"Give the file of the set {name} that you have downloaded.")
    try:
        dataset = loader(path)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        why = f"{type(error).__name__}: {error}"[:200]
        raise SourceError(f"{path} does not hold the set {name} ({why}).", f"Give {_FROM[name]}.") from error
    if not dataset.questions:
        raise SourceError(f"{path} holds no questions of the set {name}.", f"Give {_FROM[name]}.")
    return dataset


# --- LoCoMo --------------------------------------------------------------------------------------------------


def locomo(path: Path) -> Dataset:
    """LoCoMo: two people who chat over months; adversarial questions ask for what was never said."""
    scopes = tuple(_locomo_scope(sample) for sample in _records(_read(path)))
    return Dataset("locomo", scopes, frozenset({"adversarial"}))


def _locomo_scope(sample: Mapping[str, Any]) -> Scope:
    conversation = sample["conversation"]
    messages: list[Message] = []
    number = 1
    while f"session_{number}_date_time" in conversation:
        date = str(conversation[f"session_{number}_date_time"])
        begun = datetime.strptime(date, "%I:%M %p on %d %B, %Y").replace(tzinfo=UTC)
        for place, said in enumerate(_records(conversation.get(f"session_{number}") or ())):
            text = str(said["text"])
            if "blip_caption" in said:
                text += f" [shares a picture: {said['blip_caption']}]"
            at = begun + timedelta(minutes=place)
            messages.append(
                Message(str(said["dia_id"]), text, f"session_{number}", str(said["speaker"]), at, date=date)
            )
        number += 1
    known = {message.id for message in messages}
    questions = [
        Question(str(asked["question"]), frozenset(gold), _LOCOMO_CATEGORIES[asked["category"]])
        for asked in _records(sample["qa"])
        if (gold := _locomo_ids(asked["evidence"]) & known)
    ]
    return Scope(str(sample["sample_id"]), tuple(messages), tuple(questions))


def _locomo_ids(labels: Sequence[Any]) -> set[str]:
    """The ids in labels that were typed by hand: `D8:6; D9:17`, `D:11:26`, `D30:05`."""
    found = (pair for label in labels for pair in re.findall(r"D:?(\d+):(\d+)", str(label)))
    return {f"D{int(session)}:{int(turn)}" for session, turn in found}


# --- MemDaily ------------------------------------------------------------------------------------------------


def memdaily(path: Path) -> Dataset:
    """MemDaily: what one tells an assistant in Chinese over some days; 20 trajectories of one kind in a scope."""
    files = sorted(path.glob("*.json")) if path.is_dir() else [path]
    trajectories = [found for file in files for found in _trajectories(_read(file), file.stem)]
    groups = [trajectories[at : at + _TRAJECTORIES] for at in range(0, len(trajectories), _TRAJECTORIES)]
    return Dataset("memdaily", tuple(_memdaily_scope(f"scope {number}", each) for number, each in enumerate(groups, 1)))


def _trajectories(found: Any, name: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The trajectories of a file with the name of their kind, which they have themselves or by where they stand."""
    if isinstance(found, Mapping):
        for inner, value in cast("Mapping[str, Any]", found).items():
            yield from _trajectories(value, f"{name}_{inner}")
        return
    for each in _records(found):
        yield str(each.get("set", name)), each


def _memdaily_scope(name: str, trajectories: Sequence[tuple[str, Mapping[str, Any]]]) -> Scope:
    messages: list[Message] = []
    questions: list[Question] = []
    for kind, each in trajectories:
        session = f"{kind}/{each['tid']}"
        for said in _records(each["message_list"]):
            at = datetime.strptime(re.sub(r"周\S+ ", "", said["time"]), "%Y年%m月%d日 %H:%M").replace(tzinfo=UTC)
            date = f"{said['time']} {said['place']}"
            messages.append(Message(f"{session}/{said['mid']}", str(said["message"]), session, at=at, date=date))
        for asked in _records(each["question_list"]):
            gold = frozenset(f"{session}/{step}" for step in asked["target_step_id"])
            category = re.sub(r"^\d+_", "", kind).rpartition("_")[0] or kind
            questions.append(Question(str(asked["question"]), gold, category))
    known = {message.id for message in messages}
    asked = tuple(question for question in questions if question.gold and question.gold <= known)
    return Scope(name, tuple(messages), asked)


# --- BEAM ----------------------------------------------------------------------------------------------------


def beam(path: Path) -> Dataset:
    """BEAM: long chats of a user with an assistant, with long answers."""
    if path.is_dir():
        chats = [_beam_chat(file.parent) for file in sorted(path.glob("**/chat.json"), key=_by_number)]
    else:
        chats = _records(_read(path))
    return Dataset("beam", tuple(_beam_scope(chat) for chat in chats))


def _beam_chat(folder: Path) -> Mapping[str, Any]:
    questions = _read(folder / "probing_questions" / "probing_questions.json")
    return {"id": folder.name, "chat": _read(folder / "chat.json"), "probing_questions": questions}


def _by_number(file: Path) -> tuple[int, str]:
    name = file.parent.name
    return (int(name) if name.isdecimal() else 0, str(file))


def _beam_scope(chat: Mapping[str, Any]) -> Scope:
    messages = [
        _beam_message(said, batch, place)
        for batch in _records(chat["chat"])
        for place, said in enumerate(said for group in batch["turns"] for said in _records(group))
    ]
    known = {message.id for message in messages}
    questions = [
        Question(str(asked["question"]), gold, category)
        for category, several in chat["probing_questions"].items()
        for asked in _records(several)
        if (gold := frozenset(_numbers(asked.get("source_chat_ids"))) & known)
    ]
    return Scope(f"chat {chat['id']}", tuple(messages), tuple(questions))


def _beam_message(said: Mapping[str, Any], batch: Mapping[str, Any], place: int) -> Message:
    date = str(said.get("time_anchor") or batch.get("time_anchor") or "")
    begun = datetime.strptime(date, "%B-%d-%Y").replace(tzinfo=UTC) if date else None
    return Message(
        str(said["id"]),
        re.sub(r"\s*->->\s*[\d,]+\s*$", "", str(said["content"])),  # the set's own mark, not the user's words
        f"batch {batch['batch_number']}",
        at=begun + timedelta(minutes=place) if begun else None,
        role="assistant" if said["role"] == "assistant" else "user",
        date=date,
    )


def _numbers(labels: Any) -> Iterator[str]:
    """All ids in lists and mappings of lists."""
    if isinstance(labels, Mapping):
        labels = list(cast("Mapping[str, Any]", labels).values())
    if isinstance(labels, list):
        for each in cast("list[Any]", labels):
            yield from _numbers(each)
    elif labels is not None:
        yield str(labels)


# --- what they share -----------------------------------------------------------------------------------------


def _read(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def _records(found: Any) -> list[Mapping[str, Any]]:
    """A list of JSON objects."""
    listed = list(cast("Sequence[Any]", found))
    if isinstance(found, (str, Mapping)) or not all(isinstance(each, Mapping) for each in listed):
        raise TypeError("a list of objects was expected")
    return listed


SETS: Mapping[str, Callable[[Path], Dataset]] = {"locomo": locomo, "memdaily": memdaily, "beam": beam}
"""The sets, and how each is read."""

_FROM = {
    "locomo": "locomo10.json of snap-research/locomo",
    "memdaily": "messages_and_QAs of nuster1128/MemSim",
    "beam": "chats/100K of mohammadtavakoli78/BEAM",
}
