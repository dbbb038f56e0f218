"""Where memory lies: who wrote it, who may write it, and what rules hide."""

from __future__ import annotations

import logging
import re
from typing import Any

import pytest

from memoranda import Author, MemoryStore
from memoranda.backends import StoreBackend, by_assistant, by_org, by_user
from memoranda.backends.composite import CompositeBackend
from memoranda.backends.guarded import GuardedBackend
from memoranda.backends.permissions import FilesystemPermission
from tests.agents.memory_agent import Agent

NS = ("ann",)


@pytest.fixture
def files(store: MemoryStore) -> StoreBackend:
    return StoreBackend(namespace=NS, store=store)


class TestAuthors:
    def test_each_user_sees_the_author_of_his_own_file(self, store: MemoryStore) -> None:
        for user in ("ann", "bob"):
            store.write((user,), "/a.md", "tea", author=Author(f"user:{user}"))
        agent = Agent(StoreBackend(namespace=by_user, store=store), ["/a.md"])
        for user in ("ann", "bob", "ann"):
            assert f'author="user:{user}"' in agent.turn(user_id=user)

    def test_an_author_is_asked_for_once_for_each_change(
        self, store: MemoryStore, files: StoreBackend, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        asked: list[str] = []
        history = MemoryStore.history

        def counted(self: MemoryStore, namespace: Any, key: str, **settings: Any) -> Any:
            asked.append(key)
            return history(self, namespace, key, **settings)

        monkeypatch.setattr(MemoryStore, "history", counted)
        store.write(NS, "/a.md", "tea", author=Author("user:ann"))
        store.write(NS, "/b.md", "milk")
        agent = Agent(files, ["/a.md", "/b.md", "/c.md"])
        agent.turn()
        once = len(asked)
        assert once <= 2
        agent.turn()
        Agent(files, ["/a.md"]).turn()
        assert len(asked) == once
        store.write(NS, "/a.md", "coffee", author=Author("user:bob"))
        assert 'author="user:bob"' in agent.turn()
        assert len(asked) <= once + 1


class TestSharedMemory:
    def warnings(self, caplog: pytest.LogCaptureFixture) -> list[str]:
        return [record.getMessage() for record in caplog.records if "names no user" in record.getMessage()]

    def test_a_shared_writable_mount_is_warned_of_once(
        self, store: MemoryStore, caplog: pytest.LogCaptureFixture
    ) -> None:
        backend = StoreBackend(namespace=("team",), store=store)
        store.write(("team",), "/a.md", "tea")
        for _ in range(2):
            agent = Agent(backend, ["/a.md", "/m/b.md"])
            agent.turn(user_id="ann")
            agent.turn(user_id="bob")
        (warning,) = self.warnings(caplog)
        assert "by_user" in warning and "propose" in warning and "('team',)" in warning
        assert caplog.records[-1].levelno == logging.WARNING

    def test_one_assistant_for_all_is_warned_of_without_a_user_too(
        self, store: MemoryStore, caplog: pytest.LogCaptureFixture
    ) -> None:
        Agent(StoreBackend(namespace=by_assistant, store=store), ["/a.md"], name="helper").turn()
        assert len(self.warnings(caplog)) == 1

    def test_labels_are_compared_whole(self, store: MemoryStore, caplog: pytest.LogCaptureFixture) -> None:
        Agent(StoreBackend(namespace=("planner",), store=store), ["/a.md"]).turn(user_id="ann")
        assert len(self.warnings(caplog)) == 1

    @pytest.mark.parametrize(
        ("namespace", "context"),
        [
            (by_user, {"user_id": "ann"}),
            (by_assistant + by_user, {"user_id": "ann", "assistant_id": "helper"}),
            (("users", "ann"), {"user_id": "ann"}),
            (by_org, {"org_id": "acme", "user_id": "ann"}),
            (("ann",), {}),
        ],
    )
    def test_a_users_own_or_read_only_memory_is_not(
        self, store: MemoryStore, caplog: pytest.LogCaptureFixture, namespace: Any, context: dict[str, str]
    ) -> None:
        Agent(StoreBackend(namespace=namespace, store=store), ["/a.md"]).turn(**context)
        assert self.warnings(caplog) == []


class TestBehindAGuard:
    def guarded(self, store: MemoryStore, *permissions: Any, hooks: Any = ()) -> GuardedBackend:
        shared = StoreBackend(namespace=("team",), store=store)
        own = StoreBackend(namespace=by_user, store=store)
        return GuardedBackend(CompositeBackend(own, {"/team/": shared}), permissions, hooks)

    def test_rules_hold_for_memory(self, store: MemoryStore) -> None:
        store.write(("team",), "/plan.md", "the plan", author=Author("user:boss"))
        store.write(("team",), "/.secret.md", "hush")
        rules = [
            FilesystemPermission(["read"], ["/team/.secret.md"], "deny"),
            FilesystemPermission(["write"], ["/team/**"], "deny"),
        ]
        prompt = Agent(self.guarded(store, *rules), ["/team/", "/team//.secret.md"]).turn(user_id="ann")
        assert '<memory_file path="/team/plan.md" revision="1" author="user:boss">\nthe plan\n' in prompt
        assert '<memory_file path="/team/.secret.md">not shown: reading it is not permitted</memory_file>' in prompt
        assert "hush" not in prompt

    def test_hooks_do_not_hide_who_wrote_a_file(self, store: MemoryStore) -> None:
        store.write(("ann",), "/a.md", "tea", author=Author("user:ann"))
        agent = Agent(self.guarded(store, hooks=[lambda event: None]), ["/a.md"])
        assert 'revision="1" author="user:ann"' in agent.turn(user_id="ann")

    @pytest.mark.parametrize(("mode", "warned"), [("allow", 1), ("deny", 0), ("propose", 0), ("interrupt", 0)])
    def test_only_what_an_agent_may_write_freely_is_warned_of(
        self, store: MemoryStore, caplog: pytest.LogCaptureFixture, mode: Any, warned: int
    ) -> None:
        rule = FilesystemPermission(["write"], ["/team/**"], mode)
        Agent(self.guarded(store, rule), ["/team/a.md", "/a.md"]).turn(user_id="ann")
        assert len([record for record in caplog.records if "names no user" in record.getMessage()]) == warned

    def test_nobody_is_told_to_write_where_he_may_not(self, store: MemoryStore) -> None:
        policy = StoreBackend(namespace=by_org, store=store)
        backend = CompositeBackend(StoreBackend(namespace=by_user, store=store), {"/org/": policy})
        rules = [FilesystemPermission(["write"], ["/fixed/**"], "deny")]
        sources = ["/org/a.md", "/org/more/", "/fixed/", "/fixed/a.md", "/a.md", "/m/"]
        prompt = Agent(GuardedBackend(backend, rules), sources).turn(user_id="ann", org_id="acme")
        for path in ("/org/a.md", "/org/more/", "/fixed/", "/fixed/a.md"):
            assert re.search(f'path="{path}">not[a-z ]+ yet; you may not write', prompt), path
        for path in ("/a.md", "/m/"):
            assert re.search(f'path="{path}">not[a-z ]+ yet; create', prompt), path
