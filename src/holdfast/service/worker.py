"""Background work of all profiles, in turns: digest and embed; when a profile is quiet, learn links and sweep. Failures
are logged and retried.

The catalogue lists the profiles that may have work, so that a restart finds them without opening every file. A profile
is marked there before the write that creates work, and unmarked only after an idle period, since each change of the
mark costs a sync to disk.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from datetime import datetime

from holdfast.domain import tracing, usage
from holdfast.domain.errors import Closed, Conflict, HoldfastError, NotFound
from holdfast.domain.ports.llm_tasks import LlmTasks
from holdfast.domain.ports.models import Embedder, Extractor, Summariser
from holdfast.domain.ports.storage import Store, Vault
from holdfast.domain.types import Json
from holdfast.domain.usage import Tariff
from holdfast.service.accounting import MonthlyAccount
from holdfast.service.activity import Activity
from holdfast.service.backlog import MAX_BARE_MESSAGES, WAIT_POLL_SECONDS, Backlog, PendingProfile, Round
from holdfast.service.recorder import Recorder
from holdfast.storage.tasks import end_tasks

Who = tuple[str, str]
log = logging.getLogger("holdfast")
IDLE_SECONDS = 5.0
POLL_SECONDS = 10.0
"""How often to look for work that failed, that is leased to another process, or that another process left behind."""
VISIT_SECONDS = 3600.0
"""How often every profile is visited for expired memories and retention rules."""
LANES = 2
"""How many profiles are worked on at once, so that a short conversation does not wait for the long step of another. The
work itself takes turns: extraction shares one interpreter, and models one thread."""
MAX_STOP_SECONDS = 3.0
"""How long a stop waits for the current batch. An interrupted batch is retried once its lease ends, by any process."""


class Worker:
    def __init__(
        self,
        vault: Vault,
        embedder: Embedder,
        extractor: Extractor,
        clock: Callable[[], datetime],
        thinking: LlmTasks | None = None,
        recorder: Recorder | None = None,
        namespace_settings: Callable[[Who], Awaitable[dict[str, Json]]] | None = None,
    ) -> None:
        self._vault = vault
        self._embedder = embedder
        self._extractor = extractor
        self._clock = clock
        self._thinking = thinking
        self._recorder = recorder
        self._namespace_settings = namespace_settings
        self._touring: asyncio.Task[None] | None = None
        self.activity = Activity()
        self.summariser: Summariser | None = None
        """Writes summaries for profiles whose settings ask for them."""
        self.reading: Callable[[Who], None] = lambda who: None
        """Called with every profile that may have documents to parse."""
        self.revisit: Callable[[Who, Store], Awaitable[None]] | None = None
        """Queues pages that are due to be fetched again."""
        self._due: dict[Who, PendingProfile] = {}
        self._wake = asyncio.Event()
        self._marked: set[Who] = set()
        self._quiet_since: dict[Who, float] = {}
        """When the work of a marked profile was finished, by the monotonic clock, earliest first."""
        self._writing: Counter[Who] = Counter()
        self._marking = asyncio.Lock()
        self._lanes: list[asyncio.Task[None]] = []
        self._in_work: set[Who] = set()
        self._visited: set[Who] | None = set()
        """Profiles in use that were visited before the first tour; None after it, which leaves them to the tours."""
        self._to_visit: set[Who] = set()
        self._looking: asyncio.Task[None] | None = None
        self._stopping = False
        self._works_elsewhere = thinking is not None or not embedder.model.startswith("local/")
        """Whether the work runs on another machine. Then this process's CPU time does not measure it, and a read waits
        no longer on a busy machine."""
        self._warm = self._works_elsewhere

    async def start(self) -> None:
        if self._lanes:
            return
        await self._look()
        self._lanes = [asyncio.create_task(self._run(), name=f"holdfast-worker-{n}") for n in range(LANES)]
        self._looking = asyncio.create_task(self._keep(self._look, POLL_SECONDS), name="holdfast-looking")
        self._touring = asyncio.create_task(self._keep(self.tour, VISIT_SECONDS), name="holdfast-touring")

    @asynccontextmanager
    async def expecting(self, who: Who) -> AsyncIterator[None]:
        """Wrap a write that creates work. The profile is marked first, so that a crash after the write does not hide
        the work."""
        self._writing[who] += 1
        try:
            await self._mark(who)
            yield
        finally:
            self._writing -= Counter([who])  # leaves no zero
            self.notify(who)

    def notify(self, who: Who) -> None:
        """Notify the worker that a profile may have work: after a write, or when it is time to retry."""
        self._due.setdefault(who, PendingProfile()).asked += 1
        self._wake.set()

    def note_use(self, who: Who) -> None:
        """Visit a profile that is used, once: a process that ends before its first tour applies retention, too."""
        if self._visited is not None and who not in self._visited:
            self._visited.add(who)
            self._to_visit.add(who)
            self._wake.set()

    def backlog(self) -> Backlog:
        """What is not done. A profile that is quiet has no work, as far as was seen, but is still marked."""
        waiting = (self._marked - self._quiet_since.keys()) | self._due.keys()
        return Backlog(len(waiting), max((time.monotonic() - due.since for due in self._due.values()), default=0.0))

    def account(self, store: Store) -> MonthlyAccount:
        """The account that model calls for this profile are charged to."""
        tariff = Tariff() if self._thinking is None else self._thinking.tariff
        return MonthlyAccount(store.journal, tariff, self._clock, self.activity)

    async def settled(self, who: Who, timeout: float | None) -> bool:
        """Wait until no work of this profile is left; False when that takes longer than `timeout` seconds."""
        try:
            async with asyncio.timeout(timeout):
                await self.caught_up(who, None)
                while await self._vault.lent(*who):  # noqa: ASYNC110  (it is another process that works)
                    await asyncio.sleep(WAIT_POLL_SECONDS)
        except TimeoutError:
            return False
        return True

    async def caught_up(self, who: Who, patience: float | None) -> bool:
        """Wait for the work of writes made through this process; False when `patience` runs out first.

        Patience is in seconds of work, which take longer on a busy machine. Time to load the models does not count.
        """
        due = self._due.get(who)
        return due is None or await due.wait(patience, lambda: self._warm, works_elsewhere=self._works_elsewhere)

    def forget(self, who: Who) -> None:
        """Drop the work of a deleted profile."""
        self._marked.discard(who)
        self._finish(who)
        self._quiet_since.pop(who, None)

    async def stop(self) -> None:
        """Finish the current batch. Work that still waits is durable and continues at the next start."""
        await end_tasks(task for task in (self._looking, self._touring) if task is not None)
        self._stopping = True
        self._wake.set()
        if self._lanes:
            await asyncio.wait(self._lanes, timeout=MAX_STOP_SECONDS)
        while running := [lane for lane in self._lanes if not lane.done()]:
            for lane in running:
                lane.cancel()  # repeated, as in end_tasks, but a batch has had its time
            await asyncio.wait(running, timeout=0.1)
        with suppress(TimeoutError):
            async with asyncio.timeout(MAX_STOP_SECONDS):
                self._to_visit.update(self._due)  # a process that writes and ends writes the summaries that are due
                while self._to_visit:
                    await self._visit(self._to_visit.pop())
                for who in self._marked - self._due.keys():
                    await self._tidy(who)  # links that are not learned now, the first query learns
        unfinished = set(self._due)
        for who in unfinished:
            self._finish(who)
        await self._rest(self._marked - unfinished)

    async def _run(self) -> None:
        while not self._stopping:
            who = next((each for each in self._due if each not in self._in_work), None)
            if who is not None:
                self._due[who] = self._due.pop(who)  # to the end of the queue: one backlog must not starve others
                self._in_work.add(who)
                try:
                    await self._work(who)
                finally:
                    self._in_work.discard(who)
                await self._rest_quiet()
                continue
            if self._to_visit:
                await self._visit(self._to_visit.pop())
                continue
            self._wake.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout(IDLE_SECONDS if self._quiet_since else None):
                    await self._wake.wait()
            await self._rest_quiet()

    async def _work(self, who: Who) -> None:
        due = self._due[who]
        asked = due.asked
        try:
            done, left = await self._round(who, due)
        except Exception as failure:
            log.warning("digesting %s/%s stopped: %s", *who, failure, exc_info=not isinstance(failure, HoldfastError))
            self.activity.failures["digestion"] += 1
            done, left = 0, False
        self._warm = self._warm or done > 0
        due.since = due.since if left else time.monotonic()
        if not left and due.asked == asked and self._due.get(who) is due:
            self._finish(who)

    async def _round(self, who: Who, due: PendingProfile) -> Round:
        """Do a batch of each kind of work. Digestion is first: its memories need vectors."""
        from holdfast.ingest.digest import BATCH_SIZE, embed_missing_parts

        asked = due.asked
        try:
            store = await self._vault.open(*who, create=False)
        except NotFound:
            return Round(0, left=False)
        now = self._clock()
        done, embedded, bare, waiting = 0, 0, 0, True
        most = BATCH_SIZE if self._thinking is None else 1  # a language model is slow, and others wait for their turn
        while done < most:  # one session after the other
            digested = await self._digest(who, store, now)
            if not (waiting := digested > 0):
                break
            done, bare = done + digested, bare + digested
            await self._roll_up(who, store, now)
            if bare >= MAX_BARE_MESSAGES:
                embedded, bare = await embed_missing_parts(store, self._embedder), 0
        if done or due.drained != asked:
            if bare or not done:
                embedded = await embed_missing_parts(store, self._embedder)
            due.drained = asked if embedded < BATCH_SIZE else -1
            done += embedded
        await asyncio.sleep(0)
        if waiting or due.drained != asked:
            return Round(done, left=True)
        # Memories of a kind of one's own are written without digestion, so they are rolled up when all is done.
        rolled = await self._roll_up(who, store, now, memories_only=True)
        due.drained = -1 if rolled else asked
        return Round(done + rolled, left=rolled > 0)

    async def _digest(self, who: Who, store: Store, now: datetime) -> int:
        from holdfast.ingest.digest import Digestion, digest_batch
        from holdfast.lifecycle.retention import SETTING, parse_policy

        ttl = parse_policy((await self._rules(who)).get(SETTING)).ttl
        work = Digestion(store, self._extractor, self._embedder, now, ttl=ttl)
        if self._thinking is not None:
            work = replace(work, extractor=self._thinking.extractor, spare=self._extractor, judge=self._thinking.judge)
        account = None if self._thinking is None else self.account(store)
        with tracing.traced_operation("digest") as done, usage.charged_to(account):
            digested = await digest_batch(work)
        self.activity.note_digestion(digested, failed=len(work.deferred))
        if digested and self._recorder is not None:
            self._recorder.add(who, done)
        return digested

    async def _roll_up(self, who: Who, store: Store, now: datetime, *, memories_only: bool = False) -> int:
        """Write the summaries that are due, or only those of memories; return how many."""
        rules = await self._rules(who)
        if not rules or self.summariser is None:
            return 0
        from holdfast.lifecycle import summaries

        if (wanted := rules.get(summaries.SETTING)) is None:
            return 0
        if (cadence := summaries.parse_cadence(wanted)) is None or (memories_only and cadence.kind is None):
            return 0
        with usage.charged_to(self.account(store)):
            try:
                return await summaries.roll_up(store, self.summariser, cadence, now)
            except Conflict:
                log.info("%s/%s changed during summarisation; its summary is postponed", *who)
                return 0

    async def _rules(self, who: Who) -> dict[str, Json]:
        return {} if self._namespace_settings is None else await self._namespace_settings(who)

    async def tour(self) -> None:
        """Visit every profile: sweep expired memories, apply retention rules, write due summaries, refetch pages."""
        for namespace in await self._vault.namespaces():
            for info in await self._vault.profiles(namespace.name):
                await self._visit((info.namespace, info.name))
                await asyncio.sleep(0)
        self._visited = None

    async def _visit(self, who: Who) -> None:
        from holdfast.lifecycle.forget import sweep

        try:
            store = await self._vault.open(*who, create=False)
            while await sweep(store, now=self._clock()):
                continue
            if rules := await self._rules(who):
                from holdfast.lifecycle.retention import SETTING, apply_policy

                if (policy := rules.get(SETTING)) is not None:
                    await apply_policy(store, policy, self._clock())
            await self._roll_up(who, store, self._clock())
            if self.revisit is not None:
                await self.revisit(who, store)
        except NotFound:
            return  # it was deleted meanwhile
        except HoldfastError as failure:
            log.warning("visiting %s/%s failed: %s", *who, failure)
            self.activity.failures["maintenance"] += 1

    def _finish(self, who: Who) -> None:
        if (due := self._due.pop(who, None)) is not None:
            due.done.set()
        if who in self._marked:
            self._quiet_since.pop(who, None)
            self._quiet_since[who] = time.monotonic()

    async def _mark(self, who: Who) -> None:
        async with self._marking:
            if who not in self._marked:
                await self._vault.expect_work(*who)
                self._marked.add(who)

    async def _rest_quiet(self) -> None:
        """Rest profiles that have been quiet for a while: one of them when others have work, all of them otherwise."""
        before = time.monotonic() - IDLE_SECONDS
        while self._quiet_since and self._quiet_since[who := next(iter(self._quiet_since))] <= before:
            del self._quiet_since[who]
            await self._tidy(who)
            await self._rest({who})
            if self._due:
                return

    async def _rest(self, quiet: set[Who]) -> None:
        """Unmark the profiles in the catalogue that have no work left; `_look` notifies the others again."""
        for who in quiet:
            async with self._marking:
                if self._writing[who] or who in self._due:
                    continue
                with suppress(HoldfastError):
                    store = await self._vault.open(*who, create=False)
                    stats = await store.stats(self._embedder.model, only_waiting=True)
                    if stats.pending or stats.unembedded or await store.documents.waiting():
                        continue
                    from holdfast.lifecycle import profile_page

                    await profile_page.load_page(store, self._clock())  # so that the next reader finds it cached
                    await self._vault.rested(*who, self._embedder.model)
                self._marked.discard(who)

    async def _tidy(self, who: Who) -> None:
        """Learn the links of new memories and remove expired ones: once, and not again with each message."""
        from holdfast.graph.queries import BACKGROUND_BATCH_MEMORIES, learn_all
        from holdfast.lifecycle.forget import sweep

        try:
            store = await self._vault.open(*who, create=False)
            await learn_all(store, BACKGROUND_BATCH_MEMORIES)
            while await sweep(store, now=self._clock()):
                continue
        except (Closed, NotFound):
            return  # it was deleted meanwhile
        except Exception as failure:
            log.warning("tidying %s/%s failed: %s", *who, failure)
            self.activity.failures["maintenance"] += 1

    async def _look(self) -> None:
        for who in await self._vault.waiting(self._embedder.model):
            if who in self._quiet_since:
                continue  # this process finished its work and will rest it
            self.reading(who)
            if who not in self._due:
                await self._mark(who)
                self.notify(who)

    async def _keep(self, step: Callable[[], Awaitable[None]], seconds: float) -> None:
        while True:
            await asyncio.sleep(seconds)
            try:
                await step()
            except HoldfastError as failure:
                log.warning("maintenance of the profiles failed: %s", failure)
                self.activity.failures["maintenance"] += 1
