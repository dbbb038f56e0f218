"""The ready-made agent that consolidates."""

from __future__ import annotations
