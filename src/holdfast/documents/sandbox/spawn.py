"""Parses a file in a child process of its own (child.py) and yields the output.

The child is a fresh interpreter with a minimal environment: it inherits no secret, open file or socket. Both sides use
little memory: the child blocks until its output is read, and this side does not collect it. A child that exceeds its
ParseLimits is killed.
"""

from __future__ import annotations

import asyncio
import json
import signal
import sys
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path

import holdfast
from holdfast.documents.sandbox.frames import MAX_LINE_BYTES, decode_frame
from holdfast.documents.types import (
    SAVE_AGAIN_FIX,
    DocumentError,
    DocumentProperties,
    ParseLimits,
    ParserOutput,
    Progress,
    Section,
)

MAX_NAME_CHARS = 100
"""How much of a document's name an error shows. Chosen by hand; not measured."""
_INTERPRETER_FLAGS = ("-s", "-P", "-B", "-X", "utf8")


async def parse_file(
    path: Path, name: str | None = None, limits: ParseLimits | None = None
) -> AsyncGenerator[ParserOutput, None]:
    """Yield the content of a file as it is parsed. A DocumentError may be raised after some sections."""
    limits = limits or ParseLimits()
    size = path.stat().st_size
    if not size:
        raise DocumentError("The document is empty.")
    if size > limits.input_bytes:
        raise DocumentError(f"The document is {size:,} bytes; the limit is {limits.input_bytes:,}.")
    child = await _start_child(path, name, limits)
    done = False
    try:
        async for piece in _read_frames(child, name, limits):
            yield piece
        done = True
    finally:
        await _stop_child(child, done)


async def _start_child(path: Path, name: str | None, limits: ParseLimits) -> asyncio.subprocess.Process:
    arguments = (str(path.resolve()), name or "", json.dumps(asdict(limits)))
    command = (*_INTERPRETER_FLAGS, "-m", "holdfast.documents.sandbox.child", *arguments)
    return await asyncio.create_subprocess_exec(
        sys.executable, *command, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL, env=_child_environment(), limit=MAX_LINE_BYTES, close_fds=True,
        start_new_session=True,
    )  # fmt: skip


def _child_environment() -> dict[str, str]:
    """The variables an interpreter needs to find the same packages, with one thread per numeric library."""
    own = str(Path(holdfast.__file__).resolve().parents[1])
    paths = [own, *(place for place in sys.path if Path(place).name in ("site-packages", "dist-packages"))]
    threads = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL")}
    return {"PYTHONPATH": ":".join(dict.fromkeys(paths)), "LC_ALL": "C.UTF-8", "TZ": "UTC", **threads}


async def _read_frames(
    child: asyncio.subprocess.Process, name: str | None, limits: ParseLimits
) -> AsyncIterator[Section | DocumentProperties | Progress]:
    """Yield decoded frames until the end; raise DocumentError if the child stalls, exceeds a limit or dies."""
    assert child.stdout is not None
    chars = 0
    while True:
        try:
            async with asyncio.timeout(limits.wall_seconds):
                line = await child.stdout.readline()
        except TimeoutError:
            raise DocumentError(f"Parsing a part of it took longer than {limits.wall_seconds:g} seconds.") from None
        except ValueError:
            raise DocumentError("The parser returned invalid data; the document may be malicious.") from None
        if not line.endswith(b"\n"):
            await _wait_for_exit(child)
            raise _exit_error(child.returncode, " ".join((name or "the document").split())[:MAX_NAME_CHARS], limits)
        try:
            piece = decode_frame(line)
        except DocumentError:  # the last frame; asyncio loses track of a process that is killed while it exits
            await _wait_for_exit(child)
            raise
        if piece is None:
            return
        chars += len(piece.text) if isinstance(piece, Section) else 0
        if chars > limits.text_chars:
            raise DocumentError(f"It has more than {limits.text_chars:,} characters of text.")
        yield piece


async def _stop_child(child: asyncio.subprocess.Process, done: bool) -> None:
    """Kill the child, unless it is done and exits by itself: asyncio loses the status of one killed while exiting."""
    assert child.stdout is not None
    if done:
        await _wait_for_exit(child)
    if child.returncode is None:
        with suppress(ProcessLookupError):
            child.kill()
    # Drain unread output: asyncio notices the exit of a process only after its pipes have ended.
    while await child.stdout.read(MAX_LINE_BYTES):
        pass
    await child.wait()


async def _wait_for_exit(child: asyncio.subprocess.Process) -> None:
    with suppress(TimeoutError):
        async with asyncio.timeout(5):
            await child.wait()


def _exit_error(status: int | None, name: str, limits: ParseLimits) -> DocumentError:
    """The error for a child that ended before the document did."""
    memory = f"{limits.memory_bytes >> 20:,} MiB of memory"
    cpu_time = f"{limits.cpu_seconds:,} seconds of CPU time for a part or {limits.total_cpu_seconds:,} for all"
    if status is None:
        return DocumentError(f"The parser stopped without a result while reading {name}.", fix="Add it again.")
    if status >= 0:
        return DocumentError(
            f"The parser ended with status {status} while reading {name}; it may need more than {memory}.",
            fix="Add it in smaller parts.",
        )
    killed = f"The parser was killed by signal {-status} ({_signal_name(-status)}) while reading {name}"
    match -status:
        case signal.SIGXCPU:
            return DocumentError(f"{killed}: it takes more than {cpu_time}.", fix="Add it in smaller parts.")
        case signal.SIGKILL:
            return DocumentError(
                f"{killed}: the machine ran out of memory, or it takes more than {cpu_time}.",
                fix="Add it in smaller parts, or where more memory is free.",
            )
        case signal.SIGABRT:
            return DocumentError(f"{killed}; it is probably damaged or needs more than {memory}.", fix=SAVE_AGAIN_FIX)
    return DocumentError(f"{killed}; the file is probably damaged.", fix=SAVE_AGAIN_FIX)


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:  # a real-time signal
        return "a signal without a name"
