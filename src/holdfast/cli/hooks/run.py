"""Runs a coding agent's hook: prints memory at session start and with each prompt, ingests the conversation at the end.

A hook fails open: on any error it exits with 0 within three seconds and prints nothing that the agent could misread.
HOLDFAST_HOOK_DEBUG prints the error as one line on stderr; HOLDFAST_HOOKS=off turns hooks off.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from holdfast.cli.hooks import clients
from holdfast.cli.hooks.agent_transcripts import (
    MEMORY_TAG,
    TranscriptTurn,
    parse_transcript,
    spoken_text,
    truncated_text,
)
from holdfast.cli.hooks.project import PROJECT_PROFILE, project_folder, project_profile
from holdfast.cli.hooks.transports import (
    FolderTransport,
    HookTransport,
    HttpEndpoint,
    PromptContext,
    RemainingSeconds,
    SecretUrlTransport,
    TokenTransport,
)
from holdfast.domain.limits import MAX_MESSAGES, MAX_QUERY_BYTES, MAX_SESSION_CHARACTERS
from holdfast.service.settings import Settings
from holdfast.storage.sqlite.server_address import load_address

MAX_SECONDS = 2.2
"""The documented limit is three seconds; the rest is left for starting Python. Chosen by hand; not measured."""
MAX_INPUT_BYTES = 1 << 24
"""Bytes of an agent's JSON that are read. Chosen by hand; not measured."""
START_TOKENS, PROMPT_TOKENS = 800, 400
"""Budgets of memory at session start and with a prompt. Chosen by hand; not measured."""
PROMPT_MIN_RELEVANCE = 0.1
"""The least relevance of what a prompt gets. It keeps 97 % of the evidence among the first ten hits, and 50 % of the
hits of prompts that need no memory (98 % and 36 % with the smaller model); see `python -m evals.measure.floor`."""
MAX_PROMPT_SECONDS = 1.5
"""How long a prompt waits for memory. Chosen by hand; not measured."""
MIN_PROMPT_CHARS = 8
"""A prompt with fewer characters, such as "yes", gets no memory. Chosen by hand; not measured."""
TRANSCRIPT_LIMITS = {
    "stop": (1 << 22, 100, 100_000),
    "precompact": (1 << 25, MAX_MESSAGES, 300_000),
    "sessionend": (1 << 25, MAX_MESSAGES, 300_000),
}
"""How much of a transcript's end an event ingests: bytes of the file, messages, bytes of their text.

Messages that were ingested before are sent again. That changes nothing: the session ends with them already.
Chosen by hand; not measured.
"""
SETTING_NAMES = ("HOLDFAST_URL", "HOLDFAST_TOKEN", "HOLDFAST_DATA", "HOLDFAST_NAMESPACE", "HOLDFAST_PROFILE")
EVENT_ALIASES = {"beforesubmitprompt": "userpromptsubmit"}
MEMORY_INTRODUCTION = (
    "From Holdfast, the user's memory: notes from earlier sessions. The user did not write this now; weigh it."
)


def run_hook(arguments: Sequence[str], *, exit_process: bool = False) -> int:
    """Handle one event; always returns 0. With `exit_process` the process ends here, whatever still runs in it."""
    debug = bool(os.environ.get("HOLDFAST_HOOK_DEBUG"))
    start = time.monotonic()
    if exit_process:
        _start_deadline(debug)
    try:
        if os.environ.get("HOLDFAST_HOOKS", "").lower() not in ("off", "0", "no", "false"):
            output = _hook_output(_HookCall(arguments, start))
            if output:
                sys.stdout.write(output + "\n")
                sys.stdout.flush()
    except BaseException as error:  # also an interrupt: the agent must continue
        if debug:
            _print_debug(f"{type(error).__name__}: {error}")
    if exit_process:
        os._exit(0)
    return 0


def _start_deadline(debug: bool) -> None:
    def end() -> None:
        if debug:
            _print_debug(f"gave up after {MAX_SECONDS} s")
        os._exit(0)

    alarm = threading.Timer(MAX_SECONDS, end)
    alarm.daemon = True
    alarm.start()


def _print_debug(message: str) -> None:
    with suppress(OSError):
        os.write(2, f"holdfast hook: {' '.join(message.split())[:300]}\n".encode("utf-8", "replace"))


class _HookCall:
    """The command line, and the agent's JSON from stdin."""

    def __init__(self, arguments: Sequence[str], start: float) -> None:
        given = list(arguments)
        self.client = _pop_option(given, "--client")
        self.tokens = _pop_option(given, "--tokens")
        self.min_relevance = _pop_option(given, "--min-relevance")
        self._start = start
        payload = json.loads(sys.stdin.buffer.read(MAX_INPUT_BYTES) or b"{}")
        self.payload: dict[str, Any] = payload if isinstance(payload, dict) else {}
        self.name = given[0] if given else str(self.payload.get("hook_event_name", ""))
        self.event = EVENT_ALIASES.get(self.name.lower(), self.name.lower())

    @property
    def cursor(self) -> bool:
        """Whether Cursor calls: its event names start with a small letter, and it expects another output format."""
        return self.name[:1].islower()

    def left(self, seconds: float = MAX_SECONDS) -> float:
        return seconds - (time.monotonic() - self._start)

    def text(self, *names: str) -> str:
        values = (self.payload.get(name) for name in names)
        return next((value for value in values if isinstance(value, str) and value), "")

    def session(self) -> str | None:
        return self.text("session_id", "conversation_id")[:MAX_SESSION_CHARACTERS] or None

    def folder(self) -> Path:
        roots = self.payload.get("workspace_roots")
        root = roots[0] if isinstance(roots, list) and roots and isinstance(roots[0], str) else ""
        project = project_folder()
        return project if project != Path(".") else Path(self.text("cwd") or root or ".")


def _pop_option(given: list[str], name: str) -> str | None:
    if name not in given:
        return None
    at = given.index(name)
    value = given[at + 1] if at + 1 < len(given) else None
    del given[at : at + 2]
    return value


def _hook_output(call: _HookCall) -> str:
    """The text to print for the event; may be empty."""
    if call.event == "sessionstart":
        tokens = int(call.tokens or START_TOKENS)
        return _formatted_output(call, fitting_lines(_open_transport(call, call.left).summary(tokens), tokens))
    if call.event == "userpromptsubmit":
        prompt = spoken_text(call.text("prompt"))
        if len(prompt) < MIN_PROMPT_CHARS or prompt.startswith(("/", "!", "#")):
            return ""
        tokens = int(call.tokens or PROMPT_TOKENS)
        transport = _open_transport(call, lambda: call.left(MAX_PROMPT_SECONDS))
        how = PromptContext(tokens, float(call.min_relevance or PROMPT_MIN_RELEVANCE), call.session())
        return _formatted_output(
            call, fitting_lines(transport.context(truncated_text(prompt, MAX_QUERY_BYTES), how), tokens)
        )
    if call.event in TRANSCRIPT_LIMITS:
        _ingest_transcript(call)
    return ""


def _formatted_output(call: _HookCall, text: str) -> str:
    if not text.strip():
        return ""
    block = f"<{MEMORY_TAG}>\n{MEMORY_INTRODUCTION}\n\n{text.strip()}\n</{MEMORY_TAG}>"
    if call.cursor:
        answer: dict[str, Any] = {"additional_context": block}
        return json.dumps({"continue": True, **answer} if call.event == "userpromptsubmit" else answer)
    return json.dumps({"hookSpecificOutput": {"hookEventName": call.name, "additionalContext": block}})


def _ingest_transcript(call: _HookCall) -> None:
    """Ingest the end of the transcript. Nobody asked for it to be stored, so passwords and keys are removed first."""
    from holdfast.text.redaction import redacted_conversation

    max_file_bytes, max_messages, max_text_bytes = TRANSCRIPT_LIMITS[call.event]
    path = call.text("transcript_path") or os.environ.get("CURSOR_TRANSCRIPT_PATH", "")
    transcript = parse_transcript(_last_lines(Path(path).expanduser(), max_file_bytes) if path else [])
    turns = list(transcript.turns)
    last = spoken_text(call.text("last_assistant_message"))
    if last and not (turns and turns[-1].role == "assistant"):  # the agent has not written it to the file yet
        turns.append(TranscriptTurn("assistant", last))
    latest = _latest_turns(turns[-max_messages:], max_text_bytes)
    messages = [
        {"role": turn.role, "content": text} | ({"timestamp": turn.timestamp} if turn.timestamp else {})
        for turn, text in zip(latest, redacted_conversation([turn.content for turn in latest]), strict=True)
    ]
    if messages:
        _open_transport(call, call.left).ingest(messages, call.session(), transcript.agent or call.client)


def _latest_turns(turns: list[TranscriptTurn], max_bytes: int) -> list[TranscriptTurn]:
    """As many of the last turns as fit into so many bytes, and at least the very last."""
    latest: list[TranscriptTurn] = []
    for turn in reversed(turns):
        max_bytes -= len(turn.content.encode())
        if max_bytes < 0 and latest:
            break
        latest.append(turn)
    return latest[::-1]


def _last_lines(path: Path, max_bytes: int) -> list[bytes]:
    with path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - max_bytes))
        lines = file.read(max_bytes).split(b"\n")
    return lines if size <= max_bytes else lines[1:]


def _open_transport(call: _HookCall, left: RemainingSeconds) -> HookTransport:
    """Connect by a secret URL, by a token, to the server that has the data folder open, or by opening the folder."""
    variables = clients.entry_variables(call.client) | {
        name: os.environ[name] for name in SETTING_NAMES if os.environ.get(name)
    }
    url = variables.get("HOLDFAST_URL", "")
    if clients.is_secret_url(url):
        return SecretUrlTransport(HttpEndpoint(clients.secret_base_url(url), left))
    namespace = variables.get("HOLDFAST_NAMESPACE", "default")
    profile = variables.get("HOLDFAST_PROFILE", PROJECT_PROFILE)
    profile = project_profile(call.folder()) if profile == PROJECT_PROFILE else profile
    if url:
        return TokenTransport(HttpEndpoint(url, left, _bearer_headers(variables["HOLDFAST_TOKEN"])), namespace, profile)
    folder = variables.get("HOLDFAST_DATA")
    server = load_address(Settings.read(data=folder).folder)
    web = None if server is None else HttpEndpoint(server.url, left, _bearer_headers(server.token))
    if web is not None and web.listens():
        return TokenTransport(web, namespace, profile)
    _disable_logging()
    return FolderTransport(folder, namespace, profile, left)


def _bearer_headers(token: str) -> dict[str, str]:
    return {"authorization": f"Bearer {token}"}


def _disable_logging() -> None:
    import logging

    logging.disable()


def fitting_lines(text: str, tokens: int) -> str:
    """As many whole lines as the budget allows, with the same estimate of tokens as everywhere in Holdfast."""
    fitting: list[str] = []
    left = tokens
    for line in text.splitlines():
        left -= max(len(line.encode()) // 4, len(line.split())) + 1
        if left < 0:
            break
        fitting.append(line)
    return "\n".join(fitting)
