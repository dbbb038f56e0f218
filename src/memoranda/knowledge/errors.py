"""What can be wrong with knowledge: with what a model answered, with a patch, with a schema, with a setting."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from memoranda.errors import MemorandaError


class InvalidSettingError(MemorandaError, ValueError):
    """A setting of a kind of knowledge that makes no sense."""


class InvalidSchemaError(InvalidSettingError):
    """A schema that is none, or that describes something else than a JSON object."""


class InvalidPatchError(MemorandaError, ValueError):
    """A JSON Patch that is none, that does not apply to the document, or that would break its schema."""


@dataclass(frozen=True, slots=True)
class Misfit:
    """One place where a document does not fit its schema.

    Args:
        field: A JSON Pointer to it, such as `/address/city`; empty for the whole document.
        problem: What is wrong there, in words.
    """

    field: str
    problem: str

    def __str__(self) -> str:
        return f"{self.field or 'the document'}: {self.problem}"


class EmptyProfileError(MemorandaError, LookupError):
    """A profile of which nothing is stored, and whose schema has fields without a default."""


class ProfileSchemaError(MemorandaError, ValueError):
    """The stored document does not fit the schema any more.

    Args:
        cause: One sentence: what is wrong.
        remedy: One sentence: what to do about it.
        misfits: Every place that does not fit.
    """

    def __init__(self, cause: str, remedy: str = "", misfits: Sequence[Misfit] = ()) -> None:
        super().__init__(cause, remedy)
        self.misfits = tuple(misfits)

    def __reduce__(self) -> tuple[type[ProfileSchemaError], tuple[str, str, tuple[Misfit, ...]]]:
        return type(self), (self.cause, self.remedy, self.misfits)


@dataclass(frozen=True, slots=True)
class Attempt:
    """One answer of a model that could not be used.

    Args:
        answer: What it said, shortened.
        problem: What it was told about it.
    """

    answer: str
    problem: str


class ModelOutputError(MemorandaError, ValueError):
    """A model gave no answer that could be used, however often it was told what was wrong; nothing was stored.

    Args:
        cause: One sentence: what is wrong.
        remedy: One sentence: what to do about it.
        tried: Each answer, and what was wrong with it.
    """

    def __init__(self, cause: str, remedy: str = "", tried: Sequence[Attempt] = ()) -> None:
        super().__init__(cause, remedy)
        self.tried = tuple(tried)

    def __reduce__(self) -> tuple[type[ModelOutputError], tuple[str, str, tuple[Attempt, ...]]]:
        return type(self), (self.cause, self.remedy, self.tried)


class ModelCannotCallToolsError(MemorandaError, TypeError):
    """A chat model that cannot be given tools, through which every answer is taken."""
