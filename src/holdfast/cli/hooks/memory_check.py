"""Checks for `holdfast doctor` whether coding agents have their memory: the clients' settings, and the server."""

from __future__ import annotations

import shlex
import time
from collections.abc import Iterator
from shutil import which
from urllib.parse import urlsplit

from holdfast.cli.hooks import clients
from holdfast.cli.hooks.background import running_server
from holdfast.cli.hooks.clients import CLIENTS
from holdfast.cli.hooks.hook_output import ANSWER_SECONDS, plain_reason
from holdfast.cli.hooks.hook_state import LATE_DAYS, HookState
from holdfast.cli.hooks.plugins import REMOVAL, plugin_settings
from holdfast.cli.hooks.settings_files import has_hooks, settings_problems
from holdfast.cli.hooks.transports import HttpEndpoint, TransportError
from holdfast.domain.errors import HoldfastError
from holdfast.service.doctor import HealthFinding
from holdfast.service.settings import Settings

MAX_ANSWER_SECONDS = 20.0
"""How long a server that has just started may take; hooks wait for less. Chosen by hand; not measured."""


def memory_findings(data: str | None) -> Iterator[HealthFinding]:
    """Whether memory is on, for each client that is connected to this Holdfast."""
    problems = {name: settings_problems(name, client) for name, client in CLIENTS.items()}
    for name, found in problems.items():
        for problem in found:
            what = f"The settings of {CLIENTS[name].title} cannot be used: {problem.why}"
            yield HealthFinding("warn", what, "Repair the file; until then it has no memory, or no hooks.")
    settled = [name for name, client in CLIENTS.items() if clients.connected_entry(client) or has_hooks(name, client)]
    plugins = [name for name in CLIENTS if plugin_settings(name) is not None]
    connected = [name for name in CLIENTS if name in settled or name in plugins]
    if not connected:
        yield HealthFinding("ok", "No coding agent is connected; `holdfast connect` lists those on this machine")
        return
    try:
        settings = Settings.read(data=data)
    except HoldfastError:  # the other checks tell about it
        return
    with_hooks = [name for name in settled if has_hooks(name, CLIENTS[name])]
    yield from _plugin_findings(plugins, with_hooks)
    for name in settled:
        how = "with hooks" if name in with_hooks else "without hooks: it remembers when asked to"
        if not problems[name]:
            yield HealthFinding("ok", f"{CLIENTS[name].title} is connected, {how}")
    if with_hooks or plugins:
        yield _server_finding(settings, connected)
    if late := HookState(settings).late_hooks():
        yield _late_finding(late)
    if failure := HookState(settings).last_failure():
        yield HealthFinding("warn", f"A conversation was not stored: {failure}", "The next one stores it, if it can.")


def _plugin_findings(plugins: list[str], with_hooks: list[str]) -> Iterator[HealthFinding]:
    """Whether each plugin works: it runs `holdfast` from the PATH, and its hooks are not there twice."""
    for name in plugins:
        title, file = CLIENTS[name].title, plugin_settings(name)
        if which("holdfast") is None:
            fix = "Add the folder of the command to the PATH, or: " + shlex.join(clients.program_command()) + " connect"
            yield HealthFinding("warn", f"{title} has the plugin ({file}), but `holdfast` is not on the PATH", fix)
        else:
            yield HealthFinding("ok", f"{title} has memory from the plugin, with hooks ({file})")
        if name in with_hooks:
            fix = f"Keep one of them: `holdfast connect {name} --undo`, or {REMOVAL[name]}."
            yield HealthFinding("warn", f"{title} has our hooks twice: in its settings, and from the plugin", fix)


def _late_finding(late: int) -> HealthFinding:
    what = f"{late:,} hook{'s were' if late > 1 else ' was'} late in the last {LATE_DAYS} days and brought no memory"
    claude = CLIENTS["claude-code"].hooks
    fix = (
        "The machine or the server was busy. HOLDFAST_HOOK_SECONDS=0.5 gives a hook half a second instead of "
        f"{ANSWER_SECONDS}: set it in the environment that starts the agent, or for Claude Code as "
        f'"env": {{"HOLDFAST_HOOK_SECONDS": "0.5"}} in {claude() if claude else "its settings"}.'
    )
    return HealthFinding("warn", what, fix)


def _server_finding(settings: Settings, connected: list[str]) -> HealthFinding:
    urls = {clients.entry_variables(name).get("HOLDFAST_URL", "") for name in connected}
    endpoint = next((clients.secret_base_url(url) for url in urls if url), None)
    server = running_server(settings) if endpoint is None else None
    if endpoint is None and server is None:
        fix = "A hook starts it with the next session; `holdfast connect CLIENT --hooks` starts it now."
        return HealthFinding("warn", "Memory is off: no background process or server runs", fix)
    address = endpoint or (server.url if server else "")
    try:
        for _ in range(2):  # a server that has just started loads at its first request what it needs
            start = time.monotonic()
            _ask_server(address, MAX_ANSWER_SECONDS, secret=endpoint is not None)
    except (OSError, TransportError) as bad:
        where, reason = server_address(address), plain_reason(bad)
        what = f"Memory is off: the server at {where} does not answer as it should: {reason}"
        again = "`holdfast background --stop` ends the background process, and the next session starts it again."
        fix = "Start it: `holdfast serve` on that machine." if endpoint else again
        return HealthFinding("warn", what, fix)
    return HealthFinding("ok", f"Memory is on: the server answers in {(time.monotonic() - start) * 1000:.0f} ms")


def url_problem(url: str, seconds: float) -> str | None:
    """Why the server of a secret URL gives no memory; None when it answers."""
    try:
        _ask_server(clients.secret_base_url(url), seconds, secret=True)
    except (OSError, TransportError) as bad:
        return plain_reason(bad)
    return None


def server_address(url: str) -> str:
    """The part of a URL that names the server, without secrets."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"


def _ask_server(address: str, seconds: float, *, secret: bool) -> None:
    web = HttpEndpoint(address, lambda: seconds)
    web.request("POST", "/mcp/prompts/remember_context", {}) if secret else web.request("GET", "/healthz")
