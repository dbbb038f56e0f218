"""Schedules that share what they should not, and clocks that jump."""

from __future__ import annotations

from memoranda import MemoryStore
from memoranda.consolidation.triggers import schedule_name
from tests.consolidation.talking import consolidator


def test_schedules_of_other_prefixes_and_consolidators_stay_apart(store: MemoryStore) -> None:
    consolidator(store, name="tidy").schedule("0 1 * * *", prefix=("acme",))
    consolidator(store, name="tidy").schedule("0 2 * * *", prefix=("beta",))
    consolidator(store, name="tidy").after_idle(5)
    consolidator(store, name="tidy-idle").schedule("0 3 * * *")
    there = [(one.queue, one.kind, one.prefix) for one in store.schedules.list()]
    assert sorted(there) == [
        ("tidy", "cron", ("acme",)),
        ("tidy", "cron", ("beta",)),
        ("tidy", "idle", ()),
        ("tidy-idle", "cron", ()),
    ]


def test_names_of_schedules_are_of_one_schedule_each() -> None:
    consumers = ["a", "a-idle", "a-cron", "a-idle-cron", "a b", "a%20b", "a b-idle"]
    prefixes = [(), ("b",), ("b", "c"), ("b/c",), ("b%2Fc",), ("b c",), ("b", "")]
    asked = [(one, prefix, idle) for one in consumers for prefix in prefixes for idle in (False, True)]
    assert len({schedule_name(one, prefix, idle=idle) for one, prefix, idle in asked}) == len(asked)
