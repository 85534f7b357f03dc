"""Emits operations as OpenTelemetry spans, by the GenAI convention for memory, when OpenTelemetry is loaded.

The host program configures whether and where spans are exported. Spans contain no queries and no text of memories.
"""

from __future__ import annotations

import sys
from typing import Any

from holdfast.domain.records import Trace

OPERATIONS = {
    "ingest": "upsert_memory",
    "remember": "upsert_memory",
    "revise": "update_memory",
    "forget": "delete_memory",
    "forget_session": "delete_memory",
    "forget_where": "delete_memory",
}
READ_OPERATIONS = "search_memory"


def emit_span(store: str, done: Trace) -> None:
    """Emit one finished operation as a span, as a child of the caller's current span."""
    otel: Any = sys.modules.get("opentelemetry.trace")
    if otel is None:
        return
    end = int(done.at.timestamp() * 1e9)
    name = OPERATIONS.get(done.operation, READ_OPERATIONS)
    span = otel.get_tracer("holdfast").start_span(
        f"{name} {store}", start_time=end - int(done.milliseconds * 1e6), attributes=_attributes(name, store, done)
    )
    if "error" in done.details:
        span.set_status(otel.StatusCode.ERROR)
    span.end(end)


def _attributes(name: str, store: str, done: Trace) -> dict[str, Any]:
    told = {
        "gen_ai.operation.name": name,
        "gen_ai.provider.name": "holdfast",
        "gen_ai.memory.store.id": store,
        "gen_ai.memory.record.id": done.details.get("written"),
        "gen_ai.agent.id": done.caller.agent,
        "gen_ai.conversation.id": done.caller.session_id,
        "error.type": done.details.get("error"),
        "holdfast.operation": done.operation,
        "holdfast.trace.id": done.id,
        "holdfast.turn.id": done.caller.turn_id,
    }
    stages = {f"holdfast.stage.{stage}_ms": spent for stage, spent in done.details.get("stages", {}).items()}
    return {name: value for name, value in told.items() if value is not None} | stages
