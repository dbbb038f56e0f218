"""The command line: `memoranda`.

Room by room: `app` puts the commands together, `command` gives each one the global options, `settings` says what they
are, `session` opens the store that they name, `output` writes text or JSON, `failures` turns errors into a sentence and
an exit code, `names` reads and writes namespaces, `moments` reads times, `finding` and `scopes` say what to try where
nothing was found, `highlighting` marks the words of a query, and `commands` holds what there is to do. Everything heavy
is imported when a command needs it, so that `memoranda --help` answers at once.
"""

from __future__ import annotations


def main() -> None:
    """Run the command line and leave the process with its exit code."""
    try:
        from memoranda.cli.app import program

        program()()
    except KeyboardInterrupt:  # before there was anything to stop
        raise SystemExit(130) from None
