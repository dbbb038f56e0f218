"""The table in docs/reference/backend-conformance.md. `python -m tests.conformance.backends_page` writes it anew."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from memoranda.testing.backend_conformance import CheckResult, markdown_table
from tests.conformance.backends import run_all
from tests.support.postgres import running_server

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "backend-conformance.md"
START = "<!-- results: written by `python -m tests.conformance.backends_page` -->\n"
END = "<!-- end of results -->\n"

UNSTEADY = frozenset(
    ["test_edits_at_once_lose_nothing", "test_edits_in_threads_lose_nothing", "test_many_writes_at_once"]
)
"""Checks whose failures are a matter of luck: where nothing guards against it, edits are lost on most runs, and on a
busy machine new files too."""

REASONS = {
    "test_blank_files": "Their `FilesystemBackend` answers a read of an empty file with the reminder that the tool "
    "gives to the model; a program that reads through it takes the reminder for the content.",
    "test_one_file_has_one_name": "Their backends take a path for a key as it comes and leave it to the tools to "
    "settle it. The tools let a leading `//` through, so that `//memories/x` passes a route or a rule about "
    "`/memories/`. Ours settle every path themselves.",
    "test_edit_keeps_line_ends": "Their `FilesystemBackend` reads and writes in text mode, which turns CRLF into LF "
    "in the whole file.",
    "test_ls_of_nothing": "Their `FilesystemBackend` reports a missing folder as an error, their others list nothing. "
    "An agent that looks into a folder before it writes there should not have to tell the two apart.",
    "test_glob_newest_first": "Their composite sorts matches by path, their disk as the walk finds them; their state "
    "and store backends give the last changed first, as ours all do.",
    "test_grep_below_a_path": "Their `FilesystemBackend` searches the folder of a file instead of the file.",
    "test_grep_and_line_ends": "Their state and store backends leave the CR of a DOS line end in the line.",
    "test_uploaded_text_is_text": "Their `FilesystemBackend` reads a file whose name does not say that it is binary as "
    "text, and fails if it is not.",
    "test_a_bad_path_spoils_no_other": "Their state and store backends accept `..` as part of a key.",
    "test_reads_never_raise": "Their `FilesystemBackend` raises for a path with `..`, and the exception ends the run.",
    "test_changes_never_raise": "As for reads.",
    "test_two_dots_in_a_name": "Their `FilesystemBackend` looks for `..` anywhere in the path.",
    "test_the_root_is_no_file": "Their state and store backends accept `/` as a key.",
    "test_edits_at_once_lose_nothing": "As for edits in threads.",
    "test_edits_in_threads_lose_nothing": "Their backends read, change and write without comparing; what another "
    "wrote in between is lost, and the edit reports success.",
    "test_errors_name_the_path_that_was_asked_for": "Their composite puts the prefix back into results, not into error "
    "texts.",
    "test_ls_shows_a_route_once": "Their composite appends the routes to what the default backend lists.",
    "test_ls_on_the_way_to_routes": "Their composite knows routes only at the root.",
    "test_searches_on_the_way_to_routes": "As for listings.",
    "test_searches_enter_routes_inside_routes": "As for listings.",
    "test_patterns_that_name_routes": "Their composite takes a literal prefix off a pattern; wildcards, braces and "
    "routes inside routes are not taken into account.",
    "test_grep_by_patterns_that_name_routes": "The `glob` of their `grep` is handed to every route as it is.",
    "test_hidden_files_are_in_nothing": "Their composite does not look at whose a match of the default backend is; it "
    "is found and cannot be read.",
    "test_hidden_lines_do_not_count": "As above.",
    "test_a_failing_route_blinds_no_other": "Their composite passes the first exception on, which ends the run.",
    "test_a_parent_of_a_full_route_is_not_deleted": "Their composite deletes what the default backend holds, leaves "
    "the routes, and reports success. Ours refuses and names the routes, since deleting a mount by accident is worse.",
}


def written(results: Mapping[str, Sequence[CheckResult]]) -> str:
    """The table, and below it why backends differ."""
    lines = [markdown_table(results), "", "### Why they differ", ""]
    failed = {result.name for found in results.values() for result in found if not result.passed and not result.skipped}
    listed = next(iter(results.values()))
    for result in listed:
        if result.name in failed:
            lines += [f"- {result.title} *{REASONS[result.name]}*"]
    return "\n".join(lines) + "\n"


def write_page(text: str) -> None:
    """Put a table in place of the one that is there."""
    before, _, rest = PAGE.read_text("utf-8").partition(START)
    PAGE.write_text(f"{before}{START}\n{text}\n{END}{rest.partition(END)[2]}", "utf-8")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder, running_server(Path(folder) / "postgres") as server:
        write_page(written(run_all(server, Path(folder))))
