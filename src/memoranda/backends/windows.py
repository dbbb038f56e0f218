"""What a read answers, for every backend alike."""

from __future__ import annotations

from memoranda.backends.places import Place
from memoranda.backends.protocol import Base, FileDownloadResponse, ReadResult
from memoranda.errors import InvalidValueError
from memoranda.files.format import FileData, file_bytes, read_window
from memoranda.files.path import name_of

# Files that Deep Agents' tools hand to a model as pictures, sound, film or documents rather than as lines.
_WHOLE = frozenset(
    [
        "png",
        "jpg",
        "jpeg",
        "gif",
        "webp",
        "heic",
        "heif",
        "mp3",
        "wav",
        "aiff",
        "aac",
        "ogg",
        "flac",
        "mp4",
        "mpeg",
        "mov",
        "avi",
        "flv",
        "mpg",
        "webm",
        "wmv",
        "3gpp",
        "mkv",
        "pdf",
        "ppt",
        "pptx",
    ]
)


def is_whole(path: str) -> bool:
    """Whether a file of this name is read whole rather than by lines."""
    name = name_of(path)
    return "." in name and name.rpartition(".")[2].lower() in _WHOLE


def read_window_of(data: FileData, place: Place, offset: int, limit: int, revision: Base | None) -> ReadResult:
    """A window of a file's text; a binary file, or one whose name says so, whole."""
    if data["encoding"] == "base64" or is_whole(place.path):
        return ReadResult(file_data=data, revision=revision)
    window = read_window(data["content"], offset, limit)
    if window.error is not None:
        return ReadResult(error=window.error)
    shown: FileData = {**data, "content": window.content}
    return ReadResult(
        file_data=shown,
        total_lines=window.total_lines,
        start_line=window.start_line,
        end_line=window.end_line,
        next_offset=window.next_offset,
        no_lines_requested=window.no_lines_requested,
        revision=revision,
    )


def shows_all(result: ReadResult) -> bool:
    """Whether a window holds the whole file: only then has whoever reads it seen the file."""
    if result.error is not None or result.file_data is None or result.no_lines_requested:
        return False
    return result.start_line is None or (result.start_line == 1 and result.end_line == result.total_lines)


def read_whole(data: FileData, place: Place, revision: Base | None) -> FileDownloadResponse:
    """A whole file as bytes."""
    try:
        content = file_bytes(data)
    except InvalidValueError as error:
        return FileDownloadResponse(place.shown, None, f"Error: {error}")
    return FileDownloadResponse(place.shown, content, revision=revision)
