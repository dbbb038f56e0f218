"""`import` and `export`: memory comes in and goes out."""

from __future__ import annotations

import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path as LocalPath
from typing import TYPE_CHECKING, Annotated, Any

import typer

from memoranda.cli.command import WHOLE, Actor, Reason, command
from memoranda.cli.failures import UsageError
from memoranda.cli.hints import placed, quoted
from memoranda.cli.names import format_namespace
from memoranda.cli.opening import file_url, open_to_read, require_url
from memoranda.cli.output import Advance, counted, human_size, printable
from memoranda.cli.session import Session
from memoranda.errors import MemorandaError

if TYPE_CHECKING:
    from memoranda.store.changes import Author, Namespace
    from memoranda.transfer import TransferReport

_SHOWN = 20
_BUNDLE = ".mbundle"
# An import, given the prefix to take off, whether it is dry, and whom to tell how far it is.
_Run = Callable[[str | None, bool, Advance], "TransferReport"]


@command(
    "import",
    "memoranda import ./docs -n acme --to /docs --include '*.md'",
    "memoranda import backup.mbundle",
    "memoranda import sqlite:///langgraph-store.db --strip-prefix /memories/",
    panel=WHOLE,
)
def import_(
    session: Session,
    source: Annotated[
        str,
        typer.Argument(
            metavar="SOURCE",
            help="A folder of files, a bundle, the database of a LangGraph store (a SQLite file or a PostgreSQL URL), "
            "or the URL of another Memoranda store.",
            show_default=False,
        ),
    ],
    to: Annotated[str, typer.Option("--to", metavar="PATH", help="Folder only: where its files shall lie.")] = "/",
    include: Annotated[
        str | None, typer.Option("--include", metavar="PATTERN", help="Folder only: files that match this pattern.")
    ] = None,
    keep: Annotated[
        bool, typer.Option("--keep", help="Folder only: leave files alone that are there with other content.")
    ] = False,
    skip_existing: Annotated[
        bool,
        typer.Option("--skip-existing", help="Bundle and store only: go on where an earlier import was stopped."),
    ] = False,
    strip_prefix: Annotated[
        str | None,
        typer.Option(
            "--strip-prefix", metavar="FOLDER", help="Take this off the keys that start with it, such as /memories/."
        ),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be done, and do nothing.")] = False,
    actor: Actor = None,
    reason: Reason = None,
) -> None:
    """Bring in a folder of files, a bundle, a LangGraph store, or another Memoranda store.

    What -n means depends on the source. A folder's files go into that namespace. A bundle's or another store's only
    namespace is given that name; without -n everything keeps its own. Of a LangGraph store only namespaces that start
    with those labels are taken.

    Bundles and Memoranda stores bring all their history. A second import of a folder or a LangGraph store writes only
    what changed. Keys saved with the prefix of their mount by mistake, such as /memories/AGENTS.md in a store that is
    mounted at /memories/, are noticed: on a terminal you are asked, elsewhere --strip-prefix repairs them.
    """
    from memoranda.transfer import detect

    if source.lower().startswith("sqlite"):
        source = require_url(source) if ":" in source else source
    kind = detect(source)
    for option, given, allowed in (
        ("--to", to != "/", kind == "folder"),
        ("--include", include is not None, kind == "folder"),
        ("--keep", keep, kind == "folder"),
        ("--skip-existing", skip_existing, kind in ("bundle", "memoranda")),
    ):
        if given and not allowed:
            raise UsageError(f"{option} says nothing for this source ({kind}).", "Leave it out.")
    store = session.writing(dry_run=dry_run)
    author = session.author(actor, reason)
    if kind == "folder":
        namespace = session.namespace

        def run(prefix: str | None, dry: bool, advance: Advance) -> TransferReport:
            from memoranda.transfer import import_folder

            return import_folder(
                store,
                LocalPath(source),
                namespace,
                to=to,
                author=author,
                include=include,
                overwrite=not keep,
                dry_run=dry,
                strip_prefix=prefix,
                progress=advance,
            )

        _import(session, run, strip_prefix, dry_run)
    elif kind == "bundle":
        _import(session, _bundle_run(session, LocalPath(source), skip_existing), strip_prefix, dry_run)
    elif kind == "memoranda":
        with tempfile.TemporaryDirectory(prefix="memoranda-") as folder:
            bundle = LocalPath(folder) / f"store{_BUNDLE}"
            _bundle_of(session, source, bundle)
            _import(session, _bundle_run(session, bundle, skip_existing), strip_prefix, dry_run)
    else:
        _import(session, _langgraph_run(session, source, author), strip_prefix, dry_run)


@command(
    "export",
    "memoranda export backup.mbundle",
    "memoranda export ./out --folder -n acme",
    "memoranda export ann.mbundle --subject ann",
    panel=WHOLE,
)
def export(
    session: Session,
    target: Annotated[str, typer.Argument(metavar="TARGET", help="The file or folder to write.", show_default=False)],
    as_bundle: Annotated[
        bool | None,
        typer.Option(
            "--bundle/--folder",
            help=f"One file with all history, or ordinary files of the current state. Default: a bundle if TARGET has "
            f"an ending, such as {_BUNDLE}; a folder if it has none, ends with a slash, or is one.",
            show_default=False,
        ),
    ] = None,
    force: Annotated[
        bool,
        typer.Option(
            "--force", "-f", help="Replace an older bundle, or write into a folder that is not empty, replacing files."
        ),
    ] = False,
    subject: Annotated[
        str | None,
        typer.Option(
            "--subject",
            metavar="NAME",
            help="Only what is about this person: namespaces that have this label, and elsewhere what this user said.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Write the store out: as a bundle with all history, or as a folder of files.

    With -n only namespaces that start with those labels. With --subject a bundle holds everything that is kept about
    one person: files and documents with their history, conversations, proposals. A bundle brought in again has equal
    `verify` digests. An older bundle is replaced only with --force, or if you say so on a terminal, and not before the
    new one is complete.
    """
    from memoranda.transfer import export_bundle, export_folder

    # One person is looked for everywhere, whatever namespace the environment names.
    named = session.named_namespace if subject is None or session.given.namespace is not None else None
    store, namespace = session.reading(), named or ()
    path = LocalPath(target)
    if as_bundle is None:
        as_bundle = bool(path.suffix) and not path.is_dir() and not target.endswith(("/", "\\"))
    if as_bundle:
        force = force or _may_replace(session, path)
        with session.out.progress("Exporting") as advance:
            report = export_bundle(store, path, namespace=namespace, subject=subject, progress=advance, overwrite=force)
    else:
        with session.out.progress("Exporting") as advance:
            report = export_folder(store, path, namespace=namespace, subject=subject, progress=advance, overwrite=force)
    _show(session, report, "Exported", extra={"target": target})


def _may_replace(session: Session, path: LocalPath) -> bool:
    """Ask whether an older bundle may be replaced, where somebody is there to answer."""
    from memoranda.transfer.bundles import is_bundle

    if not _somebody_is_there(session) or not path.is_file() or not is_bundle(path):
        return False
    return typer.confirm(f"Replace the bundle {printable(str(path))}?", abort=True, err=True)


def _somebody_is_there(session: Session) -> bool:
    return not session.json and sys.stdin.isatty() and sys.stderr.isatty()


def _import(session: Session, run: _Run, prefix: str | None, dry_run: bool) -> None:
    with session.out.progress("Looking") as advance:
        plan = run(prefix, True, advance)
    if prefix is None and plan.prefixed:
        prefix = _prefix_to_strip(session, plan)
    if dry_run:
        if prefix is not None:
            plan = run(prefix, True, lambda done, total: None)
        _show(session, plan, "Would import", extra={"dry_run": True, "strip_prefix": prefix})
        return
    with session.out.progress("Importing") as advance:
        report = run(prefix, False, advance)
    _show(session, report, "Imported", extra={"dry_run": False, "strip_prefix": prefix}, plan=plan)


def _bundle_run(session: Session, path: LocalPath, skip_existing: bool) -> _Run:
    from memoranda.transfer import import_bundle

    store, named = session.writing(), session.named_namespace

    def renamed(_: Namespace) -> Namespace:
        assert named is not None
        return named

    if named is not None:
        _require_one_namespace(path, named)

    def run(prefix: str | None, dry: bool, advance: Advance) -> TransferReport:
        return import_bundle(
            store,
            path,
            into=None if named is None else renamed,
            strip_prefix=prefix,
            on_existing="skip" if skip_existing else "refuse",
            dry_run=dry,
            progress=advance,
        )

    return run


def _require_one_namespace(path: LocalPath, name: Namespace) -> None:
    """Refuse to pour several namespaces into one."""
    from memoranda.store.opening import open_store
    from memoranda.transfer import import_bundle

    with open_store("memory://") as nothing:
        held = import_bundle(nothing, path, dry_run=True).namespaces
    if len(held) > 1:
        raise UsageError(
            f"The source holds {len(held)} namespaces, which cannot all be called {format_namespace(name)}.",
            "Leave -n out: each keeps its name.",
        )


def _langgraph_run(session: Session, source: str, author: Author) -> _Run:
    from memoranda.transfer import import_langgraph

    store, labels = session.writing(), session.named_namespace or ()

    def run(prefix: str | None, dry: bool, advance: Advance) -> TransferReport:
        return import_langgraph(
            store, source, prefix=labels, strip_prefix=prefix, dry_run=dry, progress=advance, author=author
        )

    return run


def _bundle_of(session: Session, source: str, bundle: LocalPath) -> None:
    """Another store as a bundle."""
    from dataclasses import replace

    from memoranda.transfer import export_bundle

    url = source if "://" in source else file_url(LocalPath(source).absolute())
    try:
        with open_to_read(replace(session.settings, store=url)) as other, session.out.progress("Reading") as advance:
            export_bundle(other, bundle, progress=advance)
    except MemorandaError as error:  # what it tells to run is about that store
        error.remedy = placed(error.remedy, replace(session.given, store=url))
        raise


def _prefix_to_strip(session: Session, plan: TransferReport) -> str | None:
    """Ask what to do about keys that carry a mount's prefix, where somebody is there to answer."""
    counts: Counter[str] = Counter()
    for found in plan.prefixed:
        counts[found.prefix] += len(found.keys)
    (prefix, count), *others = counts.most_common()
    where = ", ".join(
        sorted({format_namespace(found.namespace) for found in plan.prefixed if found.prefix == prefix})[:3]
    )
    example = next(found.keys[0] for found in plan.prefixed if found.prefix == prefix)
    session.out.note(
        f"{counted(count, 'key')} in {where} {'starts' if count == 1 else 'start'} with {prefix}, such as {example}. "
        f"An agent that mounts its store at {prefix} would not find {'it' if count == 1 else 'them'}, since the mount "
        "takes its prefix off first."
    )
    for other, _ in others:
        session.out.note(f"The same holds for {other}; one prefix is taken off at a time.")
    if not _somebody_is_there(session):
        keep = "It keeps it" if count == 1 else "They keep it"
        labels = next(found.namespace for found in plan.prefixed if found.prefix == prefix)
        later = f"memoranda mv -n {quoted(format_namespace(labels))} --contents {quoted(prefix)} /"
        session.note(f"{keep} now; --strip-prefix {prefix} takes it off, as does `{later}` later.")
        return None
    return prefix if typer.confirm(f"Take {prefix} off?", default=True, err=True) else None


def _show(
    session: Session, report: TransferReport, did: str, *, extra: dict[str, Any], plan: TransferReport | None = None
) -> None:
    prefixed = (plan or report).prefixed
    if session.json:
        session.out.data(
            {
                "items": report.items,
                "revisions": report.revisions,
                "bytes": report.bytes,
                "turns": report.turns,
                "proposals": report.proposals,
                "namespaces": [list(labels) for labels in report.namespaces],
                "skipped": [{"path": each.path, "reason": each.reason} for each in report.skipped],
                "prefixed": [
                    {"namespace": list(each.namespace), "prefix": each.prefix, "keys": list(each.keys)}
                    for each in prefixed
                ],
                **extra,
            }
        )
        return
    for skipped in report.skipped[:_SHOWN]:
        session.out.line(("Left out ", "yellow"), printable(skipped.path), ": ", printable(skipped.reason))
    if len(report.skipped) > _SHOWN:
        session.out.line(f"… and {len(report.skipped) - _SHOWN} more.")
    names = ", ".join(printable(format_namespace(labels)) for labels in report.namespaces[:_SHOWN])
    more = f" and {len(report.namespaces) - _SHOWN} more" if len(report.namespaces) > _SHOWN else ""
    session.out.line(
        (did, "bold green"),
        f" {counted(report.items, 'item')} with {counted(report.revisions, 'revision')}, {human_size(report.bytes)}",
        *(
            f", {counted(count, noun)}"
            for count, noun in ((report.turns, "turn"), (report.proposals, "proposal"))
            if count
        ),
        f" ({names}{more})." if names else ".",
    )
