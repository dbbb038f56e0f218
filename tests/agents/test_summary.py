"""A summary of what an agent knows."""

from __future__ import annotations

from typing import Any

import pytest
from langgraph.store.memory import InMemoryStore

from memoranda import Author, MemoryStore
from memoranda.agents import amemory_summary, memory_summary
from memoranda.backends import ScopeError, StoreBackend, by_user
from memoranda.errors import InvalidValueError
from memoranda.store.namespaces import InvalidNamespaceError

NS = ("helper", "ann")


@pytest.fixture
def filled(store: MemoryStore) -> MemoryStore:
    store.write(NS, "/a.md", "# What Ann likes\n\nGreen tea", author=Author("agent:helper", reason="asked to"))
    store.edit(NS, "/a.md", "Green", "Black", author=Author("user:ann"))
    store.write(NS, "/notes/.hidden.md", "\n<!-- x -->\nfirst line\nsecond", author=Author("agent:helper"))
    store.write(NS, "/notes/deep/skill/SKILL.md", "---\nname: skill\n---\n\n## Steps | two\n")
    store.write(NS, "/picture.png", b"\x89PNG\xff\x00")
    store.put(NS, "profile", {"name": "Ann", "age": 40})
    store.write(("helper", "bob"), "/a.md", "Bob's")
    store.write(("ann",), "/own.md", "own text")
    store.write(("ann", "drafts"), "/draft.md", "draft")
    return store


def rows(summary: Any) -> list[tuple[Any, ...]]:
    return [(file.path, file.about, file.author and file.author.actor, file.revision) for file in summary.files]


async def test_every_file_with_what_it_is_about_and_who_wrote_it(filled: MemoryStore) -> None:
    summary = memory_summary(filled, NS)
    assert sorted(rows(summary)) == [
        ("/a.md", "What Ann likes", "user:ann", 2),
        ("/notes/.hidden.md", "first line", "agent:helper", 1),
        ("/notes/deep/skill/SKILL.md", "Steps | two", None, 1),
        ("/picture.png", "(binary)", None, 1),
        ("profile", '{ "age": 40, "name": "Ann" }', None, 1),
    ]
    assert summary.authors == ("agent:helper", "user:ann")
    assert summary.size == sum(file.size for file in summary.files) > 50
    assert summary.changed_at == max(file.changed_at for file in summary.files if file.changed_at)
    assert await amemory_summary(filled, NS) == summary


def test_a_user_in_all_namespaces(filled: MemoryStore) -> None:
    summary = memory_summary(filled, user="ann")
    assert {file.namespace for file in summary.files} == {NS, ("ann",), ("ann", "drafts")}
    assert "Bob" not in summary.to_markdown()
    assert memory_summary(filled, user="an").files == ()


async def test_a_backend_as_the_agent_sees_it(filled: MemoryStore) -> None:
    backend = StoreBackend(namespace=NS, store=filled)
    summary = memory_summary(backend)
    assert rows(summary) == [
        ("/a.md", "What Ann likes", "user:ann", 2),
        ("/notes/.hidden.md", "first line", "agent:helper", 1),
        ("/notes/deep/skill/SKILL.md", "Steps | two", None, 1),
        ("/picture.png", "(binary)", None, 1),
    ]
    assert await amemory_summary(backend) == summary
    assert [file.path for file in memory_summary(backend, path="/notes").files] == [
        "/notes/.hidden.md",
        "/notes/deep/skill/SKILL.md",
    ]
    assert len(memory_summary(filled, NS, path="/notes").files) == 2


def test_as_markdown(filled: MemoryStore) -> None:
    text = memory_summary(filled, NS).to_markdown()
    assert text.startswith("5 files, ")
    assert "| File | About | Bytes | Changed | By |\n| --- | --- | ---: | --- | --- |\n" in text
    assert "| Steps \\| two |" in text and "| user:ann |" in text
    assert "| Namespace | File |" in memory_summary(filled, user="ann").to_markdown()
    assert memory_summary(filled, ("nobody",)).to_markdown() == "Nothing is remembered here.\n"
    assert all(line.count("|") - line.count("\\|") == 6 for line in text.splitlines()[2:])


def test_details_are_bounded(filled: MemoryStore) -> None:
    summary = memory_summary(filled, NS, details=1)
    assert len(summary.files) == 5
    assert sum(file.about != "" for file in summary.files) == 1


def test_over_another_store() -> None:
    store = InMemoryStore()
    StoreBackend(namespace=NS, store=store).write("/a.md", "# Tea")
    ((path, about, author, _),) = rows(memory_summary(store, NS))
    assert (path, about, author) == ("/a.md", "Tea", None)
    with pytest.raises(InvalidValueError, match="Only a MemoryStore"):
        memory_summary(store, user="ann")


def test_nothing_is_guessed(filled: MemoryStore) -> None:
    with pytest.raises(InvalidValueError, match="needs a namespace or a user"):
        memory_summary(filled)
    with pytest.raises(InvalidValueError, match="needs a namespace or a user"):
        memory_summary(filled, NS, user="ann")
    with pytest.raises(InvalidValueError, match="has its namespace already"):
        memory_summary(StoreBackend(namespace=NS, store=filled), NS)
    with pytest.raises(ScopeError):
        memory_summary(filled, by_user)
    with pytest.raises(InvalidNamespaceError):
        memory_summary(filled, ())


def test_a_backend_that_fails_is_a_problem_in_it(filled: MemoryStore) -> None:
    summary = memory_summary(StoreBackend(namespace=by_user, store=filled))
    assert summary.files == ()
    assert "No user is known" in summary.problems[0] and "No user is known" in summary.to_markdown()


@pytest.mark.parametrize(
    ("text", "about"),
    [
        ("- Drinks green tea.", "Drinks green tea."),
        ("* [ ] Call Ben\n", "Call Ben"),
        ("\n1. First\n2. Second\n", "First"),
        ("- - nested", "nested"),
        ("2026 was good", "2026 was good"),
        ("-5 degrees", "-5 degrees"),
        ("-", "-"),
        ("- entry\n\n# Heading", "Heading"),
    ],
)
def test_marks_of_a_list_are_not_what_a_file_is_about(store: MemoryStore, text: str, about: str) -> None:
    store.write(NS, "/a.md", text)
    for summary in (memory_summary(store, NS), memory_summary(StoreBackend(namespace=NS, store=store))):
        assert [file.about for file in summary.files] == [about]
