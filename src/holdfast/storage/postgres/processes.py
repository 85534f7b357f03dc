"""Coordinates the processes that share a database: which are alive, which profile each works on, and request rates."""

from __future__ import annotations

import time
from dataclasses import dataclass

from holdfast.storage.postgres.connections import Database, Db, query

PROCESS_TIMEOUT_SECONDS = 30
"""A process that did not report for this long counts as gone, and others take over its profiles. Chosen by hand; not
measured."""
MAX_ADOPTED_PROFILES = 200
"""How many profiles a process takes over at a time. Chosen by hand; not measured."""
MAX_RATE_WINDOWS = 10_000
"""How many credentials' windows a process keeps in memory. Chosen by hand; not measured."""
PERMIT_BATCHES = 20
"""In how many batches a process would take all permits of a window. Chosen by hand; not measured."""
RATE_CLEANUP_SECONDS = 60
"""How often a process deletes old windows from the database. Chosen by hand; not measured."""
RATE_RETENTION_SECONDS = 86_400 * 2
"""How long a window stays in the database. Chosen by hand; not measured."""
_REFRESH_PROCESS = "UPDATE process SET seen_at = now() WHERE id = %s RETURNING id"
_INSERT_PROCESS = "INSERT INTO process (id, seen_at) VALUES (%s, now())"
_DELETE_EXPIRED_PROCESSES = "DELETE FROM process WHERE seen_at < now() - make_interval(secs => %s)"
_ORPHANED = "NOT EXISTS (SELECT 1 FROM process WHERE process.id = work.process)"
_ADOPT = """
WITH busy AS MATERIALIZED (
  SELECT id FROM profile WHERE (rested_under IS NULL OR rested_under < %(model)s OR rested_under > %(model)s)
     AND NOT EXISTS (SELECT 1 FROM work WHERE work.profile = profile.id)
   LIMIT %(most)s FOR UPDATE SKIP LOCKED
)
INSERT INTO work (profile, process) SELECT id, %(me)s FROM busy
"""
_RELEASE_MESSAGES = (
    "UPDATE message SET wait_until = 0 WHERE profile = %s AND state = 'waiting' AND wait_until > 0 AND failures = 0 "
    "AND holder <> ALL(%s)"
)
_RELEASE_DOCUMENTS = "UPDATE document SET lent = 0 WHERE profile = %s AND lent > 0 AND holder <> ALL(%s)"
_OWN_PROFILES = """
SELECT namespace.name, profile.name FROM work JOIN profile ON profile.id = work.profile
  JOIN namespace ON namespace.id = profile.namespace WHERE work.process = %s
"""


class ProcessRegistry:
    """Registers this process and assigns it profiles with waiting work."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._own_profiles: set[int] = set()

    async def waiting(self, model: str) -> list[tuple[str, str]]:
        """List this process's profiles, after it took over unassigned ones and those of processes that are gone."""

        async def report_alive(db: Db) -> tuple[list[str], list[int]]:
            if not await query(db, _REFRESH_PROCESS, (self._database.process_id,)):
                await query(db, _INSERT_PROCESS, (self._database.process_id,))
                # This process counted as gone: others may have marked its profiles as rested.
                await self._mark_expected(db, list(self._own_profiles))
            await query(db, _DELETE_EXPIRED_PROCESSES, (PROCESS_TIMEOUT_SECONDS,))
            living = await query(db, "SELECT id FROM process")
            orphaned = await query(
                db, f"SELECT DISTINCT profile FROM work WHERE {_ORPHANED} LIMIT %s", (MAX_ADOPTED_PROFILES,)
            )
            return [id for (id,) in living], [profile for (profile,) in orphaned]

        async def adopt(db: Db) -> None:
            await query(db, f"DELETE FROM work WHERE profile = ANY(%s) AND {_ORPHANED}", (orphaned,))
            await query(db, _ADOPT, {"model": model, "most": MAX_ADOPTED_PROFILES, "me": self._database.process_id})

        living, orphaned = await self._database.write(None, report_alive)
        for profile in orphaned:  # before `adopt`: after a crash here, the next process must find them orphaned still
            await self._release(profile, living)
        await self._database.write(None, adopt)
        profiles = await self._database.read(None, lambda db: query(db, _OWN_PROFILES, (self._database.process_id,)))
        return [(namespace, profile) for namespace, profile in profiles]

    async def _release(self, profile: int, living: list[str]) -> None:
        """End the leases of processes that are gone; living ones may work in the same profile."""
        for statement in (_RELEASE_MESSAGES, _RELEASE_DOCUMENTS):
            await self._database.write(profile, lambda db, each=statement: query(db, each, (profile, living)))  # type: ignore[misc]

    async def expect(self, profile: int) -> None:
        self._own_profiles.add(profile)
        await self._database.write(None, lambda db: self._mark_expected(db, [profile]))

    async def _mark_expected(self, db: Db, profiles: list[int]) -> None:
        insert = (
            "INSERT INTO work (profile, process) SELECT id, %s FROM profile WHERE id = ANY(%s) ON CONFLICT DO NOTHING"
        )
        await query(db, insert, (self._database.process_id, profiles))
        unmark = "UPDATE profile SET rested_under = NULL WHERE id = ANY(%s) AND rested_under IS NOT NULL"
        await query(db, unmark, (profiles,))

    async def rested(self, profile: int, model: str) -> None:
        """Record that this process is done; the profile rests once no other process works on it."""

        async def run(db: Db) -> None:
            await query(db, "SELECT 1 FROM profile WHERE id = %s FOR UPDATE", (profile,))
            await query(
                db, "DELETE FROM work WHERE profile = %s AND process = %s", (profile, self._database.process_id)
            )
            await query(
                db,
                "UPDATE profile SET rested_under = %s WHERE id = %s AND rested_under IS DISTINCT FROM %s "
                "AND NOT EXISTS (SELECT 1 FROM work WHERE work.profile = profile.id)",
                (model, profile, model),
            )

        await self._database.write(None, run)
        self._own_profiles.discard(profile)

    async def leave(self) -> None:
        await self._database.write(
            None, lambda db: query(db, "DELETE FROM process WHERE id = %s", (self._database.process_id,))
        )


@dataclass(slots=True)
class _RateWindow:
    starts: int
    left: int = 0
    """Permits that this process took and has not used."""
    full: bool = False


class PostgresRateLimiter:
    """One counter per credential for all processes. Each process takes permits in batches, so that few requests need a
    query."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._windows: dict[str, _RateWindow] = {}
        self._cleaned_at = 0.0

    async def allows(self, credential: str, amount: int, seconds: int) -> bool:
        starts = int(time.time()) // seconds * seconds
        window = self._windows.get(credential)
        if window is None or window.starts != starts:
            if len(self._windows) > MAX_RATE_WINDOWS:
                self._windows.clear()
            window = self._windows[credential] = _RateWindow(starts)
        if window.left <= 0 and not window.full:
            await self._take_permits(credential, window, amount)
        if window.left <= 0:
            return False
        window.left -= 1
        return True

    async def _take_permits(self, credential: str, window: _RateWindow, amount: int) -> None:
        batch = max(1, amount // PERMIT_BATCHES)
        statement = (
            "INSERT INTO rate (credential, starts, hits) VALUES (%s, %s, %s) "
            "ON CONFLICT (credential, starts) DO UPDATE SET hits = rate.hits + excluded.hits RETURNING hits"
        )

        async def run(db: Db) -> int:
            await query(db, "SET LOCAL synchronous_commit = off")
            if time.monotonic() - self._cleaned_at > RATE_CLEANUP_SECONDS:
                self._cleaned_at = time.monotonic()
                await query(db, "DELETE FROM rate WHERE starts < %s", (int(time.time()) - RATE_RETENTION_SECONDS,))
            return int((await query(db, statement, (credential, window.starts, batch)))[0][0])

        taken = await self._database.write(None, run)
        granted = max(0, min(batch, amount - (taken - batch)))
        window.left += granted
        window.full = granted == 0
