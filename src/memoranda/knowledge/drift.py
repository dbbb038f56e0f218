"""Whether a refined text has drifted too far from the one before: its size, its sections, its share of change."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from memoranda.files.diff import diff_stat
from memoranda.knowledge.errors import InvalidSettingError
from memoranda.store.keys import is_plain_text

_HEADING: Final = re.compile(r" {0,3}(#{1,6})(?=[ \t]|$)(.*)$")
# Also within items of lists and quotations; after backticks stand no others, or it is code within a line.
_FENCE: Final = re.compile(r"[ \t]*(?:(?:[-*+>]|\d{1,9}[.)])[ \t]*)*(`{3,}(?![^`]*`)|~{3,})")
_MARKS: Final = re.compile(r"[ \t>]*")
_RAW: Final = re.compile(r"<(pre|script|style|textarea)\b.*?(?:</\1>|\Z)", re.DOTALL | re.IGNORECASE)
_COMMENT: Final = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
# What nobody sees in a difference, or what turns the order of the characters around it.
_HIDDEN: Final = re.compile(
    "[\x01-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\U000e0000-\U000e007f]"
)


# A word; of scripts that write no spaces a character, and of what is longer than any word a part of that length.
_UNSPACED: Final = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_WORD: Final = re.compile(rf"[{_UNSPACED}]|[^\s{_UNSPACED}]{{1,24}}")


class Section(NamedTuple):
    """A part of a Markdown text: what stands below a heading, up to the next one."""

    level: int
    title: str
    body: str


@dataclass(frozen=True, slots=True)
class DriftLimits:
    """How far one refinement may go.

    Args:
        required_sections: Headings that stay, such as `"Tone"` at any level or `"## Tone"` at that one.
        max_bytes: The size of the text at most.
        max_change: The share of words, before and after together, that may be new or gone: 0.5 is half of them.
    """

    required_sections: tuple[str, ...] = ()
    max_bytes: int = 16_000
    max_change: float = 0.5

    def check(self) -> None:
        """Refuse limits that make no sense.

        Raises:
            InvalidSettingError: Says which.
        """
        for name in self.required_sections:
            if not isinstance(name, str) or not _title(name):  # pyright: ignore[reportUnnecessaryIsInstance]
                raise InvalidSettingError(f"{name!r} names no section.", 'Name its heading, such as "## Tone".')
        if not isinstance(self.max_bytes, int) or isinstance(self.max_bytes, bool) or self.max_bytes < 1:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidSettingError(f"max_bytes={self.max_bytes!r} is no size.", "Pass 1 or more.")
        share = self.max_change
        if not isinstance(share, (int, float)) or isinstance(share, bool) or not 0 < share <= 1:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidSettingError(f"max_change={share!r} is no share.", "Pass more than 0, and 1 at most.")

    def reasons(self, before: str, after: str) -> tuple[str, ...]:
        r"""Why a text may not take the place of another; empty if it may.

        Args:
            before: The text in force; empty: there is none, so that everything in the other one may be new.
            after: The text to take its place.

        Example:
            >>> DriftLimits(("Tone",), max_change=1).reasons("# Tone\nKind.\n", "# Style\nKind.\n")
            ('the section "Tone" is missing',)
        """
        found: list[str] = []
        if not is_plain_text(after):
            return ("it holds characters that cannot be stored",)
        if (size := len(after.encode())) > self.max_bytes:
            return (f"it takes {size} bytes, more than the {self.max_bytes} allowed",)
        found += self._lost(before, after)
        share = changed_share(before, after)
        if before.strip() and share > self.max_change:
            found.append(f"{share:.0%} of its words are new or gone, more than the {self.max_change:.0%} allowed")
        if new := sorted(set(_HIDDEN.findall(after)) - set(_HIDDEN.findall(before))):
            shown = ", ".join(f"U+{ord(each):04X}" for each in new[:5])
            found.append(f"it holds characters that a reviewer cannot see ({shown})")
        return tuple(found)

    def _lost(self, before: str, after: str) -> list[str]:
        had, has = sections_of(before), sections_of(after)
        lost: list[str] = []
        for name in self.required_sections:
            kept = _named(has, name)
            if not kept:
                lost.append(f'the section "{_title(name)}" is missing')
            elif any(each.body for each in _named(had, name)) and not any(each.body for each in kept):
                lost.append(f'the section "{_title(name)}" is empty')
        return lost


def changed_share(before: str, after: str) -> float:
    """Which share of the words of two texts is not in both, from 0 to 1.

    Example:
        >>> changed_share("be kind and brief", "be kind and clear"), changed_share("be kind", "so what")
        (0.25, 1.0)
    """
    old, new = _WORD.findall(before), _WORD.findall(after)
    if not old and not new:
        return 0.0
    added, removed = diff_stat("".join(f"{word}\n" for word in old), "".join(f"{word}\n" for word in new))
    return (added + removed) / (len(old) + len(new))


def sections_of(text: str) -> list[Section]:
    r"""The sections of a Markdown text; what looks like a heading in code or in a comment is none.

    Example:
        >>> sections_of("Hello\n# Tone #\nKind.\n```\n# no heading\n```\n")
        [Section(level=1, title='Tone', body='Kind.\n```\n# no heading\n```')]
    """
    found: list[Section] = []
    fence: str | None = None
    for line in _RAW.sub("", _COMMENT.sub("", text)).splitlines():
        mark = _FENCE.match(line)
        heading = None if fence else _HEADING.match(line)
        if fence is None and mark:
            fence = mark[1]
        elif fence is not None:
            rest = _MARKS.sub("", line, count=1).rstrip()
            if rest.startswith(fence) and not rest.strip(fence[0]):
                fence = None
        if heading:
            found.append(Section(len(heading[1]), _closed(heading[2].strip()), ""))
        elif found:
            level, title, body = found[-1]
            found[-1] = Section(level, title, f"{body}\n{line}")
    return [Section(level, title, body.strip()) for level, title, body in found]


def _named(sections: Sequence[Section], name: str) -> list[Section]:
    level = len(name.lstrip()) - len(name.lstrip().lstrip("#"))
    wanted = _folded(_title(name))
    return [each for each in sections if _folded(each.title) == wanted and level in (0, each.level)]


def _closed(title: str) -> str:
    """A heading's text without the marks that may end it."""
    bare = title.rstrip("#")
    return bare.rstrip() if not bare or bare[-1] in " \t" else title


def _title(name: str) -> str:
    return name.strip().lstrip("#").strip()


def _folded(text: str) -> str:
    return " ".join(text.split()).casefold()
