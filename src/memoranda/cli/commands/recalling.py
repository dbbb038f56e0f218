"""`search` and `recall`: find items, and find passages, by words and by meaning."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from memoranda.cli.command import LOOK, command
from memoranda.cli.commands import shapes
from memoranda.cli.commands.reading import content_of, moment
from memoranda.cli.failures import NO, UsageError
from memoranda.cli.highlighting import Highlighter
from memoranda.cli.moments import Since, Until, span
from memoranda.cli.names import format_namespace
from memoranda.cli.opening import index_setting
from memoranda.cli.output import Part, counted, human_time, printable
from memoranda.cli.scopes import narrowed_by, nothing_found, requested_scope
from memoranda.cli.session import Session

if TYPE_CHECKING:
    from langgraph.store.base import SearchItem

    from memoranda.store.recalled import Hit, HitKind

_FILTER = re.compile(r"([^=<>!]+)(==?|!=|>=|<=|>|<)(.*)", re.DOTALL)
_OPERATORS = {"=": "$eq", "==": "$eq", "!=": "$ne", ">": "$gt", ">=": "$gte", "<": "$lt", "<=": "$lte"}
_SHOWN = 120
_MOST_LINES = 12


class Kind(StrEnum):
    """What a passage may be of."""

    file = "file"
    item = "item"
    turn = "turn"


@command(
    "search",
    "memoranda search -n acme 'green tea'",
    "memoranda search -n acme --filter kind=preference --filter 'stars>=4'",
    panel=LOOK,
)
def search(
    session: Session,
    query: Annotated[
        str | None, typer.Argument(metavar="QUERY", help="Words or a question. Without it everything is listed.")
    ] = None,
    filters: Annotated[
        list[str] | None,
        typer.Option(
            "--filter",
            metavar="FIELD=VALUE",
            help="Only items with this value; also != > >= < <=. A value is read as JSON where it is JSON.",
            show_default=False,
        ),
    ] = None,
    limit: Annotated[int, typer.Option("--limit", metavar="N", min=1, help="At most so many items.")] = 10,
    offset: Annotated[int, typer.Option("--offset", metavar="N", min=0, help="Leave out the first so many.")] = 0,
) -> None:
    """Find files and documents, in all namespaces that start with the labels of -n: the best first, with their scores.

    It is what an agent's `store.search` finds; `recall` finds passages, and what was said. The exit code is 1 if
    nothing is found.
    """
    query = asked(query) if query is not None else None
    conditions = _conditions(filters or ())
    store, prefix = session.reading(), session.named_namespace or ()
    found = store.search(prefix, query=query, filter=conditions or None, limit=limit, offset=offset, refresh_ttl=False)
    if not found and offset:
        session.note(f"Nothing comes after the first {offset}.")
    elif not found:
        nothing_found(session, prefix, query, below=True, narrowed=narrowed_by(filter=filters))
    if session.json:
        session.out.data({"prefix": list(prefix), "items": [_item_shape(item) for item in found], "offset": offset})
    elif found:
        session.out.rows([_item_row(session, item, with_score=query is not None) for item in found])
        if len(found) == limit:
            session.out.note(f"There may be more: --offset {offset + limit} goes on.")
    if not found:
        raise typer.Exit(NO)


@command(
    "recall",
    "memoranda recall -n ann 'which tea does she like?'",
    "memoranda recall -n ann 'what did we decide on hosting?' --kind turn --since 14d --explain",
    panel=LOOK,
)
def recall(
    session: Session,
    query: Annotated[str, typer.Argument(metavar="QUERY", help="Words or a question.", show_default=False)],
    k: Annotated[int, typer.Option("-k", metavar="N", min=1, max=1_000, help="At most so many passages.")] = 10,
    since: Since = None,
    until: Until = None,
    kinds: Annotated[
        list[Kind] | None,
        typer.Option(
            "--kind",
            help="Only these: file, item (a JSON document), turn (a message of a conversation). May be repeated.",
            show_default=False,
        ),
    ] = None,
    as_of: Annotated[
        str | None,
        typer.Option(
            "--as-of",
            metavar="TIME",
            help="Answer from what there was at this time, such as 2026-03-01T12:30Z.",
            show_default=False,
        ),
    ] = None,
    below: Annotated[bool, typer.Option("--below", help="Look into the namespaces below it too.")] = False,
    explain: Annotated[bool, typer.Option("--explain", help="Say why each passage was found.")] = False,
) -> None:
    """Find the passages of files, documents and conversations that answer a question, with their lines and dates.

    It goes by words, and with --embed by meaning too. The exit code is 1 if nothing is found.
    """
    query = asked(query)
    first, last = span(since, until)
    at = None if as_of is None else moment(as_of)
    store = session.reading()
    scope, below = requested_scope(session, below=below)
    wanted = cast("list[HitKind]", [kind.value for kind in kinds or ()]) or None
    answer = store.recall(
        scope, query, k=k, since=first, until=last, kinds=wanted, as_of=at, below=below, explain=explain
    )
    if not answer.hits:
        narrowed = narrowed_by(kind=kinds, since=since, until=until, as_of=as_of)
        nothing_found(session, scope, query, below=below, narrowed=narrowed)
    if session.json:
        session.out.data(
            {
                "namespace": list(scope),
                "hits": [shapes.hit(each) for each in answer.hits],
                "notices": list(answer.notices),
            }
        )
    else:
        words = Highlighter(session, query)
        for number, each in enumerate(answer.hits):
            if number:
                session.out.line("")
            _show_hit(session, each, words, with_namespace=below, explain=explain)
        show_notices(session, answer.notices)
    if not answer.hits:
        raise typer.Exit(NO)


def _show_hit(session: Session, hit: Hit, words: Highlighter, *, with_namespace: bool, explain: bool) -> None:
    place = f"{format_namespace(hit.namespace)}:" if with_namespace else ""
    title: list[Part] = [(printable(place), "dim")]
    if hit.kind == "turn":
        who = ", ".join(part for part in (hit.speaker, hit.role) if part)
        lines = f":{hit.first_line}-{hit.last_line}" if hit.last_line > 1 else ""
        title += [(printable(hit.thread_id or "") + lines, "magenta"), "  ", (printable(who), "cyan")]
    else:
        title += [(printable(hit.place), "magenta")]
    title += ["  ", (human_time(hit.at), "dim")]
    if hit.kind != "turn" and hit.heading:
        title += ["  ", (printable(hit.heading), "bold")]
    session.out.line(*title)
    show_passage(session, hit.text, words)
    if explain:
        parts = f"words {hit.parts.words:.2f}, meaning {hit.parts.meaning:.2f}, context {hit.parts.context:.2f}"
        session.out.line((f"    score {hit.score:.3f} ({parts}): {printable(hit.why or '')}", "dim"))


def show_passage(session: Session, text: str, words: Highlighter) -> None:
    """Write a passage, its words marked; of a long one what surrounds the first of them."""
    lines = text.split("\n")
    first = next((number for number, line in enumerate(lines) if words.is_in(line)), 0)
    start = 0 if len(lines) <= _MOST_LINES else max(0, min(first - 2, len(lines) - _MOST_LINES))
    shown = lines[start : start + _MOST_LINES]
    if start:
        session.out.line((f"    … {counted(start, 'line')} before", "dim"))
    for line in shown:
        session.out.line("    ", *words.parts(line)) if line.strip() else session.out.line("")
    if left := len(lines) - start - len(shown):
        session.out.line((f"    … {counted(left, 'more line')}", "dim"))


def show_notices(session: Session, notices: Sequence[str]) -> None:
    """Tell what should be known about an answer, and where an index is being built, how to have it done."""
    for notice in notices:
        session.note(notice)
    if not notices or index_setting(session.settings) is None:
        return
    index = session.reading().index_status().in_use
    if index is not None and index.state == "building":
        session.note("`memoranda reindex` builds it now.")


def asked(query: str) -> str:
    """A query that asks for something.

    Raises:
        UsageError: It is blank.
    """
    if not query.strip():
        raise UsageError("The query is empty.", "Give the words, or the question, to look for.")
    return query


def _conditions(filters: Sequence[str]) -> dict[str, Any]:
    """The filter that the store takes.

    Raises:
        UsageError: One of them is no condition.
    """
    conditions: dict[str, dict[str, Any]] = {}
    for text in filters:
        found = _FILTER.fullmatch(text)
        if found is None:
            raise UsageError(
                f"{text!r} is no filter.", "Write it as FIELD=VALUE, such as --filter kind=note or --filter 'stars>=4'."
            )
        field, operator, value = found[1].strip(), _OPERATORS[found[2]], found[3].strip()
        if operator in conditions.setdefault(field, {}):
            raise UsageError(f"{field} is filtered twice with {found[2]}.", "Give it once.")
        conditions[field][operator] = _value(value)
    return dict(conditions)


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _item_row(session: Session, item: SearchItem, *, with_score: bool) -> list[Part]:
    score = [(f"{item.score or 0.0:.3f}", "green")] if with_score else []
    place = f"{format_namespace(item.namespace)}:{item.key}"
    return [*score, (printable(place), "magenta"), session.out.text(_beginning(item))]


def _beginning(item: SearchItem) -> str:
    """The first words of an item."""
    words = " ".join(content_of(item.value)[: 8 * _SHOWN].decode("utf-8", "replace").split())
    return words if len(words) <= _SHOWN else words[: _SHOWN - 1].rstrip() + "…"


def _item_shape(item: SearchItem) -> dict[str, Any]:
    return {
        "namespace": list(item.namespace),
        "key": item.key,
        "revision": getattr(item, "revision", None),
        "score": item.score,
        "value": item.value,
        "created_at": item.created_at,
        "updated_at": item.updated_at,
    }
