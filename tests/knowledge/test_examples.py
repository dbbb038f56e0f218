"""Worked examples: stored once, selected by likeness, accepted by LangChain's prompts."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest
from langchain_core.example_selectors import BaseExampleSelector
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.prompts import (
    ChatPromptTemplate,
    FewShotChatMessagePromptTemplate,
    FewShotPromptTemplate,
    PromptTemplate,
)

from memoranda import MemoryStore
from memoranda.backends import by_user
from memoranda.backends.scopes import ScopeError
from memoranda.errors import SearchUnavailableError
from memoranda.knowledge.errors import InvalidSettingError
from memoranda.knowledge.examples import Examples, InvalidExampleError

SUPPORT = ("support",)
MAIL = [
    ("My parcel is late.", "shipping"),
    ("The parcel was broken when it came.", "damage"),
    ("I was charged twice for one order.", "billing"),
    ("How do I change my password?", "account"),
    ("我的包裹还没到。", "配送"),
    ("荷物がまだ届きません。", "配送"),
    ("لم تصل الطلبية بعد", "الشحن"),
]


@pytest.fixture
def examples(store: MemoryStore) -> Examples:
    found = Examples(store, SUPPORT)
    for given, output in MAIL:
        found.add(given, output)
    return found


@pytest.mark.parametrize(
    ("query", "output"),
    [
        ("Where is my parcel? It is late.", "shipping"),
        ("charged two times", "billing"),
        ("包裹没到", "配送"),
        ("荷物が届かない", "配送"),
        ("متى تصل الطلبية", "الشحن"),
    ],
)
def test_the_most_like_comes_first(examples: Examples, query: str, output: str) -> None:
    (best, *_) = examples.select(query)
    assert best.output == {"output": output} and best.score is not None and best.score > 0


def test_k_and_order(examples: Examples) -> None:
    one, both = examples.select("parcel", k=1), examples.select("parcel", k=2)
    assert [example.id for example in both[:1]] == [one[0].id]
    assert {example.output["output"] for example in both} == {"shipping", "damage"}
    assert all(examples.select("parcel", k=2) == both for _ in range(3))
    assert len(examples.select("parcel my order password late", k=3)) == 3
    assert len(Examples(examples.store, SUPPORT, k=1).select("parcel")) == 1


def test_equally_like_ones_come_in_one_order(store: MemoryStore) -> None:
    there, back = Examples(store, ("there",)), Examples(store, ("back",))
    words = [f"tea {word}" for word in ("green", "black", "white", "red")]
    for one, other in zip(words, reversed(words), strict=True):
        there.add(one, "x")
        back.add(other, "x")
    assert [example.input for example in there.select("tea")] == [example.input for example in back.select("tea")]


def test_the_same_input_is_stored_once(examples: Examples, store: MemoryStore) -> None:
    first = examples.add("My parcel is late.", "delivery", source="Ann")
    (found,) = examples.select("my parcel is late", k=1)
    assert (found.id, found.output, found.meta) == (first, {"output": "delivery"}, {"source": "Ann"})
    assert len(store.list_keys(SUPPORT, "", recursive=True)) == len(MAIL)
    assert len(store.history(SUPPORT, f"/examples/{first}")) == 2


def test_forgetting(examples: Examples) -> None:
    (found,) = examples.select("charged twice", k=1)
    assert examples.forget(found.id) is True
    assert examples.forget(found.id) is False
    assert all(example.id != found.id for example in examples.select("charged twice"))


def test_an_empty_store_has_none(store: MemoryStore) -> None:
    examples = Examples(store, SUPPORT)
    assert examples.select("tea") == [] and examples.as_messages("tea") == []
    assert examples.select_examples({"input": "tea"}) == [] and examples.select_examples({}) == []
    assert examples.select("") == []


def test_messages(examples: Examples) -> None:
    assert examples.as_messages("my parcel is late", k=1) == [
        HumanMessage("My parcel is late."),
        AIMessage("shipping"),
    ]


def test_fields(store: MemoryStore) -> None:
    sums = Examples(store, SUPPORT, input_keys=["a", "b"])
    sums.add({"a": 2, "b": 40}, {"sum": 42, "parity": "even"}, level=1)
    (found,) = sums.select({"a": 2, "b": 7, "c": "ignored"})
    assert (found.input, found.output, found.meta) == ({"a": 2, "b": 40}, {"sum": 42, "parity": "even"}, {"level": 1})
    assert found.fields == {"a": 2, "b": 40, "sum": 42, "parity": "even", "level": 1}
    messages = sums.as_messages({"a": 2, "b": 40})
    assert [message.text for message in messages] == ["a: 2\nb: 40", "sum: 42\nparity: even"]


QUESTION = {"question": "Which tea does Ann like?", "answer": "Green tea."}


class TestLangChain:
    def selector(self, store: MemoryStore) -> Examples:
        selector = Examples(store, SUPPORT, input_keys=["question"], k=2)
        for example in (QUESTION, {"question": "What is 2 + 2?", "answer": "Four."}):
            selector.add_example(example)
        return selector

    def test_it_is_a_selector(self, store: MemoryStore) -> None:
        selector = self.selector(store)
        assert isinstance(selector, BaseExampleSelector)
        assert selector.select_examples({"question": "tea of Ann?"}) == [QUESTION]

    def test_a_prompt_takes_it(self, store: MemoryStore) -> None:
        prompt = FewShotPromptTemplate(
            example_selector=self.selector(store),
            example_prompt=PromptTemplate.from_template("Q: {question}\nA: {answer}"),
            suffix="Q: {question}",
            input_variables=["question"],
        )
        wanted = "Q: Which tea does Ann like?\nA: Green tea.\n\nQ: What tea?"
        assert prompt.format(question="What tea?") == wanted
        assert asyncio.run(prompt.aformat(question="What tea?")) == wanted

    def test_a_chat_prompt_takes_it(self, store: MemoryStore) -> None:
        few_shot = FewShotChatMessagePromptTemplate(
            example_selector=self.selector(store),
            example_prompt=ChatPromptTemplate.from_messages([("human", "{question}"), ("ai", "{answer}")]),
            input_variables=["question"],
        )
        prompt = ChatPromptTemplate.from_messages([("system", "Answer."), few_shot, ("human", "{question}")])
        wanted = ["Answer.", "Which tea does Ann like?", "Green tea.", "What tea?"]
        assert [message.text for message in prompt.format_messages(question="What tea?")] == wanted
        found = asyncio.run(prompt.aformat_messages(question="What tea?"))
        assert [message.text for message in found] == wanted

    def test_an_empty_selector_leaves_the_rest(self, store: MemoryStore) -> None:
        prompt = FewShotPromptTemplate(
            example_selector=Examples(store, SUPPORT),
            example_prompt=PromptTemplate.from_template("{input}"),
            suffix="Q: {input}",
            input_variables=["input"],
        )
        assert prompt.format(input="tea") == "Q: tea"

    def test_without_input_keys_all_but_the_output_is_input(self, store: MemoryStore) -> None:
        examples = Examples(store, SUPPORT)
        examples.add_example({"mail": "My parcel is late.", "output": "shipping"})
        (found,) = examples.select("parcel")
        assert (found.input, found.output) == ({"mail": "My parcel is late."}, {"output": "shipping"})
        examples.add_example({"mail": "Thanks!", "answer": "polite"})
        with pytest.raises(InvalidExampleError, match="input_keys"):
            examples.as_messages("thanks")

    def test_async(self, store: MemoryStore) -> None:
        async def use() -> None:
            examples = Examples(store, SUPPORT)
            await examples.aadd("My parcel is late.", "shipping")
            await examples.aadd_example({"input": "The parcel is broken.", "output": "damage"})
            assert len(await examples.aselect("parcel")) == 2
            assert (await examples.aas_messages("late", k=1))[1].text == "shipping"
            (found,) = await examples.aselect_examples({"input": "broken"})
            assert found == {"input": "The parcel is broken.", "output": "damage"}
            assert await examples.aforget((await examples.aselect("broken"))[0].id)

        asyncio.run(use())


def test_what_else_lies_there_does_not_get_in_the_way(examples: Examples, store: MemoryStore) -> None:
    for number in range(60):
        store.put(SUPPORT, f"parcel-{number}", {"text": "parcel parcel parcel"})
    store.put(SUPPORT, "/examples/strange", {"found_by": "parcel", "input": 3})
    assert {example.output["output"] for example in examples.select("parcel", k=2)} <= {"shipping", "damage"}
    assert Examples(store, SUPPORT, name="other").select("parcel") == []
    assert Examples(store, (*SUPPORT, "x")).select("parcel") == []


def test_bad_input_is_refused(
    examples: Examples, store: MemoryStore, store_url: str, open_here: Callable[..., MemoryStore]
) -> None:
    with pytest.raises(InvalidExampleError, match="no input"):
        examples.add(" ", "x")
    with pytest.raises(InvalidExampleError, match="no JSON"):
        examples.add("x", {"output": object()})
    with pytest.raises(InvalidExampleError, match="'question'"):
        Examples(store, SUPPORT, input_keys=["question"]).add_example({"answer": "x"})
    with pytest.raises(InvalidSettingError, match="k=0"):
        examples.select("x", k=0)
    with pytest.raises(InvalidSettingError, match="input_keys"):
        Examples(store, SUPPORT, input_keys="question")
    with pytest.raises(InvalidSettingError, match="folder"):
        Examples(store, SUPPORT, name="a/b")
    with pytest.raises(ScopeError):
        Examples(store, by_user).select("x")
    with pytest.raises(SearchUnavailableError):
        Examples(open_here(store_url, index=False), SUPPORT).select("x")
