"""Which messages of a run's state are new, and whose: by their ids, and where these do not last by what they say."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence

from memoranda.episodes.messages import Said, content_id

_SAID = "said:"


def owners(said: Sequence[Said], of_others: Mapping[str, str]) -> list[str | None]:
    """To whom each message of a conversation of several people belongs; None: to the one who runs.

    What another has said is known. What was answered to it belongs to them too, up to the next message of a user.

    Args:
        said: The conversation.
        of_others: The messages of other people, and of whom they are.

    Example:
        >>> from langchain_core.messages import AIMessage
        >>> roles = {"a": "user", "b": "assistant", "c": "user"}
        >>> owners([Said(name, role, AIMessage("")) for name, role in roles.items()], {"a": "ann"})
        ['ann', 'ann', None]
    """
    found: list[str | None] = []
    owner: str | None = None
    for one in said:
        if one.id in of_others:
            owner = of_others[one.id]
        elif one.role == "user":
            owner = None
        found.append(owner)
    return found


def own_part(said: Sequence[Said], of_others: Mapping[str, str], known: Collection[str]) -> list[Said]:
    """What of a conversation of several people may be recorded as that of the one who runs.

    That is what was said since the last turn of another one. Of what is before, nobody can say whose it is, unless it
    is recorded already.

    Args:
        said: The conversation.
        of_others: The messages of other people, and of whom they are.
        known: The messages that are recorded for the one who runs.
    """
    whose = owners(said, of_others)
    others = [index for index, owner in enumerate(whose) if owner is not None]
    start = others[-1] + 1 if others else 0
    return [one for index, one in enumerate(said) if index >= start or one.id in known]


def known_by_content(
    said: Sequence[Said], given: Collection[str], before: Collection[str], forgotten: Callable[[str], bool]
) -> list[Said]:
    """The same messages with ids that are made from what they say, and from how often that was said before.

    What a program passes of earlier turns are messages that are recorded, the last ones with these words. What it asks
    now, and what came of it, is said once more, whatever is recorded.

    Args:
        said: The conversation as it is after a run.
        given: The ids of the messages that the run began with; none if that is not known.
        before: The ids of what earlier runs have recorded.
        forgotten: Whether an id was forgotten, so that no new message may have it.
    """
    new_from = _now(said, given)
    made = [content_id(one.message, one.role) for one in said]
    recorded: Counter[str] = Counter()
    for known in before:
        content, _, number = known.rpartition(":")
        if content.startswith(_SAID) and number.isdecimal():
            recorded[content] = max(recorded[content], int(number) + 1)
    passed = Counter(content for content, is_new in zip(made, new_from, strict=True) if not is_new)
    following = {content: max(recorded[content] - passed[content], 0) for content in made}
    newest = {content: max(recorded[content], passed[content]) for content in made}
    found: list[Said] = []
    for one, content, is_new in zip(said, made, new_from, strict=True):
        numbers = newest if is_new else following
        while is_new and forgotten(f"{content}:{numbers[content]}"):
            numbers[content] += 1
        found.append(one._replace(id=f"{content}:{numbers[content]}"))
        numbers[content] += 1
    return found


def _now(said: Sequence[Said], given: Collection[str]) -> list[bool]:
    """Which messages were said in the run: what came of it, and the questions at the end of what it began with."""
    users = [index for index, one in enumerate(said) if one.role == "user"]
    inputs = [index for index, one in enumerate(said) if one.id in given]
    if not inputs:
        inputs = [*range(users[-1] + 1)] if users else [*range(len(said))]
    new = [True] * len(said)
    asking = True
    for index in reversed(inputs):
        asking = asking and said[index].role == "user"
        new[index] = asking
    return new
