"""The vectors of large profiles in memory, in 8-bit steps, as a data folder's process has them.

A profile that is too large to be held whole is searched in the database, all but the comparison by meaning: the
vectors are compared here, and the best are scored again from the stored ones. The vectors are loaded in
the background; until then, and after a rewrite of the profile, the database compares them.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from holdfast.domain.errors import HoldfastError
from holdfast.domain.ports.search import Probe
from holdfast.domain.types import Floats, Ints
from holdfast.domain.vectors import Matrix, best_rows, vector_of_bytes
from holdfast.storage.postgres.cache.profile import NEW_VECTORS, ChangeSequence, ProfileCaches
from holdfast.storage.postgres.connections import Database, Db, Row, run_pipeline

log = logging.getLogger("holdfast")
LOADED_AT_ONCE = 2_000
"""How many vectors are read at once; turning them into 8-bit steps holds up other work for about three milliseconds."""
MIN_RELOAD_SECONDS = 60.0
"""How often the vectors of one profile are loaded at most, since each forgetting makes that necessary. Chosen by hand;
not measured."""
_SEQUENCE = "SELECT changes, rewrites, parts FROM profile WHERE id = %(p)s"
_VECTORS = """
SELECT n, CASE WHEN model = %(model)s THEN data END, memory FROM part
 WHERE profile = %(p)s AND n > %(last)s AND embed ORDER BY n LIMIT %(limit)s
"""


class VectorBlock:
    """The vectors of one profile, one row for each part of a message or a memory, as of one change. Superseded memories
    are among them."""

    def __init__(self, profile: int, model: str, sequence: ChangeSequence) -> None:
        self.profile, self.model, self.sequence = profile, model, sequence
        self._updating = asyncio.Lock()
        self._n: Ints = np.zeros(0, np.int64)
        self._memory: NDArray[np.bool_] = np.zeros(0, bool)
        self._bare: set[int] = set()
        """The parts that have no vector yet."""
        self.dimensions = int(model.rsplit("/", 1)[1])
        self._matrix = Matrix(np.zeros((0, self.dimensions), np.int8))

    def __len__(self) -> int:
        return len(self._n)

    @property
    def bytes(self) -> int:
        return self._matrix.nbytes + self._n.nbytes

    @property
    def last(self) -> int:
        """The highest number of a part."""
        return int(self._n[-1]) if len(self._n) else -1

    def add(self, found: Sequence[Row]) -> None:
        """Add parts after those that it has: the number of each, its vector, if it has one, and whether it is a
        memory's."""
        if not found:
            return
        rows = np.zeros((len(found), self.dimensions), np.float32)
        having = [at for at, (_, data, _) in enumerate(found) if data is not None]
        if having:
            rows[having] = vector_of_bytes([bytes(found[at][1]) for at in having])
        self._matrix.append(rows)
        self._n = np.append(self._n, [n for n, _, _ in found])
        self._memory = np.append(self._memory, [memory for _, _, memory in found])
        self._bare |= {n for n, data, _ in found if data is None}

    def _put(self, found: Sequence[Row]) -> None:
        """Set the vectors of parts that had none."""
        if found:
            at = np.searchsorted(self._n, [n for n, _ in found])
            self._matrix.put(at, vector_of_bytes([bytes(data) for _, data in found]))
            self._bare -= {n for n, _ in found}

    async def update(self, db: Db) -> bool:
        """Add what a transaction's snapshot has and the block has not; False if the profile was rewritten since."""
        async with self._updating:
            (found,) = await run_pipeline(db, (_SEQUENCE, {"p": self.profile}))
            sequence = ChangeSequence(*found[0]) if found else None
            if sequence is None or sequence.rewrites != self.sequence.rewrites:
                return False
            if sequence.changes > self.sequence.changes:
                bound = {"p": self.profile, "model": self.model, "last": self.last, "limit": None}
                added, vectors = await run_pipeline(
                    db, (_VECTORS, bound), (NEW_VECTORS, bound | {"bare": list(self._bare)})
                )
                self.add(added)
                self._put(vectors)
                self.sequence = sequence
            return True

    def nearest(self, vector: Floats, messages: int, memories: int) -> tuple[list[int], list[int]]:
        """The parts of messages and of memories that are nearest, so many of each, as far as 8-bit steps tell."""
        if not len(self):
            return [], []
        cosines = self._matrix.cosines(vector)
        found: list[list[int]] = []
        for rows, count in ((np.flatnonzero(~self._memory), messages), (np.flatnonzero(self._memory), memories)):
            near = rows[best_rows(cosines[rows], count)]
            found.append(self._n[near[cosines[near] != 0]].tolist())
        return found[0], found[1]


class VectorBlocks:
    """Loads the vectors of large profiles that are searched, as many as the memory of the caches allows."""

    def __init__(self, database: Database, caches: ProfileCaches) -> None:
        self._database = database
        self._caches = caches
        self._loading: dict[int, asyncio.Task[None]] = {}
        self._loaded_at: dict[int, float] = {}
        """Profile → when its vectors were loaded last, by the monotonic clock."""

    def find(self, profile: int, parts: int, probe: Probe) -> VectorBlock | None:
        """The vectors that a probe of a profile of so many parts is compared with; None with a filter, for a small
        profile, or until they are loaded."""
        filtered = probe.where is not None or probe.as_of is not None
        if filtered or probe.vector is None or not self._database.is_partitioned(profile):
            return None
        held = self._caches.find_block(profile)
        if isinstance(held, VectorBlock) and held.model == probe.model and len(probe.vector) == held.dimensions:
            return held
        if self._caches.may_hold_block(parts, parts * len(probe.vector)):
            self._load_later(profile, probe.model)
        return None

    async def stop(self) -> None:
        tasks = list(self._loading.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def loaded(self, profile: int) -> None:
        """Wait for the vectors that are being loaded."""
        if profile in self._loading:
            await asyncio.wait([self._loading[profile]])

    def _load_later(self, profile: int, model: str) -> None:
        lately = time.monotonic() - self._loaded_at.get(profile, -MIN_RELOAD_SECONDS) < MIN_RELOAD_SECONDS
        if profile not in self._loading and not lately:
            self._loading[profile] = asyncio.create_task(self._load(profile, model), name="holdfast-vectors")

    async def _load(self, profile: int, model: str) -> None:
        try:
            block = await self._database.read(profile, lambda db: _read_block(db, profile, model))
            if block is not None:
                self._caches.hold_block(profile, block)
        except HoldfastError as failure:
            log.warning("the vectors of profile %d were not loaded: %s", profile, failure)
        finally:
            self._loaded_at[profile] = time.monotonic()
            self._loading.pop(profile, None)


async def _read_block(db: Db, profile: int, model: str) -> VectorBlock | None:
    """Read all vectors in one snapshot, some at a time."""
    (found,) = await run_pipeline(db, (_SEQUENCE, {"p": profile}))
    if not found:
        return None
    block = VectorBlock(profile, model, ChangeSequence(*found[0]))
    while True:
        bound = {"p": profile, "model": model, "last": block.last, "limit": LOADED_AT_ONCE}
        (rows,) = await run_pipeline(db, (_VECTORS, bound))
        block.add(rows)
        if len(rows) < LOADED_AT_ONCE:
            return block
