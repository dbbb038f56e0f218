"""Research over many conversations: each one takes up the work where the last one stopped.

The plan, the notes and the report are files in the person's namespace. The plan stands in the prompt, so a new
conversation knows at once what is done and what comes next; raw search results stay in the thread and go with it.
"""

from __future__ import annotations

from _shared import Kit, run
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

from memoranda import create_deep_agent
from memoranda.backends import CompositeBackend, StateBackend, StoreBackend, by_user
from memoranda.testing.scripted import call, calls, say

PLAN = "/research/plan.md"
LIBRARY = {
    "storage": "Heat pumps with a 300 litre tank shift about 4 kWh a day to the night.",
    "noise": "Outdoor units made after 2022 stay below 45 dB(A) at three metres.",
}
SCRIPT = [
    call("write_file", file_path=PLAN, content="# Heat pumps\n\n- [ ] storage\n- [ ] noise\n- [ ] report\n"),
    call("search_library", subject="storage"),
    calls(
        ("write_file", {"file_path": "/hits.md", "content": "raw: " + LIBRARY["storage"]}),
        ("write_file", {"file_path": "/research/storage.md", "content": LIBRARY["storage"] + " (library)\n"}),
        ("edit_file", {"file_path": PLAN, "old_string": "- [ ] storage", "new_string": "- [x] storage"}),
    ),
    say("The plan is made and storage is done; noise comes next."),
    call("search_library", subject="noise"),
    calls(
        ("write_file", {"file_path": "/research/noise.md", "content": LIBRARY["noise"] + " (library)\n"}),
        ("edit_file", {"file_path": PLAN, "old_string": "- [ ] noise", "new_string": "- [x] noise"}),
    ),
    say("Noise is done; what remains is the report."),
    calls(
        ("read_file", {"file_path": "/research/storage.md"}),
        ("read_file", {"file_path": "/research/noise.md"}),
    ),
    calls(
        (
            "write_file",
            {"file_path": "/research/report.md", "content": "# Report\n\nQuiet enough, and 4 kWh a day move.\n"},
        ),
        ("edit_file", {"file_path": PLAN, "old_string": "- [ ] report", "new_string": "- [x] report"}),
    ),
    say("The report is in /research/report.md."),
]


@tool
def search_library(subject: str) -> str:
    """Search the library for a subject.

    Args:
        subject: One word, such as storage or noise.
    """
    return LIBRARY.get(subject.lower(), f"Nothing about {subject}; there is something about {', '.join(LIBRARY)}.")


def example(kit: Kit) -> None:
    agent = create_deep_agent(
        kit.model(SCRIPT),
        [search_library],
        system_prompt=(
            "You do research in steps, one step in each conversation. Keep the plan in /research/plan.md with a box "
            "for each step, one file of notes per step beside it, and write /research/report.md at the end. Drafts and "
            "raw results go outside /research/."
        ),
        memory=[PLAN],
        backend=CompositeBackend(StateBackend(), {"/research/": StoreBackend(namespace=by_user + "heat-pumps")}),
        context_schema=dict,
        checkpointer=InMemorySaver(),
        store=kit.store,
        name="researcher",
    )
    ann = {"user_id": "ann"}
    for day, wish in enumerate(
        ["Find out about heat pumps: storage, then noise. Do the first step.", "Go on.", "Go on."], 1
    ):
        kit.title(f"Day {day}")
        kit.turn(agent, wish, thread=f"day-{day}", context=ann)
    kit.show(("ann", "heat-pumps"))


if __name__ == "__main__":
    run(example)
