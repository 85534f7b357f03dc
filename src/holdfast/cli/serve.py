"""The command that serves: HTTP on one port until interrupted."""

from __future__ import annotations

import asyncio
import logging
import os
import sys
from contextlib import suppress
from typing import Annotated

import typer

from ..errors import InvalidInput


def serve(
    data: Annotated[str | None, typer.Option("--data", help="The data folder; by default the user's.")] = None,
    host: Annotated[
        str | None, typer.Option("--host", help="Where to listen; 127.0.0.1 unless told otherwise.")
    ] = None,
    port: Annotated[int | None, typer.Option("--port", help="8420 unless told otherwise.")] = None,
    config: Annotated[str | None, typer.Option("--config", help="A TOML file with settings.")] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="Print no line for each request.")] = False,
) -> None:
    """Serve the data folder over HTTP until interrupted.

    The first start prints an admin token and a secret URL, once. HOLDFAST_ADMIN_TOKEN presets the token.
    """
    from threadpoolctl import threadpool_limits

    from ..config import Settings
    from ..rest.server import serve as serving
    from ..service import AsyncHoldfast

    chosen = Settings.read(data=data, host=host, port=port, config=config)
    if not quiet:
        _log_requests()
    _export_spans()
    _allow_many_connections()

    async def run() -> None:
        async with await AsyncHoldfast.open(data, config=config) as holdfast:
            await serving(holdfast, chosen, lambda line: print(line, flush=True))

    # Requests are what runs in parallel here; threads of one small product would only spin.
    with threadpool_limits(1, "blas"), _loop() as runner:
        runner.run(run())


def _loop() -> asyncio.Runner:
    """A loop of uvloop's where there is one."""
    try:
        import uvloop
    except ImportError:  # Windows
        return asyncio.Runner()
    return asyncio.Runner(loop_factory=uvloop.new_event_loop)


def _allow_many_connections() -> None:
    """Each event stream is an open file; systems often start programs with room for few."""
    try:
        import resource
    except ImportError:  # Windows
        return
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(ValueError, OSError):  # macOS may not take its own unlimited
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def _export_spans() -> None:
    """Send spans where OpenTelemetry's own variables say; without them, none are made."""
    if not any(os.environ.get(f"OTEL_EXPORTER_OTLP_{name}ENDPOINT") for name in ("", "TRACES_")):
        return
    try:
        from opentelemetry import trace
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError as absent:
        raise InvalidInput(
            f"OTEL_EXPORTER_OTLP_ENDPOINT is set, and {absent.name} is not installed.",
            fix="Run: pip install 'holdfast[otel]', or unset it.",
        ) from absent
    provider = TracerProvider(resource=Resource.create({"service.name": "holdfast"}))
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    trace.set_tracer_provider(provider)


def _log_requests() -> None:
    lines = logging.StreamHandler(sys.stderr)
    lines.setFormatter(logging.Formatter("%(asctime)s %(message)s"))
    log = logging.getLogger("holdfast.access")
    log.addHandler(lines)
    log.setLevel(logging.INFO)
    log.propagate = False


def add_to(app: typer.Typer) -> None:
    app.command("serve")(serve)
