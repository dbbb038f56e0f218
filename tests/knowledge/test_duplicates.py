"""Which texts are taken for the same memory: a list of pairs judged by hand, and properties of the measure."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoranda.knowledge.duplicates import NEAR, bag_of, canonical, digest_of, likeness

SAME = [
    # case, white space and punctuation
    ("Ann likes green tea.", "ann likes green tea"),
    ("Ann likes green tea.", "ANN LIKES GREEN TEA!!"),
    ("Ann likes  green tea", " Ann likes\ngreen tea."),
    ('The team calls it "Falcon".', "the team calls it Falcon"),
    ("Ann’s birthday is 5 May", "Ann's birthday is 5 May."),
    ("The budget is 1,000 euros.", "The budget is 1000 euros"),
    ("Café Müller opens at 9:30.", "café müller opens at 9:30"),
    # contractions and soft words
    ("Ann doesn't eat meat.", "Ann does not eat meat."),
    ("Bob can't swim", "Bob cannot swim"),
    ("Ann is a vegetarian.", "Ann is vegetarian"),
    ("The office is in the old town.", "Office is in the old town"),
    ("Ann really likes very strong coffee", "Ann likes strong coffee"),
    ("Ann drinks tea in the morning.", "Ann drinks tea in the mornings."),
    # word order
    ("Ann likes green tea.", "Green tea is what Ann likes."),
    ("Ann flies to Oslo tomorrow.", "Tomorrow Ann flies to Oslo."),
    ("Call Ann before lunch.", "Before lunch, call Ann."),
    ("Ann moved from Paris to Rome.", "Ann moved to Rome from Paris."),
    ("Bob is Ann's boss.", "Ann's boss is Bob."),
    ("Ann likes tea and coffee.", "Ann likes coffee and tea."),
    ("Ann speaks French, German.", "Ann speaks German, French."),
    ("On Fridays Ann works from home.", "Ann works from home on Fridays."),
    # Chinese
    ("安喜欢绿茶。", "安喜欢绿茶"),
    ("安喜欢绿茶", "绿茶是安喜欢的。"),
    ("会议在周五下午三点。", "会议在周五下午三点！"),
    ("用户住在上海，喜欢咖啡。", "用户住在上海喜欢咖啡"),
    ("明天安去北京。", "安明天去北京。"),
    ("安喜欢茶和咖啡", "安喜欢咖啡和茶"),
    ("他的生日是５月８日", "他的生日是5月8日"),
    ("安是素食者", "安是素食者。"),
    ("安 喜欢 绿茶", "安喜欢绿茶"),
    # Japanese and Arabic
    ("アンは緑茶が好きです。", "アンは緑茶が好きです"),
    ("ボブがアンは好き", "アンはボブが好き"),
    ("تُحِبُّ آن الشاي الأخضر", "تحب آن الشاي الاخضر."),
    ("عمري ٣٠ سنة", "عمري 30 سنة"),
]

DIFFERENT = [
    # numbers and dates
    ("Ann has 2 cats.", "Ann has 3 cats."),
    ("The budget is 1,000 euros.", "The budget is 10,000 euros."),
    ("The meeting is at 10:30.", "The meeting is at 13:00."),
    ("The launch is on 2024-05-08.", "The launch is on 2024-08-05."),
    ("Ann was born on 5 May.", "Ann was born on 6 May."),
    ("The rate is 3.5%.", "The rate is 35%."),
    ("The offset is 5.", "The offset is -5."),
    ("It costs $5.", "It costs €5."),
    ("Version 1.2 is in use.", "Version 1.2.1 is in use."),
    # negation and strength
    ("Ann likes tea.", "Ann does not like tea."),
    ("Ann eats meat.", "Ann never eats meat."),
    ("Bob can swim", "Bob can't swim"),
    ("Ann smokes.", "Ann stopped smoking."),
    ("Not all people like tea.", "All people like not tea."),
    ("Ann likes Bob, not Carl.", "Ann likes Carl, not Bob."),
    ("All tests pass.", "Some tests pass."),
    # names and other words
    ("Ann likes tea.", "Bob likes tea."),
    ("Anna likes tea.", "Anne likes tea."),
    ("Ann likes green tea.", "Ann likes black tea."),
    ("Ann lives in Paris.", "Ann lives in Rome."),
    ("Ann lives in Paris.", "Ann lived in Paris."),
    ("Ann is a teacher.", "Ann was a teacher."),
    ("Ann likes tea.", "Ann likes tea with milk."),
    ("The project uses C.", "The project uses C++."),
    ("The office is in the US.", "The office is in us."),
    ("Ann likes tea and milk.", "Ann likes tea or milk."),
    # who does what to whom
    ("Ann loves Bob.", "Bob loves Ann."),
    ("Ann reports to Bob.", "Bob reports to Ann."),
    ("ann hired bob", "ann was hired by bob"),
    ("Ann moved from Paris to Rome.", "Ann moved from Rome to Paris."),
    ("The meeting is before lunch.", "The meeting is after lunch."),
    ("Ann's boss is Bob.", "Bob's boss is Ann."),
    ("Ann likes chocolate milk.", "Ann likes milk chocolate."),
    ("The place is 48 11.", "The place is 11 48."),
    ("His manager is Bob.", "Her manager is Bob."),
    ("All cats are animals.", "All animals are cats."),
    ("Does Ann like tea?", "Does Ann like tea."),
    # Chinese
    ("安喜欢绿茶", "安不喜欢绿茶"),
    ("安喜欢绿茶", "安喜欢红茶"),
    ("会议在周五下午三点", "会议在周五下午四点"),
    ("预算是1000元", "预算是2000元"),
    ("安爱鲍勃", "鲍勃爱安"),
    ("张三借给李四钱", "李四借给张三钱"),
    ("老板的朋友", "朋友的老板"),
    ("用户住在上海", "用户住在北京"),
    ("用户住在上海", "海上住在用户"),
    ("他有孩子", "他没有孩子"),
    # Japanese and Arabic
    ("アンは緑茶が好き", "アンは緑茶が嫌い"),
    ("アンはボブが好き", "ボブはアンが好き"),
    ("アンは肉を食べる", "アンは肉を食べない"),
    ("آن تحب الشاي", "آن لا تحب الشاي"),
    ("عمري ٣٠ سنة", "عمري ٣١ سنة"),
]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_the_same_said_otherwise_is_a_duplicate(one: str, other: str) -> None:
    assert likeness(one, other) >= NEAR
    assert likeness(other, one) >= NEAR
    assert bag_of(one) == bag_of(other)


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_another_fact_is_none_however_alike(one: str, other: str) -> None:
    assert likeness(one, other) < NEAR
    assert likeness(other, one) < NEAR
    assert digest_of(one) != digest_of(other)


def test_documents_are_alike_field_by_field() -> None:
    one = {"subject": "Ann", "fact": "Likes tea and coffee", "year": 2024}
    assert likeness(one, {**one, "fact": "likes coffee and tea."}) >= NEAR
    assert likeness(one, {**one, "year": 2025}) == 0.0
    assert likeness(one, {**one, "more": True}) == 0.0
    assert digest_of(one) == digest_of({**one, "note": None})


@given(st.text(max_size=60), st.text(max_size=60))
def test_likeness_is_symmetric_and_bounded(one: str, other: str) -> None:
    assert likeness(one, one) == 1.0
    assert likeness(one, other) == likeness(other, one)
    assert 0.0 <= likeness(one, other) <= 1.0
    assert likeness(one, other) == 0.0 or bag_of(one) == bag_of(other)
    assert (canonical(one) == canonical(other)) == (digest_of(one) == digest_of(other))


@given(
    st.lists(
        st.sampled_from(["ann", "bob", "tea", "not", "5", "6", "and", "likes", "安", "喜", "欢", "的", "不"]),
        max_size=8,
    ).map(" ".join)
)
def test_upper_case_and_full_stops_never_matter(text: str) -> None:
    assert digest_of(text) == digest_of(f" {text.upper()}. ")
