"""Conversations with questions whose evidence is known, in one shape for every set."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class Turn:
    """One message, the thing to be found.

    Args:
        id: Unique in its scope.
        text: What was said.
        session: Id of the conversation or day it belongs to.
        place: Its number in the session.
        speaker: Who said it; empty where nobody is named.
        date: When, in the words of the set.
        at: When, as a time; turns of one session follow each other by a minute where the set has one time for all.
        role: `user` or `assistant`.
    """

    id: str
    text: str
    session: str
    place: int
    speaker: str = ""
    date: str = ""
    at: datetime | None = None
    role: str = "user"

    @property
    def full(self) -> str:
        """The text that every contender indexes."""
        if self.speaker:
            return f"{self.speaker} ({self.date}): {self.text}" if self.date else f"{self.speaker}: {self.text}"
        return f"({self.date}) {self.text}" if self.date else self.text


@dataclass(frozen=True, slots=True)
class Question:
    """A question and the ids of the turns that hold its answer."""

    text: str
    gold: frozenset[str]
    category: str


@dataclass(frozen=True, slots=True)
class Scope:
    """What one person or project has: questions are asked of it alone.

    Args:
        name: Of the scope.
        turns: What is to be found.
        questions: What is asked.
        said: Where whole sessions are to be found, the turns in them.
    """

    name: str
    turns: tuple[Turn, ...]
    questions: tuple[Question, ...]
    said: tuple[Turn, ...] = ()

    def sessions(self) -> Scope:
        """The same with whole sessions to be found instead of turns."""
        by_session: dict[str, list[Turn]] = {}
        for turn in self.turns:
            by_session.setdefault(turn.session, []).append(turn)
        where = {turn.id: turn.session for turn in self.turns}
        whole = tuple(
            Turn(name, "\n".join(turn.full for turn in turns), name, 0, date=turns[0].date, at=turns[0].at)
            for name, turns in by_session.items()
        )
        asked = tuple(replace(each, gold=frozenset(where[one] for one in each.gold)) for each in self.questions)
        return Scope(self.name, whole, asked, said=self.turns)


@dataclass(frozen=True, slots=True)
class Dataset:
    """A set of scopes.

    Args:
        name: As the command line has it.
        scopes: What is searched.
        aside: Categories that are measured apart.
    """

    name: str
    scopes: tuple[Scope, ...]
    aside: frozenset[str] = field(default_factory=frozenset[str])

    def cut(self, scopes: int, questions: int) -> Dataset:
        """A small part of it."""
        fewer = tuple(replace(scope, questions=scope.questions[:questions]) for scope in self.scopes[:scopes])
        return replace(self, scopes=fewer)

    def whole_sessions(self) -> Dataset:
        """The same with sessions to be found instead of turns."""
        whole = tuple(scope.sessions() for scope in self.scopes)
        return replace(self, name=f"{self.name}-sessions", scopes=whole)

    @property
    def size(self) -> str:
        """How much there is, in words."""
        turns = sum(len(scope.turns) for scope in self.scopes)
        questions = sum(len(scope.questions) for scope in self.scopes)
        return f"{len(self.scopes)} scopes, {turns:,} turns, {questions:,} questions"


LOCOMO_CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", 5: "adversarial"}


def locomo(path: Path) -> Dataset:
    """LoCoMo: two people who chat over months; category 5 asks for what was never said, or was said by the other."""
    return Dataset("locomo", tuple(_locomo_scope(each) for each in _read(path)), frozenset({"adversarial"}))


def _locomo_scope(sample: dict[str, Any]) -> Scope:
    conversation = sample["conversation"]
    turns: list[Turn] = []
    number = 1
    while f"session_{number}_date_time" in conversation:
        date = str(conversation[f"session_{number}_date_time"])
        begun = datetime.strptime(date, "%I:%M %p on %d %B, %Y").replace(tzinfo=UTC)
        for place, said in enumerate(conversation.get(f"session_{number}", ())):
            text = str(said["text"])
            if "blip_caption" in said:
                text += f" [shares a picture: {said['blip_caption']}]"
            turns.append(
                Turn(
                    str(said["dia_id"]),
                    text,
                    f"session_{number}",
                    place,
                    speaker=str(said["speaker"]),
                    date=date,
                    at=begun + timedelta(minutes=place),
                )
            )
        number += 1
    known = {turn.id for turn in turns}
    questions = [
        Question(str(asked["question"]), frozenset(gold), LOCOMO_CATEGORIES[asked["category"]])
        for asked in sample["qa"]
        if (gold := _evidence(asked["evidence"]) & known)
    ]
    return Scope(str(sample["sample_id"]), tuple(turns), tuple(questions))


def _evidence(labels: Sequence[str]) -> set[str]:
    """The ids in labels that were typed by hand: `D8:6; D9:17`, `D:11:26`, `D30:05`."""
    return {
        f"D{int(session)}:{int(turn)}"
        for label in labels
        for session, turn in re.findall(r"D:?(\d+):(\d+)", str(label))
    }


def memdaily(path: Path, *, size: int = 20, mixed: bool = False) -> Dataset:
    """MemDaily: what one tells an assistant in Chinese over some days.

    Args:
        path: The file.
        size: Trajectories in a scope.
        mixed: Trajectories of all kinds in a scope, not 20 of one kind that ask nearly the same.
    """
    trajectories = _read(path)
    count = max(1, len(trajectories) // size)
    if mixed:
        groups = [trajectories[start::count] for start in range(count)]
    else:
        groups = [trajectories[start : start + size] for start in range(0, len(trajectories), size)]
    return Dataset(
        "memdaily-mixed" if mixed else "memdaily",
        tuple(_memdaily_scope(number, each) for number, each in enumerate(groups)),
    )


def _memdaily_scope(number: int, trajectories: Sequence[dict[str, Any]]) -> Scope:
    turns: list[Turn] = []
    questions: list[Question] = []
    for each in trajectories:
        session = f"{each['set']}/{each['tid']}"
        for place, message in enumerate(each["message_list"]):
            turns.append(
                Turn(
                    f"{session}/{message['mid']}",
                    str(message["message"]),
                    session,
                    place,
                    date=f"{message['time']} {message['place']}",
                    at=datetime.strptime(re.sub(r"周\S+ ", "", message["time"]), "%Y年%m月%d日 %H:%M").replace(
                        tzinfo=UTC
                    ),
                )
            )
        for asked in each["question_list"]:
            gold = frozenset(f"{session}/{step}" for step in asked["target_step_id"])
            category = each["set"].partition("_")[2].rpartition("_")[0]
            questions.append(Question(str(asked["question"]), gold, category))
    return Scope(f"scope {number}", tuple(turns), tuple(questions))


def _chinese_time(text: str) -> datetime:
    """`2024年04月01日 周一 08:30` as a time."""
    year, month, day, hour, minute = map(int, re.findall(r"\d+", text))
    return datetime(year, month, day, hour, minute, tzinfo=UTC)


def beam(path: Path) -> Dataset:
    """BEAM: one long chat of a user with an assistant, with long answers."""
    return Dataset("beam", tuple(_beam_scope(each) for each in _read(path)))


def _beam_scope(chat: dict[str, Any]) -> Scope:
    turns: list[Turn] = []
    for batch in chat["chat"]:
        for group in batch["turns"]:
            for message in group:
                turns.append(_beam_turn(message, batch, len(turns)))
    known = {turn.id for turn in turns}
    questions = [
        Question(str(asked["question"]), gold, category)
        for category, several in chat["probing_questions"].items()
        for asked in several
        if (gold := frozenset(_numbers(asked.get("source_chat_ids"))) & known)
    ]
    return Scope(f"chat {chat['id']}", tuple(turns), tuple(questions))


def _beam_turn(message: dict[str, Any], batch: dict[str, Any], place: int) -> Turn:
    date = str(message.get("time_anchor") or batch.get("time_anchor") or "")
    begun = datetime.strptime(date, "%B-%d-%Y").replace(tzinfo=UTC) if date else None
    return Turn(
        str(message["id"]),
        re.sub(r"\s*->->\s*[\d,]+\s*$", "", str(message["content"])),  # the set's own mark, not the user's words
        f"batch {batch['batch_number']}",
        place,
        speaker=str(message["role"]),
        date=date,
        at=begun + timedelta(minutes=place) if begun else None,
        role=str(message["role"]),
    )


def _numbers(labels: Any) -> Iterator[str]:
    """All ids in lists and mappings of lists."""
    if isinstance(labels, dict):
        labels = list(labels.values())
    if isinstance(labels, list):
        for each in labels:
            yield from _numbers(each)
    elif labels is not None:
        yield str(labels)


def _read(path: Path) -> list[dict[str, Any]]:
    return json.loads(path.read_text(encoding="utf-8"))


LOADERS: dict[str, Callable[[Path], Dataset]] = {
    "locomo": locomo,
    "memdaily": memdaily,
    "memdaily-mixed": lambda path: memdaily(path, mixed=True),
    "beam": beam,
}
FILES = {
    "locomo": "locomo*.json",
    "memdaily": "memdaily*.json",
    "memdaily-mixed": "memdaily*.json",
    "beam": "beam*.json",
}


def load(name: str, folder: Path) -> Dataset:
    """The set of that name from the first file in a folder whose name fits.

    Raises:
        FileNotFoundError: There is none.
    """
    for path in sorted(folder.glob(FILES[name])):
        return LOADERS[name](path)
    raise FileNotFoundError(f"no {FILES[name]} in {folder}")
