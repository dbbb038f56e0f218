"""What is known, kept: a profile, a collection of facts, worked examples, and instructions that learn.

`profile` is one document under a schema, kept current by patches; `collection` many small memories without
duplicates, which know when each was true; `examples` worked inputs and outputs, found again by likeness;
`instructions` a text that is refined from feedback, under review. `tools` gives a collection to an agent.
"""

from __future__ import annotations
