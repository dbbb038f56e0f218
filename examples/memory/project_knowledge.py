"""A project's knowledge: agents note events as they work, and each evening these are folded into stable files.

An agent that learns something appends a line to the event log and goes on; it needs to know nothing of how knowledge
is kept. The consolidator reads what was appended since the last evening, brings the stable files up to date, and marks
what it has folded, all in one commit. What is noted while it works is lost to nobody: the next run folds it.
"""

from __future__ import annotations

from _kit import Kit, run, show_report
from _reading import Rule, reading

from memoranda import Author
from memoranda.backends import StoreBackend
from memoranda.consolidation import Consolidator, EventLog, Task
from memoranda.consolidation.agent import ready_made

APOLLO = ("acme", "apollo")
EVENTS = "/memories/events"
FOLDER = "/memories"

MONDAY = [
    ("planner", "decided: database is SQLite, since there is one machine"),
    ("planner", "owner: Ann has the importer"),
    ("builder", "status: importer is begun"),
    ("builder", "lunch was late"),
]
TUESDAY = [
    ("builder", "status: importer is done"),
    ("planner", "decided: database is PostgreSQL, since there are three machines now"),
    ("planner", "owner: Ben has the importer"),
    ("planner", "owner: Ann has the dashboard"),
]
LATE = ("tester", "status: search is broken, dates before 1970 fail")

RULES = [
    Rule(r"decided: (?P<what>\w+) is (?P<how>.+)", f"{FOLDER}/decisions.md", "{what}", "{how}"),
    Rule(r"owner: (?P<who>\w+) has the (?P<what>\w+)", f"{FOLDER}/owners.md", "{what}", "{who}"),
    Rule(r"status: (?P<what>\w+) is (?P<how>.+)", f"{FOLDER}/status.md", "{what}", "{how}"),
]


def note(kit: Kit, agent: str, text: str) -> None:
    """What an agent does when it learns something."""
    kit.store.append(APOLLO, f"{EVENTS}/{agent}.md", f"- {text}\n", author=Author(f"agent:{agent}"))
    kit.console.print(f"{agent:8} notes: {text}", markup=False, soft_wrap=True)


def example(kit: Kit) -> None:
    agent = ready_made(
        kit.model(reading(*RULES)),
        f"Keep {FOLDER}/decisions.md, {FOLDER}/owners.md and {FOLDER}/status.md, one line for each subject. "
        "What agents noted is the only source.",
    )
    late = [LATE]

    def work(task: Task) -> str:
        summary = agent(task)
        while late:  # somebody goes on working meanwhile
            note(kit, *late.pop())
        return summary

    files = StoreBackend(namespace=APOLLO, store=kit.store)
    consolidator = Consolidator(work, store=kit.store, target=files, sources=EventLog(f"{EVENTS}/"), name="librarian")
    for day, notes in (("Monday", MONDAY), ("Tuesday", TUESDAY), ("Wednesday, without news", [])):
        kit.title(day)
        for one in notes:
            note(kit, *one)
        show_report(kit, consolidator.run(APOLLO))
    kit.show(APOLLO)


if __name__ == "__main__":
    run(example)
