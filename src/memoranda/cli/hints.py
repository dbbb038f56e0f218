"""Commands that a message tells somebody to run: with the store and the namespace that the command before them had.

A hint is written in backticks, as `memoranda log /notes/tea.md`, wherever it comes from; one place adds what was named
on the command line, so that following a hint never means another store or another person's memory.
"""

from __future__ import annotations

import re
import shlex

from memoranda.cli.names import format_namespace
from memoranda.cli.settings import NAMESPACE_VARIABLE, Settings
from memoranda.store.urls import redacted

_HINT = re.compile(r"`memoranda ((?:proposals |episodes |consolidate )?[a-z]+)([^`]*)`")
# The commands whose paths lie in one namespace; `ls` without a path lists the namespaces.
_IN_A_NAMESPACE = frozenset(
    ("ls", "tree", "cat", "grep", "glob", "write", "edit", "rm", "mv", "log", "diff", "blame", "restore", "search")
).union(("recall", "episodes ls", "episodes show", "episodes search", "episodes import"))
# The commands that an embedder makes a difference to.
_BY_MEANING = frozenset(("search", "recall", "episodes search", "reindex", "bench"))
# What is imported comes from elsewhere, and into another store than the one that could not be opened.
_ELSEWHERE = frozenset(("import",))


def quoted(text: str) -> str:
    """A word as a shell takes it."""
    return shlex.quote(text)


def placed(
    text: str,
    given: Settings,
    namespace: tuple[str, ...] | None = None,
    key: str | None = None,
    *,
    by_variable: bool = False,
) -> str:
    """Give the commands that a text names the options of the command line they follow.

    Args:
        text: A message, its commands in backticks.
        given: The global options of the command line, without the environment.
        namespace: The namespace that the command worked in, if it did.
        key: The key it was about, for a `memoranda log` that names none.
        by_variable: Whether the environment names the namespace, which a list of all of them has to leave out.

    Returns:
        The text; a command that says itself which store or namespace it means keeps that.

    Example:
        >>> placed("`memoranda log /a b.md` shows it.", Settings(store="sqlite:///m.db"), ("acme", "ann"))
        '`memoranda log --store sqlite:///m.db -n acme/ann /a b.md` shows it.'
    """

    def options(found: re.Match[str]) -> str:
        name, rest = found[1], found[2]
        if name in _ELSEWHERE or rest.startswith(" --store "):
            return found[0]
        if name == "log" and not rest and key is not None:
            rest = f" {quoted(key)}"
        added = ""
        if given.store is not None:
            added += f" --store {quoted(redacted(given.store))}"
        if given.tenant is not None:
            added += f" --tenant {quoted(given.tenant)}"
        if given.embed is not None and name in _BY_MEANING and " --embed " not in rest:
            added += f" --embed {quoted(given.embed)}"
        lists_namespaces = name == "ls" and not rest
        if namespace is not None and name in _IN_A_NAMESPACE and not lists_namespaces and not rest.startswith(" -n "):
            added += f" -n {quoted(format_namespace(namespace))}"
        before = f"{NAMESPACE_VARIABLE}= " if lists_namespaces and by_variable else ""
        return f"`{before}memoranda {name}{added}{rest}`"

    return _HINT.sub(options, text)
