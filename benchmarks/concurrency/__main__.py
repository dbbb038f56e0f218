"""Starts `benchmarks.concurrency`; worker processes import this file, so it imports nothing large."""

from __future__ import annotations

from benchmarks.support.running import guarded


def main() -> int:
    """Run the command."""
    from benchmarks.concurrency.command import main as command

    return command()


if __name__ == "__main__":
    guarded(main)
