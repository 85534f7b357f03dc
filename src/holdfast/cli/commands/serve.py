"""The command that serves the data folder over HTTP until interrupted."""

from __future__ import annotations

import asyncio
import logging
import os
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated

from holdfast.cli.parameters import Commands, Option
from holdfast.domain.errors import Busy, InvalidInput, install_fix

if TYPE_CHECKING:
    from holdfast.service.settings import Settings


def serve(
    data: Annotated[
        str | None, Option("--data", help="Data folder [env var: HOLDFAST_DATA; default: the user's own].")
    ] = None,
    host: Annotated[
        str | None, Option("--host", help="Address to listen on [env var: HOLDFAST_HOST; default: 127.0.0.1].")
    ] = None,
    port: Annotated[
        int | None, Option("--port", help="Port to listen on [env var: HOLDFAST_PORT; default: 8420].")
    ] = None,
    config: Annotated[str | None, Option("--config", help="A TOML file with settings.")] = None,
    quiet: Annotated[bool, Option("--quiet", help="Do not print a line for each request.")] = False,
) -> None:
    """Serve the data folder over HTTP until interrupted.

    The first start prints an admin token and a secret URL, only once. HOLDFAST_ADMIN_TOKEN sets the token.
    """
    from threadpoolctl import threadpool_limits

    from holdfast.api.rest.server import check_address
    from holdfast.api.rest.server import serve as serving
    from holdfast.cli.hooks.background import stop_background
    from holdfast.service.holdfast import AsyncHoldfast
    from holdfast.service.settings import Settings, refuse_hidden_store

    refuse_hidden_store(data, config)
    chosen = Settings.read(data=data, host=host, port=port, config=config)
    if not quiet:
        _log_requests()
    _export_spans()
    if chosen.store is None:
        stop_background(chosen.folder)
    _allow_many_connections()

    async def run() -> None:
        try:
            check_address(chosen.host, chosen.port)  # before a data folder is created
            opened = await AsyncHoldfast.open(data, config=config)
        except Busy as busy:
            raise _folder_in_use(chosen, busy) from busy
        async with opened as holdfast:
            await serving(holdfast, chosen, lambda line: print(line, flush=True), lambda: _tell("Stopping…"))
        _tell("Stopped.")

    # Requests run in parallel already; BLAS threads for one small matrix product would only spin.
    with threadpool_limits(1, "blas"), _event_loop_runner() as runner:
        runner.run(run())


def _tell(line: str) -> None:
    with suppress(OSError):  # a reader that is gone must not keep the server from stopping
        print(line, file=sys.stderr, flush=True)


def _folder_in_use(chosen: Settings, busy: Busy) -> Busy:
    """The error of a folder that another process has open, with the address at which that one serves it."""
    from holdfast.storage.sqlite.health import lock_owner
    from holdfast.storage.sqlite.server_address import load_live_address

    owner = None if chosen.store else lock_owner(chosen.folder)
    if owner is None:
        return busy
    server = load_live_address(chosen.folder)
    where = "" if server is None else f", which serves it at {server.url}"
    return Busy(
        f"The data folder {chosen.folder} is open in process {owner}{where}.",
        fix="Stop that process, or choose another folder with --data or HOLDFAST_DATA.",
    )


def _event_loop_runner() -> asyncio.Runner:
    """A runner with uvloop where it is installed."""
    try:
        import uvloop
    except ImportError:  # Windows
        return asyncio.Runner()
    return asyncio.Runner(loop_factory=uvloop.new_event_loop)


def _allow_many_connections() -> None:
    """Raise the limit of open files to its maximum: each event stream is one, and the default is often low."""
    try:
        import resource
    except ImportError:  # Windows
        return
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(ValueError, OSError):  # macOS may refuse its own "unlimited"
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def _export_spans() -> None:
    """Export spans to the endpoint in OpenTelemetry's own variables; without an endpoint, create no spans."""
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
            f"OTEL_EXPORTER_OTLP_ENDPOINT is set, but {absent.name} is not installed.",
            fix=f"{install_fix('otel')}, or unset it.",
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


def add_to(app: Commands) -> None:
    app.add_function("serve", serve)
