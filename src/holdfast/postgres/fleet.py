"""The processes that share a database: who is at work, who sees to which profile, and how often a credential asked."""

from __future__ import annotations

import secrets
import time
from dataclasses import dataclass

from .base import Base, Db, Row, query

SEEN_SECONDS = 30
"""A process that was not seen for so long is gone, and what it saw to is taken over."""
MOST_ADOPTED = 200
_SEEN = "INSERT INTO process (id, seen_at) VALUES (%s, now()) ON CONFLICT (id) DO UPDATE SET seen_at = now()"
_GONE = "DELETE FROM process WHERE seen_at < now() - make_interval(secs => %s) RETURNING id"
_ADOPT = """
WITH busy AS MATERIALIZED (
  SELECT id FROM profile WHERE (rested_under IS NULL OR rested_under < %(model)s OR rested_under > %(model)s)
     AND NOT EXISTS (SELECT 1 FROM work JOIN process ON process.id = work.process WHERE work.profile = profile.id)
   LIMIT %(most)s FOR UPDATE SKIP LOCKED
), stale AS (
  DELETE FROM work USING busy WHERE work.profile = busy.id
)
INSERT INTO work (profile, process) SELECT id, %(me)s FROM busy RETURNING profile
"""
_RELEASE = (
    "UPDATE message SET wait_until = 0 WHERE profile = %s AND state = 'waiting' AND wait_until > 0 AND failures = 0"
)
_MINE = """
SELECT namespace.name, profile.name FROM work JOIN profile ON profile.id = work.profile
  JOIN namespace ON namespace.id = profile.namespace WHERE work.process = %s
"""


class Fleet:
    def __init__(self, base: Base) -> None:
        self._base = base
        self.me = secrets.token_hex(8)

    async def waiting(self, model: str) -> list[tuple[str, str]]:
        """What this process sees to, with what it now takes over from nobody or from the gone."""

        async def run(db: Db) -> list[Row]:
            await query(db, _SEEN, (self.me,))
            await query(db, _GONE, (SEEN_SECONDS,))
            return await query(db, _ADOPT, {"model": model, "most": MOST_ADOPTED, "me": self.me})

        for (profile,) in await self._base.write(None, run):
            await self._release(profile)
        mine = await self._base.read(None, lambda db: query(db, _MINE, (self.me,)))
        return [(namespace, profile) for namespace, profile in mine]

    async def _release(self, profile: int) -> None:
        """End the leases of those who are gone: nobody else saw to this profile."""
        await self._base.write(profile, lambda db: query(db, _RELEASE, (profile,)))

    async def expect(self, profile: int) -> None:
        async def run(db: Db) -> None:
            await query(
                db, "INSERT INTO work (profile, process) VALUES (%s, %s) ON CONFLICT DO NOTHING", (profile, self.me)
            )
            await query(
                db, "UPDATE profile SET rested_under = NULL WHERE id = %s AND rested_under IS NOT NULL", (profile,)
            )

        await self._base.write(None, run)

    async def rested(self, profile: int, model: str) -> None:
        """This process is done; the profile rests once no other sees to it either."""

        async def run(db: Db) -> None:
            await query(db, "SELECT 1 FROM profile WHERE id = %s FOR UPDATE", (profile,))
            await query(db, "DELETE FROM work WHERE profile = %s AND process = %s", (profile, self.me))
            await query(
                db,
                "UPDATE profile SET rested_under = %s WHERE id = %s AND rested_under IS DISTINCT FROM %s "
                "AND NOT EXISTS (SELECT 1 FROM work WHERE work.profile = profile.id)",
                (model, profile, model),
            )

        await self._base.write(None, run)

    async def leave(self) -> None:
        await self._base.write(None, lambda db: query(db, "DELETE FROM process WHERE id = %s", (self.me,)))


@dataclass(slots=True)
class _Window:
    starts: int
    left: int = 0
    """Permits that this process took and has not spent."""
    full: bool = False


class Rates:
    """One count per credential for all processes. Each takes permits by the handful, so that few requests ask."""

    def __init__(self, base: Base) -> None:
        self._base = base
        self._windows: dict[str, _Window] = {}
        self._tidied = 0.0

    async def allows(self, credential: str, amount: int, seconds: int) -> bool:
        starts = int(time.time()) // seconds * seconds
        window = self._windows.get(credential)
        if window is None or window.starts != starts:
            if len(self._windows) > 10_000:
                self._windows.clear()
            window = self._windows[credential] = _Window(starts)
        if window.left <= 0 and not window.full:
            await self._take(credential, window, amount)
        if window.left <= 0:
            return False
        window.left -= 1
        return True

    async def _take(self, credential: str, window: _Window, amount: int) -> None:
        handful = max(1, amount // 20)
        statement = (
            "INSERT INTO rate (credential, starts, hits) VALUES (%s, %s, %s) "
            "ON CONFLICT (credential, starts) DO UPDATE SET hits = rate.hits + excluded.hits RETURNING hits"
        )

        async def run(db: Db) -> int:
            await query(db, "SET LOCAL synchronous_commit = off")
            if time.monotonic() - self._tidied > 60:
                self._tidied = time.monotonic()
                await query(db, "DELETE FROM rate WHERE starts < %s", (int(time.time()) - 86_400 * 2,))
            return int((await query(db, statement, (credential, window.starts, handful)))[0][0])

        taken = await self._base.write(None, run)
        granted = max(0, min(handful, amount - (taken - handful)))
        window.left += granted
        window.full = granted == 0
