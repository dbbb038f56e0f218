"""A terminal for the installed program, with somebody at the keyboard."""

from __future__ import annotations

import os
import pty
import select
import signal
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass

from tests.cli.support import PROGRAM, environment


@dataclass(frozen=True, slots=True)
class Shown:
    """What a run left on the screen, and how it ended."""

    screen: str
    code: int


def on_terminal(
    *arguments: object, keys: Sequence[tuple[str, str]] = (), stdout: int | None = None, **settings: str
) -> Shown:
    """Run the program on a terminal.

    Args:
        arguments: The command line.
        keys: What is typed once a text is on the screen; `^C` is sent as the signal.
        stdout: A file descriptor for stdout instead of the terminal.
        settings: Environment variables.
    """
    main, side = pty.openpty()
    process = subprocess.Popen(
        [PROGRAM, *map(str, arguments)],
        stdin=side,
        stdout=side if stdout is None else stdout,
        stderr=side,
        env=environment(**{"TERM": "xterm-256color", "COLUMNS": "200", **settings}),
        start_new_session=True,
    )
    os.close(side)
    try:
        seen = _watch(process, main, list(keys))
        code = process.wait(timeout=10)
    finally:
        process.kill()
        os.close(main)
    return Shown(seen.decode(errors="replace").replace("\r\n", "\n"), code)


def _watch(process: subprocess.Popen[bytes], main: int, waiting: list[tuple[str, str]]) -> bytes:
    """Read the screen until the program lets go of it, typing what is to be typed."""
    seen, deadline = b"", time.monotonic() + 60
    while time.monotonic() < deadline:
        ready, _, _ = select.select([main], [], [], 0.05)
        if ready:
            try:
                read = os.read(main, 65536)
            except OSError:  # everybody closed the other side
                break
            if not read:
                break
            seen += read
        if waiting and waiting[0][0].encode() in seen:
            typed = waiting.pop(0)[1]
            if typed == "^C":
                process.send_signal(signal.SIGINT)
            else:
                os.write(main, typed.encode())
    return seen
