"""What a query is about: its sentences that ask, and whom it speaks of by `I` and `you`."""

from __future__ import annotations

import re
from collections.abc import Iterable

LONGEST_QUESTION = 250
"""Characters of a text that ends in a question mark and is a question as a whole; a longer one says a lot besides."""

MOST_QUESTIONS = 4
"""Of a text with more questions only so many are also asked one by one."""

_MARKS = ("?", "？", "؟", "\u037e", "⸮", "՞", "፧")
_SENTENCE = re.compile(rf"(?<=[{''.join(map(re.escape, _MARKS))}.!…])[\"'”’»)\]]*\s+|(?<=[。！？｡؟])[」』”’）]*\s*|\n+")
_CLOSING = "\"'”’»)]）」』*_` \t\r\n"
_I = """
i me my mine myself i'm i've i'd i'll we our ours ich mich mir mein meine meinem meinen meiner wir unser unsere
je j moi mon ma mes nous notre nos yo mi mis mío mía nosotros nuestro nuestra eu meu minha meus minhas nosso
nossa io mio mia miei nostro nostra ik mij mijn wij ons onze я меня мне мной мой моя моё мои мы нас нам наш
ben benim bana biz bizim tôi mình
"""
_YOU = """
you your yours yourself du dich dir dein deine deinen deinem sie ihr ihre tu toi ton ta tes vous votre vos tú
tus usted você seu sua jij jouw ты тебя тебе твой твоя вы вас вам ваш sen senin siz bạn
"""
_I_WORDS, _YOU_WORDS = frozenset(_I.split()), frozenset(_YOU.split())
_I_SIGNS = ("我", "咱", "俺", "私", "僕", "나는", "내가", "저는", "제가")
_YOU_SIGNS = ("你", "您", "あなた", "당신")


def is_question(text: str) -> bool:
    """Whether a text is a question, not more than that.

    Example:
        >>> is_question("Where do you live?"), is_question("Asked where I live, I say in Rome.")
        (True, False)
    """
    return len(text) <= LONGEST_QUESTION and _asks(text)


def sentences(text: str) -> list[tuple[str, bool]]:
    """The sentences of a text, each with whether it asks.

    Example:
        >>> sentences("I like tea. Which one do you have?")
        [('I like tea.', False), ('Which one do you have?', True)]
    """
    return [(part, _asks(part)) for part in _SENTENCE.split(text) if part.strip()]


def questions_of(text: str) -> list[str]:
    """The sentences of a text that ask, where it holds other sentences besides; at most `MOST_QUESTIONS`.

    Example:
        >>> questions_of("I am going out. Will it rain? And where is my umbrella?")
        ['Will it rain?', 'And where is my umbrella?']
        >>> questions_of("Will it rain?")
        []
    """
    parts = sentences(text)
    return [part.strip() for part, asks in parts if asks][:MOST_QUESTIONS] if len(parts) > 1 else []


def spoken_of(words: Iterable[str]) -> str | None:
    """The role that a query speaks of: the `user` by `I`, else the `assistant` by `you`, else nobody.

    Args:
        words: Its words in small letters; those of scripts without spaces as runs.

    Example:
        >>> spoken_of(["what", "did", "i", "tell", "you"]), spoken_of(["what", "did", "anna", "say"])
        ('user', None)
    """
    said = set(words)
    if said & _I_WORDS or any(sign in word for sign in _I_SIGNS for word in said):
        return "user"
    if said & _YOU_WORDS or any(sign in word for sign in _YOU_SIGNS for word in said):
        return "assistant"
    return None


def _asks(text: str) -> bool:
    return text.rstrip(_CLOSING).endswith(_MARKS)
