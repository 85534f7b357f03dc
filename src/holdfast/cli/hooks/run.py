"""Runs a coding agent's hook: prints memory at session start and with each prompt, ingests the conversation at the end.

A hook answers within HOLDFAST_HOOK_SECONDS (0.15) or leaves memory out, and always exits with 0. When memory is off, it
says so in one line that the agent shows to its user. Ingesting goes on in a process of its own, for which nobody waits.
HOLDFAST_HOOK_DEBUG prints the error as one line on stderr; HOLDFAST_HOOKS=off turns hooks off.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from holdfast.cli.hooks import clients
from holdfast.cli.hooks.agent_transcripts import (
    MEMORY_TAG,
    AgentTranscript,
    TranscriptTurn,
    parse_messages,
    parse_transcript,
    spoken_text,
    truncated_text,
)
from holdfast.cli.hooks.background import detach, running_server, start_background, wait_for_server
from holdfast.cli.hooks.hook_state import HookState
from holdfast.cli.hooks.project import PROJECT_PROFILE, project_folder, project_profile
from holdfast.cli.hooks.transports import (
    Conversation,
    HookTransport,
    HttpEndpoint,
    PromptContext,
    RemainingSeconds,
    SecretUrlTransport,
    TokenTransport,
    TransportError,
)
from holdfast.domain.limits import MAX_MESSAGES, MAX_QUERY_BYTES, MAX_SESSION_CHARACTERS
from holdfast.service.settings import Settings

ANSWER_SECONDS = 0.15
"""How long an agent waits for memory, from the start of the hook's process. What takes longer is left out."""
INGEST_SECONDS = 60.0
"""How long the process that ingests a conversation may take. Chosen by hand; not measured."""
MAX_INPUT_BYTES = 1 << 24
"""Bytes of an agent's JSON that are read. Chosen by hand; not measured."""
START_TOKENS, PROMPT_TOKENS = 800, 400
"""Budgets of memory at session start and with a prompt. Chosen by hand; not measured."""
PROMPT_MIN_RELEVANCE = 0.1
"""The least relevance of what a prompt gets. It keeps 97 % of the evidence among the first ten hits, and 50 % of the
hits of prompts that need no memory (98 % and 36 % with the smaller model); see `python -m evals.measure.floor`."""
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
SETTING_NAMES = (
    "HOLDFAST_URL",
    "HOLDFAST_TOKEN",
    "HOLDFAST_DATA",
    "HOLDFAST_NAMESPACE",
    "HOLDFAST_PROFILE",
    "HOLDFAST_PERSONAL",
)
OFF_WORDS = ("off", "0", "no", "false")
EVENT_ALIASES = {
    "beforesubmitprompt": "userpromptsubmit",
    "beforeagent": "userpromptsubmit",
    "afteragent": "stop",
    "precompress": "precompact",
}
MEMORY_INTRODUCTION = (
    "From Holdfast, the user's memory: notes from earlier sessions. The user did not write this now; weigh it."
)


class MemoryOff(Exception):
    """There is no memory now; the message tells the user why."""


def run_hook(arguments: Sequence[str], *, exit_process: bool = False) -> int:
    """Handle one event; always returns 0. With `exit_process` the process ends here, whatever still runs in it."""
    start = time.monotonic() - (time.process_time() if exit_process else 0.0)
    given = list(arguments)
    options = {name: _pop_option(given, name) for name in ("--client", "--tokens", "--min-relevance")}
    event = given[0] if given else ""
    try:
        limit = float(os.environ.get("HOLDFAST_HOOK_SECONDS") or ANSWER_SECONDS)
        if exit_process:
            _start_alarm(event, limit - (time.monotonic() - start), limit)
        output = _event_output(event, options, start, limit, detached=exit_process)
        _stop_alarm()
        if output:
            sys.stdout.write(output + "\n")
            sys.stdout.flush()
    except BaseException as error:  # also an interrupt: the agent must continue
        _stop_alarm()
        if os.environ.get("HOLDFAST_HOOK_DEBUG"):
            _print_debug(f"{type(error).__name__}: {error}")
        if isinstance(error, Exception):
            with suppress(OSError):
                sys.stdout.write(formatted_output(event, notice=_off_notice(error)) + "\n")
                sys.stdout.flush()
    if exit_process:
        os._exit(0)
    return 0


def _start_alarm(event: str, seconds: float, limit: float) -> None:
    """End the process after so long, whatever still runs, also when the agent's input never ends."""
    if not hasattr(signal, "setitimer"):  # Windows: only the connection has a time limit
        return

    def end(*_: object) -> None:
        slow = MemoryOff(f"it took longer than {limit * 1000:.0f} ms (HOLDFAST_HOOK_SECONDS)")
        if os.environ.get("HOLDFAST_HOOK_DEBUG"):
            _print_debug(str(slow))
        with suppress(OSError):
            os.write(1, f"{formatted_output(event, notice=_off_notice(slow))}\n".encode())
        os._exit(0)

    signal.signal(signal.SIGALRM, end)
    signal.setitimer(signal.ITIMER_REAL, max(seconds, 0.001))


def _stop_alarm() -> None:
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_REAL, 0)


def _off_notice(error: Exception) -> str:
    reason = str(error) if isinstance(error, MemoryOff) else f"{type(error).__name__}: {error}"
    if isinstance(error, TimeoutError):
        reason = "the server did not answer in time (HOLDFAST_HOOK_SECONDS)"
    elif isinstance(error, ConnectionError):
        reason = "no server answers"
    elif isinstance(error, TransportError) and error.status in (401, 403, 404):
        reason = "the server refuses this token or secret URL"
    return f"Holdfast: memory is off, {clients.masked_secrets(' '.join(reason.split())[:200])}. See: holdfast doctor"


def _print_debug(message: str) -> None:
    with suppress(OSError):
        os.write(2, f"holdfast hook: {' '.join(message.split())[:300]}\n".encode("utf-8", "replace"))


def _event_output(event: str, options: dict[str, str | None], start: float, limit: float, *, detached: bool) -> str:
    payload = json.loads(sys.stdin.buffer.read(MAX_INPUT_BYTES) or b"{}")
    call = HookCall(event, options, payload if isinstance(payload, dict) else {})

    def left() -> float:
        return limit - (time.monotonic() - start)

    if os.environ.get("HOLDFAST_HOOKS", "").lower() in OFF_WORDS:
        off = "Holdfast: memory is off (HOLDFAST_HOOKS)." if call.event == "sessionstart" else ""
        return formatted_output(call.name, notice=off)
    if call.event in ("sessionstart", "userpromptsubmit"):
        return _answer_output(call, left)
    if call.event in TRANSCRIPT_LIMITS:
        _ingest_in_background(call) if detached and hasattr(os, "fork") else ingest_transcript(call, INGEST_SECONDS)
    return ""


class HookCall:
    """One event with the options of the command line and the agent's JSON."""

    def __init__(self, event: str, options: dict[str, str | None], payload: dict[str, Any]) -> None:
        self.client = options["--client"]
        self.tokens = options["--tokens"]
        self.min_relevance = options["--min-relevance"]
        self.payload = payload
        self.name = event or str(payload.get("hook_event_name", ""))
        self.event = EVENT_ALIASES.get(self.name.lower(), self.name.lower())

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

    def variables(self) -> dict[str, str]:
        """The settings of Holdfast: those of the environment before those in the client's own settings."""
        given = {name: os.environ[name] for name in SETTING_NAMES if os.environ.get(name)}
        return clients.entry_variables(self.client) | given


def _pop_option(given: list[str], name: str) -> str | None:
    if name not in given:
        return None
    at = given.index(name)
    value = given[at + 1] if at + 1 < len(given) else None
    del given[at : at + 2]
    return value


def _answer_output(call: HookCall, left: RemainingSeconds) -> str:
    """Memory for a new session or a prompt, and a line about a conversation that could not be stored."""
    variables = call.variables()
    state = HookState(Settings.read(data=variables.get("HOLDFAST_DATA")))
    prompt = spoken_text(call.text("prompt"))
    if call.event == "sessionstart":
        state.owe_summary(call.session())  # its first prompt gets it, if this hook does not come to an end
        text = _session_memory(call, state, open_transport(call, variables, left))
    elif len(prompt) < MIN_PROMPT_CHARS or prompt.startswith(("/", "!", "#")):
        text = ""
    else:
        transport = open_transport(call, variables, left)
        owed = _session_memory(call, state, transport) if state.owes_summary(call.session()) else ""
        text = f"{owed}\n\n{_prompt_memory(call, prompt, transport)}".strip()
    failure = state.take_failure()
    notice = f"Holdfast: the last conversation was not stored: {failure}. See: holdfast doctor" if failure else ""
    return formatted_output(call.name, text, notice)


def _session_memory(call: HookCall, state: HookState, transport: HookTransport) -> str:
    tokens = int(call.tokens or START_TOKENS)
    text = fitting_lines(transport.summary(tokens), tokens)
    state.settle_summary(call.session())
    return text


def _prompt_memory(call: HookCall, prompt: str, transport: HookTransport) -> str:
    tokens = int(call.tokens or PROMPT_TOKENS)
    how = PromptContext(tokens, float(call.min_relevance or PROMPT_MIN_RELEVANCE), call.session())
    return fitting_lines(transport.context(truncated_text(prompt, MAX_QUERY_BYTES), how), tokens)


def formatted_output(event: str, text: str = "", notice: str = "") -> str:
    """What the agent expects on stdout: memory for the model, and a line for the user; may be empty.

    Cursor names its events with a small first letter and expects another format.
    """
    block = f"<{MEMORY_TAG}>\n{MEMORY_INTRODUCTION}\n\n{text.strip()}\n</{MEMORY_TAG}>" if text.strip() else ""
    if event[:1].islower():
        answer: dict[str, Any] = {"additional_context": block} if block else {}
        answer |= {"user_message": notice} if notice else {}
        return json.dumps({"continue": True, **answer} if event == "beforeSubmitPrompt" else answer) if answer else ""
    answer = {"systemMessage": notice} if notice else {}
    if block:
        answer["hookSpecificOutput"] = {"hookEventName": event, "additionalContext": block}
    return json.dumps(answer) if answer else ""


def _ingest_in_background(call: HookCall) -> None:
    _stop_alarm()
    if not detach():
        return
    state = HookState(Settings.read(data=call.variables().get("HOLDFAST_DATA")))
    try:
        ingest_transcript(call, INGEST_SECONDS)
    except BaseException as error:
        state.note_failure(clients.masked_secrets(" ".join(f"{type(error).__name__}: {error}".split())[:200]))
    os._exit(0)


def ingest_transcript(call: HookCall, seconds: float) -> None:
    """Ingest the end of the transcript. Nobody asked for it to be stored, so passwords and keys are removed first."""
    from holdfast.cli.hooks.personal import personal_text
    from holdfast.text.redaction import redacted_conversation

    end = time.monotonic() + seconds
    _, max_messages, max_text_bytes = TRANSCRIPT_LIMITS[call.event]
    transcript = _transcript(call)
    latest = _latest_turns(list(transcript.turns)[-max_messages:], max_text_bytes)
    messages = [
        {"role": turn.role, "content": text} | ({"timestamp": turn.timestamp} if turn.timestamp else {})
        for turn, text in zip(latest, redacted_conversation([turn.content for turn in latest]), strict=True)
    ]
    own = [{**each, "content": personal_text(each["content"])} for each in messages if each["role"] == "user"]
    personal = [each for each in own if each["content"]]
    if messages:
        agent = transcript.agent or call.client
        transport = open_transport(call, call.variables(), lambda: end - time.monotonic(), wait=True)
        transport.ingest(Conversation(messages, personal, call.session(), agent))


def _transcript(call: HookCall) -> AgentTranscript:
    """The conversation: from the agent's file, or from its JSON where it has no file that we can read."""
    if isinstance(call.payload.get("messages"), list):
        return AgentTranscript(parse_messages(call.payload["messages"]), call.client)
    if call.text("prompt_response"):
        turn = [("user", call.text("prompt")), ("assistant", call.text("prompt_response"))]
        return AgentTranscript(parse_messages([{"role": role, "content": text} for role, text in turn]), call.client)
    path = call.text("transcript_path") or os.environ.get("CURSOR_TRANSCRIPT_PATH", "")
    lines = _last_lines(Path(path).expanduser(), TRANSCRIPT_LIMITS[call.event][0]) if path else []
    found = parse_transcript(lines)
    last = spoken_text(call.text("last_assistant_message"))
    if last and not (found.turns and found.turns[-1].role == "assistant"):  # the agent has not written it yet
        return AgentTranscript((*found.turns, TranscriptTurn("assistant", last)), found.agent)
    return found


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


def open_transport(
    call: HookCall, variables: dict[str, str], left: RemainingSeconds, *, wait: bool = False
) -> HookTransport:
    """Connect by a secret URL, by a token, or to the process that serves the data folder; start it if there is none."""
    url = variables.get("HOLDFAST_URL", "")
    if clients.is_secret_url(url):
        return SecretUrlTransport(HttpEndpoint(clients.secret_base_url(url), left))
    namespace = variables.get("HOLDFAST_NAMESPACE", "default")
    profile = variables.get("HOLDFAST_PROFILE", PROJECT_PROFILE)
    profile = project_profile(call.folder()) if profile == PROJECT_PROFILE else profile
    personal = clients.personal_profile(variables)
    if url:
        token = variables.get("HOLDFAST_TOKEN", "")
        return TokenTransport(HttpEndpoint(url, left, _bearer_headers(token)), namespace, profile, personal)
    data = variables.get("HOLDFAST_DATA")
    settings = Settings.read(data=data)
    server = running_server(settings)
    if server is None:
        start_background(data)
        server = wait_for_server(settings, left) if wait else None
    if server is None:
        raise MemoryOff("it is starting" if not wait else "the background process does not start")
    return TokenTransport(HttpEndpoint(server.url, left, _bearer_headers(server.token)), namespace, profile, personal)


def _bearer_headers(token: str) -> dict[str, str]:
    return {"authorization": f"Bearer {token}"}


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
