"""Which messages are turns, what of them is kept, and what is masked."""

from __future__ import annotations

import base64
import random
import string
from datetime import UTC, datetime
from typing import Any

import pytest
from langchain_core.messages import AIMessage, ChatMessage, HumanMessage, RemoveMessage, SystemMessage, ToolMessage
from langchain_core.utils.uuid import uuid7

from memoranda.episodes import Keeping, mask_secrets
from memoranda.episodes.messages import Said, said_in, time_of, woven


def ids(said: list[Said]) -> list[str]:
    return [one.id for one in said]


def test_only_what_was_said_is_a_turn() -> None:
    messages = [
        SystemMessage(content="You are kind.", id="1"),
        HumanMessage(content="Hi.", id="2"),
        HumanMessage("A summary.", id="3", additional_kwargs={"lc_source": "summarization"}),
        HumanMessage("Here is a summary of the conversation to date:\n\nTea.", id="4"),
        RemoveMessage(id="5"),
        ChatMessage(content="Well.", role="assistant", id="6"),
        ChatMessage(content="Rules.", role="developer", id="7"),
        ToolMessage("4", tool_call_id="c", name="add", id="8"),
        {"role": "user", "content": "Bye.", "id": "9"},
        "not a message of any form \ud800",
        object(),
    ]
    found = said_in(messages)
    assert ids(found)[:4] == ["2", "6", "8", "9"]
    assert [one.role for one in found[:4]] == ["user", "assistant", "tool", "user"]


def test_ids_that_are_made_are_the_same_when_the_list_grows() -> None:
    first: list[Any] = [HumanMessage("yes"), AIMessage("no"), HumanMessage("yes"), AIMessage("no")]
    assert len(set(ids(said_in(first)))) == 4
    assert ids(said_in([*first, HumanMessage("more")]))[:4] == ids(said_in(first))


@pytest.mark.parametrize("seed", range(30))
def test_weaving_gives_the_conversation_whatever_left_it(seed: int) -> None:
    chance = random.Random(seed)
    everything = [Said(str(number), "user", HumanMessage(str(number))) for number in range(30)]
    states: list[list[Said]] = []
    state: list[Said] = []
    for start in range(0, 30, 5):
        state = [*state, *everything[start : start + 5]]
        states.append(state)
        first = 1 if chance.random() < 0.5 else 0
        kept = state[:first] + state[max(first, len(state) - chance.randrange(1, 6)) :]
        state = kept
    woven_together: list[Said] = []
    for one in reversed(states):
        woven_together = woven(woven_together, one)
    assert ids(woven_together) == ids(everything)


def test_times() -> None:
    moment = datetime(2026, 5, 1, 12, 30, tzinfo=UTC)
    seconds = moment.timestamp()
    for message in (
        HumanMessage("x", additional_kwargs={"timestamp": moment.isoformat()}),
        AIMessage("x", response_metadata={"created": int(seconds)}),
        AIMessage("x", response_metadata={"created_at": "2026-05-01T12:30:00Z"}),
        HumanMessage("x", additional_kwargs={"ts": seconds * 1_000}),
        AIMessage("x", id=f"lc_run--{uuid7(int(seconds) * 10**9)}"),
    ):
        assert time_of(message) == moment
    for odd in ("yesterday", True, -1, 1e300, "0001-01-01", None, [1]):
        assert time_of(HumanMessage("x", id="m", additional_kwargs={"timestamp": odd})) is None


@pytest.mark.parametrize("size", [256, 1_000, 16_384])
@pytest.mark.parametrize("text", ["x" * 50_000, "茶" * 50_000, "👩‍👩‍👧" * 9_000, "a\n" * 40_000])
def test_long_texts_keep_their_beginning_and_their_end(size: int, text: str) -> None:
    (turn,) = Keeping(max_bytes=size).turns(said_in([HumanMessage(f"first {text} last", id="1")]))
    assert len(turn.text.encode()) <= size
    assert turn.text.startswith("first") and turn.text.endswith("last")
    assert turn.size == len(f"first {text} last".encode()) and f"{turn.size:,} bytes" in turn.text


KEY = "ghp_" + "Zk3x" * 9


def test_no_secret_is_cut_in_two() -> None:
    for offset in range(-60, 20, 4):
        text = "x" * (192 + offset) + f" {KEY} " + "y" * 20_000 + f" {KEY} " + "z" * (64 + offset)
        (turn,) = Keeping(max_bytes=256).turns(said_in([HumanMessage(text, id="1")]))
        assert "ghp_" not in turn.text and "Zk3xZk3x" not in turn.text


@pytest.mark.parametrize(
    "hidden",
    [
        KEY,
        f"{KEY[:10]}\u200b{KEY[10:]}",
        base64.b64encode(f"the token is {KEY}".encode()).decode(),
        "\n".join(KEY[start : start + 20] for start in range(0, 40, 20)) + f"\n{KEY}",
        f"{KEY} and {KEY}",
    ],
)
def test_secrets_are_masked_however_they_are_written(hidden: str) -> None:
    masked = mask_secrets(f"line one\nkey: {hidden}\nline three")
    assert KEY not in masked and hidden not in masked and "[secret removed]" in masked
    assert masked.startswith("line one\n") and masked.endswith("\nline three")


def test_masking_leaves_the_rest_alone() -> None:
    chance = random.Random(7)
    text = "".join(chance.choices(string.ascii_letters + " .\n茶", k=20_000))
    assert mask_secrets(text) == text
    assert mask_secrets("AKIAIOSFODNN7EXAMPLE") == "AKIAIOSFODNN7EXAMPLE"  # a vendor's sample


def test_a_private_key_goes_as_a_whole() -> None:
    body = "\n".join("".join(random.Random(n).choices(string.ascii_letters + string.digits, k=64)) for n in range(20))
    masked = mask_secrets(f"before\n-----BEGIN RSA PRIVATE KEY-----\n{body}\n-----END RSA PRIVATE KEY-----\nafter")
    assert masked == "before\n[secret removed]\nafter"
    cut = mask_secrets(f"before\n-----BEGIN PRIVATE KEY-----\n{body}")
    assert cut == "before\n[secret removed]"


def test_a_secret_in_encoded_lines_goes_with_all_of_them() -> None:
    encoded = base64.b64encode(f"{'words ' * 20} {KEY} {'words ' * 20}".encode()).decode()
    lines = [encoded[start : start + 60] for start in range(0, len(encoded), 60)]
    masked = mask_secrets("\n".join(["before", *lines, "after all of it"]))
    assert masked == "before\n[secret removed]\nafter all of it"
