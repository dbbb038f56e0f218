"""Draw the picture of the README, from the example itself: `python docs/picture.py`."""

from __future__ import annotations

import re
import sys
from importlib import import_module
from pathlib import Path

from rich.console import Console

from memoranda import open_store

DOCS = Path(__file__).resolve().parent
sys.path.insert(0, str(DOCS.parent / "examples"))

# Found through the line above, which type checkers do not follow.
preferences, shared = import_module("preferences"), import_module("_shared")


def main() -> None:
    """Run the example, and save what it showed."""
    console = Console(record=True, width=96, highlight=False)
    with open_store("memory://") as store:
        kit = shared.Kit(store, console=console)
        preferences.example(kit)
        block = re.search(r"<agent_memory>.*</agent_memory>", kit.prompts["tuesday"][0], re.DOTALL)
        assert block is not None
        console.print("\n[bold]In the prompt of the second conversation[/bold]")
        console.print(block[0], markup=False, style="green")
    drawn = console.export_svg(title="python examples/preferences.py")
    # Nothing is fetched from elsewhere for it.
    drawn = re.sub(r"<!--.*?-->\s*|@font-face \{.*?\}\s*", "", drawn, flags=re.DOTALL)
    (DOCS / "images" / "agent.svg").write_text(drawn, "utf-8")


if __name__ == "__main__":
    main()
