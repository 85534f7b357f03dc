"""The processes that share a database: who is at work, who sees to which profile, and how often a credential asked."""

from __future__ import annotations

import time
from dataclasses import dataclass

from .base import Base, Db, query

SEEN_SECONDS = 30
"""A process that was not seen for so long is gone, and what it saw to is taken over."""
MOST_ADOPTED = 200
_SEEN = "UPDATE process SET seen_at = now() WHERE id = %s RETURNING id"
_BEGUN = "INSERT INTO process (id, seen_at) VALUES (%s, now())"
_GONE = "DELETE FROM process WHERE seen_at < now() - make_interval(secs => %s)"
_LEFT = "NOT EXISTS (SELECT 1 FROM process WHERE process.id = work.process)"
_ADOPT = """
WITH busy AS MATERIALIZED (
  SELECT id FROM profile WHERE (rested_under IS NULL OR rested_under < %(model)s OR rested_under > %(model)s)
     AND NOT EXISTS (SELECT 1 FROM work WHERE work.profile = profile.id)
   LIMIT %(most)s FOR UPDATE SKIP LOCKED
)
INSERT INTO work (profile, process) SELECT id, %(me)s FROM busy
"""
_RELEASE = (
    "UPDATE message SET wait_until = 0 WHERE profile = %s AND state = 'waiting' AND wait_until > 0 AND failures = 0 "
    "AND holder <> ALL(%s)"
)
_UNREAD = "UPDATE document SET lent = 0 WHERE profile = %s AND lent > 0 AND holder <> ALL(%s)"
_MINE = """
SELECT namespace.name, profile.name FROM work JOIN profile ON profile.id = work.profile
  JOIN namespace ON namespace.id = profile.namespace WHERE work.process = %s
"""


class Fleet:
    def __init__(self, base: Base) -> None:
        self._base = base
        self._mine: set[int] = set()

    async def waiting(self, model: str) -> list[tuple[str, str]]:
        """What this process sees to, with what it now takes over from nobody or from the gone."""

        async def look(db: Db) -> tuple[list[str], list[int]]:
            if not await query(db, _SEEN, (self._base.me,)):
                await query(db, _BEGUN, (self._base.me,))
                await self._expect(db, list(self._mine))  # who was thought gone: others may have seen it rest
            await query(db, _GONE, (SEEN_SECONDS,))
            living = await query(db, "SELECT id FROM process")
            left = await query(db, f"SELECT DISTINCT profile FROM work WHERE {_LEFT} LIMIT %s", (MOST_ADOPTED,))
            return [id for (id,) in living], [profile for (profile,) in left]

        async def adopt(db: Db) -> None:
            await query(db, f"DELETE FROM work WHERE profile = ANY(%s) AND {_LEFT}", (left,))
            await query(db, _ADOPT, {"model": model, "most": MOST_ADOPTED, "me": self._base.me})

        living, left = await self._base.write(None, look)
        for profile in left:  # first, since whoever comes here after a crash must see that it is to be done
            await self._release(profile, living)
        await self._base.write(None, adopt)
        mine = await self._base.read(None, lambda db: query(db, _MINE, (self._base.me,)))
        return [(namespace, profile) for namespace, profile in mine]

    async def _release(self, profile: int, living: list[str]) -> None:
        """End the leases of those who are gone; others may be at work in the same profile."""
        for statement in (_RELEASE, _UNREAD):
            await self._base.write(profile, lambda db, each=statement: query(db, each, (profile, living)))  # type: ignore[misc]

    async def expect(self, profile: int) -> None:
        self._mine.add(profile)
        await self._base.write(None, lambda db: self._expect(db, [profile]))

    async def _expect(self, db: Db, profiles: list[int]) -> None:
        mine = (
            "INSERT INTO work (profile, process) SELECT id, %s FROM profile WHERE id = ANY(%s) ON CONFLICT DO NOTHING"
        )
        await query(db, mine, (self._base.me, profiles))
        unrest = "UPDATE profile SET rested_under = NULL WHERE id = ANY(%s) AND rested_under IS NOT NULL"
        await query(db, unrest, (profiles,))

    async def rested(self, profile: int, model: str) -> None:
        """This process is done; the profile rests once no other sees to it either."""

        async def run(db: Db) -> None:
            await query(db, "SELECT 1 FROM profile WHERE id = %s FOR UPDATE", (profile,))
            await query(db, "DELETE FROM work WHERE profile = %s AND process = %s", (profile, self._base.me))
            await query(
                db,
                "UPDATE profile SET rested_under = %s WHERE id = %s AND rested_under IS DISTINCT FROM %s "
                "AND NOT EXISTS (SELECT 1 FROM work WHERE work.profile = profile.id)",
                (model, profile, model),
            )

        await self._base.write(None, run)
        self._mine.discard(profile)

    async def leave(self) -> None:
        await self._base.write(None, lambda db: query(db, "DELETE FROM process WHERE id = %s", (self._base.me,)))


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
