"""How the code of a page is run: block after block, with models that reply from what the page says beside them.

A page names real models, so that a reader can copy its code. Here `init_chat_model` gives a scripted model instead.
What it replies stands in a comment of the page that no reader sees, before the block that needs it:

    <!-- scripted:
    call("write_file", file_path="/memories/tea.md", content="Green.")
    say("Noted.")
    -->

Each expression is one reply; `call`, `calls` and `say` are those of `memoranda.testing.scripted`, and a function of the
messages gives a reply that depends on them. A script may go on over several blocks, and has to be used up in the end.

    <!-- checked:
    assert store.get(("ann",), "/tea.md").value["content"] == "Green."
    -->

is run like a block of the page, for what would only disturb its readers; `model` is the scripted model.
"""

from __future__ import annotations

import ast
import re
import sys
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, NamedTuple

# Whatever has its own name for `init_chat_model` must be there before the name is replaced.
import deepagents  # noqa: F401
import langchain.agents
import langchain.chat_models
import pytest

from memoranda.testing.scripted import ScriptedChatModel, call, calls, say

Kind = Literal["python", "scripted", "checked"]
_PIECE = re.compile(
    r"^```(?P<python>python)\n(?P<code>.*?)^```$|^<!-- (?P<hidden>scripted|checked):(?P<body>.*?)-->$",
    re.MULTILINE | re.DOTALL,
)


class Piece(NamedTuple):
    """A piece of a page that does something.

    Args:
        kind: What it is.
        code: Its code, with blank lines in front, so that a failure names the line of the page.
    """

    kind: Kind
    code: str


def pieces_of(text: str) -> Iterator[Piece]:
    """The pieces of a page, in order."""
    for match in _PIECE.finditer(text):
        kind: Kind = "checked" if match["hidden"] == "checked" else "scripted" if match["hidden"] else "python"
        group = "code" if kind == "python" else "body"
        yield Piece(kind, "\n" * text[: match.start(group)].count("\n") + match[group])


class Scripted:
    """The models of one page, which all reply from one script."""

    def __init__(self, page: str) -> None:
        self._page = page
        self._lines: deque[Any] = deque()
        self.model = ScriptedChatModel(script=[self._next])

    def add(self, code: str, names: dict[str, Any]) -> None:
        """Put the replies of a comment behind those that are there."""
        known = {"call": call, "calls": calls, "say": say, **names}
        for statement in ast.parse(code, self._page).body:
            assert isinstance(statement, ast.Expr), f"{self._page}:{statement.lineno}: a script holds expressions"
            self._lines.append(eval(compile(ast.Expression(statement.value), self._page, "eval"), known))

    def init_chat_model(self, model: str, *args: Any, **kwargs: Any) -> ScriptedChatModel:
        """What stands in for LangChain's function of this name."""
        assert ":" in model, f"{model!r} names no provider"
        return self.model

    def _next(self, messages: Any) -> Any:
        assert self._lines, f"{self._page}: the model is asked, and its script is over"
        line = self._lines.popleft()
        return line(messages) if callable(line) else line

    def assert_over(self) -> None:
        """Fail if the page says replies that no model was asked for."""
        assert not self._lines, f"{self._page}: nobody asked for {list(self._lines)}"


def run_page(text: str, page: str | Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Run the code of a page, and give what it defined."""
    scripted = Scripted(str(page))
    original = langchain.chat_models.init_chat_model
    for module in list(sys.modules.values()):
        if getattr(module, "__dict__", {}).get("init_chat_model") is original:
            monkeypatch.setattr(module, "init_chat_model", scripted.init_chat_model)
    names: dict[str, Any] = {"__name__": "__page__"}
    for kind, code in pieces_of(text):
        if kind == "scripted":
            scripted.add(code, names)
        elif kind == "checked":
            exec(compile(code, str(page), "exec"), {**names, "model": scripted.model})
        else:
            exec(compile(code, str(page), "exec"), names)
    scripted.assert_over()
    return names
