"""Tending memory in the background: what was said becomes what is known, each turn exactly once."""

from __future__ import annotations
