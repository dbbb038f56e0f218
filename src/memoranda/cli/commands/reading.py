"""`cat`: the content of an item, now or then."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Annotated, Any

import typer

from memoranda.cli.command import LOOK, Path, command
from memoranda.cli.failures import UsageError
from memoranda.cli.finding import explained, missing
from memoranda.cli.hints import quoted
from memoranda.cli.output import human_size, printable
from memoranda.cli.session import Session

if TYPE_CHECKING:
    from memoranda.store.types import StoredItem


@command("cat", "memoranda cat -n ann /notes/tea.md --revision 3", panel=LOOK)
def cat(
    session: Session,
    path: Path,
    revision: Annotated[int | None, typer.Option("--revision", "-r", metavar="N", help="The revision to read.")] = None,
    at: Annotated[
        str | None,
        typer.Option(
            "--at",
            metavar="TIME",
            help="The time to read it at, such as 2026-03-01T12:30Z; UTC if no zone is given. A time without a "
            "fraction means the end of that second, so that a time shown by `log` can be used.",
        ),
    ] = None,
) -> None:
    """Write an item's content to stdout, byte for byte; a JSON document as JSON.

    On a terminal control characters are shown escaped, and a binary file is refused; into a file or a pipe everything
    goes as it is. With --json the whole item is written.
    """
    if revision is not None and at is not None:
        raise UsageError("--revision and --at were both given.", "Give one of them.")
    key = session.key(path)
    store, namespace = session.reading(), session.namespace
    item: StoredItem | None
    with explained(session, key):
        if revision is not None:
            item = store.get_at(namespace, key, revision=revision)
        elif at is not None:
            item = store.get_at(namespace, key, at=moment(at))
        else:
            item = current(session, key)
    if session.json:
        session.out.data(
            {
                "namespace": list(namespace),
                "key": item.key,
                "revision": item.revision,
                "created_at": item.created_at,
                "updated_at": item.updated_at,
                "value": item.value,
            }
        )
        return
    content = content_of(item.value)
    if not session.out.on_terminal:
        session.out.raw(content)
        return
    try:
        text = content.decode()
    except UnicodeDecodeError:
        raise UsageError(
            f"{key} is a binary file of {human_size(len(content))}, which would upset the terminal.",
            f"Send it to a file with `memoranda cat {quoted(key)} > FILE`.",
        ) from None
    for line in text.splitlines():
        session.out.line(printable(line))


def current(session: Session, key: str) -> StoredItem:
    """The item as it is now.

    Raises:
        ItemNotFoundError: It does not exist.
    """
    item = session.reading().get(session.namespace, key, refresh_ttl=False)
    if item is not None:
        return item
    raise missing(session, key)


def content_of(value: Mapping[str, Any]) -> bytes:
    """The bytes of a file, or a JSON document as people write it."""
    from memoranda.files.format import file_bytes, is_file_value

    return file_bytes(value) if is_file_value(value) else document_text(value).encode()


def document_text(value: Mapping[str, Any]) -> str:
    """A JSON document as people write it."""
    import orjson

    return orjson.dumps(value, option=orjson.OPT_INDENT_2).decode() + "\n"


def moment(text: str) -> datetime:
    """The time that is meant.

    Raises:
        UsageError: It is no time.
    """
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        raise UsageError(f"{text!r} is no time.", "Write it as 2026-03-01T12:30:05Z or 2026-03-01.") from None
    at = at.replace(tzinfo=UTC) if at.tzinfo is None else at
    return at if at.microsecond else at + timedelta(microseconds=999_999)
