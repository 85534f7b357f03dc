"""Parsers that a signal kills as soon as they run, as a crash, a limit or a lack of memory does."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from holdfast.documents.sandbox import spawn
from holdfast.documents.types import ParseLimits


@pytest.fixture
def killed_parsers(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Call it with a signal: every parser that starts from then on is killed by it."""
    start = spawn._start_child

    def kill_with(number: int) -> None:
        async def start_and_kill(path: Path, name: str | None, limits: ParseLimits) -> asyncio.subprocess.Process:
            child = await start(path, name, limits)
            child.send_signal(number)
            return child

        monkeypatch.setattr(spawn, "_start_child", start_and_kill)

    return kill_with
