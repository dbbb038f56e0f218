"""The table in docs/reference/conformance.md. `python -m tests.conformance.page` writes it anew."""

from __future__ import annotations

import tempfile
from pathlib import Path

from memoranda.testing.store_conformance import markdown_table
from tests.conformance.stores import run_all
from tests.support.postgres import running_server

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "conformance.md"
START = "<!-- results: written by `python -m tests.conformance.page` -->\n"
END = "<!-- end of results -->\n"


def write_page(table: str) -> None:
    """Put a table in place of the one that is there."""
    before, _, rest = PAGE.read_text("utf-8").partition(START)
    PAGE.write_text(f"{before}{START}\n{table}\n{END}{rest.partition(END)[2]}", "utf-8")


def answers(table: str) -> dict[str, dict[str, str]]:
    """The answers of a table: store, then check, then `yes`, `no` or `–`."""
    lines = table[table.index("| check |") :].splitlines()
    rows = [line.strip("|").split(" | ") for line in lines if line.startswith("| ") and "| **" not in line[:4]]
    _, *stores = [cell.strip() for cell in rows[0]]
    found: dict[str, dict[str, str]] = {store: {} for store in stores}
    for check, *cells in ([cell.strip() for cell in row] for row in rows[1:]):
        if len(cells) == len(stores):
            for store, cell in zip(stores, cells, strict=True):
                found[store][check] = cell.strip("*")
    return found


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder, running_server(Path(folder) / "postgres") as server:
        write_page(markdown_table(run_all(server, Path(folder))))
