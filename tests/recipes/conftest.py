"""Each recipe is told what a process is told once: of keys with a route's prefix, and of routes to one namespace."""

from __future__ import annotations

import pytest

from memoranda.backends import seeds, twins


@pytest.fixture(autouse=True)
def warned_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(seeds, "_warned", set())
    monkeypatch.setattr(twins, "_warned", set())
