"""What one hook leaves for the next: a session that still has no summary, why storing a conversation failed, and for
`holdfast doctor` how many hooks were late.

All are small files in the user's cache folder. Without that folder, hooks work without them.
"""

from __future__ import annotations

import re
import time
from contextlib import suppress
from pathlib import Path

from holdfast.service.settings import Settings

_FAILURE = "hook-failure.txt"
_LATE = "hook-late.txt"
MAX_LATE_BYTES = 10_000
"""The size at which the list of late hooks starts anew. Chosen by hand; not measured."""
LATE_DAYS = 7
"""How far back late hooks are counted. Chosen by hand; not measured."""


class HookState:
    def __init__(self, settings: Settings) -> None:
        self._folder = settings.cache_folder

    def owe_summary(self, session: str | None) -> None:
        """Note that a session started while there was no server yet."""
        self._write(self._owed(session), "")

    def owes_summary(self, session: str | None) -> bool:
        return self._folder is not None and (self._folder / self._owed(session)).exists()

    def settle_summary(self, session: str | None) -> None:
        self._take(self._owed(session))

    def note_failure(self, reason: str) -> None:
        self._write(_FAILURE, reason)

    def take_failure(self) -> str:
        """The reason why the last conversation was not stored, once; empty when it was stored."""
        return self._take(_FAILURE) or ""

    def last_failure(self) -> str:
        """The same, without taking it."""
        return self._read(_FAILURE)

    def note_late(self) -> None:
        """Note that a hook ended without memory, because it took too long."""
        if self._folder is None:
            return
        with suppress(OSError):
            self._folder.mkdir(parents=True, exist_ok=True)
            file = self._folder / _LATE
            full = file.exists() and file.stat().st_size > MAX_LATE_BYTES
            with file.open("w" if full else "a", encoding="utf-8") as out:
                out.write(f"{time.time():.0f}\n")

    def late_hooks(self) -> int:
        """How many hooks of the last days were late."""
        since = time.time() - LATE_DAYS * 86400
        return sum(line.isdigit() and int(line) >= since for line in self._read(_LATE).splitlines())

    def _owed(self, session: str | None) -> str:
        return "hook-session-" + re.sub(r"\W", "-", session or "")

    def _read(self, name: str) -> str:
        with suppress(OSError):
            return "" if self._folder is None else (self._folder / name).read_text("utf-8")
        return ""

    def _write(self, name: str, text: str) -> None:
        if self._folder is None:
            return
        with suppress(OSError):
            self._folder.mkdir(parents=True, exist_ok=True)
            (self._folder / name).write_text(text, "utf-8")

    def _take(self, name: str) -> str | None:
        file: Path | None = None if self._folder is None else self._folder / name
        if file is None:
            return None
        try:
            text = file.read_text("utf-8")
            file.unlink()
        except OSError:
            return None
        return text
