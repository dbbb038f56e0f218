"""Which texts are taken as memory, and which are what a model says in the place of it."""

from __future__ import annotations

import time

import pytest

from memoranda.consolidation.agent.accepted import MOST_BYTES, objection


@pytest.mark.parametrize(
    "text",
    [
        "I'm sorry, but I can't help with that.",
        "I’m sorry, I cannot assist with this request.",
        "Sorry, I am unable to process these messages.",
        "As an AI language model, I cannot store personal data.",
        "I cannot help with that request.\n",
        "Unfortunately I won't be able to do this.",
        "Sure, here are the updated notes:\n- tea\n",
        "Here is the updated file:\n\n- tea\n",
        '{"name": "write_file", "arguments": {"path": "/a.md"}}',
        '```json\n{"tool": "write_file"}\n```',
        '[{"name": "edit_file", "args": {}}]',
        '{"path": "/notes.md", "content": "- te',
        "# Ann\n\n- Drinks tea.\n\n(rest of the file unchanged)\n",
        "# Ann\n- Drinks tea.\n...\n",
        "- Drinks tea.\n[…]\n",
        "<!-- existing content stays the same -->\n- Drinks tea.\n",
        "- Drinks tea.\n- ... other preferences remain unchanged ...\n",
        "<tool_call>write_file</tool_call>",
        "- tea\n<|im_end|>",
        "<think>What should I write?</think>\n- tea",
        "- tea\0",
        "- \ud800 tea",
        "- tea \ufffd\ufffd",
        "\x1b[31m- tea",
        "- The key is ghp_" + "Zk3q" * 9,
        "x" * (MOST_BYTES + 1),
    ],
)
def test_what_is_no_memory(text: str) -> None:
    assert objection("/notes.md", text) is not None
    assert objection("/notes.md", text, is_whole=False) is not None


@pytest.mark.parametrize(
    "text",
    [
        "",
        "- Drinks green tea.\n",
        "# Ann\n\n- Cannot come on 2026-03-05.\n- Is sorry about it.\n",
        "- Says 'I cannot help it' a lot.\n",
        "- 妈妈对虾过敏\n- Größe: 1,80 m 🍵\n",
        '- The API answers `{"name": "Ann"}`.\n',
        "<details>\n\n- HTML in Markdown\n</details>\n",
        "Unfortunately the winter was long; the heat pump needed 4.1 kW.\n",
        "a\tb\r\nc\n",
        "- The rest of the budget stays with Ben.\n- Other plans: unchanged since May, says Ann.\n",
        "- Likes to trail off... and then goes on.\n",
    ],
)
def test_what_is_taken(text: str) -> None:
    assert objection("/notes.md", text) is None


def test_a_json_file_has_to_be_json() -> None:
    assert objection("/profile.json", '{"name": "Ann"}') is None, "and may have any field"
    wrong = objection("/profile.json", '{"name": "An')
    assert wrong is not None and "not valid JSON" in wrong
    assert objection("/profile.json", '"city": "Porto"', is_whole=False) is None, "a part of one is no JSON by itself"


@pytest.mark.parametrize("part", [".", "<invoke", "- ", "(", "sorry ", "ghp_", '{"name', "```json\n", "<", " rest of "])
def test_any_text_is_judged_in_time(part: str) -> None:
    began = time.process_time()
    objection("/notes.md", (part * MOST_BYTES)[: MOST_BYTES - 1] + "a")
    assert time.process_time() - began < 2
