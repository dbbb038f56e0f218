"""Pages whose models reply from a script: what is said there is really done, and what is wrong there fails."""

from __future__ import annotations

import pytest

from tests.docs.pages import pieces_of, run_page

PAGE = """
<!-- scripted:
call("write_file", file_path="/tea.md", content="Green.")
say(
    "Noted."
)
-->
```python
from memoranda import create_deep_agent, open_store
from memoranda.backends import StoreBackend

store = open_store("memory://")
agent = create_deep_agent("anthropic:any", backend=StoreBackend(namespace=("ann",)), store=store)
agent.invoke({"messages": "I like green tea."})
```

<!-- checked:
assert store.get(("ann",), "/tea.md").value["content"] == "Green."
assert len(model.requests) == 2
-->
"""


def test_a_scripted_page_really_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    names = run_page(PAGE, "page.md", monkeypatch)
    assert [entry.key for entry in names["store"].list_keys(("ann",))] == ["/tea.md"]


def test_every_page_begins_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    for _ in range(2):
        with monkeypatch.context() as undone:
            run_page(PAGE, "page.md", undone)


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ('content="Black."', 'content="Green."'),  # the check fails
        ("", 'call("write_file", file_path="/tea.md", content="Green.")'),  # nothing is written
        ("reply = 1", 'say(\n    "Noted."\n)'),  # no expression
        ('say("Noted."); say("Anything else?")', 'say(\n    "Noted."\n)'),  # more is scripted than is asked for
        ("", '<!-- scripted:\ncall("write_file", file_path="/tea.md", content="Green.")\nsay(\n    "Noted."\n)\n-->'),
        ("any", "anthropic:any"),  # no model a reader could use
    ],
)
def test_a_wrong_page_fails(wrong: str, right: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert right in PAGE
    with pytest.raises(Exception):  # noqa: B017, PT011, RUF100 - whatever is raised makes the page's test fail
        run_page(PAGE.replace(right, wrong), "page.md", monkeypatch)


def test_a_failure_names_the_line_of_the_page() -> None:
    pieces = [*pieces_of(PAGE)]
    assert [piece.kind for piece in pieces] == ["scripted", "python", "checked"]
    line = PAGE.splitlines().index("from memoranda import create_deep_agent, open_store")
    assert pieces[1].code.splitlines().index("from memoranda import create_deep_agent, open_store") == line
