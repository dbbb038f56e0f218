"""The tools of a collection, alone and in a LangChain agent."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.utils.function_calling import convert_to_openai_tool
from pydantic import BaseModel

from memoranda import MemoryStore
from memoranda.backends import by_user
from memoranda.knowledge import InvalidSettingError
from memoranda.knowledge.collection import Collection
from memoranda.knowledge.tools import memory_tools
from memoranda.testing.scripted import ScriptedChatModel, call, calls, say

ANN = ("ann",)
ID = re.compile(r"\[(m[0-9a-f]{16}-[0-9a-f]{6})\]")


@dataclass
class Context:
    user_id: str


class Address(BaseModel):
    street: str
    number: int


class Person(BaseModel):
    """A person whom the user knows."""

    name: str
    city: str
    home: Address | None = None


def results(messages: list[BaseMessage]) -> list[str]:
    return [message.text for message in messages if isinstance(message, ToolMessage)]


def test_saving_searching_and_forgetting(store: MemoryStore) -> None:
    save, search, forget = memory_tools(Collection(None, store, ANN))
    assert [tool.name for tool in (save, search, forget)] == ["save_memory", "search_memory", "forget_memory"]
    saved = save.invoke({"text": "Ann likes green tea."})
    (id,) = ID.findall(saved)
    assert saved == f"Saved as memory [{id}]."
    assert save.invoke({"text": "Green tea is what Ann likes"}) == (
        f"This is known already, as memory [{id}]; nothing was saved."
    )
    shown = search.invoke({"query": "what tea?"})
    assert re.fullmatch(rf"\[{id}\] Ann likes green tea\. \(since \d{{4}}-\d\d-\d\d\)", shown)
    # What it has shown, saved again as it stands, is known.
    assert "known already" in save.invoke({"text": shown})
    assert search.invoke({"query": "coffee"}) == "No memory answers this."
    assert forget.invoke({"id": f"[{id}]"}) == f"Memory [{id}] is forgotten."
    assert search.invoke({"query": "tea"}) == "No memory answers this."
    assert forget.invoke({"id": id}).startswith(f"There is no memory [{id}].")


def test_what_was_true_is_asked_by_date(store: MemoryStore) -> None:
    people = Collection(Person, store, ANN, identity=["name"])
    save, search, _ = memory_tools(people)
    save.invoke({"name": "Bob", "city": "Paris"})
    changed = save.invoke({"name": "Bob", "city": "Rome"})
    now, before = ID.findall(changed)
    assert changed == f"Saved as memory [{now}]; [{before}] is kept as past."
    assert "Rome" in search.invoke({"query": "Bob", "on": "2999-01-01"})
    assert search.invoke({"query": "Bob", "on": "1999-01-01"}) == "No memory answers this."


def test_a_model_is_told_of_the_fields(store: MemoryStore) -> None:
    save, search, forget = map(convert_to_openai_tool, memory_tools(Collection(Person, store, ANN)))
    parameters = save["function"]["parameters"]
    assert save["function"]["name"] == "save_memory"
    assert set(parameters["properties"]) == {"name", "city", "home"} and parameters["required"] == ["name", "city"]
    assert set(search["function"]["parameters"]["properties"]) == {"query", "limit", "on"}
    assert set(forget["function"]["parameters"]["properties"]) == {"id"}


def test_nested_fields_arrive(store: MemoryStore) -> None:
    people = Collection(Person, store, ANN)
    save, *_ = memory_tools(people)
    arguments = {"name": "Bob", "city": "Rome", "home": {"street": "Via Appia", "number": 3}}
    assert save.invoke(arguments).startswith("Saved")
    assert people.all()[0].value == Person(**arguments)


WRONG: list[tuple[str, dict[str, Any], str]] = [
    ("save_memory", {}, "does not fit"),
    ("save_memory", {"text": ""}, "empty"),
    ("save_memory", {"text": 3}, "does not fit"),
    ("save_memory", {"content": "tea"}, "does not fit"),
    ("save_memory", {"text": "tea", "user": "bob"}, "does not fit"),
    ("search_memory", {}, "query"),
    ("search_memory", {"query": "  "}, "query"),
    ("search_memory", {"query": "tea", "limit": "many"}, "many"),
    ("search_memory", {"query": "tea", "limit": -1}, "k=-1"),
    ("search_memory", {"query": "tea", "on": "yesterday"}, "yesterday"),
    ("search_memory", {"query": ["tea"], "limit": {}}, ""),
    ("forget_memory", {}, "no memory"),
    ("forget_memory", {"id": "../../profile"}, "no memory"),
    ("forget_memory", {"id": None}, "no memory"),
]


@pytest.mark.parametrize(("name", "arguments", "problem"), WRONG)
def test_what_goes_wrong_is_said_in_a_sentence(
    store: MemoryStore, name: str, arguments: dict[str, Any], problem: str
) -> None:
    notes = Collection(None, store, ANN)
    notes.save("Ann likes tea.")
    tool = next(tool for tool in memory_tools(notes) if tool.name == name)
    said = tool.invoke(arguments)
    assert isinstance(said, str) and problem in said
    assert asyncio.run(tool.ainvoke(arguments)) == said
    assert [memory.text for memory in notes.all()] == ["Ann likes tea."]


def test_a_secret_is_not_saved(store: MemoryStore) -> None:
    notes = Collection(None, store, ANN)
    secret = "ghp_" + "aB3dE5gH7jK9mN1pQ3sT5vW7yZ2bC4dF6hJ8"
    said = memory_tools(notes)[0].invoke({"text": f"Ann's token is {secret}."})
    assert "looks like a secret" in said and secret not in said
    assert notes.all() == []


def test_no_trouble_of_a_store_or_a_model_is_raised(
    store: MemoryStore, store_url: str, open_here: Callable[..., MemoryStore]
) -> None:
    nobody, *_ = memory_tools(Collection(None, store, by_user))
    assert "No user is known to this run" in nobody.invoke({"text": "tea"})
    judged = Collection(None, store, ANN, model=ScriptedChatModel(script=["no idea"]))
    judged.save("Ann likes tea.")
    assert "no usable answer" in memory_tools(judged)[0].invoke({"text": "Ann likes coffee, not tea."})
    closed = open_here(store_url)
    tools = memory_tools(Collection(None, closed, ANN))
    closed.close()
    for tool, arguments in zip(
        tools, ({"text": "tea"}, {"query": "tea"}, {"id": "m0123456789abcdef-000000"}), strict=True
    ):
        assert "closed" in tool.invoke(arguments)


def agent(store: MemoryStore, *script: Any) -> Any:
    notes = Collection(None, store, by_user + "notes")
    return create_agent(
        ScriptedChatModel(script=list(script)), tools=memory_tools(notes), context_schema=Context, store=store
    )


def ask(graph: Any, text: str, user: str) -> list[str]:
    return results(graph.invoke({"messages": [("user", text)]}, context=Context(user))["messages"])


def test_an_agent_remembers_for_the_user_who_talks(store: MemoryStore) -> None:
    def forget_what_was_found(messages: list[BaseMessage]) -> AIMessage:
        return call("forget_memory", id=ID.findall(results(messages)[-1])[0])

    graph = agent(
        store,
        call("save_memory", text="Likes green tea."),
        say("Noted."),
        call("search_memory", query="tea"),
        say("You like nothing that I know of."),
        call("search_memory", query="tea"),
        forget_what_was_found,
        call("search_memory", query="tea"),
        say("Forgotten."),
    )
    assert ask(graph, "I like green tea.", "ann")[0].startswith("Saved as memory [")
    assert ask(graph, "What do I like?", "bob") == ["No memory answers this."]
    found, forgotten, after = ask(graph, "Forget that I like tea.", "ann")
    assert "Likes green tea." in found and forgotten.endswith("is forgotten.") and after == "No memory answers this."
    assert store.list_namespaces() == []
    (change, *_) = store.history(("ann", "notes"), next(iter(store.changes())).key)
    assert change.author.actor == "agent:agent" and change.operation == "delete"


def test_an_agent_gets_sentences_for_its_mistakes(store: MemoryStore) -> None:
    graph = agent(
        store,
        calls(("save_memory", {"note": "tea"}), ("search_memory", {"query": ""}), ("forget_memory", {"id": "tea"})),
        say("Sorry."),
    )
    said = ask(graph, "I like tea.", "ann")
    assert len(said) == 3 and all(said)
    assert "text: " in said[0] or "/text" in said[0] or "'text'" in said[0]


def test_an_agent_on_an_event_loop(store: MemoryStore) -> None:
    graph = agent(
        store,
        calls(("save_memory", {"text": "Likes tea."}), ("save_memory", {"text": "likes tea"})),
        call("search_memory", query="tea"),
        say("Done."),
    )

    async def run() -> list[str]:
        state = await graph.ainvoke({"messages": [("user", "I like tea.")]}, context=Context("ann"))
        return results(state["messages"])

    first, second, found = asyncio.run(run())
    assert sorted(text.partition(" ")[0] for text in (first, second)) == ["Saved", "This"]
    assert len(found.splitlines()) == 1


def test_two_collections_of_one_agent_have_tools_of_their_own(store: MemoryStore) -> None:
    tools = [
        *memory_tools(Collection(None, store, ("ann",))),
        *memory_tools(Collection(None, store, ("ann",), name="tasks"), "task"),
    ]
    assert len({tool.name for tool in tools}) == 6
    save, search, forget = tools[3:]
    assert (save.name, search.name, forget.name) == ("save_task", "search_task", "forget_task")
    save.invoke({"text": "Ann has to call Ben."})
    assert "call Ben" in search.invoke({"query": "call"})
    assert tools[1].invoke({"query": "call"}) == "No memory answers this."
    assert "search_memory" not in save.description + forget.description + forget.invoke({"id": "m"})
    with pytest.raises(InvalidSettingError, match="name of a tool"):
        memory_tools(Collection(None, store, ("ann",)), "my tasks")


def test_what_was_saved_on_a_day_is_found_on_that_day(store: MemoryStore) -> None:
    memories = Collection(None, store, ("ann",))
    memories.save("Ann lives in Rome.", at=datetime(2026, 5, 31, 15, tzinfo=UTC))
    search = memory_tools(memories)[1]
    assert "Rome" in search.invoke({"query": "Rome", "on": "2026-05-31"})
    assert "Rome" not in search.invoke({"query": "Rome", "on": "2026-05-30"})
    assert "Rome" not in search.invoke({"query": "Rome", "on": "2026-05-31T14:00:00Z"})
    assert "Write it as 2026-05-31" in search.invoke({"query": "Rome", "on": "yesterday"})


def test_memories_stay_out_of_the_folder_of_an_agents_files(store: MemoryStore) -> None:
    # The usual route to files of a user is /memories/, and the usual namespace of both is the user's.
    Collection(None, store, ("ann",)).save("Ann lives in Rome.")
    keys = [entry.key for entry in store.list_keys(ANN, "/", recursive=True)]
    assert keys and not any(key.startswith("/memories/") for key in keys)
