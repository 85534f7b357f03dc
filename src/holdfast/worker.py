"""Digest what waits, in the background, one profile at a time. Whatever fails is logged, kept and tried again."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime

from .digest import digest_some, embed_bare
from .errors import HoldfastError, NotFound
from .ports import Embedder, Extractor, Vault

Who = tuple[str, str]
log = logging.getLogger("holdfast")
IDLE_SECONDS = 5.0
"""How long all must be quiet before the catalogue is told; each telling costs a sync."""
RETRY_SECONDS = 15.0
"""When to look again at a profile whose work failed or is lent to somebody else."""


class Worker:
    def __init__(self, vault: Vault, embedder: Embedder, extractor: Extractor, clock: Callable[[], datetime]) -> None:
        self._vault = vault
        self._embedder = embedder
        self._extractor = extractor
        self._clock = clock
        self._due: dict[Who, asyncio.Event] = {}
        self._wake = asyncio.Event()
        self._marked: set[Who] = set()
        self._retries: dict[Who, asyncio.TimerHandle] = {}
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        for who in await self._vault.waiting():
            self.notify(who)
        self._task = asyncio.create_task(self._run(), name="holdfast-worker")

    async def expect(self, who: Who) -> None:
        """Before a write that makes work: a crash after it must not leave the work unseen."""
        if who not in self._marked:
            await self._vault.expect_work(*who)
            self._marked.add(who)

    def notify(self, who: Who) -> None:
        """There is work: a write was made, or it is time to try again."""
        self._due.setdefault(who, asyncio.Event())
        self._marked.add(who)
        self._wake.set()

    async def settled(self, who: Who, timeout: float | None) -> bool:
        """Wait until nothing of this profile waits; False when that takes longer than `timeout` seconds."""
        done = self._due.get(who)
        if done is None:
            return True
        try:
            await asyncio.wait_for(done.wait(), timeout)
        except TimeoutError:
            return False
        return True

    def forget(self, who: Who) -> None:
        """The profile is deleted."""
        self._marked.discard(who)
        done = self._due.pop(who, None)
        if done is not None:
            done.set()

    async def stop(self) -> None:
        """Finish the batch in hand; what still waits is durable and goes on at the next start."""
        for retry in self._retries.values():
            retry.cancel()
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task
        await self._rest(self._marked - set(self._due))

    async def _run(self) -> None:
        while True:
            if not self._due:
                self._wake.clear()
                try:
                    await asyncio.wait_for(self._wake.wait(), IDLE_SECONDS if self._marked else None)
                except TimeoutError:
                    await self._rest(set(self._marked))
                continue
            who = next(iter(self._due))
            done = self._due[who]
            try:
                if await self._round(who) and self._due.get(who) is done:
                    continue
            except HoldfastError as failure:
                log.warning("digesting %s/%s stopped: %s", *who, failure)
            except Exception:
                log.exception("digesting %s/%s stopped", *who)
            if self._due.get(who) is done:
                del self._due[who]
            done.set()

    async def _round(self, who: Who) -> int:
        """A batch of each kind of work; how much there was. Digestion first: what it writes needs vectors too."""
        try:
            store = await self._vault.open(*who, create=False)
        except NotFound:
            return 0
        digested = await digest_some(store, self._extractor, now=self._clock())
        embedded = await embed_bare(store, self._embedder)
        await asyncio.sleep(0)
        return digested + embedded

    async def _rest(self, quiet: set[Who]) -> None:
        """Tell the catalogue who has no work left; look again later at those who have."""
        for who in quiet:
            with suppress(HoldfastError):
                store = await self._vault.open(*who, create=False)
                stats = await store.stats(self._embedder.model)
                if stats.pending or stats.unembedded:
                    self._look_again(who)
                else:
                    await self._vault.rested(*who)
            self._marked.discard(who)

    def _look_again(self, who: Who) -> None:
        loop = asyncio.get_running_loop()
        self._retries[who] = loop.call_later(RETRY_SECONDS, self.notify, who)
