"""What a coding agent's hooks run: memory in at the start and with each prompt, the conversation out at the end.

A hook fails open. Whatever goes wrong, it exits with 0 within three seconds and prints nothing that an agent would
take for something else. One line on stderr with HOLDFAST_HOOK_DEBUG; nothing at all with HOLDFAST_HOOKS=off.
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

from ..announced import found
from ..config import Settings
from ..names import MESSAGES, QUERY_BYTES, SESSION_CHARS
from . import clients
from .door import Door, Folder, Keyed, Left, Secret, Web
from .project import HERE, here, profile_of
from .turns import MEMORY, Turn, said, short, told

LIMIT = 2.2
"""Seconds; starting Python comes on top, and three in all is what is promised."""
MOST_INPUT = 1 << 24
START_TOKENS, PROMPT_TOKENS = 800, 400
PROMPT_SECONDS = 1.5
SHORTEST_PROMPT = 8
TAIL = {
    "stop": (1 << 22, 100, 100_000),
    "precompact": (1 << 25, MESSAGES, 300_000),
    "sessionend": (1 << 25, MESSAGES, 300_000),
}
"""How much of a transcript's end is looked at: bytes of the file, messages, bytes of what they say.

What was sent before is sent again, and changes nothing: each message is known by its content.
"""
SETTINGS = ("HOLDFAST_URL", "HOLDFAST_TOKEN", "HOLDFAST_DATA", "HOLDFAST_NAMESPACE", "HOLDFAST_PROFILE")
SAME = {"beforesubmitprompt": "userpromptsubmit"}
NOTE = "From Holdfast, the user's memory: notes from earlier sessions. The user did not write this now; weigh it."


def run(arguments: Sequence[str], *, leave: bool = False) -> int:
    """One event; always 0. With `leave` the process ends here, whatever still runs in it."""
    debug = bool(os.environ.get("HOLDFAST_HOOK_DEBUG"))
    start = time.monotonic()
    if leave:
        _end_in_time(debug)
    try:
        if os.environ.get("HOLDFAST_HOOKS", "").lower() not in ("off", "0", "no", "false"):
            answer = _answer(_Call(arguments, start))
            if answer:
                sys.stdout.write(answer + "\n")
                sys.stdout.flush()
    except BaseException as wrong:  # an interrupt too: the agent goes on
        if debug:
            _complain(f"{type(wrong).__name__}: {wrong}")
    if leave:
        os._exit(0)
    return 0


def _end_in_time(debug: bool) -> None:
    def end() -> None:
        if debug:
            _complain(f"gave up after {LIMIT} s")
        os._exit(0)

    alarm = threading.Timer(LIMIT, end)
    alarm.daemon = True
    alarm.start()


def _complain(said: str) -> None:
    with suppress(OSError):
        os.write(2, f"holdfast hook: {' '.join(said.split())[:300]}\n".encode("utf-8", "replace"))


class _Call:
    """The command line and what the agent says on stdin."""

    def __init__(self, arguments: Sequence[str], start: float) -> None:
        given = list(arguments)
        self.client = _option(given, "--client")
        self.tokens = _option(given, "--tokens")
        self._start = start
        payload = json.loads(sys.stdin.buffer.read(MOST_INPUT) or b"{}")
        self.payload: dict[str, Any] = payload if isinstance(payload, dict) else {}
        self.name = given[0] if given else str(self.payload.get("hook_event_name", ""))
        self.event = SAME.get(self.name.lower(), self.name.lower())

    @property
    def cursor(self) -> bool:
        """Cursor writes its events with a small letter, and wants its answers another way."""
        return self.name[:1].islower()

    def left(self, most: float = LIMIT) -> float:
        return most - (time.monotonic() - self._start)

    def text(self, *names: str) -> str:
        values = (self.payload.get(name) for name in names)
        return next((value for value in values if isinstance(value, str) and value), "")

    def session(self) -> str | None:
        named = self.text("session_id", "conversation_id")
        return named[:SESSION_CHARS] or None

    def folder(self) -> Path:
        roots = self.payload.get("workspace_roots")
        root = roots[0] if isinstance(roots, list) and roots and isinstance(roots[0], str) else ""
        project = here()
        return project if project != Path(".") else Path(self.text("cwd") or root or ".")


def _option(given: list[str], name: str) -> str | None:
    if name not in given:
        return None
    at = given.index(name)
    value = given[at + 1] if at + 1 < len(given) else None
    del given[at : at + 2]
    return value


def _answer(call: _Call) -> str:
    """What to print for the event, or nothing."""
    if call.event == "sessionstart":
        tokens = int(call.tokens or START_TOKENS)
        return _shown(call, within(_door(call, call.left).summary(tokens), tokens))
    if call.event == "userpromptsubmit":
        prompt = said(call.text("prompt"))
        if len(prompt) < SHORTEST_PROMPT or prompt.startswith(("/", "!", "#")):
            return ""
        tokens = int(call.tokens or PROMPT_TOKENS)
        door = _door(call, lambda: call.left(PROMPT_SECONDS))
        return _shown(call, within(door.context(short(prompt, QUERY_BYTES), tokens, call.session()), tokens))
    if call.event in TAIL:
        _keep(call)
    return ""


def _shown(call: _Call, text: str) -> str:
    if not text.strip():
        return ""
    block = f"<{MEMORY}>\n{NOTE}\n\n{text.strip()}\n</{MEMORY}>"
    if call.cursor:
        answer: dict[str, Any] = {"additional_context": block}
        return json.dumps({"continue": True, **answer} if call.event == "userpromptsubmit" else answer)
    return json.dumps({"hookSpecificOutput": {"hookEventName": call.name, "additionalContext": block}})


def _keep(call: _Call) -> None:
    """What is kept without being asked is kept without the passwords and keys in it."""
    from ..redaction import redacted

    most_bytes, most, most_said = TAIL[call.event]
    path = call.text("transcript_path") or os.environ.get("CURSOR_TRANSCRIPT_PATH", "")
    read = told(_lines(Path(path).expanduser(), most_bytes) if path else [])
    turns = list(read.turns)
    last = said(call.text("last_assistant_message"))
    if last and not (turns and turns[-1].role == "assistant"):  # not yet written to the file
        turns.append(Turn("assistant", last))
    messages = [
        {"role": turn.role, "content": redacted(turn.content)}
        | ({"timestamp": turn.timestamp} if turn.timestamp else {})
        for turn in _latest(turns[-most:], most_said)
    ]
    if messages:
        _door(call, call.left).ingest(messages, call.session(), read.agent or call.client)


def _latest(turns: list[Turn], most: int) -> list[Turn]:
    """As many of the last as say no more than this, and at least the very last."""
    kept: list[Turn] = []
    for turn in reversed(turns):
        most -= len(turn.content.encode())
        if most < 0 and kept:
            break
        kept.append(turn)
    return kept[::-1]


def _lines(path: Path, most: int) -> list[bytes]:
    with path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - most))
        lines = file.read(most).split(b"\n")
    return lines if size <= most else lines[1:]


def _door(call: _Call, left: Left) -> Door:
    """By a secret URL, by a token, by the server that has the data folder open, or by opening it."""
    told = clients.environment(call.client) | {name: os.environ[name] for name in SETTINGS if os.environ.get(name)}
    url = told.get("HOLDFAST_URL", "")
    if clients.is_secret(url):
        return Secret(Web(clients.base(url), left))
    namespace = told.get("HOLDFAST_NAMESPACE", "default")
    profile = told.get("HOLDFAST_PROFILE", HERE)
    profile = profile_of(call.folder()) if profile == HERE else profile
    if url:
        return Keyed(Web(url, left, _bearer(told["HOLDFAST_TOKEN"])), namespace, profile)
    folder = told.get("HOLDFAST_DATA")
    server = found(Settings.read(data=folder).folder)
    web = None if server is None else Web(server.url, left, _bearer(server.token))
    if web is not None and web.listens():
        return Keyed(web, namespace, profile)
    _hush()
    return Folder(folder, namespace, profile, left)


def _bearer(token: str) -> dict[str, str]:
    return {"authorization": f"Bearer {token}"}


def _hush() -> None:
    import logging

    logging.disable()


def within(text: str, tokens: int) -> str:
    """As many whole lines as the budget allows; tokens are estimated as everywhere here."""
    kept: list[str] = []
    left = tokens
    for line in text.splitlines():
        left -= max(len(line.encode()) // 4, len(line.split())) + 1
        if left < 0:
            break
        kept.append(line)
    return "\n".join(kept)
