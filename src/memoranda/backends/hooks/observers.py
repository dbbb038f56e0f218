"""For whoever wants to know what was written."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from memoranda.backends.hooks.events import WrittenEvent


@dataclass(frozen=True)
class OnWritten:
    """Calls a function after each change; see `on_written`."""

    function: Callable[[WrittenEvent], Any]

    @property
    def name(self) -> str:
        """The function's name."""
        return getattr(self.function, "__name__", type(self.function).__name__)

    def after_write(self, event: WrittenEvent) -> Any:
        """Call the function."""
        return self.function(event)


def on_written(function: Callable[[WrittenEvent], Any]) -> OnWritten:
    """A hook that calls a function after each change of files that outlive the thread.

    Args:
        function: Called with a `WrittenEvent`; may be a coroutine function. What it raises is logged, and the change
            stands.

    Example:
        >>> from memoranda import open_store
        >>> from memoranda.backends import GuardedBackend, StoreBackend
        >>> with open_store("memory://") as store:
        ...     files = StoreBackend(namespace=("ann",), store=store)
        ...     files = GuardedBackend(files, hooks=[on_written(lambda event: print(event.path, event.revision))])
        ...     _ = files.write("/tea.md", "green")
        /tea.md 1
    """
    return OnWritten(function)
