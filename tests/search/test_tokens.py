"""Words of every script are found, exact forms count for more, and nothing is slow or breaks."""

from __future__ import annotations

import doctest
import subprocess
import sys
import time
from importlib import import_module
from pkgutil import iter_modules

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import memoranda.search
from memoranda.search import tokens, words
from memoranda.search.query import analyse
from memoranda.search.tokens import length_of, speaker_id, term_id, terms_of


def score(query: str, text: str) -> float:
    """The weights of all that match; 0 where a base term is missing and no whole or other spelling makes up for it."""
    counts = terms_of(text)
    terms = analyse(query).terms
    assert terms, f"no terms in {query!r}"
    base = [term for term in terms if not term.id & 1 and term.weight >= 0.9]
    whole = [term for term in terms if term not in base and term.weight >= 0.5]
    if not (base and all(term.id in counts for term in base)) and not any(term.id in counts for term in whole):
        return 0.0
    return sum(term.weight for term in terms if term.id in counts)


HITS = [
    # Chinese, simplified and traditional; two characters, one, and across a change of script
    ("喜欢", "我非常喜欢绿茶。"),
    ("绿茶", "我非常喜欢绿茶。"),
    ("茶", "我非常喜欢绿茶。"),
    ("綠茶", "我很愛喝綠茶"),
    ("iPhone手机", "他买了iPhone手机。"),
    ("北京大学", "她在北京大学读书"),
    ("𠮷野", "𠮷野家で食べた"),
    # Japanese: kanji, hiragana, katakana, half width, voiced marks apart
    ("東京", "昨日東京タワーに行った"),
    ("すし", "わたしはすしがすきです"),
    ("タワー", "昨日東京タワーに行った"),
    ("ﾃﾚﾋﾞ", "新しいテレビを買った"),
    ("テレビ", "新しいﾃﾚﾋﾞを買った"),
    ("か\u3099く", "がくせいです"),
    ("猫は", "猫が好きです"),
    # Korean: inside a longer word, and decomposed
    ("학교", "우리는 학교에서 만났다"),
    ("한국", "그는 한국어를 배운다"),
    ("국어", "그는 한국어를 배운다"),
    ("차", "따뜻한 차"),
    ("한국".encode().decode(), "\u1112\u1161\u11ab\u1100\u116e\u11a8 사람"),
    # Scripts of South East Asia
    ("ข้าว", "ฉันกินข้าวทุกวัน"),
    ("กิ", "ฉันกินข้าวทุกวัน"),
    ("ເຂົ້າ", "ຂ້ອຍກິນເຂົ້າ"),
    ("បាយ", "ខ្ញុំញ៉ាំបាយ"),
    ("ထမင်း", "ကျွန်တော်ထမင်းစားတယ်"),
    # Arabic and Persian: points left out, forms of letters, articles
    ("من", "رسالة من الأم"),
    ("مدرسة", "ذهبت إلى المدرسة"),
    ("مُدَرِّس", "هو مدرس جديد"),
    ("مدرس", "هو مُدَرِّس جديد"),
    ("ایران", "در ايران"),
    ("کتاب", "كتاب"),
    # Hebrew
    ("שלום", "אמר שָׁלוֹם לכולם"),
    ("תה", "אני אוהב תה ירוק"),
    # Hindi: vowel signs are part of the word
    ("किताब", "मेरी किताबें यहाँ हैं"),
    ("चाय", "मुझे चाय पसंद है"),
    ("दो", "दो लोग"),
    ("क़लम", "यह क\u093cलम है"),
    ("தமிழ்", "நான் தமிழ் பேசுகிறேன்"),
    ("ภาษาไทย", "เขาพูดภาษาไทยได้"),
    # Russian, Ukrainian, Greek, Armenian, Georgian
    ("книга", "Я читаю книги"),
    ("ёлка", "Елка в доме"),
    ("да", "Да, конечно"),
    ("Київ", "Вона живе у Києві Київ"),
    ("λόγος", "Ο ΛΟΓΟΣ ήταν μεγάλος"),
    ("τσάι", "πίνω τσαι"),
    ("թեյ", "Ես սիրում եմ թեյ"),
    ("ჩაი", "მე მიყვარს ჩაი"),
    # Vietnamese, Turkish, German, French, others in Latin letters
    ("Việt Nam", "Tôi sống ở Việt Nam"),
    ("viet nam", "Tôi sống ở Việt Nam"),
    ("đường", "duong dài"),
    ("ısı", "ISI yalıtımı"),
    ("IŞIK", "ışık söndü"),
    ("istanbul", "İSTANBUL güzel"),
    ("İstanbul", "istanbul güzel"),
    ("Straße", "in der STRASSE"),
    ("strasse", "die Straße"),
    ("müller", "Frau Muller"),
    ("Mueller", "Herr Müller"),
    ("café", "the cafe"),
    ("cafe", "the café"),
    ("cafe\u0301", "two cafés"),
    ("café", "the cafe\u0301"),
    ("smørrebrød", "smorrebrod"),
    ("Łódź", "in lodz"),
    ("naïve", "a naive idea"),
    ("ﬁsh", "fish"),
    ("ＦＵＬＬ　ｗｉｄｔｈ", "full width"),
    ("full width", "Ｆｕｌｌ　Ｗｉｄｔｈ"),
    # Emoji
    ("👍", "well done 👍🏽"),
    ("👍🏽", "well done👍"),
    ("👩‍💻", "she is a 👩‍💻 now"),
    ("❤", "I ❤️ tea"),
    ("🇩🇪", "from 🇩🇪🇫🇷"),
    ("5️⃣", "number 5"),
    ("€", "costs 5€"),
    # Identifiers
    ("snake_case", "use snake_case here"),
    ("snake", "use snake_case here"),
    ("snakecase", "use snake_case here"),
    ("camelCase", "a camelCase name"),
    ("camel", "a camelCase name"),
    ("httpserver2", "class HTTPServer2:"),
    ("server", "class HTTPServer2:"),
    ("HTTPServer2", "class HTTPServer2:"),
    ("a.b.c", "call a.b.c() now"),
    ("C++", "written in C++."),
    ("C#", "written in (C#)"),
    (".NET", "on .NET 8"),
    ("node.js", "with Node.js"),
    ("--verbose", "pass --verbose"),
    ("wifi", "the wi-fi is down"),
    ("10 km", "ran 10km"),
    ("e-mail", "an email"),
    # Numbers, dates, versions
    ("1,000", "1000 people"),
    ("1000", "1,000 people"),
    ("3.14", "pi is 3.14"),
    ("1,234.50", "it cost $1,234.50"),
    ("٢٠٢٣", "in 2023"),
    ("2024-05-08", "on 2024-05-08"),
    ("2024-05-08", "on 2024/5/8"),
    ("8 May 2024", "at 2024-05-08T10:30:00Z"),
    ("10:30", "at 2024-05-08T10:30"),
    ("8 May 2023", "8 May, 2023"),
    ("v1.2.3", "released v1.2.3"),
    ("10:30", "at 10:30."),
    # Addresses and paths
    ("anna.smith@example.com", "mail <anna.smith@example.com>,"),
    ("smith", "mail <anna.smith@example.com>,"),
    ("example.com", "mail <anna.smith@example.com>,"),
    ("https://www.example.com/docs/page?x=1", "see https://www.example.com/docs/page?x=1."),
    ("docs", "see https://www.example.com/docs/page?x=1."),
    ("example.com", "请看https://www.example.com/docs。"),
    ("#holiday", "so nice #holiday"),
    ("holiday", "so nice #holiday"),
    ("/src/search/tokens.py", "in /src/search/tokens.py line 3"),
    ("tokens.py", "in /src/search/tokens.py line 3"),
    (r"C:\Users\Anna", r"under C:\Users\Anna"),
    # English
    ("running shoes", "He runs; her shoe"),
    ("Anna's tea", "tea of Anna"),
    ("don’t panic", "DON'T PANIC"),
    ("to be or not to be", "to be, or not to be"),
    ("US", "in the US"),
]


@pytest.mark.parametrize(("query", "text"), HITS)
def test_words_of_every_script_hit(query: str, text: str) -> None:
    assert score(query, text) > 0


MISSES = [
    ("绿茶", "茶是绿的"),
    ("学校", "学生在校园"),
    ("دار", "دور"),
    ("का", "की"),
    ("tea", "team"),
    ("9", "99"),
]


@pytest.mark.parametrize(("query", "text"), MISSES)
def test_other_words_do_not(query: str, text: str) -> None:
    assert score(query, text) == 0


@pytest.mark.parametrize(
    ("query", "better", "worse"),
    [
        ("café", "a café", "a cafe"),
        ("Việt", "Việt", "viet"),
        ("running", "running", "runs"),
        ("universities", "universities", "universal university"),
        ("US tax", "US tax", "tax us"),
        ("C++", "C++", "C"),
        ("C#", "C#", "C++"),
        (".NET", ".NET", "net"),
        ("a.b.c", "a.b.c", "c b a"),
        ("👍🏽", "👍🏽", "👍"),
        ("anna@example.com", "anna@example.com", "anna: example com"),
        ("#tea", "#tea", "tea"),
        ("한국어를", "한국어를", "한국 국어 어를"),
        ("v1.2.3", "v1.2.3", "v1 2 3"),
        ("2024-05-08", "2024-05-08", "5 8 2024"),
        ("Müller", "Müller", "Muller"),
    ],
)
def test_the_exact_form_is_preferred(query: str, better: str, worse: str) -> None:
    assert score(query, better) > score(query, worse)


def test_extras_do_not_count_for_the_length() -> None:
    assert length_of(terms_of("three running shoes")) == 3
    assert length_of(terms_of("我爱北京")) == 3
    assert length_of(terms_of("")) == 0


def test_a_term_has_the_same_number_in_every_process() -> None:
    program = (
        "from memoranda.search.tokens import term_id, terms_of; print(term_id('tea'), sorted(terms_of('绿茶 cafés')))"
    )
    out = subprocess.run(
        [sys.executable, "-X", "utf8", "-c", program],
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONHASHSEED": "7"},
    )
    assert out.stdout.strip() == f"{term_id('tea')} {sorted(terms_of('绿茶 cafés'))}"
    assert term_id("tea") == 10431608578837538234


def test_speakers_are_the_same_whatever_the_case_and_accents() -> None:
    assert speaker_id("José") == speaker_id("JOSE") == speaker_id("Jose\u0301")
    assert speaker_id("Anna Smith") == speaker_id(" anna  smith ") != speaker_id("Anna")
    assert 0 < speaker_id("Anna") < 2**32 and speaker_id("小明") > 0


PATHOLOGICAL = {
    "no spaces": "a",
    "marks": "\u0300\u0323",
    "one mark and a letter": "a\u0300",
    "bidirectional controls": "\u202e",
    "surrogates": "\ud800",
    "nuls": "\0",
    "dots": ".",
    "a and dots": "a.",
    "hyphens": "a-b",
    "apostrophes": "a's",
    "thousands": ",000",
    "joiners": "a\u200d",
    "flags": "🇩",
    "emoji": "👩‍",
    "jamo": "\u1161",
    "capitals": "aB",
    "at signs": "a@",
    "unassigned": "\U000effff",
    "thai": "ก็",
    "chinese": "中",
}


@pytest.mark.parametrize("unit", PATHOLOGICAL.values(), ids=PATHOLOGICAL.keys())
def test_hostile_texts_take_linear_time(unit: str) -> None:
    def taken(size: int) -> float:
        text = unit * (size // len(unit))
        start = time.process_time()
        terms_of(text)
        return time.process_time() - start

    small = max(min(taken(8_000) for _ in range(2)), 0.002)
    assert min(taken(80_000) for _ in range(2)) < 40 * small  # 10 times the text; quadratic would be 100


def test_the_whole_of_a_long_text_has_terms() -> None:
    text = " ".join(f"word{number}x" for number in range(20_000))
    counts = terms_of(text)
    assert all(term_id(f"word{number}x") in counts for number in range(0, 20_000, 997))
    unbroken = "甲乙" * 50_000 + "丙丁"
    assert term_id("丙丁") in terms_of(unbroken)


@settings(max_examples=150, deadline=None)
@given(st.text(alphabet=st.characters(exclude_categories=()), max_size=120))
def test_any_text_finds_itself(text: str) -> None:
    counts = terms_of(text)
    if not any("\ud800" <= character <= "\udfff" for character in text):  # a query has ? in place of surrogates
        assert {term.text for term in analyse(text).terms if term.weight == 1.0 and term.id not in counts} == set()
    assert all(count > 0 for count in counts.values())


@settings(max_examples=150, deadline=None)
@given(st.text(max_size=60), st.text(max_size=60))
def test_a_space_parts_texts_cleanly(one: str, other: str) -> None:
    apart, beside = terms_of(one), terms_of(other)
    together = terms_of(f"{one} {other}")
    assert together == {term: apart.get(term, 0) + beside.get(term, 0) for term in {**apart, **beside}}


def test_the_cache_changes_nothing() -> None:
    text = "The café of HTTPServer2 绿茶"
    warm = terms_of(text)
    tokens._known.cache_clear()
    assert terms_of(text) == warm


@pytest.mark.parametrize("name", sorted(module.name for module in iter_modules(memoranda.search.__path__)))
def test_examples(name: str) -> None:
    assert not doctest.testmod(import_module(f"memoranda.search.{name}")).failed


def test_the_words_of_a_text_do_not_need_numpy() -> None:
    program = (
        "import sys; from memoranda.search import passages, query, tokens\n"
        "tokens.terms_of('tea'); query.analyse('tea'); passages.passages_of('tea')\n"
        "print('numpy' in sys.modules)"
    )
    out = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "False"


def test_words_keep_their_order() -> None:
    assert [word.surface for word in words.words_in("b,a;c") if word.kind == words.Kind.WORD] == ["b", "a", "c"]
