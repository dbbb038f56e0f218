"""Hooks travel: to other processes and into copies of what holds them."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest

from memoranda.backends.hooks import Refuse, WriteEvent, on_written, secrets, size_limit, write_rate

EVENT = WriteEvent("/a", "write", None, "text")


@pytest.mark.parametrize(
    "copied", [lambda hook: pickle.loads(pickle.dumps(hook)), copy.deepcopy, copy.copy], ids=["pickle", "deep", "copy"]
)
def test_a_copied_rate_counts_for_itself(copied: Any) -> None:
    rate = write_rate(1, per=3600)
    assert rate(EVENT) is None
    other = copied(rate)
    assert (other.limit, other.per, other.name) == (1, 3600.0, "write_rate")
    assert other(EVENT) is None
    assert isinstance(other(EVENT), Refuse)
    assert isinstance(rate(EVENT), Refuse)


@pytest.mark.parametrize("hook", [secrets(), size_limit(max_bytes=3), on_written(print)], ids=lambda hook: hook.name)
def test_the_other_ready_hooks_can_be_pickled(hook: Any) -> None:
    assert pickle.loads(pickle.dumps(hook)) == hook
