"""The async form, many callers at once, and what must never raise."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, cast

from memoranda.testing.backend_conformance.checks import Checks, bytes_of, check, expect, expect_fine, put, text_of

_HOSTILE = [
    "",
    "/",
    ".",
    "..",
    "/..",
    "/../../etc/passwd",
    "/a/../../b",
    "~/x",
    "/nul\0byte",
    "/\ud800",
    "C:\\x",
    "\\\\server\\share",
    "/" + "x" * 5000,
    "/" + "d/" * 300 + "x",
    "/new\nline",
    "/ ",
    "//",
    "/a//",
]


def _plain(result: Any) -> Any:
    """What two results have to share, without the times that differ."""
    if isinstance(result, list):
        return [_plain(one) for one in cast("list[Any]", result)]
    if getattr(result, "file_data", None) is not None:
        return (result.error, result.file_data["content"], result.start_line, result.next_offset)
    for listed in ("entries", "matches"):
        if getattr(result, listed, None) is not None:
            return (result.error, [{**entry, "modified_at": None} for entry in getattr(result, listed)])
    return (result.error, getattr(result, "path", None), getattr(result, "content", None))


class AsyncChecks(Checks):
    """Checks of the methods with an `a` in front."""

    @check(needs="asynchronous")
    async def test_reads_are_the_same(self, backend: Any) -> None:
        """`als`, `aread`, `agrep`, `aglob` and `adownload_files` give what their blocking twins give."""
        put(backend, {"/a.md": "one\ntwo\n", "/d/b.md": "two", "/.c": b"\xff"})
        asked: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = [
            ("ls", ("/",), {}),
            ("ls", ("/none",), {}),
            ("read", ("/a.md",), {}),
            ("read", ("/a.md", 1, 1), {}),
            ("read", ("/none",), {}),
            ("grep", ("two",), {}),
            ("grep", ("two", "/", "*.md"), {"max_count": 1}),
            ("glob", ("**/*.md",), {}),
            ("glob", ("../x",), {}),
            ("download_files", (["/a.md", "/none", "/.c"],), {}),
        ]
        for name, args, kwargs in asked:
            blocking = await asyncio.to_thread(getattr(backend, name), *args, **kwargs)
            awaited = await getattr(backend, "a" + name)(*args, **kwargs)
            expect(_plain(awaited), _plain(blocking), f"a{name}{args}")

    @check(needs="asynchronous")
    async def test_changes_are_the_same(self, backend: Any) -> None:
        """`awrite`, `aedit`, `adelete` and `aupload_files` change what their blocking twins read."""
        expect((await backend.awrite("/a.md", "green tea")).path, "/a.md", "The path")
        expect((await backend.aedit("/a.md", "green", "black")).occurrences, 1, "Occurrences")
        expect((await backend.aupload_files([("/b.bin", b"\xff")]))[0].error, None, "The upload")
        expect(text_of(backend, "/a.md"), "black tea", "The text")
        expect((await backend.adelete("/a.md")).error, None, "The deletion")
        expect((bytes_of(backend, "/a.md"), bytes_of(backend, "/b.bin")), (None, b"\xff"), "What is left")
        expect((await backend.aedit("/a.md", "x", "y")).error is None, False, "An edit of what is gone")

    @check(needs="asynchronous")
    async def test_many_writes_at_once(self, backend: Any) -> None:
        """Fifty files written at once are all there."""
        await asyncio.gather(*(backend.awrite(f"/many/{number}.md", str(number)) for number in range(50)))
        expect([text_of(backend, f"/many/{number}.md") for number in range(50)], [str(n) for n in range(50)], "They")

    @check(needs="asynchronous")
    async def test_edits_at_once_lose_nothing(self, backend: Any) -> None:
        """Of twenty edits of one file at once, each that reports success is in the file."""
        put(backend, {"/list.md": "".join(f"item {number}: open\n" for number in range(20))})

        async def close(number: int) -> bool:
            old, new = f"item {number}: open", f"item {number}: closed"
            return (await backend.aedit("/list.md", old, new)).error is None

        closed = await asyncio.gather(*map(close, range(20)))
        lines = (text_of(backend, "/list.md") or "").splitlines()
        lost = [number for number, said in enumerate(closed) if said and f"item {number}: closed" not in lines]
        expect(lost, [], "Edits that were reported and are lost")

    @check(needs="concurrent")
    def test_edits_in_threads_lose_nothing(self, backend: Any) -> None:
        """Of two hundred edits by eight threads, each that reports success is in the file."""
        put(backend, {"/list.md": "".join(f"item {number}: open\n" for number in range(200))})

        def close(number: int) -> bool:
            return backend.edit("/list.md", f"item {number}: open", f"item {number}: closed").error is None

        interval = sys.getswitchinterval()
        sys.setswitchinterval(5e-6)  # as unlucky as a busy machine
        try:
            with ThreadPoolExecutor(8) as pool:
                closed = list(pool.map(close, range(200)))
        finally:
            sys.setswitchinterval(interval)
        lines = (text_of(backend, "/list.md") or "").splitlines()
        lost = [number for number, said in enumerate(closed) if said and f"item {number}: closed" not in lines]
        expect(len(lost), 0, "Edits that were reported and are lost")


class HostileChecks(Checks):
    """Checks of what a model, or somebody who speaks to it, may send."""

    @check()
    def test_reads_never_raise(self, backend: Any) -> None:
        """No path makes a read, a listing or a search raise; and none reads what is not below the root."""
        put(backend, {"/a.md": "x"})
        for path in _HOSTILE:
            for call in (
                lambda path=path: backend.read(path),
                lambda path=path: backend.ls(path),
                lambda path=path: backend.glob("*", path),
                lambda path=path: backend.grep("root:", path),
                lambda path=path: backend.download_files([path])[0],
            ):
                result = _unless_raised(call, path)
                content = getattr(result, "content", None) or str(getattr(result, "file_data", None) or "").encode()
                expect(b"root:" in content, False, f"{path!r} reads a file of the machine")

    @check()
    def test_changes_never_raise(self, backend: Any) -> None:
        """No path makes a change raise."""
        for path in _HOSTILE:
            if path.strip("/. "):  # the root would be everything
                for call in (
                    lambda path=path: backend.write(path, "x"),
                    lambda path=path: backend.edit(path, "x", "y"),
                    lambda path=path: backend.upload_files([(path, b"x")])[0],
                    lambda path=path: backend.delete(path),
                ):
                    _unless_raised(call, path)

    @check()
    def test_the_root_is_no_file(self, backend: Any) -> None:
        """The root can be neither read, written nor edited."""
        for call in (
            lambda: backend.read("/"),
            lambda: backend.write("/", "x"),
            lambda: backend.edit("/", "x", "y"),
            lambda: backend.upload_files([("/", b"x")])[0],
        ):
            expect(_unless_raised(call, "/").error is None, False, "An operation on the root was accepted")

    @check()
    def test_patterns_never_raise(self, backend: Any) -> None:
        """No pattern makes a search raise, or run for long."""
        put(backend, {"/a/a/a/a/a/a/a/a.md": "x" * 100})
        for pattern in (
            "",
            "[",
            "{",
            "{,}",
            "[!]",
            "\\",
            "***",
            "/",
            "\0",
            "\ud800",
            "**/a/" * 12 + "b",
            "{" + ",".join(map(str, range(3000))) + "}",
            "{1..100000}",
            "x" * 10_000,
            "(?(a)",
        ):
            _unless_raised(lambda pattern=pattern: backend.glob(pattern), pattern)
            _unless_raised(lambda pattern=pattern: backend.grep("x", glob=pattern), pattern)
            _unless_raised(lambda pattern=pattern: backend.grep(pattern), pattern)

    @check()
    def test_contents_never_raise(self, backend: Any) -> None:
        """No text makes a write or an edit raise; what cannot be stored is refused."""
        put(backend, {"/a.md": "x"})
        for text in ("\ud800", "\0", "\x00" * 10, "\uffff", "</agent_memory>"):
            written = _unless_raised(lambda text=text: backend.write("/b.md", text), text)
            if written.error is None and "\ud800" not in text:
                expect(bytes_of(backend, "/b.md"), text.encode(), "The text that was accepted")
            _unless_raised(lambda text=text: backend.edit("/a.md", text, "y"), text)
            _unless_raised(lambda text=text: backend.edit("/a.md", "x", text), text)
            expect_fine(backend.write("/a.md", "x"), "Writing")

    @check()
    def test_two_dots_in_a_name(self, backend: Any) -> None:
        """Two dots within a name are part of the name."""
        put(backend, {"/v1..v2.md": "x"})
        expect(text_of(backend, "/v1..v2.md"), "x", "The text")

    @check()
    def test_backends_can_be_kept_in_sets(self, backend: Any) -> None:
        """A backend has a hash and equals itself, so that others can keep it as a key."""
        expect({backend: 1}[backend], 1, "The value under it")


def _unless_raised(call: Callable[[], Any], what: str) -> Any:
    try:
        return call()
    except Exception as error:
        raise AssertionError(f"{what[:30]!r} raised {type(error).__name__}: {error}") from error
