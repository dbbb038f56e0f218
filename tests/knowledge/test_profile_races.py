"""Patches made at the same time: those of different fields all land, and none hits what it did not see."""

from __future__ import annotations

import asyncio
import json
import random
import subprocess
import sys
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from threading import Barrier
from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from pydantic import BaseModel, model_validator

from memoranda import ConflictError, MemoryStore, open_store
from memoranda.knowledge import InvalidPatchError, Profile
from memoranda.knowledge.patching import ChangedMeanwhileError, apply, carry_over, checked_steps, same
from tests.support.scale import sized

NS = ("ann",)
FIELDS = ("a", "b", "c", "d", "e", "f", "g", "h")
SCHEMA: dict[str, Any] = {
    "properties": {
        **{name: {"type": "integer", "default": 0} for name in FIELDS},
        "list": {"type": "array", "items": {"type": "string"}, "default": []},
    },
    "additionalProperties": False,
}


def put(path: str, value: Any) -> dict[str, Any]:
    return {"op": "replace", "path": path, "value": value}


def test_threads_patch_different_fields_and_all_land(store_url: str, open_here: Callable[..., MemoryStore]) -> None:
    stores = [open_here(store_url) for _ in range(2)]
    times, barrier = sized(25, quick=5), Barrier(len(FIELDS))

    def work(number: int) -> None:
        profile = Profile(SCHEMA, stores[number % 2], NS)
        barrier.wait()
        for value in range(1, times + 1):
            profile.patch([put(f"/{FIELDS[number]}", value), {"op": "add", "path": "/list/-", "value": f"{number}"}])

    with ThreadPoolExecutor(len(FIELDS)) as pool:
        list(pool.map(work, range(len(FIELDS))))
    document = Profile(SCHEMA, stores[0], NS).document()
    assert {name: document[name] for name in FIELDS} == dict.fromkeys(FIELDS, times)
    assert sorted(document["list"]) == sorted(str(number) for number in range(len(FIELDS)) for _ in range(times))
    # Each patch is a revision of its own, and none of them took anything of another back.
    history = Profile(SCHEMA, stores[0], NS).history()
    assert [entry.revision for entry in history] == [*range(len(FIELDS) * times, 0, -1)]


async def test_tasks_patch_different_fields_and_all_land(store: MemoryStore) -> None:
    profile = Profile(SCHEMA, store, NS)
    await asyncio.gather(*(profile.apatch([put(f"/{name}", 7)]) for name in FIELDS))
    document = await profile.adocument()
    assert all(document[name] == 7 for name in FIELDS) and profile.revision == len(FIELDS)


PROCESS = """
import json, sys
from memoranda import open_store
from memoranda.knowledge import Profile
url, field, times, schema = sys.argv[1], sys.argv[2], int(sys.argv[3]), json.loads(sys.argv[4])
with open_store(url, index=False) as store:
    profile = Profile(schema, store, ("ann",))
    print("ready", flush=True)
    sys.stdin.readline()
    for value in range(1, times + 1):
        profile.patch([{"op": "replace", "path": "/" + field, "value": value}])
"""


def test_processes_patch_different_fields_and_all_land(store: MemoryStore, store_url: str) -> None:
    times = sized(100, quick=6)
    command = [sys.executable, "-c", PROCESS, store_url]
    workers = [
        subprocess.Popen(
            [*command, name, str(times), json.dumps(SCHEMA)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for name in FIELDS[:2]
    ]
    for worker in workers:
        assert worker.stdout is not None and worker.stdout.readline() == "ready\n"
    for worker in workers:
        worker.communicate("go\n", timeout=60)
        assert worker.returncode == 0
    document = Profile(SCHEMA, store, NS).document()
    assert [document[name] for name in FIELDS[:2]] == [times] * 2
    assert len(Profile(SCHEMA, store, NS).history()) == 2 * times


def test_a_patch_on_a_base_leaves_alone_what_another_changed(store: MemoryStore) -> None:
    profile = Profile(SCHEMA, store, NS)
    profile.patch([put("/a", 1)])
    seen = profile.snapshot()
    profile.patch([put("/b", 5)])
    assert profile.patch([put("/a", 2)], base=seen.revision).document["b"] == 5
    with pytest.raises(ConflictError, match="/a is not what it was") as caught:
        profile.patch([put("/c", 1), put("/a", 3)], base=seen.revision)
    (conflict,) = caught.value.conflicts
    assert (conflict.index, conflict.reason, conflict.revision) == (1, "changed", 3)
    assert json.loads(conflict.theirs or "")["a"] == 2
    assert profile.document()["c"] == 0 and profile.revision == 3


@pytest.mark.parametrize(
    ("operation", "lands"),
    [
        ({"op": "remove", "path": "/list/1"}, False),
        (put("/list/1", "oolong"), False),
        ({"op": "add", "path": "/list/1", "value": "oolong"}, False),
        ({"op": "move", "from": "/list/1", "path": "/list/0"}, False),
        ({"op": "copy", "from": "/list/1", "path": "/list/-"}, False),
        ({"op": "add", "path": "/list/-", "value": "oolong"}, True),
        (put("/a", 1), True),
    ],
)
@pytest.mark.parametrize("their", [{"op": "remove", "path": "/list/0"}, {"op": "add", "path": "/list/0", "value": "x"}])
def test_an_array_that_another_shifted(
    store: MemoryStore, operation: dict[str, Any], their: dict[str, Any], lands: bool
) -> None:
    profile = Profile(SCHEMA, store, NS)
    profile.patch([put("/list", ["tea", "figs", "rain"])])
    seen = profile.snapshot()
    after = profile.patch([their]).document
    if lands:
        assert profile.patch([operation], base=seen.revision).document == apply(after, checked_steps([operation]))
    else:
        with pytest.raises(ConflictError, match=r"/list/\d is not what it was"):
            profile.patch([operation], base=seen.revision)
        assert profile.document() == after


FREE: dict[str, Any] = {"properties": {"a": {"default": 0}, "b": {"default": {"x": 0}}, "list": {"default": []}}}


def random_patch(chance: random.Random) -> list[dict[str, Any]]:
    def one() -> dict[str, Any]:
        path = chance.choice(["/a", "/b/x", "/b/y", "/list/0", "/list/1", "/list/-"])
        name = chance.choice(["add", "add", "replace", "remove", "copy", "move"])
        return {"op": name, "path": path, "value": chance.randrange(100), "from": chance.choice(["/a", "/list/0"])}

    return [one() for _ in range(chance.randint(1, 3))]


def test_what_threads_patch_is_what_one_would_have_patched_after_the_other(store: MemoryStore) -> None:
    times, workers, barrier = sized(100, quick=12), 4, Barrier(4)

    def work(number: int) -> dict[int, list[dict[str, Any]]]:
        chance, profile, landed = random.Random(number), Profile(FREE, store, NS), dict[int, list[dict[str, Any]]]()
        barrier.wait()
        for _ in range(times):
            patch = random_patch(chance)
            with suppress(InvalidPatchError, ConflictError):
                patched = profile.patch(patch)
                if patched.changed:
                    landed[patched.revision] = patch
        return landed

    with ThreadPoolExecutor(workers) as pool:
        landed = {revision: patch for each in pool.map(work, range(workers)) for revision, patch in each.items()}
    document: dict[str, Any] = {"a": 0, "b": {"x": 0}, "list": []}
    profile = Profile(FREE, store, NS)
    assert sorted(landed) == list(range(1, profile.revision + 1)) and len(landed) > times // 2
    for revision in sorted(landed):
        document = apply(document, checked_steps(landed[revision]))
        document.setdefault("a", 0)  # a field that was removed has its default again
        assert same(store.get_at(NS, "profile", revision=revision).value, document)
    assert same(profile.document(), document)


@contextmanager
def somebody_first(work: Callable[[], Any], times: int = 1) -> Generator[list[int]]:
    """Let somebody else write between the reading and the commit of a patch, so many times; the list counts down."""
    commit, left = MemoryStore.commit, [times]

    def late(self: MemoryStore, *args: Any, **kwargs: Any) -> Any:
        if left[0]:
            left[0] -= 1
            before, left[0] = left[0], 0
            work()
            left[0] = before
        return commit(self, *args, **kwargs)

    with pytest.MonkeyPatch.context() as patching:
        patching.setattr(MemoryStore, "commit", late)
        yield left


def test_a_patch_without_a_base_never_hits_another_element_than_there_was_at_its_start(store: MemoryStore) -> None:
    profile = Profile(SCHEMA, store, NS)
    profile.patch([put("/list", ["tea", "figs", "rain"])])
    with (
        somebody_first(lambda: profile.patch([{"op": "remove", "path": "/list/0"}])),
        pytest.raises(ConflictError, match="/list/1 is not what it was"),
    ):
        profile.patch([{"op": "remove", "path": "/list/1"}])
    # A field is set to what was asked for, whoever set it meanwhile.
    with somebody_first(lambda: profile.patch([put("/a", 1), put("/b", 1)])):
        assert profile.patch([put("/a", 3)]).document == {**profile.document(), "a": 3, "b": 1}
    assert profile.document()["list"] == ["figs", "rain"]


def test_a_patch_that_is_applied_again_is_the_same_patch(store: MemoryStore) -> None:
    profile = Profile({}, store, NS)
    with somebody_first(lambda: profile.patch([{"op": "add", "path": "/x", "value": 1}]), 1):
        profile.patch([{"op": "add", "path": "/a", "value": {"b": []}}, {"op": "add", "path": "/a/b/-", "value": 1}])
    assert profile.document() == {"a": {"b": [1]}, "x": 1}


def test_what_two_patches_make_together_is_checked_too(store: MemoryStore) -> None:
    class Budget(BaseModel):
        tea: int = 0
        figs: int = 0

        @model_validator(mode="after")
        def not_too_much(self) -> Budget:
            if self.tea + self.figs > 10:
                raise ValueError("more than 10 in all")
            return self

    profile = Profile(Budget, store, NS)
    with (
        somebody_first(lambda: profile.patch([put("/tea", 6)])),
        pytest.raises(InvalidPatchError, match="more than 10 in all"),
    ):
        profile.patch([put("/figs", 6)])
    assert profile.get() == Budget(tea=6)


def test_it_does_not_try_for_ever(store: MemoryStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memoranda.knowledge.keeping._ROUNDS", 5)
    profile, numbers = Profile(SCHEMA, store, NS), iter(range(1, 100))
    with somebody_first(lambda: profile.patch([put("/b", next(numbers))]), 6) as left:
        with pytest.raises(ConflictError, match="changed by others 5 times"):
            profile.patch([put("/a", 3)])
        assert left == [1]
    assert profile.document()["a"] == 0 and profile.document()["b"] == 5


# --- properties: any patches, in any order, against patches applied one after the other -------------------------------

documents = st.fixed_dictionaries(
    {
        "a": st.integers(0, 3),
        "b": st.fixed_dictionaries({"x": st.integers(0, 3), "y": st.integers(0, 3)}),
        "list": st.lists(st.sampled_from(["tea", "figs", "rain"]), max_size=4),
        "people": st.lists(st.fixed_dictionaries({"name": st.sampled_from(["Al", "Bo"])}), max_size=3),
    }
)
paths = st.sampled_from(
    ["/a", "/b", "/b/x", "/b/y", "/b/z", "/list", "/list/-", "/people/-"]
    + [f"/list/{index}" for index in range(4)]
    + [f"/people/{index}{rest}" for index in range(3) for rest in ("", "/name")]
)
values = st.one_of(st.integers(0, 9), st.sampled_from(["tea", "oolong"]), st.just({"name": "Cy"}), st.just([]))


def operations() -> st.SearchStrategy[dict[str, Any]]:
    with_value = st.fixed_dictionaries({"op": st.sampled_from(["add", "replace"]), "path": paths, "value": values})
    with_source = st.fixed_dictionaries({"op": st.sampled_from(["move", "copy"]), "path": paths, "from": paths})
    return st.one_of(with_value, with_source, st.fixed_dictionaries({"op": st.just("remove"), "path": paths}))


patches = st.lists(operations(), min_size=1, max_size=3)


def outcome(document: dict[str, Any], patch: list[dict[str, Any]]) -> dict[str, Any] | None:
    try:
        return apply(document, checked_steps(patch))
    except InvalidPatchError:
        return None


@given(documents, patches, patches)
@hypothesis_settings(max_examples=sized(3_000, quick=25))
def test_what_is_carried_over_is_what_comes_of_applying_both(
    seen: dict[str, Any], theirs: list[dict[str, Any]], mine: list[dict[str, Any]]
) -> None:
    now = outcome(seen, theirs)
    alone = outcome(seen, mine)
    if now is None:
        return
    steps = checked_steps(mine)
    for fields_too in (True, False):
        try:
            carried = carry_over(now, steps, seen, fields_too=fields_too)
        except InvalidPatchError:
            assert alone is None
        except ChangedMeanwhileError:
            assert alone is not None and not same(now, seen)
        else:
            # As if one had come after the other; and what was seen is left as it was.
            assert alone is not None and same(carried, outcome(now, mine))
            assert same(outcome(seen, theirs), now)


@given(documents, patches, st.integers(0, 3))
@hypothesis_settings(max_examples=sized(2_000, quick=25))
def test_an_element_is_removed_only_if_it_is_the_one_that_was_seen(
    seen: dict[str, Any], theirs: list[dict[str, Any]], index: int
) -> None:
    now = outcome(seen, theirs)
    if now is None or index >= len(seen["list"]):
        return
    element = seen["list"][index]
    try:
        carried = carry_over(now, checked_steps([{"op": "remove", "path": f"/list/{index}"}]), seen, fields_too=True)
    except ChangedMeanwhileError:
        assert not same(now.get("list"), seen["list"])
    else:
        assert now["list"][index] == element and len(carried["list"]) == len(now["list"]) - 1


@given(st.permutations(FIELDS), st.lists(st.integers(1, 9), min_size=8, max_size=8))
@hypothesis_settings(max_examples=sized(100, quick=6))
def test_patches_of_different_fields_on_one_base_land_in_any_order(order: list[str], numbers: list[int]) -> None:
    with open_store("memory://", index=False) as store:
        profile = Profile(SCHEMA, store, NS)
        profile.patch([put("/list", ["tea"])])
        base = profile.revision
        for name in order:
            profile.patch([put(f"/{name}", numbers[FIELDS.index(name)])], base=base)
        assert profile.document() == {**dict(zip(FIELDS, numbers, strict=True)), "list": ["tea"]}
