"""Conversations in the store: every message once, in its place, and found by what was said around it."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from threading import Barrier, Thread
from typing import Any

import pytest

from memoranda import MemoryStore
from memoranda.errors import InvalidValueError
from memoranda.store.operations import turn_writing
from memoranda.store.operations import turns as recording
from memoranda.store.turns import RecordedTurns, Role, Turn

ANN = ("ann",)
START = datetime(2026, 5, 1, 12, tzinfo=UTC)


def said(*numbers: int, at: datetime | None = None, **more: Any) -> list[Turn]:
    """Turns `m1`, `m2` …, by the user and the assistant in turn, a minute apart where they have a time."""
    return [
        Turn(
            f"m{number}",
            "user" if number % 2 else "assistant",
            f"message {number}",
            at=None if at is None else at + timedelta(minutes=number),
            **more,
        )
        for number in numbers
    ]


def order(store: MemoryStore, thread: str = "t", scope: tuple[str, ...] = ANN) -> list[int]:
    return [int(turn.message_id[1:]) for turn in store.turns(scope, thread, limit=None)]


# --- once, and in its place -----------------------------------------------------------------------------------


def test_each_message_is_recorded_once(store: MemoryStore) -> None:
    assert store.record_turns(ANN, "t", said(1, 2)) == RecordedTurns(2, 0)
    assert store.record_turns(ANN, "t", said(1, 2, 3, 3)) == RecordedTurns(1, 2)
    assert store.record_turns(ANN, "t", []) == RecordedTurns()
    assert order(store) == [1, 2, 3]
    assert [turn.position for turn in store.turns(ANN)] == [1, 2, 3]


def test_what_was_recorded_first_stays(store: MemoryStore) -> None:
    store.record_turns(ANN, "t", [Turn("m", "user", "as it was")])
    store.record_turns(ANN, "t", [Turn("m", "user", "as it is told now")])
    assert [turn.text for turn in store.turns(ANN)] == ["as it was"]


def test_a_turn_keeps_all_that_is_known_of_it(store: MemoryStore) -> None:
    given = Turn("m", "assistant", "Yes.", "Helper", START, ("ls", "grep"), 2, 90_000)
    store.record_turns(ANN, "t", [given], user="ann", org="acme", agent="helper", run_id="r1")
    (turn,) = store.turns(ANN)
    assert (turn.namespace, turn.thread_id, turn.message_id, turn.role) == (ANN, "t", "m", "assistant")
    assert (turn.text, turn.speaker, turn.at, turn.tools) == ("Yes.", "Helper", START, ("ls", "grep"))
    assert (turn.other_blocks, turn.size) == (2, 90_000)
    assert (turn.user, turn.org, turn.agent, turn.run_id) == ("ann", "acme", "helper", "r1")
    assert abs(datetime.now(UTC) - turn.recorded_at) < timedelta(minutes=1)


def test_the_same_message_id_in_two_threads_is_two_messages(store: MemoryStore) -> None:
    for scope, thread in ((ANN, "t"), (ANN, "u"), (("ben",), "t")):
        assert store.record_turns(scope, thread, [Turn("1", "user", thread + scope[0])]).new == 1
    assert [turn.text for turn in store.turns(ANN)] == ["tann", "uann"]
    assert [turn.text for turn in store.turns(("ben",), "t")] == ["tben"]


def test_the_beginning_may_be_recorded_after_the_end(store: MemoryStore) -> None:
    store.record_turns(ANN, "t", said(7, 8, 9))
    store.record_turns(ANN, "t", said(*range(1, 13)))
    assert order(store) == [*range(1, 13)]
    assert [turn.position for turn in store.turns(ANN, after=3)] == [*range(4, 13)]


@pytest.mark.parametrize("seed", range(4))
def test_any_parts_in_any_order_give_the_conversation(store: MemoryStore, seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(12):
        first = chance.randrange(1, 40)
        part = sorted(chance.sample(range(first, 41), min(chance.randrange(1, 12), 41 - first)))
        # Without overlap the time says where a part belongs; with it, what it overlaps with.
        store.record_turns(ANN, "t", said(*part, at=START))
    store.record_turns(ANN, "t", said(*range(1, 41), at=START))
    assert sorted(order(store)) == [*range(1, 41)]
    once = order(store)
    store.record_turns(ANN, "t", said(*range(1, 41), at=START))
    assert order(store) == once


def test_what_is_missing_in_the_middle_comes_between(store: MemoryStore) -> None:
    store.record_turns(ANN, "t", said(1, 9))
    store.record_turns(ANN, "t", said(1, 4, 5, 9))
    store.record_turns(ANN, "t", said(1, 2, 3, 4))
    store.record_turns(ANN, "t", said(5, 6, 7, 8, 9, 10))
    assert order(store) == [*range(1, 11)]


def test_the_beginning_has_left_the_list(store: MemoryStore) -> None:
    store.record_turns(ANN, "t", said(1, 2, 3, 4))
    store.record_turns(ANN, "t", said(1, 5, 6))  # a list whose middle was trimmed away
    store.record_turns(ANN, "t", said(7, 8))  # one of which all that was before is gone
    assert order(store) == [*range(1, 9)]


def test_a_part_without_overlap_is_placed_by_its_time(store: MemoryStore) -> None:
    store.record_turns(ANN, "t", said(5, 6, at=START))
    store.record_turns(ANN, "t", said(1, 2, at=START))
    store.record_turns(ANN, "t", said(3, 4, at=START))
    assert order(store) == [*range(1, 7)]


def test_ids_are_enough_to_show_the_place(store: MemoryStore) -> None:
    store.record_turns(ANN, "t", said(1, 4, at=START))
    store.record_turns(ANN, "t", said(2, 3), order=["m1", "m2", "m3", "m4"])
    store.forget_thread(ANN, "t")
    store.record_turns(ANN, "t", said(5), order=["m4", "m5"])
    assert order(store) == [5]  # what is only named is not recorded


def test_long_conversations_are_recorded_in_pieces(store: MemoryStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recording, "MOST_AT_ONCE", 7)
    store.record_turns(ANN, "t", said(20, 21, 60))
    assert store.record_turns(ANN, "t", said(*range(1, 101))) == RecordedTurns(97, 3)
    assert order(store) == [*range(1, 101)]
    assert store.record_turns(ANN, "t", said(*range(1, 101))) == RecordedTurns(0, 100)


def test_there_is_always_room_between_two_turns(store: MemoryStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turn_writing, "PLACE_STEP", 4)
    store.record_turns(ANN, "t", said(1, 50, 51))
    for number in range(2, 50):
        store.record_turns(ANN, "t", said(1, *range(2, number + 1), 50))
    assert order(store) == [*range(1, 52)]
    hits = store.search_episodes(ANN, "message 33", k=1).episodes[0].hits
    assert hits[0].turn.message_id == "m33"
    assert (hits[0].before[0].message_id, hits[0].behind[0].message_id) == ("m32", "m34")


def test_positions_have_the_order_in_which_turns_become_visible(
    store_url: str, engine: str, open_here: Callable[..., MemoryStore]
) -> None:
    """Writers of one namespace, all with the same conversation and one each of their own, and a reader beside them."""
    stores = [open_here(store_url) for _ in range(4)]
    barrier = Barrier(5)
    seen: list[int] = []

    def write(number: int) -> None:
        barrier.wait()
        for last in range(1, 31):
            stores[number].record_turns(ANN, "t", said(*range(1, last + 1)))
            stores[number].record_turns(ANN, f"own{number}", said(last))

    def read() -> None:
        barrier.wait()
        while len(seen) < 150:
            seen.extend(turn.position for turn in stores[0].turns(ANN, after=seen[-1] if seen else 0))

    threads = [*(Thread(target=write, args=(number,)) for number in range(4)), Thread(target=read)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert seen == [*range(1, 151)]  # 30 of the one that all of them record, 30 of each of their own
    assert order(stores[0]) == [*range(1, 31)]


# --- hostile input --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["", "nul \x00 inside", "👩‍👩‍👧 käse 茶", "x" * 3_000_000, "a\r\nb\u2028c"])
def test_any_text_is_kept_as_it_is(store: MemoryStore, text: str) -> None:
    store.record_turns(ANN, "t", [Turn("m", "user", text)])
    assert store.turns(ANN)[0].text == text


def test_a_lone_surrogate_is_replaced(store: MemoryStore) -> None:
    store.record_turns(ANN, "t", [Turn("m", "user", "a\ud800b")])
    assert store.turns(ANN)[0].text == "a?b"


@pytest.mark.parametrize("message_id", ["x" * 5_000, "nul\x00", "sur\ud800rogate"])
def test_ids_that_no_index_takes_still_tell_messages_apart(store: MemoryStore, message_id: str) -> None:
    for _ in range(2):
        store.record_turns(ANN, "t", [Turn(message_id, "user", "one"), Turn(message_id + "2", "user", "two")])
    assert [turn.text for turn in store.turns(ANN)] == ["one", "two"]


@pytest.mark.parametrize(
    ("thread", "turn", "more"),
    [
        ("", Turn("m", "user", "x"), {}),
        ("t\x00", Turn("m", "user", "x"), {}),
        ("t" * 2_000, Turn("m", "user", "x"), {}),
        ("t", Turn("", "user", "x"), {}),
        ("t", Turn("m", "system", "x"), {}),  # type: ignore[arg-type]
        ("t", Turn("m", "user", None), {}),  # type: ignore[arg-type]
        ("t", Turn("m", "user", "x", "name\x00"), {}),
        ("t", Turn("m", "user", "x", tools=("a\ud800",)), {}),
        ("t", Turn("m", "user", "x"), {"user": "u" * 3_000}),
    ],
)
def test_what_cannot_be_kept_is_refused(store: MemoryStore, thread: str, turn: Turn, more: dict[str, Any]) -> None:
    with pytest.raises(InvalidValueError):
        store.record_turns(ANN, thread, [turn], **more)
    assert store.turns(ANN) == []


# --- reading --------------------------------------------------------------------------------------------------


def test_turns_are_no_items(store: MemoryStore) -> None:
    store.record_turns(ANN, "t", said(1, 2))
    assert store.search(()) == [] and store.list_namespaces() == [] and store.stats().items == 0
    store.put(ANN, "tea", {"kind": "green"})
    store.record_turns(ANN, "t", said(3))
    assert store.list_namespaces() == [ANN]
    assert store.verify(ANN).ok


def test_scopes_and_tenants_are_walls(store_url: str, open_here: Callable[..., MemoryStore]) -> None:
    store, other = open_here(store_url), open_here(store_url, tenant="other")
    for scope in (ANN, ("ann", "x"), ("annabel",)):
        store.record_turns(scope, "t", [Turn("m", "user", f"green tea of {scope}")])
    other.record_turns(ANN, "t", [Turn("m", "user", "green tea elsewhere")])
    assert [turn.text for turn in store.turns(ANN)] == ["green tea of ('ann',)"]
    assert [len(store.threads(ANN, below=below)) for below in (False, True)] == [1, 2]
    assert [len(store.search_episodes(ANN, "green tea", below=below)) for below in (False, True)] == [1, 2]
    assert other.search_episodes(ANN, "green tea").episodes[0].hits[0].turn.text == "green tea elsewhere"
    assert store.forget_thread(ANN, "t") == 1
    assert len(store.turns(("ann", "x"))) == len(other.turns(ANN)) == 1


def test_threads_are_listed_by_the_time_of_their_last_turn(store: MemoryStore) -> None:
    store.record_turns(ANN, "old", said(1, 2, at=START), user="ann", org="acme")
    store.record_turns(ANN, "new", [Turn("m", "user", "  What\nis  new? " + "x" * 100, at=START + timedelta(days=2))])
    store.record_turns(ANN, "mid", [Turn("m", "tool", "nobody asked", at=START + timedelta(days=1))])
    found = store.threads(ANN)
    assert [thread.thread_id for thread in found] == ["new", "mid", "old"]
    assert [thread.turns for thread in found] == [1, 1, 2]
    assert found[0].title.startswith("What is new? xxx") and len(found[0].title) <= 80
    assert (found[1].title, found[2].title) == ("", "message 1")
    assert (found[2].first_at, found[2].last_at) == (START + timedelta(minutes=1), START + timedelta(minutes=2))

    def listed(**narrowed: Any) -> list[str]:
        return [thread.thread_id for thread in store.threads(ANN, **narrowed)]

    assert listed(since=START + timedelta(hours=1)) == ["new", "mid"]
    assert listed(until=START + timedelta(hours=1)) == ["old"]
    assert listed(user="ann") == listed(org="acme") == ["old"]
    assert listed(agent="nobody") == [] and listed(limit=1) == ["new"]


def test_forgotten_threads_are_gone_from_everywhere(store: MemoryStore) -> None:
    store.record_turns(ANN, "t", said(1, 2))
    store.record_turns(ANN, "u", [Turn("m", "user", "message 1 stays")])
    assert store.forget_thread(ANN, "t") == 2
    assert store.forget_thread(ANN, "t") == store.forget_thread(("nobody",), "t") == 0
    assert [thread.thread_id for thread in store.threads(ANN)] == ["u"]
    found = store.search_episodes(ANN, "message 1")
    assert [hit.turn.thread_id for episode in found for hit in episode.hits] == ["u"]
    store.record_turns(ANN, "v", said(1))
    assert [turn.position for turn in store.turns(ANN)] == [3, 4]  # no position is given out again


def test_what_was_forgotten_does_not_come_again(store: MemoryStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recording, "MOST_AT_ONCE", 3)
    store.record_turns(ANN, "t", said(*range(3, 9), at=START))
    store.forget_thread(ANN, "t")
    assert store.threads(ANN) == [] and store.forget_thread(ANN, "t") == 0
    # Nor what stood before it, and was never recorded.
    assert store.record_turns(ANN, "t", said(*range(1, 9), at=START)) == RecordedTurns(0, 8)
    assert store.threads(ANN, below=True) == [] and not store.search_episodes(ANN, "message")
    later = START + timedelta(days=1)
    assert store.record_turns(ANN, "t", [*said(*range(1, 9), at=START), *said(9, 10, at=later)]) == RecordedTurns(2, 8)
    (thread,) = store.threads(ANN)
    assert (thread.turns, thread.first_at, order(store)) == (2, later + timedelta(minutes=9), [9, 10])
    store.forget_thread(ANN, "t")
    assert store.record_turns(ANN, "t", said(*range(1, 12))) == RecordedTurns(1, 10)
    assert store.record_turns(("ben",), "t", said(3)).new == store.record_turns(ANN, "u", said(3)).new == 1


async def test_the_async_twins(store: MemoryStore) -> None:
    await asyncio.gather(*(store.arecord_turns(ANN, "t", said(*range(1, 20))) for _ in range(5)))
    assert [turn.position for turn in await store.aturns(ANN)] == [*range(1, 20)]
    assert (await store.athreads(ANN))[0].turns == 19
    assert len(await store.asearch_episodes(ANN, "message 7")) == 1
    assert await store.aforget_thread(ANN, "t") == 19


# --- search ---------------------------------------------------------------------------------------------------


@pytest.fixture
def talked(store: MemoryStore) -> MemoryStore:
    def talk(thread: str, day: int, *texts: tuple[Role, str], **who: Any) -> None:
        at = START + timedelta(days=day)
        turns = [
            Turn(f"{thread}{number}", role, text, at=at + timedelta(minutes=number))
            for number, (role, text) in enumerate(texts)
        ]
        store.record_turns(ANN, thread, turns, **who)

    talk(
        "proxy",
        0,
        ("user", "The upload fails."),
        ("tool", "504 gateway timeout"),
        ("assistant", "The timeout is in the proxy, so raise it to 60 s."),
        ("user", "That solved it, thanks."),
        user="ann",
        agent="coder",
    )
    talk("tea", 1, ("user", "I like green tea."), ("assistant", "Noted."), user="ann", agent="helper", org="acme")
    talk("again", 9, ("user", "Another timeout of the proxy!"), ("assistant", "As before."), user="ben", agent="coder")
    return store


def test_hits_come_by_conversation_with_what_was_said_around(talked: MemoryStore) -> None:
    found = talked.search_episodes(ANN, "timeout of the proxy", k=2)
    assert {episode.thread.thread_id for episode in found} == {"proxy", "again"}
    assert [episode.score for episode in found] == sorted((episode.score for episode in found), reverse=True)
    episode = next(episode for episode in found if episode.thread.thread_id == "proxy")
    (hit,) = episode.hits
    assert hit.turn.message_id == "proxy2" and hit.passage == hit.turn.text
    assert [turn.text for turn in hit.before] == ["504 gateway timeout"]
    assert [turn.text for turn in hit.behind] == ["That solved it, thanks."]
    assert episode.thread.title == "The upload fails." and episode.thread.turns == 4
    alone = talked.search_episodes(ANN, "timeout of the proxy", k=2, neighbours=0)
    assert all(hit.before == hit.behind == () for episode in alone for hit in episode.hits)


def test_results_by_time(talked: MemoryStore) -> None:
    found = talked.search_episodes(ANN, "timeout of the proxy", order="time")
    assert [episode.thread.thread_id for episode in found] == ["again", "proxy"]
    for episode in found:
        times = [hit.turn.at for hit in episode.hits]
        assert times == sorted(times)


@pytest.mark.parametrize(
    ("narrowed", "threads"),
    [
        ({"since": START + timedelta(days=2)}, {"again"}),
        ({"until": START + timedelta(days=2)}, {"proxy"}),
        ({"thread": "proxy"}, {"proxy"}),
        ({"without_thread": "proxy"}, {"again"}),
        ({"role": "tool"}, {"proxy"}),
        ({"user": "ben"}, {"again"}),
        ({"agent": "coder", "user": "ann"}, {"proxy"}),
        ({"org": "acme"}, set()),
        ({"thread": "tea"}, set()),
    ],
)
def test_filters(talked: MemoryStore, narrowed: dict[str, Any], threads: set[str]) -> None:
    found = talked.search_episodes(ANN, "timeout", **narrowed)
    assert {episode.thread.thread_id for episode in found} == threads
    if "role" in narrowed:
        assert {hit.turn.role for episode in found for hit in episode.hits} == {"tool"}


def test_a_filter_finds_the_one_among_many_that_answer_better(store: MemoryStore) -> None:
    for number in range(60):
        store.record_turns(ANN, f"t{number}", [Turn("m", "user", "green tea, green tea, green tea")], user="ann")
    store.record_turns(
        ANN, "mine", [Turn("m", "user", "some tea, and then a word or two about other things")], user="ben"
    )
    found = store.search_episodes(ANN, "green tea", k=1, user="ben")
    assert [episode.thread.thread_id for episode in found] == ["mine"]


@pytest.mark.parametrize(
    "wrong", [{"k": 0}, {"k": 2.5}, {"neighbours": -1}, {"role": "system"}, {"order": "size"}, {"thread": ""}]
)
def test_arguments_that_make_no_sense(talked: MemoryStore, wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidValueError):
        talked.search_episodes(ANN, "tea", **wrong)


def test_turns_are_recalled_beside_files(talked: MemoryStore) -> None:
    talked.write(ANN, "/proxy.md", "The proxy is squid.")
    kinds = {hit.kind for hit in talked.recall(ANN, "proxy")}
    assert kinds == {"file", "turn"}
    turn = next(hit for hit in talked.recall(ANN, "green tea", kinds=["turn"]))
    assert (turn.thread_id, turn.role, turn.text) == ("tea", "user", "I like green tea.")


def test_dates_and_speakers_are_found(store: MemoryStore) -> None:
    store.record_turns(
        ANN, "t", [Turn("1", "user", "I moved.", "Caroline", START), Turn("2", "user", "Oh!", "Melanie")]
    )
    for query in ("Caroline", "May 2026"):
        assert store.search_episodes(ANN, query, k=1).episodes[0].hits[0].turn.message_id == "1"
