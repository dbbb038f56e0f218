"""One definition of an operation for blocking and for async callers."""

from __future__ import annotations

import asyncio
import threading
import time
from contextvars import ContextVar
from typing import Any

import pytest
from langgraph.errors import GraphInterrupt

from memoranda.backends.base import Backend
from memoranda.backends.places import Place
from memoranda.backends.protocol import LsResult, WriteResult
from memoranda.backends.steps import Steps, aperform, ask, block, consult, done, perform, together


class Service:
    def get(self, what: str) -> str:
        return f"blocking {what}"

    async def aget(self, what: str) -> str:
        return f"async {what}"

    def only(self) -> str:
        return threading.current_thread().name

    def half(self) -> str:
        return "blocking half"

    async def ahalf(self) -> str:
        raise NotImplementedError


def asking(method: Any, *args: Any) -> Steps[Any]:
    return (yield from ask(method, *args))


async def test_the_async_twin_is_asked_where_there_is_one() -> None:
    service = Service()
    assert perform(asking(service.get, "x")) == "blocking x"
    assert await aperform(asking(service.get, "x")) == "async x"
    assert await aperform(asking(service.half)) == "blocking half"
    assert await aperform(asking(service.only)) != threading.main_thread().name


async def test_blocking_work_leaves_the_event_loop_free() -> None:
    async def ticking() -> int:
        ticks = 0
        for _ in range(10):
            await asyncio.sleep(0.01)
            ticks += 1
        return ticks

    started = time.monotonic()
    ticks, _ = await asyncio.gather(ticking(), aperform(block(lambda: time.sleep(0.1))))
    assert ticks == 10 and time.monotonic() - started < 0.5


variable: ContextVar[str] = ContextVar("variable", default="unset")


async def test_functions_of_the_user_may_be_coroutines_and_see_the_context() -> None:
    async def later(text: str, *, more: str = "") -> str:
        await asyncio.sleep(0)
        return text + more + variable.get()

    token = variable.set("!")
    try:
        assert await aperform(consult(later, "a", more="b")) == "ab!"
        assert perform(consult(later, "a")) == "a!"  # beside a running loop
        assert perform(consult(lambda text: text, "a")) == "a"
    finally:
        variable.reset(token)


def failing(error: Exception) -> Steps[str]:
    raise error
    yield  # pragma: no cover


async def test_one_failure_does_not_stop_the_others() -> None:
    def operations() -> list[Steps[str]]:
        return [done("a"), failing(ValueError("b")), asking(Service().get, "c")]

    for results in (perform(together(operations())), await aperform(together(operations()))):
        assert results[0] == "a" and isinstance(results[1], ValueError) and "c" in str(results[2])
    assert isinstance(perform(together([failing(ValueError())]))[0], ValueError)


@pytest.mark.parametrize("count", [1, 3])
async def test_a_pause_of_the_run_passes_through_and_leaves_nothing_running(count: int) -> None:
    finished: list[str] = []

    async def slow() -> None:
        await asyncio.sleep(0.2)
        finished.append("slow")

    def operations() -> list[Steps[Any]]:
        return [failing(GraphInterrupt()), *[consult(slow) for _ in range(count - 1)]]

    with pytest.raises(GraphInterrupt):
        perform(together([failing(GraphInterrupt())] * 1))
    with pytest.raises(GraphInterrupt):
        await aperform(together(operations()))
    await asyncio.sleep(0.3)
    assert finished == []


async def test_an_operation_may_answer_a_failure() -> None:
    def operation() -> Steps[str]:
        try:
            return (yield from block(lambda: 1 / 0))  # type: ignore[return-value]
        except ZeroDivisionError:
            return "answered"

    assert perform(operation()) == "answered" == await aperform(operation())


class Tiny(Backend):
    def ls_steps(self, place: Place) -> Steps[LsResult]:
        raise GraphInterrupt

    def write_steps(self, place: Place, content: Any, base: Any, merge: bool) -> Steps[WriteResult]:
        return done(WriteResult(path=place.shown))


class Loud:
    def write(self, file_path: str, content: str, **more: Any) -> WriteResult:
        return WriteResult(path=file_path.upper())


class FromMixin(Loud, Tiny):
    pass


class OnlyAsync(Tiny):
    async def awrite(self, file_path: str, content: str, **more: Any) -> WriteResult:  # type: ignore[override]
        return WriteResult(path=file_path.upper())


class Deeper(OnlyAsync):
    def write(self, file_path: str, content: str, **more: Any) -> WriteResult:
        return WriteResult(path="/deeper")


@pytest.mark.parametrize(("kind", "path"), [(Tiny, "/a"), (FromMixin, "/A"), (OnlyAsync, "/A"), (Deeper, "/deeper")])
async def test_an_override_in_one_form_holds_in_both(kind: type[Backend], path: str) -> None:
    assert kind().write("/a", "x").path == path
    assert (await kind().awrite("/a", "x")).path == path


async def test_interrupts_leave_a_backend() -> None:
    with pytest.raises(GraphInterrupt):
        Tiny().ls("/")
    with pytest.raises(GraphInterrupt):
        await Tiny().als("/")


def test_methods_say_what_they_do() -> None:
    import inspect

    assert "Replace text" in (Backend.edit.__doc__ or "") and Backend.aedit.__name__ == "aedit"
    assert list(inspect.signature(Backend.read).parameters)[1:] == ["file_path", "offset", "limit"]


@pytest.mark.parametrize("path", [None, 7, "", "../x", "~/x", "/", "a\0b", "C:\\x"])
def test_whatever_a_model_sends_as_a_path_is_an_error_and_no_exception(path: Any) -> None:
    backend = Tiny()
    assert backend.write(path, "x").error is not None
    assert backend.upload_files([(path, b"x")])[0].error == "invalid_path"
    assert backend.download_files([path])[0].error == "invalid_path"
