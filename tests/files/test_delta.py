"""Superseded values come back byte for byte, cheaply; damage is an error and nothing worse."""

from __future__ import annotations

import random

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from memoranda.files import (
    Delta,
    DeltaKind,
    LineSplice,
    apply_delta,
    encode_previous,
    splice_between,
    splice_of,
    split_lines,
)

small = st.lists(st.sampled_from([b"a\n", b"b\n", b"c", b"\n", b"long line here\n", b"\xff\x00"]), max_size=15).map(
    b"".join
)
values = st.one_of(small, st.binary(max_size=300), small.map(lambda value: value * 60))

WORDS = "ann likes strong coffee and walks in autumn along the river with her dog project alpha"


def spliced(current: bytes, splice: LineSplice) -> bytes:
    lines = split_lines(current)
    assert 0 <= splice.start <= splice.start + splice.count <= len(lines)
    lines[splice.start : splice.start + splice.count] = splice.lines
    return b"".join(lines)


def prose(seed: int, lines: int) -> list[bytes]:
    chance = random.Random(seed)
    words = WORDS.split(" ")
    return [" ".join(chance.choices(words, k=12)).encode() + b"\n" for _ in range(lines)]


@given(values, st.one_of(st.none(), values))
@example(b"a\nb", b"a\nbc")
@example(b"x", b"x")
@example(b"", b"")
@example(b"a\na\n", b"a\na\na\n")
@example(b"", b"a")
def test_round_trip(previous: bytes, current: bytes | None) -> None:
    kind, payload = encode_previous(previous, current)
    assert apply_delta(kind, payload, current) == previous
    splice = splice_of(kind, payload, current)
    assert (splice is None) == (current is None)
    if splice is not None and current is not None:
        assert spliced(current, splice) == previous
        assert all(line for line in splice.lines)


@given(values, values)
def test_splice_is_the_shortest_run_of_lines(previous: bytes, current: bytes) -> None:
    splice = splice_between(previous, current)
    assert spliced(current, splice) == previous
    region = split_lines(current)[splice.start : splice.start + splice.count]
    if region and splice.lines:
        assert region[0] != splice.lines[0] and region[-1] != splice.lines[-1]
    if previous == current:
        assert splice.count == 0 and splice.lines == ()


@pytest.mark.parametrize("lines", [20, 1_000, 20_000])
def test_every_kind_at_every_size(lines: int) -> None:
    previous = prose(1, lines)
    one = [*previous]
    one[lines // 2] = b"changed\n"
    many = [*previous]
    for at in range(0, lines, max(1, lines // 6)):
        many[at] = b"changed %d\n" % at
    cut = previous[: lines // 4] + previous[3 * lines // 4 :]
    cases = {
        "one": (one, DeltaKind.SPLICE, 200),
        "many": (many, DeltaKind.PATCH, max(1_000, len(previous))),
        "other": (prose(2, lines), None, None),
        "cut": (cut, None, None),
    }
    old = b"".join(previous)
    for current, kind, limit in cases.values():
        new = b"".join(current)
        delta = encode_previous(old, new)
        assert apply_delta(*delta, new) == old
        splice = splice_of(*delta, new)
        assert splice is not None and spliced(new, splice) == old
        assert len(delta.payload) < len(old)
        assert kind is None or lines < 1_000 or delta.kind == kind
        assert limit is None or len(delta.payload) <= limit


def test_a_thousand_edits_of_a_large_text_stay_small() -> None:
    chance = random.Random(3)
    lines = prose(4, 1_600)
    current = b"".join(lines)
    assert len(current) > 100_000
    history: list[tuple[Delta, bytes]] = []
    for number in range(1_000):
        lines[chance.randrange(len(lines))] = (
            b"edit %d of a line of the usual length, more or less as it was\n" % number
        )
        previous, current = current, b"".join(lines)
        history.append((encode_previous(previous, current), previous))
    assert sum(len(delta.payload) for delta, _ in history) <= 300_000
    for delta, previous in reversed(history):
        current = apply_delta(*delta, current)
        assert current == previous


@given(st.data())
def test_damage_is_a_value_error(data: st.DataObject) -> None:
    previous = data.draw(values)
    current = data.draw(st.one_of(values, st.just(previous + b"end\n")))
    kind, payload = encode_previous(previous, current)
    damaged = bytearray(payload)
    for _ in range(data.draw(st.integers(1, 4))):
        damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    damaged = damaged[: data.draw(st.integers(0, len(damaged)))]
    for number in (kind, data.draw(st.integers(0, 5))):
        try:
            assert isinstance(apply_delta(number, bytes(damaged), current), bytes)
            splice_of(number, bytes(damaged), current)
        except ValueError:
            pass


@pytest.mark.parametrize(
    ("kind", "payload", "current"),
    [
        (DeltaKind.FULL, b"", b""),
        (DeltaKind.FULL, b"\2x", b""),
        (DeltaKind.FULL, b"\1", b""),
        # A zstd frame that claims 2**62 bytes, and one that claims 900 MB and has none.
        (DeltaKind.FULL, b"\1\x28\xb5\x2f\xfd\xe0" + (2**62).to_bytes(8, "little"), b""),
        (DeltaKind.FULL, b"\1\x28\xb5\x2f\xfd\xe0" + (900_000_000).to_bytes(8, "little"), b""),
        (DeltaKind.SPLICE, b"\0\0\0\0\0old", None),
        (DeltaKind.SPLICE, b"\xff" * 30, b"x"),
        (DeltaKind.SPLICE, b"\0\0\5\0\0old", b"x"),
        (DeltaKind.SPLICE, b"\0\7\0\0\0old", b"x\n"),
        (DeltaKind.PATCH, b"nonsense", b"x"),
        (DeltaKind.PATCH, b"", b""),
        (9, b"\0", b"x"),
    ],
)
def test_damage(kind: int, payload: bytes, current: bytes | None) -> None:
    with pytest.raises(ValueError):
        apply_delta(kind, payload, current)


def test_a_keyframe_needs_nothing_else() -> None:
    delta = encode_previous(b"alone" * 100, None)
    assert delta.kind is DeltaKind.FULL and len(delta.payload) < 100
    assert apply_delta(*delta, None) == b"alone" * 100


@pytest.mark.slow
def test_a_very_large_value_is_patched() -> None:
    previous = random.Random(5).randbytes(20_000_000).hex().encode()
    current = bytearray(previous)
    for at in range(100, len(current), len(current) // 7):
        current[at] = 33
    delta = encode_previous(previous, bytes(current))
    assert delta.kind is DeltaKind.PATCH and len(delta.payload) < len(previous) / 50
    assert apply_delta(*delta, bytes(current)) == previous
