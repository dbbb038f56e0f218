"""What a check is: a method that gets a backend with an empty tree of its own."""

from __future__ import annotations

import asyncio
import unittest
from collections.abc import Callable, Coroutine, Generator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeAlias, TypeVar

BackendFactory: TypeAlias = Callable[[], Any]
"""Gives a backend over an empty tree, or a context manager that gives one and cleans up."""


class Routed(NamedTuple):
    """A backend with routes, and what lies behind it.

    Args:
        tree: The backend under test.
        default: What it gives to paths that no route claims.
        settle: Makes changes arrive in `default` where the backend holds them back.
    """

    tree: Any
    default: Any
    settle: Callable[[], Any] = lambda: None


RoutedFactory: TypeAlias = Callable[[Mapping[str, Any]], "Routed | AbstractContextManager[Routed]"]
"""Given folders and what they lead to (None: an empty tree of its own), builds a backend with these routes."""

Need: TypeAlias = Literal["asynchronous", "concurrent", "canonical"]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What a backend claims beyond the common contract; checks of what it does not claim are skipped.

    Args:
        asynchronous: The methods with an `a` in front work on the same files as the blocking ones.
        concurrent: Several threads may use it at once. The state of one step of a graph is not for that.
        canonical: It settles paths itself: `//`, `.` and a missing slash at the start change nothing.
    """

    asynchronous: bool = True
    concurrent: bool = True
    canonical: bool = True


class Checks:
    """The ground of every group of checks; see `BackendConformance`."""

    capabilities: Capabilities = Capabilities()
    """What this backend claims."""

    def backend_factory(self) -> Any:
        """Give the backend under test.

        Returns:
            A backend over an empty tree, or a context manager that gives one and cleans up; anew for every check.
        """
        raise NotImplementedError("Override backend_factory() to return the backend under test.")

    def routed_factory(self, routes: Mapping[str, Any]) -> Routed | AbstractContextManager[Routed]:
        """Give the backend under test with routes; override it for a backend that has them.

        Args:
            routes: Folders, and the backends they lead to; None stands for an empty tree.
        """
        raise unittest.SkipTest("The backend has no routes.")

    def run_inside(self, check: Callable[[], None]) -> None:
        """Run a check where the backend works, such as inside a graph; by default just here."""
        check()

    @contextmanager
    def opened(self, routes: Mapping[str, Any] | None = None) -> Generator[Any]:
        """The backend for the length of one check."""
        given: Any = self.backend_factory() if routes is None else self.routed_factory(routes)
        if hasattr(given, "__enter__"):
            with given as opened:
                yield opened
        else:
            yield given


def check(
    *, needs: Need | None = None, method: str | None = None, routes: Mapping[str, Any] | None = None
) -> Callable[[Callable[[Any, Any], Coroutine[Any, Any, None] | None]], Callable[[Any], None]]:
    """Make a check of a function of the backend.

    Args:
        needs: The capability without which the check is skipped.
        method: What a backend need not have, and without which the check is skipped too.
        routes: The routes that the backend is to have; the function then gets a `Routed`.
    """

    def decorate(body: Callable[[Any, Any], Coroutine[Any, Any, None] | None]) -> Callable[[Any], None]:
        def run_check(self: Checks) -> None:
            if needs is not None and not getattr(self.capabilities, needs):
                raise unittest.SkipTest(f"The backend does not claim {needs}.")

            def run() -> None:
                with self.opened(routes) as backend:
                    if method is not None and not hasattr(backend if routes is None else backend.tree, method):
                        raise unittest.SkipTest(f"The backend has no {method}.")
                    running = body(self, backend)
                    if running is not None:
                        asyncio.run(running)

            self.run_inside(run)

        # Not functools.wraps: pytest would look for fixtures named after the body's parameters.
        run_check.__name__, run_check.__qualname__, run_check.__doc__ = body.__name__, body.__qualname__, body.__doc__
        return run_check

    return decorate


# --- what checks say ---------------------------------------------------------------------------------------------


def expect(actual: T, expected: T, what: str) -> None:
    """Fail with a sentence unless the two are equal.

    Args:
        actual: What the backend gave.
        expected: What it should have given.
        what: What this is about, as the start of a sentence.
    """
    if actual != expected:
        raise AssertionError(f"{what}: expected {_short(expected)}, got {_short(actual)}")


def expect_fine(result: Any, what: str) -> Any:
    """Fail unless a result has no error; give it back."""
    if result.error is not None:
        raise AssertionError(f"{what} failed: {result.error}")
    return result


def expect_refused(result: Any, what: str, *told: str) -> str:
    """Fail unless a result has an error that says certain things; give back the error.

    Args:
        result: The result.
        what: What was asked for, as the start of a sentence.
        *told: What the error has to hold.
    """
    if result.error is None:
        raise AssertionError(f"{what} was not refused")
    for text in told:
        if text not in result.error:
            raise AssertionError(f"{what} was refused without {text!r}: {_short(result.error)}")
    return str(result.error)


def put(backend: Any, files: Mapping[str, str | bytes]) -> None:
    """Write files, in order."""
    for path, content in files.items():
        if isinstance(content, str):
            expect_fine(backend.write(path, content), f"Writing {path}")
        else:
            (answer,) = backend.upload_files([(path, content)])
            expect_fine(answer, f"Uploading {path}")


def text_of(backend: Any, path: str) -> str | None:
    """A file's text; None where there is none."""
    result = backend.read(path, limit=100_000)
    return None if result.file_data is None else result.file_data["content"]


def bytes_of(backend: Any, path: str) -> bytes | None:
    """A file's bytes; None where there is none."""
    (answer,) = backend.download_files([path])
    return answer.content


def paths(result: Any, what: str = "The listing") -> list[str]:
    """The paths of a listing or of matches, in order."""
    expect_fine(result, what)
    found: list[Any] = (result.entries if hasattr(result, "entries") else result.matches) or []
    return [entry["path"] for entry in found]


def expect_paths(result: Any, expected: list[str], what: str) -> None:
    """Fail unless a listing or matches hold just these paths, in whatever order."""
    expect(sorted(paths(result, what)), sorted(expected), what)


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 120 else f"{text[:120]}…"
