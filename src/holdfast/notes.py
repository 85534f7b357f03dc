"""Notes on files and folders: what an agent wants to know when it comes back to them.

A note is a memory of kind `note` whose key is a path. Writing it again supersedes it and keeps the history; a folder's
notes are found by the key's beginning, so that nobody has to look into files to know what was going on there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from . import names, pack, paths
from .errors import AlreadyExists, InvalidInput, NotFound, shown
from .moments import iso, now
from .types import Json, Memory

if TYPE_CHECKING:
    from .profile import LocalProfile
    from .remote import RemoteProfile

KIND = "note"
PAGE = 1000
LEAST_TOKENS = 40


@dataclass(frozen=True, slots=True)
class Note:
    """One version of the note on one path. `score` is set when a search found it."""

    path: str
    text: str
    id: str
    version: int
    written_at: datetime
    metadata: dict[str, Json] = field(default_factory=dict)
    score: float | None = None


@dataclass(frozen=True, slots=True)
class Briefing:
    """A paste-ready block within a token budget, the notes that are in it, and how many are not."""

    text: str
    tokens: int
    notes: tuple[Note, ...]
    more: int = 0

    def __str__(self) -> str:
        return self.text


Found = list[Note]
Memories = list[Memory]


def found_by(text: str) -> str:
    """As much of a text as a memory's content may hold; the whole is its value."""
    return text.encode()[: names.CONTENT_BYTES].decode(errors="ignore")


def text_of(content: str, value: Json) -> str:
    return value if isinstance(value, str) else content


class AsyncNotes:
    """The notes of one profile on what lies under one root."""

    def __init__(self, profile: LocalProfile | RemoteProfile, root: str = "/workspace") -> None:
        self._profile = profile
        self.root = paths.absolute(root, "/")

    async def write(
        self,
        path: str,
        text: str,
        *,
        metadata: Mapping[str, Json] | None = None,
        agent: str | None = None,
        ttl: float | timedelta | None = None,
    ) -> Note:
        """Keep the note on this path, in place of the one before, which stays as its history."""
        key = self._key(path)
        content = found_by(text) if isinstance(text, str) else text
        value = None if content == text else text
        kept = await self._profile.remember(
            content, kind=KIND, key=key, value=value, metadata=metadata, agent=agent, ttl=ttl, trust="agent"
        )
        return _note(kept)

    async def read(self, path: str) -> Note | None:
        """The note on exactly this path, or None."""
        head = await self._head(self._key(path))
        return None if head is None else _note(head)

    async def list(self, prefix: str = "") -> Found:
        """The notes on this path and on everything in it, by path."""
        return sorted([_note(memory) for memory in await self._under(self._key(prefix))], key=lambda note: note.path)

    async def search(self, query: str, *, under: str = "", limit: int = 10) -> Found:
        """The notes on this path and on everything in it that answer best, by meaning, words and path."""
        hits = await self._profile.search(query, limit=limit, kind=KIND, filter=_under(self._key(under)))
        return [
            Note(
                _path(hit.key), text_of(hit.content, hit.value), hit.id, hit.version, hit.created_at, hit.metadata,
                hit.score,
            )
            for hit in hits
        ]  # fmt: skip

    async def entering(self, directory: str, *, tokens: int = 1000) -> Briefing:
        """What was going on here: the directory's own note, then those nearest to it, the newest first."""
        if not isinstance(tokens, int) or isinstance(tokens, bool) or not LEAST_TOKENS <= tokens <= 1_000_000:
            raise InvalidInput(f"tokens is {shown(tokens)}; give {LEAST_TOKENS} to 1,000,000.", field="tokens")
        key = self._key(directory)
        notes = [_note(memory) for memory in await self._under(key)]
        notes.sort(key=lambda note: (note.path.count("/") if note.path != key else 0, -note.written_at.timestamp()))
        return _briefing(_path(key), notes, tokens)

    async def history(self, path: str) -> tuple[Note, ...]:
        """Every version of the note on this path, newest first; also those from before it was moved here."""
        head = await self._head(self._key(path))
        return () if head is None else tuple(map(_note, await self._profile.history(head.id)))

    async def move(self, old: str, new: str) -> tuple[Note, ...]:
        """Take the note on this path, and those on everything in it, along to another; NotFound when there are none."""
        here, there = self._key(old), self._key(new)
        if there != here and paths.within(there, here):
            raise InvalidInput(f"{shown(new)} is inside {shown(old)}.", field="new")
        moved = await self._under(here)
        if not moved:
            raise NotFound(f"There is no note on or in {shown(old)}.", field="old")
        if there != here and await self._under(there):
            raise AlreadyExists(f"There are notes on or in {shown(new)}.", field="new")
        renamed = [(each.id, there + (each.key or here)[len(here) :]) for each in moved]
        return tuple([_note(await self._profile.revise(id, key=key)) for id, key in renamed])

    async def remove(self, path: str, *, recursive: bool = False) -> int:
        """Remove the note on this path, and its history, for good; with `recursive` those on everything in it as well.
        The number of notes that went."""
        key = self._key(path)
        head = await self._head(key)
        gone = await self._under(key) if recursive else [head] if head is not None else []
        for memory in gone:
            await self._profile.forget(memory.id)
        return len(gone)

    def _key(self, path: str) -> str:
        found = self.root if path == "" else paths.absolute(path, self.root)
        return paths.keyed(tuple(step for step in found.split("/") if step))

    async def _head(self, key: str) -> Memory | None:
        return next(iter(await self._listed(kind=KIND, key=key)), None)

    async def _under(self, key: str) -> Memories:
        return await self._listed(kind=KIND, filter=_under(key))

    async def _listed(self, **narrowed: Any) -> Memories:
        found: Memories = []
        cursor: str | None = None
        while True:
            page = await self._profile.list(limit=PAGE, cursor=cursor, **narrowed)
            found += page.items
            if (cursor := page.cursor) is None:
                return found


def _under(key: str) -> dict[str, Any]:
    return {"or": [{"key": key}, {"key": {"prefix": paths.inside(key)}}]}


def _path(key: str | None) -> str:
    return "/" + "/".join(paths.steps_of(key or "/"))


def _note(memory: Memory) -> Note:
    text = text_of(memory.content, memory.value)
    return Note(_path(memory.key), text, memory.id, memory.version, memory.created_at, memory.metadata)


def _briefing(directory: str, notes: Iterable[Note], budget: int) -> Briefing:
    """The first notes that fit. One that is longer than a quarter of the budget is cut there."""
    lines = [f"# Notes in {directory}, as of {iso(now())[:10]}"]
    spent = pack.tokens(lines[0]) + LEAST_TOKENS // 4  # for how many are left out
    taken: list[Note] = []
    left = 0
    for note in notes:
        line = _clipped(_line(note, directory), budget // 4)
        cost = pack.tokens(line) + 1
        if spent + cost <= budget:
            spent += cost
            lines.append(line)
            taken.append(note)
        else:
            left += 1
    if not taken:
        return Briefing("", 0, (), left)
    text = "\n".join([*lines, f"- and {left:,} more"] if left else lines)
    return Briefing(text, pack.tokens(text), tuple(taken), left)


def _line(note: Note, directory: str) -> str:
    name = note.path.removeprefix(paths.inside(directory)) if note.path != directory else "."
    return f"- {name} ({iso(note.written_at)[:10]}): {' '.join(note.text.split())}"


def _clipped(line: str, most: int) -> str:
    if pack.tokens(line) <= most:
        return line
    short = " ".join(line.split(" ")[: most - 1]).encode()[: most * 4 - 4].decode(errors="ignore")
    return f"{short.rstrip()}…"
