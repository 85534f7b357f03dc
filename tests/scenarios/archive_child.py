"""A process of its own for test_archive: `import FOLDER ARCHIVE COUNT` kills itself after its COUNTth change."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from typing import Any

from holdfast import AsyncHoldfast, restore
from holdfast.config import Settings
from holdfast.testing import HashingEmbedder, ScriptedExtractor
from holdfast.wiring import vault


class Mortal:
    """A store that ends the process after so many writes."""

    left = 0

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._inner, name)
        if name == "journal":
            return Mortal(found)
        if name not in ("apply", "lay_down", "spend"):
            return found

        async def written(*given: Any) -> Any:
            done = await found(*given)
            Mortal.left -= 1
            if not Mortal.left:
                os.kill(os.getpid(), signal.SIGKILL)
            return done

        return written


async def bring(place: str, archive: str, count: str) -> None:
    Mortal.left = int(count)
    restore.BATCH = 4
    begin = restore.Restoring.__init__

    def mortal(self: Any, store: Any, *more: Any, **how: Any) -> None:
        begin(self, Mortal(store), *more, **how)

    restore.Restoring.__init__ = mortal  # type: ignore[method-assign]
    where = vault(Settings.read(data=place))
    async with AsyncHoldfast(where, HashingEmbedder(), ScriptedExtractor()) as memory:
        await memory.profile("app", "p").import_from(archive)


if __name__ == "__main__":
    asyncio.run(bring(*sys.argv[1:]))
