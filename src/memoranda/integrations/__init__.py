"""Memoranda inside other frameworks: one module for each."""

from __future__ import annotations

from memoranda.errors import MemorandaError

__all__ = ["NotInstalledError"]


class NotInstalledError(MemorandaError, ImportError):
    """The package that an integration is for is not installed."""
