"""A writer whose every step can be foretold: the same seed gives the same changes in two processes.

The parent plays the plan again up to what was acknowledged and compares state and history; nothing else has to
travel between the two but counts.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from memoranda import Append, ChangeSet, Delete, Edit, MemoryStore, Move, Write
from memoranda.store.changes import Change, Namespace

_FILES = 6


@dataclass
class Model:
    """What a store must hold: every item's states in order, None for deleted.

    Args:
        scope: The first label of its two namespaces, which hold nothing else.
        states: By place, (operation, text) of each revision.
    """

    scope: str
    states: dict[tuple[Namespace, str], list[tuple[str, str | None]]] = field(default_factory=dict)

    def text(self, namespace: Namespace, key: str) -> str | None:
        states = self.states.get((namespace, key))
        return states[-1][1] if states else None

    def apply(self, changes: ChangeSet) -> None:
        for change in changes.changes:
            self._apply(change)

    def _apply(self, change: Change) -> None:
        place = change.namespace, change.key
        before = self.text(*place)
        match change:
            case Write(value=str(value)):
                self._record(place, "write", value)
            case Append(text=text):
                separator = "\n" if before and not before.endswith("\n") else ""
                self._record(place, "append", (before or "") + separator + text)
            case Edit(old=old, new=new):
                assert before is not None and before.count(old) == 1
                self._record(place, "edit", before.replace(old, new))
            case Delete():
                if before is not None:
                    self._record(place, "delete", None)
            case Move(to=to, to_namespace=there):
                self._record(place, "move", None)
                self._record((there or change.namespace, to), "move", before)
            case _:
                raise AssertionError(change)

    def _record(self, place: tuple[Namespace, str], operation: str, text: str | None) -> None:
        self.states.setdefault(place, []).append((operation, text))

    def differs_from(self, store: MemoryStore) -> str | None:
        """The first difference between this and the store, item by item and revision by revision."""
        for (namespace, key), states in sorted(self.states.items()):
            item = store.get(namespace, key)
            found = None if item is None else item.value["content"]
            if found != states[-1][1]:
                return f"{key} in {namespace} holds {found!r:.80}, not {states[-1][1]!r:.80}"
            history = store.history(namespace, key, limit=len(states) + 10)
            operations = [entry.operation for entry in reversed(history)]
            if operations != [operation for operation, _ in states]:
                return f"{key} in {namespace} has the history {operations}, not {[s[0] for s in states]}"
            for number, (_, text) in enumerate(states, 1):
                if text is None:
                    continue
                then = store.get_at(namespace, key, revision=number)
                if then is None or then.value["content"] != text:
                    return f"revision {number} of {key} in {namespace} is {then!r:.80}, not {text!r:.80}"
        for namespace in ((self.scope, "here"), (self.scope, "there")):
            listed = {entry.key for entry in store.list_keys(namespace, recursive=True)}
            wanted = {
                key for (where, key), states in self.states.items() if where == namespace and states[-1][1] is not None
            }
            if listed != wanted:
                return f"{namespace} lists {sorted(listed)}, not {sorted(wanted)}"
        return None


def plan(seed: int, scope: str) -> Iterator[ChangeSet]:
    """An endless series of change sets over two namespaces, each of which lands if nobody else writes there."""
    chance = random.Random(seed)
    model = Model(scope)
    here, there = (scope, "here"), (scope, "there")
    number = 0
    while True:
        number += 1
        changes = ChangeSet(_step(chance, model, number, here, there))
        model.apply(changes)
        yield changes


def _step(chance: random.Random, model: Model, number: int, here: Namespace, there: Namespace) -> list[Change]:
    namespace = chance.choice((here, there))
    key = f"/{chance.randrange(_FILES)}.md"
    text = model.text(namespace, key)
    kind = chance.choice(("write", "append", "edit", "move", "delete", "transfer", "transfer"))
    if kind == "transfer":
        # What is taken here and what is given there land together; the journal says so in both.
        amount = f"{number}: {chance.randrange(1000)}"
        body = "\n".join(f"{amount} {chance.random()}" for _ in range(chance.randrange(40)))
        return [
            Append(here, "/journal.md", f"took {amount}"),
            Append(there, "/journal.md", f"gave {amount}"),
            Write(here, "/balance.md", f"-{amount}\n{body}"),
            Write(there, "/balance.md", f"+{amount}\n{body}"),
        ]
    if kind == "append":
        return [Append(namespace, key, f"line {number}")]
    if kind == "write" or text is None:
        lines = [f"write {number} line {line} {chance.random()}" for line in range(chance.randrange(1, 30))]
        return [Write(namespace, key, "\n".join(lines))]
    if kind == "edit":
        line = chance.choice(text.split("\n"))
        if line and text.count(line) == 1:
            return [Edit(namespace, key, line, f"edited {number}")]
        return [Append(namespace, key, f"line {number}")]
    if kind == "move":
        target, to = chance.choice((here, there)), f"/moved-{number}.md"
        return [Move(namespace, key, to, target)]
    return [Delete(namespace, key)]


def signed(changes: ChangeSet, number: int) -> ChangeSet:
    """The change set with its number in its author, so that history tells where it came from."""
    from memoranda import Author

    return replace(changes, author=Author("writer", run_id=str(number)))
