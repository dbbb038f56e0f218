"""What unified_diff prints, patch understands."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoranda.files import diff_stat, split_lines, unified_diff

texts = st.lists(st.sampled_from(["a", "b", "c", "-", "+", " ", "", "x\r", "@@"]), max_size=25).flatmap(
    lambda lines: st.sampled_from(["\n".join(lines), "".join(line + "\n" for line in lines)])
)
HEADER = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@\n")


def patched(before: str, difference: str) -> str:
    """Apply a unified diff strictly: every line of context and every count must be right."""
    old, new = split_lines(before), list[str]()
    rows = split_lines(difference)
    assert rows[0].startswith("--- ") and rows[1].startswith("+++ ")
    at, row = 0, 2
    while row < len(rows):
        header = HEADER.fullmatch(rows[row])
        assert header is not None
        old_start, old_size = int(header[1]), int(header[2] or 1)
        new_start, new_size = int(header[3]), int(header[4] or 1)
        row += 1
        start = old_start - 1 if old_size else old_start
        assert start >= at
        new += old[at:start]
        at = start
        assert len(new) == (new_start - 1 if new_size else new_start)
        taken = given_ = 0
        while taken < old_size or given_ < new_size:
            mark, line = rows[row][0], rows[row][1:]
            row += 1
            if row < len(rows) and rows[row].startswith("\\"):
                line = line.removesuffix("\n")
                row += 1
            assert mark in " -+"
            if mark != "+":
                assert old[at] == line
                at += 1
                taken += 1
            if mark != "-":
                new.append(line)
                given_ += 1
        assert (taken, given_) == (old_size, new_size)
    return "".join(new + old[at:])


@given(texts, texts, st.integers(0, 4))
def test_applied_diff_gives_the_new_text(before: str, after: str, context: int) -> None:
    difference = unified_diff(before, after, context=context)
    assert (difference == "") == (before == after)
    if difference:
        assert patched(before, difference) == after
    added, removed = diff_stat(before, after)
    body = split_lines(difference)[2:]
    assert added == sum(row.startswith("+") for row in body)
    assert removed == sum(row.startswith("-") for row in body)
    assert added - removed == len(split_lines(after)) - len(split_lines(before))


@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("a\nb\n", "a\nc"),
        ("a", "a\n"),
        ("x\ny\nz", "x\nz"),
        ("a\n" * 30, "a\n" * 10 + "b\n" + "a\n" * 20 + "c"),
    ],
)
def test_git_applies_it(tmp_path: Path, before: str, after: str) -> None:
    file = tmp_path / "f.md"
    file.write_bytes(before.encode())
    difference = unified_diff(before, after, before_label="a/f.md", after_label="b/f.md")
    subprocess.run(["git", "apply", "-"], input=difference.encode(), cwd=tmp_path, check=True)
    assert file.read_bytes() == after.encode()


def test_format() -> None:
    before = "".join(f"{number}\n" for number in range(1, 21))
    after = before.replace("10\n", "ten\n").replace("20\n", "twenty\n")
    assert unified_diff(before, after, before_label="revision 1", after_label="revision 2", context=1) == (
        "--- revision 1\n+++ revision 2\n@@ -9,3 +9,3 @@\n 9\n-10\n+ten\n 11\n@@ -19,2 +19,2 @@\n 19\n-20\n+twenty\n"
    )
    assert unified_diff("", "a\n").endswith("@@ -0,0 +1 @@\n+a\n")
    assert unified_diff("a", "b", before_label="x\ny").startswith("--- x\\ny\n")
    assert diff_stat("", "a\nb") == (2, 0)
