"""What a server prints at its start: where it is, where the data is, and at the first start how to use it."""

from __future__ import annotations

import shlex
import sys
from contextlib import suppress
from pathlib import Path

from holdfast.api.web.documentation import ARCHIVE
from holdfast.domain.errors import AlreadyExists
from holdfast.service.holdfast import AsyncHoldfast
from holdfast.service.settings import Settings

FIRST = ("default", "default")
"""The namespace and profile that the first start sets up; commands that name no profile use the same."""
LOOPBACK = ("127.0.0.1", "localhost", "::1")
EVERY_ADDRESS = {"0.0.0.0": "127.0.0.1", "::": "::1"}
"""A host that stands for every address of this machine → the one at which this machine reaches itself."""


async def banner(holdfast: AsyncHoldfast, chosen: Settings, port: int) -> list[str]:
    """The lines printed at the start; the first start also prints what is shown only once."""
    first = not await holdfast.access.list_all()
    made = await holdfast.access.admin(chosen.admin_token)
    host = EVERY_ADDRESS.get(chosen.host, chosen.host)
    base = f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
    lines = [
        f"Holdfast is at {base}",
        f"  Data        {'PostgreSQL (the setting store)' if chosen.store else chosen.folder.absolute()}",
        f"  Web UI      {base}/   (sign in with a token, or open a secret URL in the browser)",
        f"  MCP         {base}/mcp   (with a token; a secret URL followed by /mcp needs none)",
        f"  OpenAPI     {base}/openapi.json",
        *([f"  Help        {base}/help"] if ARCHIVE.is_file() else []),
    ]
    if chosen.host in EVERY_ADDRESS:
        lines.append(f"  From other machines, use this machine's name or address instead of {host}.")
    if chosen.host not in LOOPBACK:
        lines.append("  Others can reach it, and HTTP is not encrypted: put a proxy with TLS before it.")
    if not first:
        told = _token_hint(chosen) if made is None else f"  admin token {made}   (new: every earlier one has ended)"
        return [*lines, told]
    return [*lines, "", *_first_steps(base, made, await _first_url(holdfast, base))]


def _token_hint(chosen: Settings) -> str:
    data = "" if chosen.data is None else f" --data {shlex.quote(str(chosen.data))}"
    return f"  New token   holdfast token LABEL{data}   (--url: a secret URL; earlier ones were shown once)"


async def _first_url(holdfast: AsyncHoldfast, base: str) -> str:
    namespace, profile = FIRST
    with suppress(AlreadyExists):
        await holdfast.create_namespace(namespace)
    everything = ["read", "write", "forget"]
    _, secret = await holdfast.access.issue("url", "first", everything, namespace=namespace, profile=profile)
    return f"{base}/s/{secret}"


def _first_steps(base: str, admin: str | None, url: str) -> list[str]:
    namespace, profile = FIRST
    given = admin or "the preset token"
    return [
        "Shown once, keep them:",
        *([f"  admin token {admin}"] if admin else []),
        f"  secret URL  {url}   (profile {profile!r} in namespace {namespace!r})",
        "",
        "Try:",
        f"  curl -s {url}/api/memory -H 'content-type: application/json' \\",
        '    -d \'{"content": "I prefer window seats"}\'',
        f"  curl -s '{url}/api/search?q=seats'",
        "",
        f"Python (run it with {_python()}):",
        "  import holdfast",
        f'  memory = holdfast.Holdfast.connect("{base}", token="{given}")',
        f'  print(memory.profile("{namespace}", "{profile}").recall("Which seat do I like?").answer)',
        "",
        "wrangler and other Agent Memory clients:",
        f"  export CLOUDFLARE_API_BASE_URL={base}/client/v4 CLOUDFLARE_ACCOUNT_ID=local",
        f"  export CLOUDFLARE_API_TOKEN={admin or 'the-preset-token'}",
    ]


def _python() -> str:
    """The Python that has Holdfast installed, as one would call it from here."""
    program, here = Path(sys.executable), Path.cwd()
    return str(program.relative_to(here) if program.is_relative_to(here) else program)
