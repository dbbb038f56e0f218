"""What a thread keeps of files: the `files` channel, beside the private notes of `middleware.tool_calls`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, NotRequired

from langchain.agents.middleware.types import PrivateStateAttr

from memoranda.agents.middleware.tool_calls import ToolCallState
from memoranda.backends.tree import merge_file_states
from memoranda.files.format import FileData


def merge_files(files: Mapping[str, Any] | None, update: Mapping[str, Any] | None) -> dict[str, FileData]:
    """Apply an update to the files of a thread: the reducer of the channel `files`.

    Args:
        files: The files so far.
        update: What changed, by path: a file's data, also in the older form with a list of lines, or None for a file
            that is gone.
    """
    return merge_file_states(files, update)


class FilesState(ToolCallState):
    """The state behind the file tools; `files` may be given to `invoke` and is in its result."""

    agent_run_id: NotRequired[Annotated[str, PrivateStateAttr]]
    files: NotRequired[Annotated[dict[str, FileData], merge_files]]
