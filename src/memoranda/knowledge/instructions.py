"""`Instructions`: a text that a model refines from feedback, under review and with a guard against drift."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

from memoranda.backends.runtime import running_author
from memoranda.backends.scopes import NamespaceLike, resolve_namespace
from memoranda.backends.steps import Steps, ask
from memoranda.files.diff import unified_diff
from memoranda.files.format import read_file_data
from memoranda.knowledge.asking import checked_attempts
from memoranda.knowledge.conversation import Conversation, heard
from memoranda.knowledge.drift import DriftLimits, changed_share
from memoranda.knowledge.errors import InvalidSettingError
from memoranda.knowledge.pairs import awaiting, blocking
from memoranda.knowledge.places import checked_memory_store, checked_place
from memoranda.knowledge.refining import Draft, refine_text
from memoranda.store.changes import Author, ChangeSet, Namespace, Write
from memoranda.store.store import MemoryStore
from memoranda.store.types import Proposal, Revision

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

Mode = Literal["propose", "apply"]

_UNREVIEWED: Final = "applied without a review: "
"""How the reason of a refinement begins that nobody looked at."""
_LOOKED_BACK: Final = 200
"""So many revisions are looked at for one that was reviewed."""


@dataclass(frozen=True, slots=True)
class Refined:
    """What came of a refinement.

    Args:
        text: The refined text: in effect if there is a revision, waiting if there is a proposal.
        diff: How it differs from the text before; empty if it does not.
        revision: The revision that it was stored as; None if it was not.
        proposal: The id of the proposal that waits for a reviewer; None if there is none.
        held: Why it waits although it was to be applied.
        refused: Why it was neither stored nor proposed.
        reason: What the model gave as its reason.
    """

    text: str
    diff: str = ""
    revision: int | None = None
    proposal: str | None = None
    held: str | None = None
    refused: tuple[str, ...] = ()
    reason: str = ""


class _Held(NamedTuple):
    text: str
    revision: int


class Instructions:
    r"""Instructions for an agent that get better with feedback: a file with history, refined by a model, reviewed.

    A refinement is a proposal unless it is said to be applied, and what came from an untrusted origin is always one.
    Either has to keep its sections, its size, and most of its words. Every method has an async twin with an `a` in
    front.

    Args:
        store: Where they live.
        namespace: Whose they are: labels, or `by_assistant` and the like.
        path: The file's path.
        required_sections: Headings that every refinement keeps, such as `"Tone"`, or `"## Tone"` at that level.
        max_bytes: The size of the text at most.
        max_change: The share of words, before and after together, that one refinement may add or remove; and all those
            together that were applied since somebody reviewed the text, or wrote it.
        initial: The text in effect until there is a file; it becomes its first revision.

    Raises:
        InvalidSettingError: A limit makes no sense, or the initial text does not keep to them.

    Example:
        >>> from memoranda import open_store
        >>> from memoranda.testing.scripted import ScriptedChatModel, call
        >>> model = ScriptedChatModel(script=[
        ...     call("edit_instructions", edits=[{"old": "", "new": "Answer briefly."}], reason="asked for it")
        ... ])
        >>> with open_store("memory://") as store:
        ...     instructions = Instructions(store, ("helper",), initial="Be kind, and answer what was asked.")
        ...     refined = instructions.refine(model, [("user", "Too long!")], "keep it short", trusted=True)
        ...     _ = store.accept_proposal(refined.proposal)
        ...     instructions.text
        'Be kind, and answer what was asked.\nAnswer briefly.'
    """

    def __init__(
        self,
        store: MemoryStore,
        namespace: NamespaceLike,
        path: str = "/instructions.md",
        *,
        required_sections: Sequence[str] = (),
        max_bytes: int = 16_000,
        max_change: float = 0.5,
        initial: str = "",
    ) -> None:
        self.store = checked_memory_store(store)
        self.namespace, self.path = checked_place(namespace, path)
        if not self.path.startswith("/"):
            raise InvalidSettingError(f"{self.path!r} is no path of a file.", f"Write '/{self.path}'.")
        if isinstance(required_sections, str):
            raise InvalidSettingError(
                f"required_sections={required_sections!r} is one string.", f"Pass [{required_sections!r}]."
            )
        self.limits = DriftLimits(tuple(required_sections), max_bytes, max_change)
        self.limits.check()
        if not isinstance(initial, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidSettingError(f"initial={initial!r} is no text.", "Pass a string.")
        if initial and (reasons := self.limits.reasons("", initial)):
            raise InvalidSettingError(f"The initial text will not do: {'; '.join(reasons)}.", "Mend it, or the limits.")
        self.initial = initial

    def __repr__(self) -> str:
        return f"Instructions({self.namespace!r}, {self.path!r})"

    # --- reading ----------------------------------------------------------------------------------------------

    @property
    def text(self) -> str:
        """The text in effect."""
        return self.read()

    def _read(self) -> Steps[str]:
        """The text in effect: that of the file, or the initial one where there is none.

        Raises:
            InvalidValueError: What lies there is no text.
        """
        return (yield from self._hold(resolve_namespace(self.namespace))).text

    def _history(self, limit: int | None = None) -> Steps[list[Revision]]:
        """List the revisions, newest first, with who made each and why.

        Args:
            limit: At most so many; None: all.
        """
        return (yield from ask(self.store.history, resolve_namespace(self.namespace), self.path, limit=limit))

    def _diff(self, before: int | None = None, after: int | None = None) -> Steps[str]:
        """Compare two revisions as a unified diff.

        Args:
            before: The older one; None: the one before `after`. 0 stands for "nothing yet".
            after: The newer one; None: the current one.

        Raises:
            ItemNotFoundError: Nothing was stored yet.
            RevisionNotFoundError: There is no such revision.
        """
        return (yield from ask(self.store.diff, resolve_namespace(self.namespace), self.path, before, after))

    def _pending(self) -> Steps[list[Proposal]]:
        """The refinements that wait for a reviewer, oldest first; `store.accept_proposal` lets one land."""
        waiting = yield from ask(self.store.proposals, resolve_namespace(self.namespace))
        return [each for each in waiting if any(change.key == self.path for change in each.changes)]

    # --- changing ---------------------------------------------------------------------------------------------

    def _revert(self, revision: int, *, author: Author | None = None) -> Steps[int]:
        """Bring back the text of an earlier revision, as a new revision.

        Args:
            revision: The revision whose text is wanted.
            author: Who reverts; None takes `acting_as`, and inside a graph the agent that runs.

        Returns:
            The revision made.

        Raises:
            ItemNotFoundError: Nothing was stored yet.
            RevisionNotFoundError: There is no such revision.
        """
        namespace, signed = resolve_namespace(self.namespace), author or running_author()
        return (yield from ask(self.store.restore, namespace, self.path, revision, author=signed)).revision

    def _refine(
        self,
        model: str | BaseChatModel,
        conversation: Conversation,
        feedback: str | None = None,
        *,
        trusted: bool,
        mode: Mode = "propose",
        attempts: int = 3,
        author: Author | None = None,
    ) -> Steps[Refined]:
        """Let a model refine the text from a conversation and the feedback on it.

        The model answers with edits of the present text. Edits that do not apply, or that go beyond the limits, go
        back to it with the message; if its last ones still go beyond them, nothing lands and the result says why.

        Args:
            model: A LangChain chat model, or its name.
            conversation: What was said: messages, pairs of role and text, turns, or a text.
            feedback: What was good or bad about it, in words.
            trusted: Whether conversation and feedback come from people who may change these instructions. Where not,
                the refinement is only ever proposed. A conversation with results of tools in it never is trusted.
            mode: `"propose"` lets it wait for a reviewer, `"apply"` stores it at once; unless the text would then be
                further than `max_change` from the last one that was reviewed.
            attempts: How often the model is asked at most.
            author: Who refines; None takes `acting_as`, and inside a graph the agent that runs.

        Returns:
            The refined text and what became of it.

        Raises:
            ModelOutputError: No answer of the model could be used; nothing landed.
            ConflictError: Another refinement, or somebody by hand, changed the text meanwhile; nothing landed.
            InvalidSettingError: There is nothing to learn from, or an argument makes no sense.
        """
        namespace, signed = resolve_namespace(self.namespace), author or running_author()
        held_back = _checked(trusted, mode, feedback)
        checked_attempts(attempts)
        said, has_outside = heard(conversation)
        if not said and not (feedback or "").strip():
            raise InvalidSettingError("There is no conversation and no feedback.", "Pass one to learn from.")
        if held_back is None and has_outside:
            held_back = "the conversation holds results of tools, or messages that no person wrote"
        before = yield from self._hold(namespace)
        draft = yield from refine_text(model, before.text, said, feedback, self.limits, attempts=attempts)
        if draft.refused:
            difference = self._difference(before.text, draft.text)
            return Refined(draft.text, difference, refused=draft.refused, reason=draft.reason)
        if draft.text == before.text:
            return Refined(before.text, reason=draft.reason)
        if mode == "apply" and held_back is None:
            held_back = yield from self._drifted(namespace, before, draft.text)
        if mode == "propose" or held_back is not None:
            held = None if mode == "propose" else held_back
            return (yield from self._propose(namespace, before, draft, signed, held))
        base = yield from self._settled(namespace, before, signed)
        write = Write(namespace, self.path, draft.text, base=base, merge=False)
        landed = yield from ask(self.store.commit, ChangeSet((write,), _unreviewed(_because(signed, draft))))
        return Refined(
            draft.text,
            self._difference(before.text, draft.text),
            revision=landed.revisions[0].revision,
            reason=draft.reason,
        )

    read, aread = blocking(_read), awaiting(_read)
    history, ahistory = blocking(_history), awaiting(_history)
    diff, adiff = blocking(_diff), awaiting(_diff)
    pending, apending = blocking(_pending), awaiting(_pending)
    revert, arevert = blocking(_revert), awaiting(_revert)
    refine, arefine = blocking(_refine), awaiting(_refine)

    # --- within -----------------------------------------------------------------------------------------------

    def _hold(self, namespace: Namespace) -> Steps[_Held]:
        item = yield from ask(self.store.get, namespace, self.path)
        if item is None:
            return _Held(self.initial, 0)
        file = read_file_data(item.value, lenient=True)
        if file["encoding"] != "utf-8":
            raise InvalidSettingError(f"{self.path} is a binary file, no instructions.", "Choose another path.")
        return _Held(file["content"], item.revision)

    def _drifted(self, namespace: Namespace, before: _Held, text: str) -> Steps[str | None]:
        """Why a text has to wait although it is near the one before: many that nobody reviewed have led to that."""
        if not before.revision:
            return None
        revisions = yield from ask(self.store.history, namespace, self.path, limit=_LOOKED_BACK)
        seen = next((each for each in revisions if not _is_unreviewed(each)), revisions[-1])
        if seen.revision == before.revision or seen.operation == "delete":
            return None
        item = yield from ask(self.store.get_at, namespace, self.path, revision=seen.revision)
        share = changed_share(read_file_data(item.value, lenient=True)["content"], text)
        if share <= self.limits.max_change:
            return None
        return f"{share:.0%} of the words are new or gone since revision {seen.revision}, the last that was reviewed"

    def _settled(self, namespace: Namespace, before: _Held, author: Author) -> Steps[int]:
        """The revision of the text that a refinement was made from; the initial text becomes one first."""
        if before.revision or not self.initial:
            return before.revision
        first = Write(namespace, self.path, self.initial, base=0, merge=False)
        signed = replace(author, reason="the initial instructions")
        result = yield from ask(self.store.commit, ChangeSet((first,), signed), on_conflict="return")
        if not result.conflicts:
            return result.revisions[0].revision
        now = yield from self._hold(namespace)
        if now.text != self.initial:
            result.raise_for_conflicts()
        return now.revision

    def _propose(
        self, namespace: Namespace, before: _Held, draft: Draft, author: Author, held: str | None
    ) -> Steps[Refined]:
        base = yield from self._settled(namespace, before, author)
        # Not merged with another refinement: what the two make together, nobody has looked at.
        write = Write(namespace, self.path, draft.text, base=base, merge=False)
        waiting = yield from ask(
            self.store.propose,
            ChangeSet((write,), _because(author, draft)),
            reason=held or "a refinement of instructions waits for a reviewer",
            source="instructions",
        )
        difference = self._difference(before.text, draft.text)
        return Refined(draft.text, difference, proposal=waiting.id, held=held, reason=draft.reason)

    def _difference(self, before: str, after: str) -> str:
        return unified_diff(before, after, before_label=f"{self.path} (now)", after_label=f"{self.path} (refined)")


def _checked(trusted: Any, mode: Any, feedback: Any) -> str | None:
    """Refuse arguments that make no sense; say why a refinement has to wait whatever is asked for."""
    if not isinstance(trusted, bool):
        raise InvalidSettingError(f"trusted={trusted!r} is neither True nor False.", "Say which.")
    if mode not in ("propose", "apply"):
        raise InvalidSettingError(f"mode={mode!r} is not known.", 'Pass "propose" or "apply".')
    if feedback is not None and not isinstance(feedback, str):
        raise InvalidSettingError(f"feedback={feedback!r} is no text.", "Pass a string, or None.")
    return None if trusted else "what led to it is of untrusted origin"


def _unreviewed(author: Author) -> Author:
    return replace(author, reason=f"{_UNREVIEWED}{author.reason}" if author.reason else _UNREVIEWED.strip(": "))


def _is_unreviewed(revision: Revision) -> bool:
    return (revision.author.reason or "").startswith(_UNREVIEWED.strip(": ")) and "proposal" not in revision.origin


def _because(author: Author, draft: Draft) -> Author:
    return replace(author, reason=author.reason or draft.reason or None)
