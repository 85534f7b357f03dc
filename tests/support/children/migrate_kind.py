"""A process that migrates and is killed on the way.

python kinds_child.py FOLDER STEP BACK    killed at the STEP-th of the moments before and after each write
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Awaitable, Callable
from typing import Any

from holdfast import Holdfast
from holdfast.lifecycle.migration import migrate
from holdfast.storage.sqlite.journal import SqliteJournal
from holdfast.storage.sqlite.store import SqliteStore
from holdfast.testing import HashingEmbedder, ScriptedExtractor

RENAMED = {"rename": {"colour": "color"}, "default": {"by": "hand"}}
_steps = 0


def killing(act: Callable[..., Awaitable[Any]], last: int) -> Callable[..., Awaitable[Any]]:
    async def run(*args: Any) -> Any:
        step(last)
        done = await act(*args)
        step(last)
        return done

    return run


def step(last: int) -> None:
    global _steps
    _steps += 1
    if _steps == last:
        os.kill(os.getpid(), signal.SIGKILL)


def main(folder: str, last: str, back: str) -> None:
    first = migrate.Migration.__init__

    def small(self: Any, *args: Any) -> None:
        first(self, *args, batch=4)

    migrate.Migration.__init__ = small  # type: ignore[method-assign]
    with Holdfast.open(folder, embedder=HashingEmbedder(), extractor=ScriptedExtractor()) as memory:
        alice = memory.profile("app", "alice")
        alice.settle(120)
        SqliteStore.apply = killing(SqliteStore.apply, int(last))  # type: ignore[method-assign,assignment]
        SqliteJournal.put_setting = killing(SqliteJournal.put_setting, int(last))  # type: ignore[method-assign,assignment]
        if back == "back":
            alice.rollback_kind("preference", to=1, dry_run=False)
        else:
            alice.migrate_kind("preference", to=2, using=RENAMED, dry_run=False)
    print("done", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
