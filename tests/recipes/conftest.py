"""Each recipe begins as a new process would: on PostgreSQL the tests have one database after another at one URL."""

from __future__ import annotations

from collections import OrderedDict

import pytest

from memoranda.backends import composite, runtime, seeds


@pytest.fixture(autouse=True)
def as_in_a_new_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runtime, "_process", OrderedDict())
    monkeypatch.setattr(seeds, "_none_until", OrderedDict())
    monkeypatch.setattr(seeds, "_warned", set())
    monkeypatch.setattr(composite, "_warned", set())
