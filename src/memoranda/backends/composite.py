"""`CompositeBackend`: one tree of files, with other backends behind some of its folders."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from memoranda.backends.base import Backend


class CompositeBackend(Backend):
    """One tree whose folders lead to different backends; the longest route wins."""

    def __init__(self, default: Any, routes: Mapping[str, Any], *, artifacts_root: str = "/") -> None:
        self.default = default
        self.routes = dict(routes)
        self.artifacts_root = artifacts_root
