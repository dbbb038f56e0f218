"""The ready-made agent that consolidates: `ready_made(model)`.

`prompts` is what it is told, `showing` how it is shown the memory, `tools` what it can do, `accepted` which texts are
taken as memory, and `supervising` what ends a run.
"""

from __future__ import annotations

from memoranda.consolidation.agent.ready import ready_made

__all__ = ["ready_made"]
