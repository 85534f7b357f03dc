"""A file → its pieces, read by a child process of its own (child.py).

The child is a fresh interpreter with an environment of its own: no secret of ours, no open file, no socket comes along.
Both sides hold little: the child waits while nobody reads what it said, and nothing here gathers it. A document costs
what its Limits say at most, then the child is killed.
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

from .frames import LINE_BYTES, unframed
from .types import About, DocumentError, Limits, Piece, Progress, Section

_FLAGS = ("-s", "-P", "-B", "-X", "utf8")


async def parsed(path: Path, name: str | None = None, limits: Limits | None = None) -> AsyncGenerator[Piece, None]:
    """What the file holds, as it is read. Raises DocumentError when it cannot be read, perhaps after some sections."""
    limits = limits or Limits()
    size = path.stat().st_size
    if not size:
        raise DocumentError("The document is empty.")
    if size > limits.input_bytes:
        raise DocumentError(f"The document is {size:,} bytes; the limit is {limits.input_bytes:,}.")
    child = await _started(path, name, limits)
    done = False
    try:
        async for piece in _heard(child, limits):
            yield piece
        done = True
    finally:
        await _end(child, done)


async def _started(path: Path, name: str | None, limits: Limits) -> asyncio.subprocess.Process:
    command = (*_FLAGS, "-m", "holdfast.documents.child", str(path.resolve()), name or "", json.dumps(asdict(limits)))
    return await asyncio.create_subprocess_exec(
        sys.executable, *command, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL, env=_environment(), limit=LINE_BYTES, close_fds=True, start_new_session=True,
    )  # fmt: skip


def _environment() -> dict[str, str]:
    """Only what an interpreter needs to find the same packages; one thread for each numeric library."""
    ours = str(Path(holdfast.__file__).resolve().parents[1])
    found = [ours, *(step for step in sys.path if Path(step).name in ("site-packages", "dist-packages"))]
    threads = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL")}
    return {"PYTHONPATH": ":".join(dict.fromkeys(found)), "LC_ALL": "C.UTF-8", "TZ": "UTC", **threads}


async def _heard(child: asyncio.subprocess.Process, limits: Limits) -> AsyncIterator[Section | About | Progress]:
    """Every frame until the end; a child that falls silent, goes on too long or dies is a DocumentError."""
    assert child.stdout is not None
    said = 0
    while True:
        try:
            async with asyncio.timeout(limits.wall_seconds):
                line = await child.stdout.readline()
        except TimeoutError:
            raise DocumentError(f"Reading a part of it takes longer than {limits.wall_seconds:g} seconds.") from None
        except ValueError:
            raise DocumentError("The parser's answer makes no sense; the document may be hostile.") from None
        if not line.endswith(b"\n"):
            raise DocumentError(await _why_it_died(child, limits))
        try:
            piece = unframed(line)
        except DocumentError:  # its last word; who is killed while it ends leaves asyncio wondering who that was
            await _ended(child)
            raise
        if piece is None:
            return
        said += len(piece.text) if isinstance(piece, Section) else 0
        if said > limits.text_chars:
            raise DocumentError(f"It holds more than {limits.text_chars:,} characters of text.")
        yield piece


async def _end(child: asyncio.subprocess.Process, done: bool) -> None:
    """Kill it, unless it has said all and ends by itself: asyncio loses the status of what dies while being killed."""
    assert child.stdout is not None
    if done:
        await _ended(child)
    if child.returncode is None:
        with suppress(ProcessLookupError):
            child.kill()
    # What it had said and nobody read: asyncio sees the end of a process only past the end of its pipes.
    while await child.stdout.read(LINE_BYTES):
        pass
    await child.wait()


async def _ended(child: asyncio.subprocess.Process) -> None:
    with suppress(TimeoutError):
        async with asyncio.timeout(5):
            await child.wait()


async def _why_it_died(child: asyncio.subprocess.Process, limits: Limits) -> str:
    await _ended(child)
    match child.returncode:
        case code if code in (-signal.SIGXCPU, -signal.SIGKILL):
            return (
                f"Reading it takes more than {limits.cpu_seconds:,} seconds of CPU time for a part or "
                f"{limits.total_cpu_seconds:,} for all, or more memory than there is."
            )
        case None:
            return "The parser fell silent."
        case code if code < 0:
            return f"It crashed its parser (signal {-code})."
        case code:
            return (
                f"Its parser ended before the document did (status {code}); it may need more memory than it may have."
            )
