"""A collection: what is inserted, superseded and skipped, what held when, and what is found."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from memoranda import MemoryStore
from memoranda.errors import SearchUnavailableError
from memoranda.knowledge.collection import Collection
from memoranda.knowledge.memories import Memory
from tests.knowledge.collection_support import ANN, Fact, city, day, texts


class TestTexts:
    def test_a_new_one_is_inserted_and_found(self, notes: Collection[dict[str, Any]]) -> None:
        saved = notes.save("Ann likes green tea.", sources=["m1"], at=day(1))
        assert (saved.action, saved.superseded) == ("inserted", ())
        (found,) = notes.search("what tea does she like?")
        assert (found.id, found.value, found.text) == (
            saved.id,
            {"text": "Ann likes green tea."},
            "Ann likes green tea.",
        )
        assert (found.valid_from, found.valid_to, found.sources) == (day(1), None, ("m1",))
        assert found.is_current and found.score is not None and found.score > 0
        assert notes.get(saved.id) == Memory(saved.id, found.value, found.text, day(1), None, ("m1",))

    @pytest.mark.parametrize(
        ("first", "again"),
        [
            ("Ann likes green tea.", "ann likes  GREEN tea"),
            ("Ann likes green tea.", "Green tea is what Ann likes!"),
            ("安喜欢绿茶。", "绿茶是安喜欢的"),
            ("アンは緑茶が好きです。", "アンは緑茶が好きです！"),
            ("تُحِبُّ آن الشاي الأخضر", "تحب آن الشاي الاخضر."),
        ],
    )
    def test_the_same_said_otherwise_is_skipped(
        self, notes: Collection[dict[str, Any]], first: str, again: str
    ) -> None:
        saved = notes.save(first)
        skipped = notes.save(again)
        assert (skipped.action, skipped.id, skipped.superseded) == ("skipped", saved.id, ())
        assert texts(notes.all()) == [first]

    @pytest.mark.parametrize(
        ("one", "other"),
        [
            ("Ann has 2 cats.", "Ann has 3 cats."),
            ("Ann likes tea.", "Ann does not like tea."),
            ("用户住在上海。", "用户住在北京。"),
            ("アンは肉を食べる。", "アンは肉を食べない。"),
            ("آن تحب الشاي", "آن لا تحب الشاي"),
        ],
    )
    def test_another_fact_is_kept_beside_it(self, notes: Collection[dict[str, Any]], one: str, other: str) -> None:
        notes.save(one, at=day(1))
        assert notes.save(other, at=day(2)).action == "inserted"
        assert texts(notes.all()) == [one, other]
        assert set(texts(notes.search(one))) == {one, other}

    def test_how_alike_two_must_be_is_a_setting(self, store: MemoryStore) -> None:
        strict = Collection(None, store, ANN, near=1)
        strict.save("Ann likes green tea.")
        assert strict.save("Green tea is what Ann likes!").action == "inserted"
        assert strict.save("ann likes green tea").action == "skipped"

    def test_it_is_known_that_something_was_said_earlier_too(self, notes: Collection[dict[str, Any]]) -> None:
        saved = notes.save("Ann likes tea.", at=day(5), sources=["m5"])
        earlier = notes.save("Ann likes tea.", at=day(2), sources=["m2"])
        assert (earlier.action, earlier.id) == ("updated", saved.id)
        (found,) = notes.all()
        assert (found.valid_from, found.sources) == (day(2), ("m5", "m2"))
        assert notes.all(at=day(1)) == []

    def test_recalled_memories_that_are_saved_again_add_nothing(self, notes: Collection[dict[str, Any]]) -> None:
        saved = notes.save("Ann likes green tea.", at=day(1))
        shown = f"[{saved.id}] Ann likes green tea. (since 2024-05-01)"
        for again in (shown, f"- {shown}", "Ann likes green tea. "):
            assert notes.save(again, sources=["m9"], at=day(9)).action == "skipped"
        assert texts(notes.all()) == ["Ann likes green tea."]

    def test_without_an_index_duplicates_are_still_known(
        self, open_here: Callable[..., MemoryStore], store_url: str
    ) -> None:
        notes = Collection(None, open_here(store_url, index=False), ANN)
        notes.save("Ann likes tea.")
        assert notes.save("ann likes tea").action == "skipped"
        assert notes.save("Tea is what Ann likes").action == "skipped"
        with pytest.raises(SearchUnavailableError):
            notes.search("tea")


class TestFacts:
    def test_a_new_value_supersedes_the_old_one(self, facts: Collection[Fact]) -> None:
        paris = facts.save(city("Paris"), at=day(1))
        rome = facts.save(city("Rome"), at=day(5))
        assert (rome.action, rome.superseded) == ("superseded", (paris.id,))
        (current,) = facts.all()
        assert (current.id, current.value, current.valid_from) == (rome.id, city("Rome"), day(5))
        old = facts.get(paris.id)
        assert old is not None and not old.is_current
        assert (old.value, old.valid_from, old.valid_to, old.superseded_by) == (city("Paris"), day(1), day(5), rome.id)

    def test_a_to_b_to_a_leaves_one_current_and_the_whole_history(self, facts: Collection[Fact]) -> None:
        for number, name in ((1, "Paris"), (5, "Rome"), (9, "Paris")):
            saved = facts.save(city(name), at=day(number))
        assert [memory.value.value for memory in facts.all()] == ["Paris"]
        history = facts.history(saved.id)
        assert [(each.value.value, each.valid_from, each.valid_to) for each in history] == [
            ("Paris", day(1), day(5)),
            ("Rome", day(5), day(9)),
            ("Paris", day(9), None),
        ]
        assert [facts.history(each.id) for each in history] == [history] * 3
        then = {number: [each.value.value for each in facts.all(at=day(number))] for number in (1, 4, 5, 8, 9, 30)}
        assert then == {1: ["Paris"], 4: ["Paris"], 5: ["Rome"], 8: ["Rome"], 9: ["Paris"], 30: ["Paris"]}
        assert facts.all(at=datetime(2024, 4, 30, tzinfo=UTC)) == []

    def test_searching_finds_what_is_current_and_at_a_date_what_was(self, facts: Collection[Fact]) -> None:
        facts.save(city("Paris"), at=day(1))
        facts.save(city("Rome"), at=day(5))
        facts.save(Fact(subject="Ann", property="tea", value="green"), at=day(2))
        assert [found.value.value for found in facts.search("Paris")] == []
        assert [found.value.value for found in facts.search("city", k=1)] == ["Rome"]
        assert [found.value.value for found in facts.search("Paris", at=day(3))] == ["Paris"]
        assert [found.value.value for found in facts.search("city of Ann", at=day(3), k=1)] == ["Paris"]
        assert [found.value.value for found in facts.search("Ann", filter={"property": "tea"})] == ["green"]
        assert [found.value.value for found in facts.all(filter={"value": "Rome"})] == ["Rome"]

    def test_what_is_told_late_takes_its_place_in_the_past(self, facts: Collection[Fact]) -> None:
        facts.save(city("Paris"), at=day(1))
        facts.save(city("Rome"), at=day(9))
        late = facts.save(city("Oslo"), at=day(5))
        assert (late.action, late.superseded) == ("inserted", ())
        assert [memory.value.value for memory in facts.all()] == ["Rome"]
        assert [memory.value.value for memory in facts.history(late.id)] == ["Paris", "Oslo", "Rome"]
        earliest = facts.save(city("Bonn"), at=datetime(2023, 1, 1))
        assert [memory.value.value for memory in facts.history(earliest.id)] == ["Bonn", "Paris", "Oslo", "Rome"]
        assert [memory.value.value for memory in facts.all(at=datetime(2023, 6, 1))] == ["Bonn"]

    def test_a_value_that_was_stated_again_afterwards_holds_again(self, facts: Collection[Fact]) -> None:
        facts.save(city("Paris"), at=day(1))
        facts.save(city("Paris"), at=day(9))
        saved = facts.save(city("Rome"), at=day(5))
        history = [(each.value.value, each.valid_from, each.valid_to) for each in facts.history(saved.id)]
        assert history == [
            ("Paris", day(1), day(5)),
            ("Rome", day(5), day(9)),
            ("Paris", day(9), None),
        ]

    def test_telling_all_of_it_again_changes_nothing(self, facts: Collection[Fact], store: MemoryStore) -> None:
        told = [(city(name), day(number), [f"m{number}"]) for number, name in ((1, "Paris"), (5, "Rome"), (9, "Paris"))]
        for fact, at, sources in told:
            facts.save(fact, at=at, sources=sources)
        digest = [(each.namespace, each.digest) for each in store.verify().namespaces]
        for fact, at, sources in [*told, *reversed(told)]:
            assert facts.save(fact, at=at, sources=sources).action == "skipped"
            assert facts.save(fact, sources=sources).action == "skipped"  # without a date, by its messages
        assert [(each.namespace, each.digest) for each in store.verify().namespaces] == digest

    def test_identity_is_read_whatever_its_case(self, facts: Collection[Fact]) -> None:
        facts.save(city("Paris"), at=day(1))
        saved = facts.save({"subject": "ANN", "property": "City ", "value": "Rome"}, at=day(2))
        assert saved.action == "superseded" and len(facts.all()) == 1

    def test_moments_have_zones(self, facts: Collection[Fact]) -> None:
        half_past_midnight = datetime(2024, 5, 2, 0, 30, tzinfo=timezone(timedelta(hours=8)))
        facts.save(city("Paris"), at=half_past_midnight)
        (found,) = facts.all()
        assert found.valid_from == half_past_midnight and found.valid_from.day == 1
        assert facts.all(at=datetime(2024, 5, 1, 16, 30)) == [found]
        assert facts.all(at=datetime(2024, 5, 1, 16, 29)) == []

    def test_without_a_date_it_is_now(self, facts: Collection[Fact]) -> None:
        before = datetime.now(UTC)
        facts.save(city("Paris"))
        facts.save(city("Rome"))
        (found,) = facts.all()
        assert found.value == city("Rome") and before <= found.valid_from <= datetime.now(UTC)


class TestForgetting:
    def test_a_forgotten_fact_is_in_no_search_and_no_list(self, facts: Collection[Fact], store: MemoryStore) -> None:
        paris = facts.save(city("Paris"), at=day(1))
        rome = facts.save(city("Rome"), at=day(5))
        kept = facts.save(Fact(subject="Bob", property="city", value="Rome"), at=day(5))
        assert facts.forget(rome.id) is True
        assert [each.id for each in facts.all()] == [kept.id]
        assert facts.all(at=day(2)) == [] and facts.history(rome.id) == []
        assert [each.id for each in facts.search("Rome")] == [kept.id]
        assert facts.search("Paris", at=day(2)) == []
        assert facts.get(paris.id) is None and facts.get(rome.id) is None
        assert not store.recall(ANN, "Paris").hits
        assert facts.forget(rome.id) is False

    def test_a_past_memory_forgets_its_fact_too(self, facts: Collection[Fact]) -> None:
        paris = facts.save(city("Paris"), at=day(1))
        facts.save(city("Rome"), at=day(5))
        assert facts.forget(paris.id)
        assert facts.all() == [] and facts.all(at=day(2)) == []

    def test_what_is_only_told_again_stays_forgotten(self, facts: Collection[Fact]) -> None:
        told = [(city("Paris"), day(1)), (city("Rome"), day(5)), (city("Oslo"), day(3))]
        saved = [facts.save(fact, at=at, sources=[f"m{at.day}"]) for fact, at in told]
        facts.forget(saved[0].id)
        for fact, at in told:
            assert facts.save(fact, at=at, sources=[f"m{at.day}"]).action == "skipped"
        assert facts.all() == []
        assert facts.save(city("Rome"), at=day(7), sources=["m7"]).action == "inserted"

    def test_its_history_goes_with_the_namespace(self, notes: Collection[dict[str, Any]], store: MemoryStore) -> None:
        saved = notes.save("Ann likes tea.", at=day(1))
        notes.forget(saved.id)
        store.forget(ANN, vacuum=False)
        assert notes.save("Ann likes tea.", at=day(1)).action == "inserted"

    def test_nothing_is_forgotten_by_a_strange_id(self, notes: Collection[dict[str, Any]]) -> None:
        saved = notes.save("Ann likes tea.")
        for strange in ("", "tea", "../x", f"{saved.id}0", saved.id.partition("-")[0], "m\x00-1", "m/../..-1"):
            assert notes.forget(strange) is False and notes.get(strange) is None and notes.history(strange) == []
        assert len(notes.all()) == 1
