"""How a profile is kept: read through its schema and its migration, and changed by compare-and-swap."""

from __future__ import annotations

import copy
import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, TypeAlias, cast

from memoranda.backends.steps import Steps, ask, block, consult
from memoranda.knowledge.documents import Document, DocumentSchema, Fitted
from memoranda.knowledge.errors import InvalidPatchError, Misfit, ProfileSchemaError
from memoranda.knowledge.patching import ChangedMeanwhileError, Step, apply, carry_over, same
from memoranda.store.changes import Author, ChangeSet, Conflict, ConflictError, Namespace, Write
from memoranda.store.store import MemoryStore
from memoranda.store.values import encode_value

Migration: TypeAlias = Callable[[Document], Any]

_ROUNDS: Final = 100
_AT_ONCE: Final = 3
_REMEDY: Final = "Pass migrate=…, a function that makes a document that fits, or call migrate(function) once."


@dataclass(frozen=True, slots=True)
class Patched:
    """A profile after a patch.

    Args:
        document: The document as it is now.
        revision: Its revision; 0 while nothing is stored.
        changed: Whether the patch changed anything.
    """

    document: Document
    revision: int
    changed: bool


@dataclass(frozen=True, slots=True)
class Held:
    """What is stored, and what the schema and the migration make of it."""

    revision: int
    fitted: Fitted
    migrated: bool = False


@dataclass(frozen=True, slots=True)
class Keeper:
    """One profile in whatever namespace.

    Args:
        schema: Its schema.
        store: Where it lives.
        key: The item's key.
        migration: Makes a document that fits from one that does not.
    """

    schema: DocumentSchema
    store: MemoryStore
    key: str
    migration: Migration | None

    def hold(self, namespace: Namespace, *, strict: bool = False) -> Steps[Held]:
        """Read it; the defaults where nothing is stored.

        Args:
            namespace: Where.
            strict: It is going to be changed, so that what the schema passes over would be lost.
        """
        item = yield from ask(self.store.get, namespace, self.key)
        if item is None:
            return Held(0, self._nothing())
        return (yield from self.healed(item.value, item.revision, strict=strict))

    def document_of(self, namespace: Namespace, revision: int) -> Steps[Document]:
        """The document at a revision; 0: before there was any."""
        if revision == 0:
            return self.schema.defaults()
        item = yield from ask(self.store.get_at, namespace, self.key, revision=revision)
        return (yield from self.healed(item.value, revision, strict=True)).fitted.document

    def healed(
        self, stored: Document, revision: int, *, strict: bool = False, migration: Migration | None = None
    ) -> Steps[Held]:
        """A stored document as the schema has it, migrated where it does not fit.

        Raises:
            ProfileSchemaError: It does not fit, and no migration makes it fit.
        """
        fitted = self.schema.fit(stored)
        if not fitted.misfits and not (strict and fitted.unknown):
            return Held(revision, fitted)
        heal = migration or self.migration
        if heal is None:
            raise self._misfit(f"The profile {self.key!r} does not fit {self.schema.name} any more", fitted, _REMEDY)
        healed = self.schema.fit((yield from self._migrated(heal, stored)))
        if healed.misfits:
            raise self._misfit(f"What the migration makes of {self.key!r} does not fit", healed, "Mend the migration.")
        return Held(revision, healed, migrated=True)

    def land(
        self, namespace: Namespace, steps: Sequence[Step], author: Author, seen: Document | None
    ) -> Steps[Patched]:
        """Apply a patch to what is stored, again and again while others write.

        Args:
            namespace: Where.
            steps: The patch.
            author: Who makes it.
            seen: The document that it was written for; None: whatever is stored at first.

        Raises:
            InvalidPatchError: It does not apply, or leaves what does not fit.
            ConflictError: Others have changed what it is about.
        """
        fields_too = seen is not None
        for number in range(_ROUNDS):
            held = yield from self.hold(namespace, strict=True)
            if held.migrated:
                yield from self._store_migrated(namespace, held, author)
                continue
            document = held.fitted.document
            before = seen = document if seen is None else seen
            try:
                after = (
                    apply(document, steps)
                    if before is document
                    else carry_over(document, steps, before, fields_too=fields_too)
                )
            except ChangedMeanwhileError as changed:
                raise self._conflict(namespace, held, changed) from None
            fitted = self._fitting(after)
            if same(fitted.document, document):
                return Patched(document, held.revision, changed=False)
            if revision := (yield from self._swap(namespace, fitted.document, held.revision, author)):
                return Patched(fitted.document, revision, changed=True)
            yield from _wait(number)
        raise self._busy(namespace)

    def migrate(self, namespace: Namespace, author: Author, function: Migration | None) -> Steps[Patched]:
        """Bring what is stored into the form of the schema, as a revision of its own."""
        migration = function or self.migration or copy.deepcopy
        for number in range(_ROUNDS):
            item = yield from ask(self.store.get, namespace, self.key)
            if item is None:
                return Patched(self.schema.defaults(), 0, changed=False)
            held = yield from self.healed(item.value, item.revision, strict=True, migration=migration)
            if not held.migrated:
                return Patched(held.fitted.document, held.revision, changed=False)
            if revision := (yield from self._store_migrated(namespace, held, author)):
                return Patched(held.fitted.document, revision, changed=True)
            yield from _wait(number)
        raise self._busy(namespace)

    def _nothing(self) -> Fitted:
        defaults = self.schema.defaults()
        fitted = self.schema.fit(defaults)
        return Fitted(defaults, misfits=fitted.misfits) if fitted.misfits else fitted

    def _fitting(self, document: Document) -> Fitted:
        fitted = self.schema.fit(document)
        unknown = [Misfit(field, f"{self.schema.name} has no such field") for field in fitted.unknown]
        if problems := [*fitted.misfits, *unknown]:
            raise InvalidPatchError(
                f"The patch would leave a document that does not fit {self.schema.name}: "
                f"{'; '.join(map(str, problems))}.",
                "Patch it so that it fits.",
            )
        return fitted

    def _swap(self, namespace: Namespace, document: Document, base: int, author: Author) -> Steps[int]:
        """Store a document in the place of the revision that it was made from; 0: another came first."""
        write = Write(namespace, self.key, document, base=base, merge=False)
        result = yield from ask(self.store.commit, ChangeSet((write,), author), on_conflict="return")
        return 0 if result.conflicts else result.revisions[0].revision

    def _store_migrated(self, namespace: Namespace, held: Held, author: Author) -> Steps[int]:
        signed = replace(author, reason=f"migrated to {self.schema.name}")
        return (yield from self._swap(namespace, held.fitted.document, held.revision, signed))

    def _migrated(self, migration: Migration, stored: Document) -> Steps[Document]:
        try:
            made = yield from consult(migration, copy.deepcopy(stored))
        except Exception as error:
            raise ProfileSchemaError(
                f"The migration of {self.key!r} failed with {type(error).__name__}: {error}.", "Mend the migration."
            ) from error
        if not isinstance(made, dict):
            raise ProfileSchemaError(
                f"The migration of {self.key!r} gave {type(made).__name__}, no dictionary.",
                "Let it return the document.",
            )
        encode_value(cast("Document", made))  # what is no JSON is refused by name
        return cast("Document", made)

    def _misfit(self, cause: str, fitted: Fitted, remedy: str) -> ProfileSchemaError:
        unknown = [Misfit(field, "the schema has no such field, and it would be lost") for field in fitted.unknown]
        misfits = [*fitted.misfits, *unknown]
        return ProfileSchemaError(f"{cause}: {'; '.join(map(str, misfits))}.", remedy, misfits)

    def _conflict(self, namespace: Namespace, held: Held, changed: ChangedMeanwhileError) -> ConflictError:
        cause = f"{self.key} was changed meanwhile: {changed.pointer} is not what it was. {changed.step} did not land."
        text = encode_value(held.fitted.document).text
        remedy = "Read it again, and patch it as it is now."
        at = changed.step.number - 1
        return ConflictError([Conflict(at, namespace, self.key, "changed", cause, remedy, held.revision, text)])

    def _busy(self, namespace: Namespace) -> ConflictError:
        cause = f"{self.key} was changed by others {_ROUNDS} times while a patch was to land."
        return ConflictError([Conflict(0, namespace, self.key, "changed", cause, "Try again.")])


def _wait(number: int) -> Steps[None]:
    """Let others go first: not at all in the first rounds, then longer and longer."""
    if number >= _AT_ONCE:
        yield from block(lambda: time.sleep(random.uniform(0, min(0.001 * 2**number, 0.1))))
