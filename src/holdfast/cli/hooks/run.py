"""Runs a coding agent's hook: prints memory at session start and with each prompt, ingests the conversation at the end.

A hook answers within HOLDFAST_HOOK_SECONDS (0.15), counted from the start of its process, or leaves memory out, and
always exits with 0. When memory is off, it
says so in one line that the agent shows to its user. Ingesting goes on in a process of its own, for which nobody waits.
HOLDFAST_HOOK_DEBUG prints on stderr, in one line, why there is no memory; HOLDFAST_HOOKS=off turns hooks off.
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
    AgentTranscript,
    TranscriptTurn,
    parse_messages,
    parse_transcript,
    spoken_text,
    truncated_text,
)
from holdfast.cli.hooks.background import detach, running_server, start_background, wait_for_server
from holdfast.cli.hooks.hook_output import (
    ANSWER_SECONDS,
    MemoryOff,
    MemoryStarting,
    formatted_output,
    late_notice,
    off_notice,
    plain_reason,
    print_debug,
    process_age,
)
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
    is_web_address,
)
from holdfast.domain.limits import MAX_MESSAGES, MAX_QUERY_BYTES, MAX_SESSION_CHARACTERS
from holdfast.service.settings import Settings

MAX_INPUT_SECONDS = 2.0
"""How long a hook that stores a conversation waits for the agent's input. It brings no memory, and what it leaves on a
busy machine would be lost. Chosen by hand; not measured."""
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


def run_hook(arguments: Sequence[str], *, exit_process: bool = False) -> int:
    """Handle one event; always returns 0. With `exit_process` the process ends here, whatever still runs in it."""
    start = time.monotonic() - (process_age() if exit_process else 0.0)
    given = list(arguments)
    options = {name: _pop_option(given, name) for name in ("--client", "--tokens", "--min-relevance")}
    event = given[0] if given else ""
    limit, state = ANSWER_SECONDS, None
    try:
        limit = _positive_number("HOLDFAST_HOOK_SECONDS", os.environ.get("HOLDFAST_HOOK_SECONDS")) or ANSWER_SECONDS
        state = HookState(Settings.read())
        if exit_process:
            left = start + limit - time.monotonic()
            stores = _known_event(event) in TRANSCRIPT_LIMITS
            _start_alarm(event, max(limit, MAX_INPUT_SECONDS) if stores else left, limit, state)
        output = _event_output(event, options, start + limit, state, detached=exit_process)
        _stop_alarm()
        if output:
            sys.stdout.write(output + "\n")
            sys.stdout.flush()
    except BaseException as error:  # also an interrupt: the agent must continue
        _stop_alarm()
        print_debug(f"{plain_reason(error)} ({type(error).__name__}: {error})")
        if isinstance(error, Exception):
            late = isinstance(error, TimeoutError)
            if late and state is not None:
                state.note_late()
            notice = late_notice(_known_event(event), limit) if late else off_notice(error)
            with suppress(OSError):
                sys.stdout.write(formatted_output(event, notice=notice) + "\n")
                sys.stdout.flush()
    if exit_process:
        os._exit(0)
    return 0


def _start_alarm(event: str, seconds: float, limit: float, state: HookState) -> None:
    """End the process after so long, whatever still runs, also when the agent's input never ends."""
    if not hasattr(signal, "setitimer"):  # Windows: only the connection has a time limit
        return

    def end(*_: object) -> None:
        notice = late_notice(_known_event(event), limit)
        print_debug(notice or f"it took longer than {limit * 1000:.0f} ms")
        state.note_late()
        with suppress(OSError):
            os.write(1, f"{formatted_output(event, notice=notice)}\n".encode())
        os._exit(0)

    signal.signal(signal.SIGALRM, end)
    signal.setitimer(signal.ITIMER_REAL, max(seconds, 0.001))


def _stop_alarm() -> None:
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_REAL, 0)


def _positive_number(name: str, text: str | None) -> float | None:
    """The value of a setting or an option; None if it is not given."""
    if not text:
        return None
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not 0 <= number < float("inf"):
        raise MemoryOff(f"{name} is not a number: {text!r}")
    return number


def _known_event(name: str) -> str:
    """The event by our own name: agents have different names for the same."""
    return EVENT_ALIASES.get(name.lower(), name.lower())


def _event_output(
    event: str, options: dict[str, str | None], deadline: float, state: HookState, *, detached: bool
) -> str:
    call = HookCall(event, options, _read_payload())
    if call.client is not None and call.client not in clients.CLIENTS:
        print_debug(f"{call.client!r} is not a known client; use one of {', '.join(clients.CLIENTS)}")
    if os.environ.get("HOLDFAST_HOOKS", "").lower() in OFF_WORDS:
        print_debug("hooks are off (HOLDFAST_HOOKS)")
        off = "Holdfast: memory is off (HOLDFAST_HOOKS)." if call.event == "sessionstart" else ""
        return formatted_output(call.name, notice=off)
    if call.event in ("sessionstart", "userpromptsubmit"):
        return _answer_output(call, state, lambda: deadline - time.monotonic())
    if call.event not in TRANSCRIPT_LIMITS:
        print_debug(f"{call.name!r} is not a known event; use one of {', '.join(clients.EVENTS)}")
    elif detached and hasattr(os, "fork"):
        _ingest_in_background(call, state)
    else:
        ingest_transcript(call, INGEST_SECONDS)
    return ""


def _read_payload() -> dict[str, Any]:
    try:
        payload = json.loads(sys.stdin.buffer.read(MAX_INPUT_BYTES) or b"{}")
    except ValueError as bad:
        raise MemoryOff("the agent's input is not JSON") from bad
    return payload if isinstance(payload, dict) else {}


class HookCall:
    """One event with the options of the command line and the agent's JSON."""

    def __init__(self, event: str, options: dict[str, str | None], payload: dict[str, Any]) -> None:
        self.client = options["--client"]
        self.tokens = options["--tokens"]
        self.min_relevance = options["--min-relevance"]
        self.payload = payload
        self.name = event or str(payload.get("hook_event_name", ""))
        self.event = _known_event(self.name)

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


def _answer_output(call: HookCall, state: HookState, left: RemainingSeconds) -> str:
    """Memory for a new session or a prompt, and a line about a conversation that could not be stored."""
    variables = call.variables()
    prompt = spoken_text(call.text("prompt"))
    if call.event == "sessionstart":
        state.owe_summary(call.session())  # its first prompt gets it, if this hook does not come to an end
        text = _session_memory(call, state, open_transport(call, variables, left))
        reason = "nothing is known yet"
    elif len(prompt) < MIN_PROMPT_CHARS or prompt.startswith(("/", "!", "#")):
        text, reason = "", "a command or a very short prompt gets no memory"
    else:
        transport = open_transport(call, variables, left)
        owed = _session_memory(call, state, transport) if state.owes_summary(call.session()) else ""
        text = f"{owed}\n\n{_prompt_memory(call, prompt, transport)}".strip()
        reason = "nothing that is known is about this prompt"
    if not text:
        print_debug(reason)
    failure = state.take_failure()
    notice = f"Holdfast: the last conversation was not stored: {failure}. See: holdfast doctor" if failure else ""
    return formatted_output(call.name, text, notice)


def _session_memory(call: HookCall, state: HookState, transport: HookTransport) -> str:
    from holdfast.cli.hooks.session_page import compact_page, without_empty_headings

    tokens = int(_positive_number("--tokens", call.tokens) or START_TOKENS)
    text = without_empty_headings(fitting_lines(compact_page(transport.summary(tokens)), tokens))
    state.settle_summary(call.session())
    return text


def _prompt_memory(call: HookCall, prompt: str, transport: HookTransport) -> str:
    tokens = int(_positive_number("--tokens", call.tokens) or PROMPT_TOKENS)
    floor = _positive_number("--min-relevance", call.min_relevance)
    how = PromptContext(tokens, PROMPT_MIN_RELEVANCE if floor is None else floor, call.session())
    return fitting_lines(transport.context(truncated_text(prompt, MAX_QUERY_BYTES), how), tokens)


def _ingest_in_background(call: HookCall, state: HookState) -> None:
    _stop_alarm()
    if not detach():
        return
    try:
        ingest_transcript(call, INGEST_SECONDS)
    except BaseException as error:
        state.note_failure(plain_reason(error))
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
    if not messages:
        print_debug("there is nothing to store: the conversation has no messages")
    else:
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
    """The end of a transcript. An agent that was started without a conversation names a file that it never wrote."""
    if not path.exists():
        return []
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
    if url and not is_web_address(url):
        raise MemoryOff("the address of Holdfast (HOLDFAST_URL) is not a URL")
    if url and clients.is_secret_url(url):
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
        raise MemoryOff("the background process does not start") if wait else MemoryStarting
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
