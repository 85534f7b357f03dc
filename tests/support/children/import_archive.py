"""A process of its own for test_archive: `import FOLDER ARCHIVE COUNT` kills itself after its COUNTth change."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from typing import Any

from holdfast import AsyncHoldfast
from holdfast.archive import restore
from holdfast.service.settings import Settings
from holdfast.service.wiring import open_vault
from holdfast.testing import HashingEmbedder, ScriptedExtractor


class KillingStore:
    """A store that ends the process after so many writes."""

    left = 0

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._inner, name)
        if name == "journal":
            return KillingStore(found)
        if name not in ("apply", "put_setting", "spend"):
            return found

        async def written(*given: Any) -> Any:
            done = await found(*given)
            KillingStore.left -= 1
            if not KillingStore.left:
                os.kill(os.getpid(), signal.SIGKILL)
            return done

        return written


async def import_archive(place: str, archive: str, count: str) -> None:
    KillingStore.left = int(count)
    restore.BATCH_ITEMS = 4
    begin = restore.ArchiveRestore.__init__

    def mortal(self: Any, store: Any, *more: Any, **how: Any) -> None:
        begin(self, KillingStore(store), *more, **how)

    restore.ArchiveRestore.__init__ = mortal  # type: ignore[method-assign]
    where = open_vault(Settings.read(data=place))
    async with AsyncHoldfast(where, HashingEmbedder(), ScriptedExtractor()) as memory:
        await memory.profile("app", "p").import_from(archive)


if __name__ == "__main__":
    asyncio.run(import_archive(*sys.argv[1:]))
