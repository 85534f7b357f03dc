"""The command that serves: HTTP on one port until interrupted."""

from __future__ import annotations

from typing import Annotated

import typer


def serve(
    data: Annotated[str | None, typer.Option("--data", help="The data folder; by default the user's.")] = None,
    host: Annotated[
        str | None, typer.Option("--host", help="Where to listen; 127.0.0.1 unless told otherwise.")
    ] = None,
    port: Annotated[int | None, typer.Option("--port", help="8420 unless told otherwise.")] = None,
) -> None:
    """Serve the data folder over HTTP until interrupted.

    The first start prints an admin token and a secret URL, once. HOLDFAST_ADMIN_TOKEN presets the token.
    """
    import asyncio

    from ..config import Settings
    from ..rest.server import serve as serving
    from ..service import AsyncHoldfast

    chosen = Settings.read(data=data, host=host, port=port)

    async def run() -> None:
        async with await AsyncHoldfast.open(chosen.data) as holdfast:
            await serving(holdfast, chosen.host, chosen.port, chosen.admin_token, lambda line: print(line, flush=True))

    asyncio.run(run())


def add_to(app: typer.Typer) -> None:
    app.command("serve")(serve)
