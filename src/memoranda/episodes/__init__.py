"""Episodic memory: conversations as they were held, recorded once, found by what was said in them.

Room by room: `messages` says which messages are turns and what of them is kept, `masking` takes secrets out of them,
`recording` is the middleware that records finished turns, `checkpoints` and `backfilling` take over what a checkpointer
holds, `shown` writes conversations down for a model, and `tool` is the tool that searches them. What they read and
write is in the store: `record_turns`, `turns`, `threads`, `search_episodes`, `forget_thread`. The recorder and the tool
need the extra `agents`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from memoranda.episodes.backfilling import Backfilled as Backfilled
    from memoranda.episodes.backfilling import abackfill as abackfill
    from memoranda.episodes.backfilling import backfill as backfill
    from memoranda.episodes.masking import mask_secrets as mask_secrets
    from memoranda.episodes.messages import Keeping as Keeping
    from memoranda.episodes.recording import EpisodeRecorder as EpisodeRecorder
    from memoranda.episodes.tool import search_past_conversations as search_past_conversations
    from memoranda.store.turns import Episode as Episode
    from memoranda.store.turns import EpisodeHit as EpisodeHit
    from memoranda.store.turns import FoundEpisodes as FoundEpisodes
    from memoranda.store.turns import RecordedTurn as RecordedTurn
    from memoranda.store.turns import RecordedTurns as RecordedTurns
    from memoranda.store.turns import ThreadSummary as ThreadSummary
    from memoranda.store.turns import Turn as Turn

_EXPORTS = {
    "memoranda.episodes.backfilling": ["Backfilled", "abackfill", "backfill"],
    "memoranda.episodes.masking": ["mask_secrets"],
    "memoranda.episodes.messages": ["Keeping"],
    "memoranda.episodes.recording": ["EpisodeRecorder"],
    "memoranda.episodes.tool": ["search_past_conversations"],
    "memoranda.store.turns": [
        "Episode",
        "EpisodeHit",
        "FoundEpisodes",
        "RecordedTurn",
        "RecordedTurns",
        "ThreadSummary",
        "Turn",
    ],
}
_HOME = {name: module for module, names in _EXPORTS.items() for name in names}

__all__ = [*_HOME]  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> object:
    module = _HOME.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(module), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME})
