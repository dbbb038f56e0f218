"""What came of the checks of a conformance suite, for every suite alike."""

from __future__ import annotations

import re
import unittest
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CheckResult:
    """What came of one check.

    Args:
        name: The method's name.
        passed: Whether the store does it; False also for a check that was skipped.
        detail: Why not: the first sentence of the failure, or of the reason to skip.
        group: What it is about.
        title: What the store should do, in one sentence.
        skipped: The store does not claim to do it.
    """

    name: str
    passed: bool
    detail: str = ""
    group: str = ""
    title: str = ""
    skipped: bool = False


def outcome(suite: object, group: str, name: str, title: str, *, varying: tuple[re.Pattern[str], str]) -> CheckResult:
    """Run one check.

    Args:
        suite: The suite, with its factory.
        group: The group that the check belongs to.
        name: The name of its method.
        title: What it asks, in words.
        varying: What differs between runs in a failure's text, and what stands for it.
    """

    def line(text: str) -> str:
        first = varying[0].sub(varying[1], text.strip().split("\n")[0])
        return first if len(first) <= 200 else f"{first[:200]}…"

    try:
        getattr(suite, name)()
    except unittest.SkipTest as reason:
        return CheckResult(name, False, str(reason), group, title, skipped=True)
    except AssertionError as failure:
        return CheckResult(name, False, line(str(failure)), group, title)
    except Exception as error:  # noqa: BLE001 - whatever the candidate raises is the result
        return CheckResult(name, False, line(f"{type(error).__name__}: {error}"), group, title)
    return CheckResult(name, True, "", group, title)
