"""What a hook prints, and until when: memory for the model, and for the user why there is none, in plain words.

Every hook loads this module, so it imports nothing heavy.
"""

from __future__ import annotations

import json
import os
import time
from contextlib import suppress
from typing import Any

from holdfast.cli.hooks.agent_transcripts import MEMORY_TAG
from holdfast.cli.hooks.clients import masked_secrets
from holdfast.cli.hooks.transports import TransportError
from holdfast.domain.errors import HoldfastError

ANSWER_SECONDS = 0.15
"""How long an agent waits for memory, from the start of the hook's process. What takes longer is left out."""
PROCESS_START_FIELD = 19
"""The place of a process's start in /proc/self/stat, after its name."""
MAX_REASON_CHARS = 200
"""Characters of a reason that are shown. Chosen by hand; not measured."""
DEBUG_VARIABLE = "HOLDFAST_HOOK_DEBUG"
LATE_EFFECTS = {
    "sessionstart": "this session started without memory",
    "userpromptsubmit": "this prompt went without memory",
}
MEMORY_INTRODUCTION = (
    "From Holdfast, the user's memory: notes from earlier sessions. The user did not write this now; weigh it."
)


class MemoryOff(Exception):
    """There is no memory now; the message tells the user why."""


class MemoryStarting(MemoryOff):
    """There is no memory yet."""


def process_age() -> float:
    """Seconds since this process began: on a busy machine, starting Python takes far longer than its CPU time."""
    used = time.process_time()
    try:
        with open("/proc/self/stat", "rb") as file:
            ticks = int(file.read().rpartition(b")")[2].split()[PROCESS_START_FIELD])
        age = time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError, AttributeError):  # not Linux
        return used
    return max(age, used)


def plain_reason(error: BaseException) -> str:
    """Why something failed, on one line, without secrets and names of Python."""
    if isinstance(error, MemoryOff | HoldfastError):
        reason = str(error)
    elif isinstance(error, TimeoutError):
        reason = "the server does not answer in time"
    elif isinstance(error, ConnectionError):
        reason = "no server answers"
    elif isinstance(error, TransportError) and error.status in (401, 403, 404):
        reason = "the server refuses this token or secret URL"
    elif isinstance(error, TransportError):
        reason = f"the server answers with an error (status {error.status})"
    elif isinstance(error, OSError) and error.strerror:
        reason = f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    else:
        reason = f"an unexpected error ({DEBUG_VARIABLE}=1 shows it)"
    return masked_secrets(" ".join(reason.split())[:MAX_REASON_CHARS]).rstrip(".")


def off_notice(error: Exception) -> str:
    """The line for the user when an event brings no memory."""
    if isinstance(error, MemoryStarting):
        return "Holdfast: memory is starting; a later prompt gets it. If this repeats, see: holdfast doctor"
    return f"Holdfast: memory is off, {plain_reason(error)}. See: holdfast doctor"


def late_notice(event: str, limit: float) -> str:
    """The line for the user when memory took too long; empty for an event that brings none."""
    effect = LATE_EFFECTS.get(event)
    busy = f"because the machine or the server was busy (more than {limit * 1000:.0f} ms)"
    return f"Holdfast: {effect}, {busy}. If this repeats, see: holdfast doctor" if effect else ""


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


def print_debug(message: str) -> None:
    """One line on stderr, if the user asked for it."""
    if os.environ.get(DEBUG_VARIABLE):
        with suppress(OSError):
            os.write(2, f"holdfast hook: {' '.join(message.split())[:300]}\n".encode("utf-8", "replace"))
