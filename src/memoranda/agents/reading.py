"""How a file that was read is shown to a model."""

from __future__ import annotations

from typing import Any, Final

from langchain_core.messages import ToolMessage
from langchain_core.tools import ToolException

from memoranda.agents.budget import beginning
from memoranda.backends.protocol import ReadResult
from memoranda.files.path import name_of

_MEDIA: Final[dict[str, tuple[str, str]]] = {
    "png": ("image", "image/png"),
    "jpg": ("image", "image/jpeg"),
    "jpeg": ("image", "image/jpeg"),
    "gif": ("image", "image/gif"),
    "webp": ("image", "image/webp"),
    "heic": ("image", "image/heic"),
    "heif": ("image", "image/heif"),
    "mp3": ("audio", "audio/mpeg"),
    "wav": ("audio", "audio/wav"),
    "aiff": ("audio", "audio/aiff"),
    "aac": ("audio", "audio/aac"),
    "ogg": ("audio", "audio/ogg"),
    "flac": ("audio", "audio/flac"),
    "mp4": ("video", "video/mp4"),
    "mpeg": ("video", "video/mpeg"),
    "mpg": ("video", "video/mpeg"),
    "mov": ("video", "video/quicktime"),
    "avi": ("video", "video/x-msvideo"),
    "flv": ("video", "video/x-flv"),
    "webm": ("video", "video/webm"),
    "wmv": ("video", "video/x-ms-wmv"),
    "3gpp": ("video", "video/3gpp"),
    "pdf": ("file", "application/pdf"),
    "ppt": ("file", "application/vnd.ms-powerpoint"),
    "pptx": ("file", "application/vnd.openxmlformats-officedocument.presentationml.presentation"),
}

_MEDIA_LIMIT = 20_000_000
"""How many bytes of picture, sound, film or document a model is sent at most; providers refuse more."""


def shows_whole(result: ReadResult, token_limit: int) -> bool:
    """Whether `shown_read` shows a model all of what was read."""
    data = result.file_data
    return data is not None and (data["encoding"] == "base64" or beginning(data["content"], token_limit).is_whole)


def shown_read(result: ReadResult, path: str, limit: int, tool_call_id: str, token_limit: int) -> str | ToolMessage:
    """What a model is told of a file that was read.

    Args:
        result: What the backend gave; not an error.
        path: The file's path.
        limit: How many lines were asked for.
        tool_call_id: The tool call that is answered.
        token_limit: How many tokens the answer may have.

    Raises:
        ToolException: The file cannot be shown to a model.
    """
    data = result.file_data
    if data is None:
        raise ToolException(f"Error: the storage gave no text for {path}. Try again, or go on without it.")
    content = data["content"]
    if data["encoding"] == "base64":
        return _media(content, path, tool_call_id)
    if result.no_lines_requested:
        return f"[No lines were asked for with limit={limit}. Pass a limit of at least 1.]"
    if result.start_line is None and not content.strip():
        return f"[{path} is empty.]" if not content else f"[{path} holds nothing but white space.]"
    return _window(result, content, token_limit)


def _window(result: ReadResult, content: str, token_limit: int) -> str:
    fitting = beginning(content, token_limit)
    start = result.start_line or 1
    shown = fitting.lines if not fitting.is_whole else len(content.splitlines())
    end = start + shown - 1
    total = result.total_lines if result.total_lines is not None else start + len(content.splitlines()) - 1
    header = f"@@ lines {start}-{end} of {total}"
    if end < total:
        header += f" | next offset {end}"
    note = ""
    if fitting.is_line_cut:
        note = f"\n[Line {start} is too long: this is its beginning. Find what you need in it with grep.]"
    elif not fitting.is_whole:
        note = f"[More does not fit here. Read on with offset={end}.]"
    return f"{header} @@\n{fitting.text}{note}"


def _media(content: str, path: str, tool_call_id: str) -> ToolMessage:
    kind, mime_type = _MEDIA.get(name_of(path).rpartition(".")[2].lower(), ("", ""))
    size = len(content) * 3 // 4
    if not kind:
        raise ToolException(f"Error: {path} is a binary file of {size:,} bytes, which cannot be shown as text.")
    if size > _MEDIA_LIMIT:
        raise ToolException(
            f"Error: {path} has {size:,} bytes; more than {_MEDIA_LIMIT:,} of a picture, sound, film or document "
            "cannot be shown."
        )
    block: Any = {"type": kind, "base64": content, "mime_type": mime_type}
    return ToolMessage(
        content_blocks=[block],
        name="read_file",
        tool_call_id=tool_call_id,
        additional_kwargs={"read_file_path": path, "read_file_media_type": mime_type},
    )
