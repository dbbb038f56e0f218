"""What is told of a run: a span and a record, and nothing of what was said."""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode

from memoranda import MemoryStore
from memoranda.consolidation import Task
from tests.consolidation.talking import ANN, consolidator, noting, say

SECRET = "the treasure lies under the oak"


@pytest.fixture
def spans(monkeypatch: pytest.MonkeyPatch) -> Iterator[InMemorySpanExporter]:
    """The spans of this process, which has one provider only once."""
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(trace, "get_tracer", provider.get_tracer)
    yield exporter
    provider.shutdown()


def of_runs(spans: InMemorySpanExporter) -> list[ReadableSpan]:
    return [span for span in spans.get_finished_spans() if span.name == "memoranda.consolidation.run"]


def records(caplog: pytest.LogCaptureFixture) -> list[logging.LogRecord]:
    return [record for record in caplog.records if record.name == "memoranda.consolidation"]


def working(task: Task) -> str:
    task.used(tokens_in=120, tokens_out=30, model="scripted")
    return noting()(task)


@pytest.mark.parametrize("in_loop", [False, True])
def test_a_run_has_a_span_and_a_record(
    store: MemoryStore, spans: InMemorySpanExporter, caplog: pytest.LogCaptureFixture, in_loop: bool
) -> None:
    say(store, SECRET, "more")
    caplog.set_level(logging.INFO, "memoranda.consolidation")
    tending = consolidator(store, working)
    report = asyncio.run(tending.arun(ANN)) if in_loop else tending.run(ANN)
    (span,) = of_runs(spans)
    attributes = dict(span.attributes or {})
    assert attributes.pop("memoranda.seconds") == pytest.approx(report.seconds, abs=0.001)  # type: ignore[comparison-overlap]
    assert attributes == {
        "memoranda.consolidator": "consolidation",
        "memoranda.scope": "ann",
        "memoranda.run": report.run_id,
        "memoranda.status": "applied",
        "memoranda.after": 0,
        "memoranda.to": 2,
        "memoranda.turns": 2,
        "memoranda.changes": 1,
        "memoranda.attempts": 1,
        "memoranda.model": "scripted",
        "memoranda.tokens_in": 120,
        "memoranda.tokens_out": 30,
    }
    assert span.status.status_code is StatusCode.UNSET
    (record,) = records(caplog)
    facts: dict[str, Any] = record.memoranda  # type: ignore[attr-defined]
    assert (facts["status"], facts["turns"], facts["changes"], facts["error"]) == ("applied", 2, 1, None)
    assert record.getMessage() == f"Consolidated ann: run {report.run_id} applied, 2 turns, 1 change."
    assert (report.tokens_in, report.tokens_out, report.model) == (120, 30, "scripted")
    run = store.runs.get(report.run_id or "")
    assert (run.tokens_in, run.tokens_out, run.model) == (120, 30, "scripted")


def test_what_was_said_is_in_neither(
    store: MemoryStore, spans: InMemorySpanExporter, caplog: pytest.LogCaptureFixture
) -> None:
    say(store, SECRET)
    caplog.set_level(logging.DEBUG)

    def work(task: Task) -> None:
        raise ValueError(f"I cannot read {task.turns[0].text!r}")

    report = consolidator(store, work, attempts=2).run(ANN)
    assert SECRET in (report.error or "")
    found = of_runs(spans)
    assert [(span.status.status_code, span.status.description) for span in found] == [
        (StatusCode.ERROR, "ValueError"),
        (StatusCode.ERROR, "ValueError"),
    ]
    assert [dict(span.attributes or {})["memoranda.status"] for span in found] == ["failed", "parked"]
    assert all(SECRET not in span.to_json() for span in found)
    told = records(caplog)
    assert [record.levelno for record in told] == [logging.WARNING, logging.WARNING]
    assert all(SECRET not in f"{record.getMessage()} {record.__dict__}" for record in caplog.records)


def test_spans_of_the_work_lie_within_that_of_the_run(store: MemoryStore, spans: InMemorySpanExporter) -> None:
    say(store, "one")

    def work(task: Task) -> None:
        with trace.get_tracer("mine").start_as_current_span("asking"):
            pass

    consolidator(store, work).run(ANN)
    inner = next(span for span in spans.get_finished_spans() if span.name == "asking")
    (outer,) = of_runs(spans)
    assert inner.parent is not None and outer.context is not None
    assert inner.parent.span_id == outer.context.span_id


def test_opentelemetry_is_not_needed(
    store: MemoryStore, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry", None)
    caplog.set_level(logging.INFO, "memoranda.consolidation")
    say(store, "one")
    assert consolidator(store).run(ANN).status == "applied"
    assert len(records(caplog)) == 1
