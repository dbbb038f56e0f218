"""A little conversation that was made up for this, to see that everything runs."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from memoranda.evaluation import Dataset, Message, Question, Scope

_SESSIONS = (
    (
        datetime(2024, 3, 2, 10, 0, tzinfo=UTC),
        "Ann|Hi Ben! I started a pottery class last week.",
        "Ben|Nice! Who teaches it?",
        "Ann|An old neighbour of mine, Mrs Okafor.",
        "Ben|I am still looking for a flat near the harbour.",
        "Ann|How much can you pay?",
        "Ben|At most nine hundred a month.",
    ),
    (
        datetime(2024, 5, 11, 18, 30, tzinfo=UTC),
        "Ben|I have moved! Two rooms above the bakery.",
        "Ann|Congratulations! Does it smell of bread all day?",
        "Ben|From four in the morning.",
        "Ann|My first vase came out of the kiln, it is crooked and blue.",
        "Ben|Keep it. My sister Ida threw hers away and was sorry.",
        "Ann|I shall give it to my mother in June.",
    ),
    (
        datetime(2024, 8, 20, 9, 15, tzinfo=UTC),
        "Ann|We went to Lisbon by train, it took two days.",
        "Ben|What did you like best?",
        "Ann|The tile museum, of course.",
        "Ben|I have adopted a greyhound called Pfeil.",
        "Ann|A fast one?",
        "Ben|Asleep on the sofa, mostly.",
    ),
)
_QUESTIONS = (
    ("Who teaches Ann's pottery class?", ("1:2",), "single-hop"),
    ("How much rent can Ben pay?", ("1:5",), "single-hop"),
    ("Where does Ben live now?", ("2:0",), "single-hop"),
    ("What did Ann make of clay, and who gets it?", ("2:3", "2:5"), "multi-hop"),
    ("Which museum did Ann like in Lisbon?", ("3:2",), "temporal"),
    ("What is the name of Ben's dog?", ("3:3",), "single-hop"),
)


def sample() -> Dataset:
    """18 messages of two people, and 6 questions."""
    said: list[Message] = []
    for number, (begun, *lines) in enumerate(_SESSIONS, start=1):
        for place, line in enumerate(lines):
            speaker, _, text = line.partition("|")
            date, at = f"{begun:%-d %B %Y}", begun + timedelta(minutes=place)
            said.append(Message(f"{number}:{place}", text, f"session {number}", speaker, at, date=date))
    asked = tuple(Question(text, frozenset(gold), category) for text, gold, category in _QUESTIONS)
    return Dataset("sample", (Scope("Ann and Ben", tuple(said), asked),))
