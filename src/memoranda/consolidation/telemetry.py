"""What is told about each run to whoever watches: a span, and one record in the log. Neither holds any content."""

from __future__ import annotations

import logging
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from memoranda.consolidation.reports import RunReport

logger = logging.getLogger("memoranda.consolidation")

SPAN: Final = "memoranda.consolidation.run"

_FAILED: Final = ("parked", "failed", "lost")


class Watched:
    """One run that is watched; `told` says what came of it."""

    def __init__(self, span: Any) -> None:
        self._span = span

    def told(self, consolidator: str, report: RunReport, error: BaseException | None = None) -> None:
        """Set the attributes of the span, and write the record.

        Args:
            consolidator: Its name.
            report: What came of it.
            error: What went wrong; only its kind is told.
        """
        facts: dict[str, Any] = {
            "consolidator": consolidator,
            "scope": "/".join(report.scope),
            "run": report.run_id,
            "status": report.status,
            "after": report.after,
            "to": report.to,
            "turns": report.turns,
            "changes": sum(len(run.changes) for run in report.runs),
            "attempts": report.attempts,
            "model": report.model,
            "tokens_in": report.tokens_in,
            "tokens_out": report.tokens_out,
            "seconds": round(report.seconds, 3),
            "error": None if error is None else type(error).__name__,
        }
        failed = report.status in _FAILED
        _set(self._span, facts, failed=failed)
        logger.log(
            logging.WARNING if failed else logging.INFO,
            "Consolidated %s:%s %s%s, %s, %s.",
            facts["scope"],
            f" run {report.run_id}" if report.run_id else "",
            report.status,
            f" by {facts['error']}" if facts["error"] else "",
            _counted(report.turns, "turn"),
            _counted(facts["changes"], "change"),
            extra={"memoranda": facts},
        )


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


@contextmanager
def watched() -> Generator[Watched]:
    """Watch one run: a span of OpenTelemetry, where that is installed."""
    try:
        from opentelemetry import trace
    except ImportError:
        yield Watched(None)
        return
    tracer = trace.get_tracer("memoranda")
    # An exception's message may quote what was said.
    with tracer.start_as_current_span(SPAN, record_exception=False, set_status_on_exception=False) as span:
        yield Watched(span)


def _set(span: Any, facts: Mapping[str, Any], *, failed: bool) -> None:
    if span is None or not span.is_recording():
        return
    span.set_attributes({f"memoranda.{name}": value for name, value in facts.items() if value is not None})
    if failed:
        from opentelemetry.trace import Status, StatusCode

        span.set_status(Status(StatusCode.ERROR, str(facts["error"] or facts["status"])))
