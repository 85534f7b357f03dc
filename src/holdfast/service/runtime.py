"""The parts of a running Holdfast that all its profiles share."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

from holdfast.domain.errors import NotFound
from holdfast.domain.ports.llm_tasks import LlmTasks
from holdfast.domain.ports.models import Embedder, Extractor, Reranker
from holdfast.domain.ports.storage import Vault
from holdfast.domain.types import Json
from holdfast.service.document_worker import DocumentWorker
from holdfast.service.quotas import QuotaGuard, Quotas
from holdfast.service.recorder import Recorder
from holdfast.service.subscriptions import Subscriptions
from holdfast.service.worker import Worker

if TYPE_CHECKING:
    from holdfast.documents.rules import DocumentRules
    from holdfast.lifecycle.retention import RetentionPolicy
    from holdfast.recall.ranking.steps import SearchModels

Who = tuple[str, str]
SETTINGS_TTL_SECONDS = 5.0
"""How long a profile's settings are cached. With several processes, one may use outdated settings for this long."""
MAX_CACHED_SETTINGS = 10_000
PROPAGATION_MARGIN_SECONDS = 0.5


class SettingsCache:
    """The settings of profiles (the namespace's, overridden by the profile's own), cached for a few seconds."""

    def __init__(self, vault: Vault) -> None:
        self._vault = vault
        self._cache: dict[Who, tuple[float, dict[str, Json]]] = {}
        self._generation = 0

    async def of(self, who: Who) -> dict[str, Json]:
        cached = self._cache.get(who)
        if cached is not None and cached[0] > time.monotonic():
            return cached[1]
        generation = self._generation
        rules = await self._vault.settings(who[0])
        with suppress(NotFound):
            rules |= await (await self._vault.open(*who, create=False)).journal.settings()
        if generation == self._generation:  # else a setting changed during the read
            if len(self._cache) >= MAX_CACHED_SETTINGS:
                self._cache.clear()
            self._cache[who] = (time.monotonic() + SETTINGS_TTL_SECONDS, rules)
        return rules

    async def retention_policy(self, who: Who) -> RetentionPolicy:
        from holdfast.lifecycle.retention import SETTING, parse_policy

        return parse_policy((await self.of(who)).get(SETTING))

    def invalidate(self, who: Who | None = None) -> None:
        """Drop one profile's settings from the cache; without `who`, all."""
        self._generation += 1
        if who is None:
            self._cache.clear()
        else:
            self._cache.pop(who, None)

    @property
    def propagation_seconds(self) -> float:
        """Seconds until no process uses outdated settings; 0 when no other process shares the vault."""
        return SETTINGS_TTL_SECONDS + PROPAGATION_MARGIN_SECONDS if self._vault.shared else 0.0


class Runtime:
    """The vault, the models, the background workers and the caches of one Holdfast."""

    def __init__(
        self,
        vault: Vault,
        embedder: Embedder,
        extractor: Extractor,
        clock: Callable[[], datetime],
        llm: LlmTasks | None,
        recorder: Recorder,
        document_rules: DocumentRules,
        quotas: Quotas,
        reranker: Reranker | None,
        half_life_days: float | None,
    ) -> None:
        self.vault = vault
        self.embedder = embedder
        self.extractor = extractor
        self.clock = clock
        self.llm = llm
        self.recorder = recorder
        self.settings = SettingsCache(vault)
        self.quota_guard = QuotaGuard(vault, embedder.model, quotas)
        self.worker = Worker(vault, embedder, extractor, clock, llm, recorder, self.settings.of)
        self.document_rules = document_rules
        self.document_worker = DocumentWorker(vault, self.worker, document_rules, clock)
        self.worker.reading, self.worker.revisit = self.document_worker.notify, self.document_worker.revisit
        self.subscriptions = Subscriptions(vault)
        self.closed = False
        self._reranker = reranker
        self._half_life_days = half_life_days
        self._write_locks: WeakValueDictionary[tuple[Who, str | None], asyncio.Lock] = WeakValueDictionary()

    @cached_property
    def search_models(self) -> SearchModels:
        """The models of a search. Nothing that ranks is loaded before the first one."""
        from holdfast.recall.ranking.steps import SearchModels

        return SearchModels(self.embedder, self._reranker, self._half_life_days)

    def write_lock(self, who: Who, session_id: str | None = None) -> asyncio.Lock:
        """The lock that serialises writers of one profile's memories, or of one session's messages.

        Without it, those that supersede or align would collide and retry.
        """
        return self._write_locks.setdefault((who, session_id), asyncio.Lock())

    async def settled(self, who: Who, timeout: float | None) -> bool:
        """Wait until no document or message of a profile waits; False when that takes longer than `timeout` seconds."""
        start = time.monotonic()
        try:
            async with asyncio.timeout(timeout):
                await self.document_worker.idle(who)
        except TimeoutError:
            return False
        left = None if timeout is None else max(0.0, timeout - (time.monotonic() - start))
        return await self.worker.settled(who, left)

    async def close(self) -> None:
        if self.closed:
            return
        self.closed = True
        self.subscriptions.end()
        try:
            await self.document_worker.stop()
            await self.worker.stop()
            await self.recorder.stop()
            if self.llm is not None:
                await self.llm.close()
        finally:
            await self.vault.close()
