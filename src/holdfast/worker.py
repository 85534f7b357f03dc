"""Digest what waits, in the background, one profile at a time. Whatever fails is logged, kept and tried again.

The catalogue knows which profiles may have work, so that a restart finds it without opening every file. It is told
before the write that makes work, and told again only after a quiet while, since each telling costs a sync.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import datetime

from . import retention, rollup, spending, summary, trail
from .digest import Digesting, digest_some, embed_bare
from .errors import Conflict, HoldfastError, NotFound
from .forget import sweep
from .graph import learn_some
from .ledger import Ledger, Tariff
from .ports import Embedder, Extractor, Store, Summariser, Vault
from .recorder import Recorder
from .retention import SETTING, policy
from .thinking import Thinking
from .types import Json

Who = tuple[str, str]
log = logging.getLogger("holdfast")
IDLE_SECONDS = 5.0
LOOK_SECONDS = 10.0
"""How often to look for work that failed, that is lent to somebody else, or that another process left behind."""
PEEK_SECONDS = 0.05
FIRST_SECONDS = 30.0
"""How long the first work of a process, which loads the models, is waited for at most."""
SLOWED = 10
"""How many times longer than on a machine of one's own a read waits for work on a busy one."""
TOUR_SECONDS = 3600.0
"""How often every profile is visited for what has expired or is kept no longer."""
STOP_SECONDS = 3.0
"""How long a stop waits for the batch in hand; what is cut off waits for its lease, or for another process."""


@dataclass(slots=True)
class Due:
    """A profile with work, how often that was said, and who waits for its end."""

    asked: int = 0
    done: asyncio.Event = field(default_factory=asyncio.Event)


class Worker:
    def __init__(
        self,
        vault: Vault,
        embedder: Embedder,
        extractor: Extractor,
        clock: Callable[[], datetime],
        thinking: Thinking | None = None,
        recorder: Recorder | None = None,
        laid_down: Callable[[Who], Awaitable[dict[str, Json]]] | None = None,
    ) -> None:
        self._vault = vault
        self._embedder = embedder
        self._extractor = extractor
        self._clock = clock
        self._thinking = thinking
        self._recorder = recorder
        self._laid_down = laid_down
        self._touring: asyncio.Task[None] | None = None
        self.summariser: Summariser | None = None
        """Rolls up what was said, where its owner wants that."""
        self.reading: Callable[[Who], None] = lambda who: None
        """Told of every profile that may have documents to read."""
        self.revisit: Callable[[Who, Store], Awaitable[None]] | None = None
        """Has pages fetched anew."""
        self._due: dict[Who, Due] = {}
        self._wake = asyncio.Event()
        self._marked: set[Who] = set()
        self._writing: Counter[Who] = Counter()
        self._marking = asyncio.Lock()
        self._task: asyncio.Task[None] | None = None
        self._looking: asyncio.Task[None] | None = None
        self._stopping = False
        self._works_elsewhere = thinking is not None or not embedder.model.startswith("local/")
        """Whether the time that work takes is spent somewhere else; then nobody waits longer for it."""
        self._warm = self._works_elsewhere

    async def start(self) -> None:
        if self._task is not None:
            return
        await self._look()
        self._task = asyncio.create_task(self._run(), name="holdfast-worker")
        self._looking = asyncio.create_task(self._keep_looking(), name="holdfast-looking")
        self._touring = asyncio.create_task(self._keep_touring(), name="holdfast-touring")

    @asynccontextmanager
    async def expecting(self, who: Who) -> AsyncIterator[None]:
        """Around a write that makes work: a crash right after it must not leave the work unseen."""
        self._writing[who] += 1
        try:
            await self._mark(who)
            yield
        finally:
            self._writing[who] -= 1
            self.notify(who)

    def notify(self, who: Who) -> None:
        """There may be work: a write was made, or it is time to try again."""
        self._due.setdefault(who, Due()).asked += 1
        self._wake.set()

    async def settled(self, who: Who, timeout: float | None) -> bool:
        """Wait until nothing of this profile waits; False when that takes longer than `timeout` seconds."""
        try:
            async with asyncio.timeout(timeout):
                await self.caught_up(who, None)
                while await self._vault.lent(*who):  # noqa: ASYNC110  (it is another process that works)
                    await asyncio.sleep(PEEK_SECONDS)
        except TimeoutError:
            return False
        return True

    async def caught_up(self, who: Who, patience: float | None) -> bool:
        """Wait for what was written through this process; False when `patience` ended before.

        Patience is in seconds of work, which take longer on a busy machine; loading the models does not count.
        """
        due = self._due.get(who)
        since = began = time.monotonic()
        spent = time.process_time()
        while due is not None and not due.done.is_set():
            if not self._warm and time.monotonic() - since < FIRST_SECONDS:
                began, spent = time.monotonic(), time.process_time()
            left = None if patience is None else self._left(patience, began, spent)
            if left == 0:
                return False
            with suppress(TimeoutError):
                await asyncio.wait_for(due.done.wait(), left)
        return True

    def _left(self, patience: float, began: float, spent: float) -> float:
        """How long to wait before looking again; 0 when it was enough."""
        waited = time.monotonic() - began
        if waited < patience:
            return PEEK_SECONDS if not self._warm else patience - waited
        idle = self._works_elsewhere or waited >= SLOWED * patience
        return 0 if idle or time.process_time() - spent >= patience else PEEK_SECONDS

    def forget(self, who: Who) -> None:
        """The profile is deleted."""
        self._marked.discard(who)
        self._finish(who)

    async def stop(self) -> None:
        """Finish the batch in hand; what still waits is durable and goes on at the next start."""
        for task in (self._looking, self._touring):
            if task is not None:
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)
        self._stopping = True
        self._wake.set()
        if self._task is not None:
            await asyncio.wait([self._task], timeout=STOP_SECONDS)
        while self._task is not None and not self._task.done():
            self._task.cancel()  # again if need be: wait_for can swallow one that comes with its result
            await asyncio.wait([self._task], timeout=0.1)
        unfinished = set(self._due)
        for who in unfinished:
            self._finish(who)
        await self._rest(self._marked - unfinished)

    async def _run(self) -> None:
        while not self._stopping:
            if self._due:
                who = next(iter(self._due))
                self._due[who] = self._due.pop(who)  # to the end of the queue: one backlog must not starve the others
                await self._work(who)
                continue
            self._wake.clear()
            try:
                await asyncio.wait_for(self._wake.wait(), IDLE_SECONDS if self._marked else None)
            except TimeoutError:
                await self._rest(set(self._marked))

    async def _work(self, who: Who) -> None:
        due = self._due[who]
        asked = due.asked
        try:
            more = await self._round(who)
        except Exception as failure:
            known = isinstance(failure, HoldfastError)
            log.warning("digesting %s/%s stopped: %s", *who, failure, exc_info=not known)
            more = 0
        self._warm = self._warm or more > 0
        if not more and due.asked == asked and self._due.get(who) is due:
            self._finish(who)

    async def _round(self, who: Who) -> int:
        """A batch of each kind of work; how much there was. Digestion first: what it writes needs vectors too."""
        try:
            store = await self._vault.open(*who, create=False)
        except NotFound:
            return 0
        now = self._clock()
        digested = await self._digest(who, store, now)
        if digested:
            await self._roll_up(who, store, now)
        embedded = await embed_bare(store, self._embedder)
        learned = await learn_some(store)
        swept = await sweep(store, now=now)
        await asyncio.sleep(0)
        return digested + embedded + learned + swept

    async def _digest(self, who: Who, store: Store, now: datetime) -> int:
        ttl = policy((await self._rules(who)).get(SETTING)).ttl
        work = Digesting(store, self._extractor, self._embedder, now, ttl=ttl)
        if self._thinking is not None:
            work = replace(work, extractor=self._thinking.extractor, spare=self._extractor, judge=self._thinking.judge)
        account = None if self._thinking is None else Ledger(store.journal, self._thinking.tariff, self._clock)
        with trail.following("digest") as done, spending.on(account):
            digested = await digest_some(work)
        if digested and self._recorder is not None:
            self._recorder.add(who, done)
        return digested

    async def _roll_up(self, who: Who, store: Store, now: datetime) -> None:
        wanted = (await self._rules(who)).get(rollup.SETTING)
        if wanted is None or self.summariser is None:
            return
        tariff = Tariff() if self._thinking is None else self._thinking.tariff
        with spending.on(Ledger(store.journal, tariff, self._clock)):
            try:
                await rollup.roll_up(store, self.summariser, wanted, now)
            except Conflict:
                log.info("%s/%s was written to meanwhile; it is rolled up later", *who)

    async def _rules(self, who: Who) -> dict[str, Json]:
        return {} if self._laid_down is None else await self._laid_down(who)

    async def tour(self) -> None:
        """Visit every profile: sweep what expired, and do what its rules say."""
        for namespace in await self._vault.namespaces():
            for info in await self._vault.profiles(namespace.name):
                who = (info.namespace, info.name)
                try:
                    store = await self._vault.open(*who, create=False)
                    while await sweep(store, now=self._clock()):
                        continue
                    rules = (await self._rules(who)).get(SETTING)
                    if rules is not None:
                        await retention.applied(store, rules, self._clock())
                    await self._roll_up(who, store, self._clock())
                    if self.revisit is not None:
                        await self.revisit(who, store)
                except HoldfastError as failure:
                    log.warning("visiting %s/%s failed: %s", *who, failure)
                await asyncio.sleep(0)

    async def _keep_touring(self) -> None:
        while True:
            await asyncio.sleep(TOUR_SECONDS)
            try:
                await self.tour()
            except HoldfastError as failure:
                log.warning("cannot visit the profiles: %s", failure)

    def _finish(self, who: Who) -> None:
        due = self._due.pop(who, None)
        if due is not None:
            due.done.set()

    async def _mark(self, who: Who) -> None:
        async with self._marking:
            if who not in self._marked:
                await self._vault.expect_work(*who)
                self._marked.add(who)

    async def _rest(self, quiet: set[Who]) -> None:
        """Tell the catalogue who has no work left; look again later at those who have."""
        for who in quiet:
            async with self._marking:
                if self._writing[who] or who in self._due:
                    continue
                with suppress(HoldfastError):
                    store = await self._vault.open(*who, create=False)
                    stats = await store.stats(self._embedder.model)
                    if stats.pending or stats.unembedded or await store.shelf.waiting():
                        continue
                    await summary.page(store, self._clock())  # whoever reads it next finds it made
                    await self._vault.rested(*who, self._embedder.model)
                self._marked.discard(who)

    async def _look(self) -> None:
        for who in await self._vault.waiting(self._embedder.model):
            self.reading(who)
            if who not in self._due:
                await self._mark(who)
                self.notify(who)

    async def _keep_looking(self) -> None:
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            try:
                await self._look()
            except HoldfastError as failure:
                log.warning("cannot look for work: %s", failure)
