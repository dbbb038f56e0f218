"""What a command writes: text for people, JSON for programs, bytes as they are; progress on stderr."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import IO, TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from rich.console import Console

Part: TypeAlias = "str | tuple[str, str]"
"""A piece of a line: plain, or with a style."""

Advance: TypeAlias = "Callable[[int, int | None], None]"
"""Called with how much is done and how much there is in all, if that is known."""

_UNITS = ("B", "KB", "MB", "GB", "TB")
_KILO = 1_024
# Spaces of all widths and the joiners of scripts and emoji; Python does not count them as printable.
_HARMLESS = frozenset("\t\u00a0\u1680\u202f\u205f\u3000\u200c\u200d" + "".join(map(chr, range(0x2000, 0x200B))))


def printable(text: str, *, lines: bool = False) -> str:
    r"""The text with everything escaped that could move a terminal's cursor or change its state.

    Args:
        text: Any text.
        lines: Whether line ends may stay.

    Example:
        >>> printable("tea\x1b[2J")
        'tea\\x1b[2J'
    """
    if text.isprintable():
        return text
    return "".join(
        character
        if character.isprintable() or character in _HARMLESS or (lines and character == "\n")
        else character.encode("unicode_escape", "surrogatepass").decode()
        for character in text
    )


def human_size(size: int) -> str:
    """A number of bytes for people.

    Example:
        >>> human_size(512), human_size(2_100_000)
        ('512 B', '2.0 MB')
    """
    amount, unit = float(size), 0
    while amount >= _KILO and unit < len(_UNITS) - 1:
        amount, unit = amount / _KILO, unit + 1
    return f"{size} B" if unit == 0 else f"{amount:.1f} {_UNITS[unit]}"


def counted(number: int, noun: str) -> str:
    """A number of things for people.

    Example:
        >>> counted(1, "item"), counted(2_100, "item")
        ('1 item', '2,100 items')
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def human_time(at: datetime | None) -> str:
    """A time for people, in UTC and to the second, in a form that `--at` takes.

    Example:
        >>> human_time(datetime(2026, 3, 1, 12, 30, 5, 999, tzinfo=UTC))
        '2026-03-01 12:30:05Z'
    """
    return "" if at is None else at.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%SZ")


def _wants_color(stream: IO[str], no_color: bool) -> bool:
    if no_color or os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return stream.isatty() and os.environ.get("TERM") != "dumb"


def _console(stream: IO[str], no_color: bool) -> Console:
    from rich.console import Console

    color = _wants_color(stream, no_color)
    return Console(
        file=stream,
        force_terminal=True if color else None,
        color_system="auto" if color else None,
        no_color=not color,
        highlight=False,
        markup=False,
        emoji=False,
    )


def error_console(no_color: bool) -> Console:
    """A console on stderr."""
    return _console(sys.stderr, no_color)


class Output:
    """Where a command writes.

    Args:
        as_json: Whether a program reads it.
        no_color: Whether to leave colours away.
    """

    def __init__(self, *, as_json: bool, no_color: bool) -> None:
        self.as_json = as_json
        self.on_terminal = sys.stdout.isatty()
        self._no_color = no_color
        self._color = not as_json and _wants_color(sys.stdout, no_color)
        self._terminal: Console | None = None
        for stream in (sys.stdout, sys.stderr):
            if hasattr(stream, "reconfigure"):
                stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]

    @property
    def has_colors(self) -> bool:
        """Whether styles show."""
        return self._color

    def data(self, value: Any, *, one_line: bool = False) -> None:
        """Write one JSON value: over several lines on a terminal, unless one is asked for; else on one."""
        ascii_only = (sys.stdout.encoding or "").lower().replace("-", "") not in ("utf8", "utf8sig")
        indent = 2 if self.on_terminal and not one_line else None
        sys.stdout.write(json.dumps(value, ensure_ascii=ascii_only, indent=indent, default=_plain) + "\n")

    def line(self, *parts: Part) -> None:
        """Write one line. Nothing in it is read as markup."""
        if not self._color:
            sys.stdout.write("".join(part if isinstance(part, str) else part[0] for part in parts) + "\n")
            return
        from rich.text import Text

        if self._terminal is None:
            self._terminal = _console(sys.stdout, self._no_color)
        self._terminal.print(Text.assemble(*parts, end=""), soft_wrap=True)

    def rows(
        self, rows: Sequence[Sequence[Part]], *, right: frozenset[int] = frozenset(), below: Sequence[str] = ()
    ) -> None:
        """Write lines in columns; the last column is as wide as it likes.

        Args:
            rows: The cells of each line.
            right: The columns that are aligned to the right.
            below: For each line what stands below it, indented; nothing for an empty text.
        """
        from rich.cells import cell_len

        def text(part: Part) -> str:
            return part if isinstance(part, str) else part[0]

        widths = [max(map(cell_len, map(text, column))) for column in zip(*(row[:-1] for row in rows), strict=True)]
        for number, row in enumerate(rows):
            line: list[Part] = []
            for index, (cell, width) in enumerate(zip(row[:-1], widths, strict=True)):
                space = " " * (width - cell_len(text(cell)))
                line += [space, cell, "  "] if index in right else [cell, space + "  "]
            # No spaces at the end of a line.
            self.line(*line, row[-1]) if text(row[-1]) else self.line(*line[:-1])
            for under in below[number].split("\n") if below and below[number] else ():
                self.line(("    " + under, "dim"))

    def raw(self, data: bytes) -> None:
        """Write bytes as they are."""
        sys.stdout.flush()
        rest = memoryview(data)
        while rest:  # an unbuffered stdout may take a part only
            rest = rest[sys.stdout.buffer.write(rest) :]
        sys.stdout.buffer.flush()

    def text(self, text: str) -> str:
        """A line of somebody's text: made harmless for a terminal, exact for a file or a pipe."""
        return printable(text) if self.on_terminal else text

    def note(self, text: str) -> None:
        """Tell a person something beside the result, on stderr."""
        if self.as_json:
            return
        from rich.text import Text

        error_console(self._no_color).print(Text(printable(text), style="dim"), soft_wrap=True)

    @contextmanager
    def progress(self, what: str) -> Generator[Advance]:
        """Show how far long work is, where somebody watches: on a terminal, on stderr, gone at the end."""
        if self.as_json or not sys.stderr.isatty():
            yield lambda done, total: None
            return
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

        columns = (
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
        )
        with Progress(*columns, console=error_console(self._no_color), transient=True) as bar:
            task = bar.add_task(what, total=None)

            def advance(done: int, total: int | None) -> None:
                bar.update(task, completed=done, total=total if total is None else max(done, total))

            yield advance


def _plain(value: object) -> object:
    """What JSON does not know, in a form that it does."""
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat()
    raise TypeError(f"{type(value).__name__} is no JSON")
