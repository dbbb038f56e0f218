"""Show the difference of two texts to a person, in the unified format that `patch` and `git apply` read."""

from __future__ import annotations

from typing import NamedTuple

from memoranda.files.matching import Opcode, opcodes, split_lines


class DiffStat(NamedTuple):
    """How much a change changes."""

    added: int
    """Lines that are new."""
    removed: int
    """Lines that are gone."""


def unified_diff(
    before: str, after: str, *, before_label: str = "before", after_label: str = "after", context: int = 3
) -> str:
    r"""Write the difference of two texts in the unified format.

    Args:
        before: The text before.
        after: The text after.
        before_label: The name to print for the text before.
        after_label: The name to print for the text after.
        context: How many unchanged lines to show around a change.

    Returns:
        The difference, each line ended by LF; empty if the texts are equal.

    Example:
        >>> print(unified_diff("tea", "coffee"), end="")
        --- before
        +++ after
        @@ -1 +1 @@
        -tea
        \ No newline at end of file
        +coffee
        \ No newline at end of file
    """
    if before == after:
        return ""
    old, new = split_lines(before), split_lines(after)
    out = [f"--- {_label(before_label)}\n", f"+++ {_label(after_label)}\n"]
    for hunk in _hunks(opcodes(old, new), max(context, 0)):
        first, last = hunk[0], hunk[-1]
        out.append(f"@@ -{_range(first.i1, last.i2)} +{_range(first.j1, last.j2)} @@\n")
        for tag, i1, i2, j1, j2 in hunk:
            if tag == "equal":
                out += [_printed(" ", line) for line in old[i1:i2]]
                continue
            out += [_printed("-", line) for line in old[i1:i2]]
            out += [_printed("+", line) for line in new[j1:j2]]
    return "".join(out)


def diff_stat(before: str, after: str) -> DiffStat:
    r"""Count the lines that a change adds and removes.

    Args:
        before: The text before.
        after: The text after.

    Returns:
        The numbers of added and of removed lines; a rewritten line counts as both.

    Example:
        >>> diff_stat("a\nb\n", "a\nc\nd\n")
        DiffStat(added=2, removed=1)
    """
    if before == after:
        return DiffStat(0, 0)
    changes = [step for step in opcodes(split_lines(before), split_lines(after)) if step.tag != "equal"]
    return DiffStat(sum(step.j2 - step.j1 for step in changes), sum(step.i2 - step.i1 for step in changes))


def _hunks(steps: list[Opcode], context: int) -> list[list[Opcode]]:
    """Group steps so that changes share a hunk where their contexts meet."""
    hunks: list[list[Opcode]] = []
    open_hunk: list[Opcode] = []
    for index, step in enumerate(steps):
        if step.tag != "equal":
            open_hunk.append(step)
            continue
        tag, i1, i2, j1, j2 = step
        size, is_last = i2 - i1, index == len(steps) - 1
        if open_hunk and not is_last and size <= 2 * context:
            open_hunk.append(step)
            continue
        kept = min(size, context)
        if open_hunk:
            if kept:
                open_hunk.append(Opcode(tag, i1, i1 + kept, j1, j1 + kept))
            hunks.append(open_hunk)
        open_hunk = [Opcode(tag, i2 - kept, i2, j2 - kept, j2)] if kept and not is_last else []
    if open_hunk:
        hunks.append(open_hunk)
    return hunks


def _range(start: int, end: int) -> str:
    """Print a range of lines: an empty one is named by the line before it."""
    size = end - start
    if size == 1:
        return str(start + 1)
    return f"{start + 1 if size else start},{size}"


def _printed(mark: str, line: str) -> str:
    return f"{mark}{line}" if line.endswith("\n") else f"{mark}{line}\n\\ No newline at end of file\n"


def _label(name: str) -> str:
    return name.replace("\r", "\\r").replace("\n", "\\n")
