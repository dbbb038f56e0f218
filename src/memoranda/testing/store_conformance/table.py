"""Results of several stores as one Markdown table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from memoranda.testing.store_conformance.suite import CheckResult


def markdown_table(results: Mapping[str, Sequence[CheckResult]]) -> str:
    """Set the results of stores side by side, and list below what fails and why.

    Args:
        results: The name of each store with what `run_conformance` returned for it.

    Returns:
        Markdown, which ends with a newline.

    Example:
        >>> print(markdown_table({"ours": [CheckResult("test_x", True, "", "Items", "It works.")]}))
        | check | ours |
        |---|---|
        | **Items** | |
        | It works. | yes |
        | **passed** | **1 of 1** |
        <BLANKLINE>
    """
    names = list(results)
    lines = [f"| check | {' | '.join(names)} |", "|---" * (len(names) + 1) + "|"]
    group = ""
    for row in zip(*results.values(), strict=True):
        if row[0].group != group:
            group = row[0].group
            lines.append(f"| **{group}** |{' |' * len(names)}")
        lines.append(f"| {_cell(row[0].title)} | {' | '.join(map(_answer, row))} |")
    lines.append(f"| **passed** | {' | '.join(map(_total, results.values()))} |")
    for name in names:
        failed = [result for result in results[name] if not result.passed and not result.skipped]
        skipped = Counter(result.detail for result in results[name] if result.skipped)
        if failed or skipped:
            lines += ["", f"**{name}**", ""]
            lines += [f"- {result.title} {_code(result.detail)}" for result in failed]
            lines += [f"- Not asked: {reason} ({_checks(count)})" for reason, count in skipped.items()]
    return "\n".join(lines) + "\n"


def _answer(result: CheckResult) -> str:
    return "yes" if result.passed else "–" if result.skipped else "**no**"


def _total(results: Sequence[CheckResult]) -> str:
    asked = [result for result in results if not result.skipped]
    return f"**{sum(result.passed for result in asked)} of {len(asked)}**"


def _code(text: str) -> str:
    ticks = "``" if "`" in text else "`"
    return f"{ticks}{text}{ticks}"


def _checks(count: int) -> str:
    return "1 check" if count == 1 else f"{count} checks"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
