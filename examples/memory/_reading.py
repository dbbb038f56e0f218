"""A scripted model that reads: it keeps files by rules over what was said, and not by a list of replies.

It is given what a real model is given, and knows nothing else: it finds the files and the turns in the request, works
out by its rules which lines the memory should hold, and calls tools until it does. So the examples show with it what
they show with a real model, run after run, without a key.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import PurePosixPath
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage

from memoranda.testing.scripted import call, calls

_DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_FILE = re.compile(r'^<file-([0-9a-f]+) path="([^"]*)">\n(.*?)^</file-\1>', re.DOTALL | re.MULTILINE)
_SAID = re.compile(
    r"^\[(?P<turn>t\d+)\] (?P<day>\d{4}-\d\d-\d\d) \w+ \d\d:\d\d, user[^:\n]*: (?P<text>.*(?:\n    .*)*)"
    r"|^Noted in \S+(?: (?P<noted>\d{4}-\d\d-\d\d) \w+ \d\d:\d\d)?.*:\n(?P<note>(?:    .*\n?)+)",
    re.MULTILINE,
)


@dataclass(frozen=True)
class Rule:
    """What certain words mean for the memory.

    Args:
        says: A pattern of the words; what its groups match fills `line`. A group `when` becomes a date.
        file: The file that the line belongs to.
        topic: What the line is about. A file has one line to a topic, so a new one takes the old one's place.
        line: The rest of the line; None: there is to be no line about this topic any more. `{day}` is the date of the
            turn.
    """

    says: str
    file: str
    topic: str
    line: str | None


def reading(*rules: Rule) -> Sequence[Callable[[list[BaseMessage]], AIMessage]]:
    """The script of a model that keeps files by rules, for `Kit.model`: one line, which answers every request."""
    return [lambda messages: _reply(messages, rules)]


def saving(*rules: Rule) -> Sequence[Callable[[list[BaseMessage]], AIMessage]]:
    """The script of an assistant that saves at once, with `save_memory`, what the rules find in what a person says."""

    def reply(messages: list[BaseMessage]) -> AIMessage:
        text = messages[-1].text if messages[-1].type == "human" else ""
        found = [(rule, match) for rule in rules for match in re.finditer(rule.says, text, re.IGNORECASE)]
        facts = [{"about": rule.topic, "text": (rule.line or "").format(**m.groupdict(""))} for rule, m in found]
        return calls(*(("save_memory", fact) for fact in facts)) if facts else AIMessage("Very well.")

    return [reply]


def _reply(messages: list[BaseMessage], rules: tuple[Rule, ...]) -> AIMessage:
    request = next(message.text for message in messages if message.type == "human")
    files = {path: text for _, path, text in _FILE.findall(request)}
    for done in _done(messages):
        _apply(files, *done)
    wanted: list[tuple[str, dict[str, Any]]] = []
    for (path, topic), (line, turns) in _lines(request, rules).items():
        change = _change(files, path, topic, line)
        if change is not None:
            name, arguments = change
            _apply(files, name, arguments)
            wanted.append((name, {**arguments, "turns": turns}))
    return calls(*wanted) if wanted else call("finish", summary=_summary(messages))


def _lines(request: str, rules: tuple[Rule, ...]) -> dict[tuple[str, str], tuple[str | None, list[str]]]:
    """Of each topic, the line that was meant last, and the turn that said so."""
    lines: dict[tuple[str, str], tuple[str | None, list[str]]] = {}
    for turns, day, text in _said(request):
        for rule in rules:
            for found in re.finditer(rule.says, text, re.IGNORECASE):
                parts = found.groupdict(default="")
                if "when" in parts:
                    parts["when"] = _date(parts["when"], day).isoformat()
                topic = rule.topic.format(**parts)
                lines.pop((rule.file, topic), None)  # the last one stands last
                line = None if rule.line is None else rule.line.format(day=day, **parts)
                lines[rule.file, topic] = line, turns
    return lines


def _said(request: str) -> Iterator[tuple[list[str], date, str]]:
    """Every turn of a person and every note: the ids to name, the day, the words."""
    for found in _SAID.finditer(request):
        day = date.fromisoformat(found["day"] or found["noted"] or "1970-01-01")
        text = re.sub(r"\n    ", "\n", found["text"] or found["note"])
        yield [found["turn"]] if found["turn"] else [], day, text


def _date(words: str, day: date) -> date:
    """The day that some words mean when they are said on a day."""
    near = {"today": 0, "yesterday": -1, "tomorrow": 1, "last week": -7, "next week": 7}
    words = words.lower()
    if words in near:
        return day + timedelta(days=near[words])
    ahead = (_DAYS.index(words.split()[-1]) - day.weekday() - 1) % 7 + 1
    return day + timedelta(days=ahead)


def _change(files: dict[str, str], path: str, topic: str, line: str | None) -> tuple[str, dict[str, Any]] | None:
    """The tool call that leads from the file as it is to one with this line."""
    text, start = files.get(path), f"- {topic}: "
    old = next((one for one in (text or "").splitlines(keepends=True) if one.startswith(start)), "")
    new = "" if line is None else f"{start}{line}\n"
    if old == new:
        return None
    if text is None:
        heading = PurePosixPath(path).stem.replace("-", " ").capitalize()
        return "write_file", {"path": path, "content": f"# {heading}\n\n{new}"}
    if not old:
        old = text.splitlines(keepends=True)[-1]
        new = old + new
    return "edit_file", {"path": path, "old_string": old, "new_string": new}


def _done(messages: list[BaseMessage]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The calls that were made and succeeded."""
    failed = {m.tool_call_id for m in messages if isinstance(m, ToolMessage) and m.status == "error"}
    for message in messages:
        for made in message.tool_calls if isinstance(message, AIMessage) else ():
            if made["id"] not in failed:
                yield made["name"], made["args"]


def _apply(files: dict[str, str], name: str, arguments: dict[str, Any]) -> None:
    if name == "write_file":
        files[arguments["path"]] = arguments["content"]
    elif name == "edit_file":
        text = files[arguments["path"]]
        files[arguments["path"]] = text.replace(arguments["old_string"], arguments["new_string"], 1)


def _summary(messages: list[BaseMessage]) -> str:
    paths = sorted({arguments["path"] for _, arguments in _done(messages)})
    return f"Brought {', '.join(paths)} up to date." if paths else "Nothing had to change."
