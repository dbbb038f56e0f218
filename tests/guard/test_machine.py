"""Random rules, paths and operations against an oracle that fits on a page."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from memoranda import open_store
from memoranda.backends import CompositeBackend, FilesystemPermission, GuardedBackend, StoreBackend
from memoranda.backends.protocol import AppendFile, DeleteFile, EditFile, MoveFile, WriteFile

PATHS = ["/a/b.md", "/a/.env", "/a/d/.env", "/a/d/e.md", "/c/x.md", "/c/.env", "/.env", "/top.md"]
FOLDERS = ["/", "/a", "/a/d", "/c", "/nothing"]

# What each pattern means, said once more and differently.
PATTERNS: dict[str, Callable[[str], bool]] = {
    "/**": lambda path: True,
    "/a/**": lambda path: path == "/a" or path.startswith("/a/"),
    "/a/*": lambda path: path.startswith("/a/") and "/" not in path[3:] and path != "/a/",
    "/**/.env": lambda path: path.endswith("/.env"),
    "/a/b.md": lambda path: path == "/a/b.md",
    "/{c,none}/": lambda path: path == "/c" or path.startswith("/c/"),
    "/**/d/**": lambda path: "/d/" in path + "/",
    "/*": lambda path: path.count("/") == 1 and path != "/",
}
STRICT = ["allow", "interrupt", "deny"]

rules = st.lists(
    st.tuples(
        st.sampled_from([("read",), ("write",), ("read", "write")]),
        st.sampled_from(list(PATTERNS)),
        st.sampled_from(["allow", "deny", "interrupt"]),
    ),
    max_size=4,
)
paths = st.sampled_from(PATHS)
anything = st.sampled_from(PATHS + FOLDERS)
forms: st.SearchStrategy[Callable[[str], str]] = st.sampled_from(
    [
        lambda path: path,
        lambda path: path + "/",
        lambda path: "/" + path,
        lambda path: path.replace("/", "//"),
        lambda path: path.replace("/", "\\"),
        lambda path: path.replace("/", "/./"),
        lambda path: path.lstrip("/") or "/",
    ]
)
texts = st.sampled_from(["one", "two", "needle", ""])


def mode(layers: list[Any], operation: str, path: str) -> str:
    """What several lists of rules say: the first match of each, and the strictest of all."""
    found = "allow"
    for layer in layers:
        for operations, pattern, verdict in layer:
            if operation in operations and PATTERNS[pattern](path):
                found = max(found, verdict, key=STRICT.index)
                break
    return found


class Machine(RuleBasedStateMachine):
    @initialize(
        layers=st.lists(rules, min_size=1, max_size=3),
        hooked=st.booleans(),
        is_async=st.booleans(),
        routed=st.booleans(),
    )
    def begin(self, layers: list[Any], hooked: bool, is_async: bool, routed: bool) -> None:
        self.layers = [[one for one in layer if not (one[2] == "interrupt" and "read" in one[0])] for layer in layers]
        self.store = open_store("memory://")
        self.inner: Any = StoreBackend(namespace=("ann",), store=self.store)
        if routed:
            self.inner = CompositeBackend(self.inner, {"/a/": StoreBackend(namespace=("a",), store=self.store)})
        self.model = {path: f"text {path}" for path in PATHS[::2]}
        for path, text in self.model.items():
            assert self.inner.write(path, text).error is None
        guard: Any = self.inner
        for layer in self.layers:
            permissions = [FilesystemPermission(one[0], [one[1]], one[2]) for one in layer]
            guard = GuardedBackend(guard, permissions, [lambda event: None] if hooked else [])
        self.guard, self.is_async, self.routed = guard, is_async, routed

    def ask(self, method: str, *args: Any, **kwargs: Any) -> Any:
        if self.is_async:
            return asyncio.run(getattr(self.guard, "a" + method)(*args, **kwargs))
        return getattr(self.guard, method)(*args, **kwargs)

    def mode(self, operation: str, path: str) -> str:
        return mode(self.layers, operation, path)

    def below(self, path: str) -> list[str]:
        return sorted(one for one in self.model if path == "/" or one == path or one.startswith(path + "/"))

    def check(self, result: Any, expected: bool) -> bool:
        assert (result.error is None) is expected, result
        return expected

    # --- changes --------------------------------------------------------------------------------------------

    @rule(path=paths, form=forms, text=texts, way=st.sampled_from(["write", "upload", "commit"]))
    def write(self, path: str, form: Any, text: str, way: str) -> None:
        shown = form(path)
        if way == "write":
            result = self.ask("write", shown, text)
        elif way == "upload":
            (result,) = self.ask("upload_files", [(shown, text.encode())])
        else:
            result = self.ask("commit", [WriteFile(shown, text)])
        if self.check(result, self.mode("write", path) == "allow"):
            self.model[path] = text

    @rule(path=paths, form=forms, text=texts, way=st.sampled_from(["append", "commit"]))
    def append(self, path: str, form: Any, text: str, way: str) -> None:
        shown = form(path)
        result = self.ask("append", shown, text) if way == "append" else self.ask("commit", [AppendFile(shown, text)])
        if self.check(result, self.mode("write", path) == "allow"):
            held = self.model.get(path, "")
            self.model[path] = held + ("\n" if held and not held.endswith("\n") else "") + text

    @rule(path=paths, form=forms, way=st.sampled_from(["edit", "commit"]))
    def edit(self, path: str, form: Any, way: str) -> None:
        shown = form(path)
        if way == "edit":
            result = self.ask("edit", shown, "e", "E", True)
        else:
            result = self.ask("commit", [EditFile(shown, "e", "E", True)])
        allowed = self.mode("read", path) == self.mode("write", path) == "allow"
        if self.check(result, allowed and "e" in self.model.get(path, "")):
            self.model[path] = self.model[path].replace("e", "E")

    @rule(path=anything, form=forms)
    def delete(self, path: str, form: Any) -> None:
        result = self.ask("delete", form(path))
        files = self.below(path)
        allowed = self.mode("write", path) != "deny" and all(self.mode("write", one) == "allow" for one in files)
        mounted = self.routed and path == "/" and bool(self.below("/a"))  # a mount is not emptied in passing
        if self.check(result, allowed and bool(files) and not mounted):
            for one in files:
                del self.model[one]

    @rule(path=paths, form=forms)
    def delete_one(self, path: str, form: Any) -> None:
        result = self.ask("commit", [DeleteFile(form(path))])
        if self.check(result, self.mode("write", path) == "allow" and path in self.model):
            del self.model[path]

    @rule(
        ends=st.one_of(
            st.tuples(paths, paths),
            st.tuples(st.sampled_from(FOLDERS[1:]), st.sampled_from(["/n/one", "/a/new", "/c", "/a", "/.new"])),
        ),
        form=forms,
        overwrite=st.booleans(),
    )
    def move(self, ends: tuple[str, str], form: Any, overwrite: bool) -> None:
        path, to = ends
        result = self.ask("move", form(path), to, overwrite=overwrite)
        files = self.below(path)
        pairs = [(one, to + one[len(path) :]) for one in files]
        allowed = (
            self.mode("read", path) != "deny"
            and self.mode("write", path) != "deny"
            and self.mode("write", to) != "deny"
            and all(self.mode("read", one) == "allow" for one in files)
            and all(self.mode("write", one) == self.mode("write", target) == "allow" for one, target in pairs)
        )
        possible = bool(files) and not (to + "/").startswith(path + "/")
        free = overwrite or not any(target in self.model for _, target in pairs)
        if self.check(result, allowed and possible and free):
            moved = {target: self.model.pop(one) for one, target in pairs}
            self.model.update(moved)

    @rule(path=paths, to=paths, form=forms)
    def move_one(self, path: str, to: str, form: Any) -> None:
        result = self.ask("commit", [MoveFile(form(path), to)])
        allowed = self.mode("read", path) == self.mode("write", path) == self.mode("write", to) == "allow"
        if self.check(result, allowed and path in self.model and to not in self.model):
            self.model[to] = self.model.pop(path)

    @rule(first=paths, second=paths, text=texts)
    def two_at_once(self, first: str, second: str, text: str) -> None:
        if first == second:
            return
        result = self.ask("commit", [WriteFile(first, text), AppendFile(second, text)])
        if self.check(result, self.mode("write", first) == self.mode("write", second) == "allow"):
            held = self.model.get(second, "")
            self.model[first] = text
            self.model[second] = held + ("\n" if held and not held.endswith("\n") else "") + text

    # --- reading --------------------------------------------------------------------------------------------

    @rule(path=paths, form=forms)
    def read(self, path: str, form: Any) -> None:
        may = self.mode("read", path) == "allow"
        for result in (self.ask("read", form(path)), self.ask("history", form(path)), self.ask("blame", form(path))):
            if not may:
                assert "permission denied" in (result.error or "")
        (answer,) = self.ask("download_files", [form(path)])
        if not may:
            assert (answer.content, answer.error) == (None, "permission_denied")
        elif path in self.model:
            assert answer.content == self.model[path].encode()
        else:
            assert answer.error == "file_not_found"

    @rule(folder=st.sampled_from(FOLDERS), form=forms)
    def look_around(self, folder: str, form: Any) -> None:
        listed, found = self.ask("ls", form(folder)), self.ask("grep", "text", form(folder))
        globbed = self.ask("glob", "{**/*,**/.*,.*}", form(folder))
        if self.mode("read", folder) == "deny":
            assert "permission denied" in listed.error
            assert "permission denied" in found.error
            assert "permission denied" in globbed.error
            return
        files = [one for one in self.below(folder) if self.mode("read", one) == "allow"]
        assert sorted({match["path"] for match in found.matches}) == [one for one in files if "text" in self.model[one]]
        reached = [one for one in files if "/." not in one.rpartition("/")[0][len(folder.rstrip("/")) :]]
        assert sorted(match["path"] for match in globbed.matches) == reached
        prefix = folder.rstrip("/") + "/"
        children = {one[len(prefix) :].split("/")[0] for one in self.below(folder)}
        if self.routed and folder == "/":
            children.add("a")  # a mount is there, whatever it holds
        expected = sorted(prefix + name for name in children if self.mode("read", prefix + name) == "allow")
        assert sorted(entry["path"].rstrip("/") for entry in listed.entries) == expected

    @invariant()
    def the_store_is_what_the_oracle_says(self) -> None:
        answers = self.inner.download_files(sorted({*PATHS, *self.model}))
        assert {a.path: a.content.decode() for a in answers if a.content is not None} == self.model
        assert len(self.store.search((), limit=1000)) == len(self.model)

    def teardown(self) -> None:
        if hasattr(self, "store"):
            self.store.close()


TestMachine = Machine.TestCase
TestMachine.settings = settings(max_examples=60, stateful_step_count=25, deadline=None)
