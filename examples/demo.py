"""The main job on real input: an agent that remembers; conversations and files, asked, edited, and looked back on.

    python examples/demo.py [FOLDER] [--store URL] [--model PROVIDER:NAME]

The agent's model is scripted, and its tool calls are real. With a provider's key in the environment
(ANTHROPIC_API_KEY, OPENAI_API_KEY or GOOGLE_API_KEY) and its LangChain package installed, it is that provider's model.

FOLDER holds the Markdown files to import; without it, the documents of the package that `make demo` installed
beside the project are used. The store defaults to a new SQLite file in `.demo/`.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import re
import shutil
import sys
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from _recall import ABOUT_DOCUMENTS, ask, recall_conversations
from _recall import PERSON as MEI
from rich.console import Console
from rich.markup import escape
from rich.panel import Panel
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.syntax import Syntax
from rich.table import Table
from rich.tree import Tree

from memoranda import Author, ChangeSet, MemoryStore, Write, open_store
from memoranda.transfer import import_folder

HERE = Path(__file__).resolve().parent.parent / ".demo"
NAMESPACE = ("acme", "knowledge-base")
SHARED = "/team/decisions.md"
EDITS = 25
PERSON = ("ann@example.org",)
"""Where the example of an agent keeps what it knows of Ann."""
console = Console(highlight=False, record=True)


class Provider(NamedTuple):
    """A provider of models: which key it takes, which package it needs, and which model is asked."""

    key: str
    package: str
    model: str


PROVIDERS = (
    Provider("ANTHROPIC_API_KEY", "langchain_anthropic", "anthropic:claude-sonnet-4-5"),
    Provider("OPENAI_API_KEY", "langchain_openai", "openai:gpt-5-mini"),
    Provider("GOOGLE_API_KEY", "langchain_google_genai", "google_genai:gemini-2.5-flash"),
)


def main() -> int:
    """Run the demo and return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", nargs="?", type=Path, help="the folder of Markdown files to import")
    parser.add_argument("--store", help="the store's URL (default: a new SQLite file in .demo/)")
    parser.add_argument("--model", metavar="PROVIDER:NAME", help="the agent's model, or `scripted`")
    parser.add_argument("--picture", type=Path, metavar="SVG", help="save the part that looks back as a picture")
    options = parser.parse_args()
    folder: Path = options.folder or HERE / "corpus"
    if not folder.is_dir():
        console.print(f"{folder} is no folder. Run `make demo`, or name a folder of Markdown files.", markup=False)
        return 2
    url = options.store or _fresh_file()
    with open_store(url) as store:
        console.print(f"\n[bold]Store[/bold]  {escape(str(store))}")
        remember(store, options.model or chosen_model(os.environ))
        recall_conversations(store, console)
        tend_memory(store)
        import_documents(store, folder)
        show_tree(store)
        ask(store, NAMESPACE, ABOUT_DOCUMENTS, console)
        edit_from_two_processes(store, url)
        path = busiest(store)
        console.export_text(clear=True)  # the picture begins here
        show_history(store, path)
        show_diff(store, path)
        show_blame(store, path)
        restore(store, path)
        check(store)
    if options.picture:
        save_picture(options.picture)
    return 0


def chosen_model(environment: Mapping[str, str]) -> str | None:
    """The model of the first provider with a key and a package; None: scripted. What is missing is told."""
    for provider in PROVIDERS:
        if not environment.get(provider.key):
            continue
        if find_spec(provider.package) is not None:
            return provider.model
        package = provider.package.replace("_", "-")
        console.print(f"[yellow]{provider.key} is set, but {package} is not installed; it is not used.[/yellow]")
    return None


def remember(store: MemoryStore, model: str | None) -> None:
    """Hold two conversations with an agent, and show what the second one knew from the first."""
    # Here, so that the processes that edit files below need not load an agent.
    import preferences
    from _shared import Kit, said_of

    name = None if model == "scripted" else model
    console.print(f"\n[bold]An agent that remembers[/bold]  examples/preferences.py, {escape(said_of(name))}")
    kit = Kit(store, name, console)
    try:
        preferences.example(kit)
    except Exception as error:
        if kit.is_scripted:
            raise
        why = escape(f"{type(error).__name__}: {error}"[:300])
        console.print(f"[yellow]{escape(str(name))} did not answer ({why}). Once more, {said_of(None)}.[/yellow]")
        kit = Kit(store, None, console)
        preferences.example(kit)
    prompt = next(iter(kit.prompts["tuesday"]), "")
    block = re.search(r"<agent_memory>.*</agent_memory>", prompt, re.DOTALL)
    title = "In the prompt of the second conversation"
    console.print(Panel(escape(block[0] if block else "(no memory)"), title=title, title_align="left"))
    for entry in store.list_keys(PERSON, recursive=True):
        show_history(store, entry.key, PERSON)
        show_blame(store, entry.key, PERSON)


def tend_memory(store: MemoryStore) -> None:
    """Work what was said into files, and show where each line came from."""
    # Here, so that the processes that edit files below need not load an agent.
    from _tending import tend

    tend(store, MEI, console)


def import_documents(store: MemoryStore, folder: Path) -> None:
    """Bring the files in, with a bar."""
    console.print("\n[bold]A team's documents[/bold], in the same store")
    columns = (TextColumn("Importing"), BarColumn(), MofNCompleteColumn(), TextColumn("files"), TimeElapsedColumn())
    with Progress(*columns, console=console) as bar:
        task = bar.add_task("import", total=None)
        report = import_folder(
            store,
            folder,
            NAMESPACE,
            include="*.md",
            author=Author("importer"),
            progress=lambda done, total: bar.update(task, completed=done, total=total),
        )
    console.print(f"{report.items} files, {report.bytes:,} bytes, {len(report.skipped)} skipped\n")


def show_tree(store: MemoryStore) -> None:
    """Print the top of the file tree."""
    tree = Tree(f"[bold]{' / '.join(NAMESPACE)}[/bold]")
    _grow(store, tree, "/", depth=3)
    console.print(tree)


def _grow(store: MemoryStore, tree: Tree, folder: str, depth: int, most: int = 6) -> None:
    entries = store.list_keys(NAMESPACE, folder)
    for entry in entries[:most]:
        name = escape(entry.key.removesuffix("/").rpartition("/")[2])
        if entry.is_folder:
            branch = tree.add(f"[blue]{name}/[/blue]")
            if depth > 1:
                _grow(store, branch, entry.key, depth - 1)
        else:
            tree.add(f"{name} [dim]{entry.size:,} bytes[/dim]")
    if len(entries) > most:
        tree.add(f"[dim]… {len(entries) - most} more[/dim]")


def edit_from_two_processes(store: MemoryStore, url: str) -> None:
    """Let two processes edit the same file at the same time, and count what arrived."""
    names = ("ann", "ben")
    lines = [f"- {name} {number}: open" for number in range(EDITS) for name in names]
    opening = ChangeSet([Write(NAMESPACE, SHARED, "# Decisions\n\n" + "\n".join(lines) + "\n")], Author("user:ann"))
    store.commit(opening)
    processes = [
        multiprocessing.get_context("spawn").Process(target=_edit_many, args=(url, name, NAMESPACE)) for name in names
    ]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    text = content(store, SHARED)
    done = sum(f"- {name} {number}: done" in text for number in range(EDITS) for name in names)
    logged = sum(f"{name} closed {number}" in text for number in range(EDITS) for name in names)
    wanted = EDITS * len(names)
    console.print(
        f"\n[bold]Two processes edited {SHARED} at once[/bold]: {done} of {wanted} edits and {logged} of {wanted} "
        f"appended lines are there, in {len(store.history(NAMESPACE, SHARED))} revisions.\n"
    )
    if (done, logged) != (wanted, wanted) or any(process.exitcode for process in processes):
        raise SystemExit("A reported change is missing: this must never happen.")


def _edit_many(url: str, name: str, namespace: tuple[str, ...]) -> None:
    with open_store(url) as store:
        for number in range(EDITS):
            author = Author(f"user:{name}", thread_id=f"thread-{name}", reason=f"closed item {number}")
            store.edit(namespace, SHARED, f"- {name} {number}: open", f"- {name} {number}: done", author=author)
            store.append(namespace, SHARED, f"{name} closed {number}", author=author)


def busiest(store: MemoryStore) -> str:
    """Give the largest imported document a short history, and return its path."""
    path = max(store.list_keys(NAMESPACE, recursive=True), key=lambda entry: entry.size).key
    text = content(store, path)
    heading = next(line for line in text.splitlines() if line.startswith("#") and text.count(line) == 1)
    ann, agent = (
        Author("user:ann", reason="house style"),
        Author("agent:editor", "thread-7", "run-3", "call-9", "asked"),
    )
    store.edit(NAMESPACE, path, heading, heading + " (internal)", author=ann)
    store.append(NAMESPACE, path, "## Reviewed\n\nChecked by the editor.\n", author=agent)
    return path


def show_history(store: MemoryStore, path: str, namespace: tuple[str, ...] = NAMESPACE) -> None:
    """Print who changed a file, when, where and why."""
    table = Table("rev", "operation", "actor", "thread", "when (UTC)", "bytes", "why", title=f"History of {path}")
    for entry in store.history(namespace, path, limit=8):
        table.add_row(
            str(entry.revision),
            entry.operation,
            entry.author.actor or "",
            entry.author.thread_id or "",
            f"{entry.at:%H:%M:%S.%f}"[:-3],
            f"{entry.size:,}",
            entry.author.reason or "",
        )
    console.print(table)


def show_diff(store: MemoryStore, path: str) -> None:
    """Print what changed since the import."""
    console.print(f"\n[bold]What changed in {escape(path)} since it was imported[/bold]")
    console.print(Syntax(store.diff(NAMESPACE, path, 1), "diff", theme="ansi_dark", word_wrap=True))


def show_blame(store: MemoryStore, path: str, namespace: tuple[str, ...] = NAMESPACE) -> None:
    """Print who wrote the last lines."""
    console.print("[bold]Who wrote its last lines[/bold]")
    for line in store.blame(namespace, path)[-6:]:
        who = f"{line.revision.revision:>3} {line.revision.author.actor or '-':<14}"
        console.print(f"[cyan]{escape(who)}[/cyan] {line.number:>4}  {escape(line.text[:80])}")


def restore(store: MemoryStore, path: str) -> None:
    """Undo it all, and show that nothing is lost by that."""
    head = store.get(NAMESPACE, path)
    assert head is not None
    made = store.restore(NAMESPACE, path, 1, author=Author("user:ann", reason="undo the edits"))
    same = content(store, path) == store.get_at(NAMESPACE, path, revision=1).value["content"]
    if not same:
        raise SystemExit("The restored text is not that of revision 1: this must never happen.")
    console.print(
        f"\n[bold]Restored[/bold] {escape(path)} to revision 1, as revision {made.revision}; "
        f"revision {head.revision} stays in the history."
    )


def check(store: MemoryStore) -> None:
    """Rebuild every revision against its digest."""
    found = store.verify()
    stats = store.stats()
    size = f", {stats.size / 1e6:.1f} MB" if stats.size else ""
    verdict = "[green]every digest holds[/green]" if found.ok else f"[red]{found.problems}[/red]"
    console.print(f"[bold]Verified[/bold] {stats.items} items, {stats.revisions} revisions{size}: {verdict}\n")


def save_picture(path: Path) -> None:
    """Save what was printed as an SVG that needs no font from elsewhere."""
    picture = console.export_svg(title="make demo")
    path.write_text(re.sub(r"<!--.*?-->\s*|@font-face \{.*?\}\s*", "", picture, flags=re.DOTALL), "utf-8")


def content(store: MemoryStore, path: str) -> str:
    """The text of a file."""
    item = store.get(NAMESPACE, path)
    assert item is not None, path
    return item.value["content"]


def _fresh_file() -> str:
    folder = HERE / "store"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return f"sqlite:///{folder / 'memory.db'}"


if __name__ == "__main__":
    sys.exit(main())
