"""Notes on files and folders, for agents that return to them.

A note is a memory of kind `note` whose key is a path. Writing it again supersedes it and keeps the history. A folder's
notes are found by key prefix, so an agent need not open the files to know what was going on there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from holdfast.domain import limits
from holdfast.domain.errors import AlreadyExists, InvalidInput, NotFound, quoted_value
from holdfast.domain.timestamps import iso_text, now
from holdfast.domain.types import Json, Memory
from holdfast.service.facades import file_keys

if TYPE_CHECKING:
    from holdfast.domain.ports.profile import AsyncProfile

KIND = "note"
PAGE_SIZE = 1000
MIN_TOKENS = 40


@dataclass(frozen=True, slots=True)
class Note:
    """One version of the note on a path. `score` is set by a search."""

    path: str
    text: str
    id: str
    version: int
    written_at: datetime
    metadata: dict[str, Json] = field(default_factory=dict)
    score: float | None = None


@dataclass(frozen=True, slots=True)
class Briefing:
    """A block of text for a prompt, within a token budget; the notes in it, and how many were left out."""

    text: str
    tokens: int
    notes: tuple[Note, ...]
    more: int = 0

    def __str__(self) -> str:
        return self.text


NotesFound = list[Note]
Memories = list[Memory]


def truncated_content(text: str) -> str:
    """As much of a text as a memory's content may hold; the whole is its value."""
    return text.encode()[: limits.MAX_CONTENT_BYTES].decode(errors="ignore")


def text_of(content: str, value: Json) -> str:
    return value if isinstance(value, str) else content


class AsyncNotes:
    """The notes of one profile on files and folders under one root."""

    def __init__(self, profile: AsyncProfile, root: str | PurePath = "/workspace") -> None:
        self._profile = profile
        self.root = file_keys.absolute_path(_plain_path(root), "/")

    async def write(
        self,
        path: str | PurePath,
        text: str,
        *,
        metadata: Mapping[str, Json] | None = None,
        agent: str | None = None,
        ttl: float | timedelta | None = None,
    ) -> Note:
        """Write the note on this path. It supersedes the previous one, which stays in the history."""
        key = self._key(path)
        content = truncated_content(text) if isinstance(text, str) else text
        value = None if content == text else text
        kept = await self._profile.remember(
            content, kind=KIND, key=key, value=value, metadata=metadata, agent=agent, ttl=ttl, trust="agent"
        )
        return _note(kept)

    async def read(self, path: str | PurePath) -> Note | None:
        """Return the note on exactly this path, or None."""
        head = await self._head(self._key(path))
        return None if head is None else _note(head)

    async def list(self, prefix: str | PurePath = "") -> NotesFound:
        """List the notes on this path and on everything inside it, by path."""
        return sorted([_note(memory) for memory in await self._under(self._key(prefix))], key=lambda note: note.path)

    async def search(self, query: str, *, under: str | PurePath = "", limit: int = 10) -> NotesFound:
        """Return the best matching notes on this path and on everything inside it, found by meaning, words and path."""
        hits = await self._profile.search(query, limit=limit, kind=KIND, filter=_under(self._key(under)))
        return [
            Note(
                _path(hit.key), text_of(hit.content, hit.value), hit.id, hit.version, hit.created_at, hit.metadata,
                hit.score,
            )
            for hit in hits
        ]  # fmt: skip

    async def entering(self, directory: str | PurePath, *, tokens: int = 1000) -> Briefing:
        """Return a briefing on a directory: its own note, then those nearest to it by depth, newest first."""
        if not isinstance(tokens, int) or isinstance(tokens, bool) or not MIN_TOKENS <= tokens <= 1_000_000:
            raise InvalidInput(f"tokens is {quoted_value(tokens)}; give {MIN_TOKENS} to 1,000,000.", field="tokens")
        key = self._key(directory)
        notes = [_note(memory) for memory in await self._under(key)]
        notes.sort(key=lambda note: (note.path.count("/") if note.path != key else 0, -note.written_at.timestamp()))
        return _briefing(_path(key), notes, tokens)

    async def history(self, path: str | PurePath) -> tuple[Note, ...]:
        """List every version of the note on this path, newest first, also those from before it was moved here."""
        head = await self._head(self._key(path))
        return () if head is None else tuple(map(_note, await self._profile.history(head.id)))

    async def move(self, old: str | PurePath, new: str | PurePath) -> tuple[Note, ...]:
        """Move the notes on this path and on everything inside it to another path; NotFound when there are none."""
        old, new = _plain_path(old), _plain_path(new)
        here, there = self._key(old), self._key(new)
        if there != here and file_keys.path_within(there, here):
            raise InvalidInput(f"{quoted_value(new)} is inside {quoted_value(old)}.", field="new")
        moved = await self._under(here)
        if not moved:
            raise NotFound(f"There is no note on or in {quoted_value(old)}.", field="old")
        if there != here and await self._under(there):
            raise AlreadyExists(f"There are notes on or in {quoted_value(new)}.", field="new")
        renamed = [(each.id, there + (each.key or here)[len(here) :]) for each in moved]
        return tuple([_note(await self._profile.revise(id, key=key)) for id, key in renamed])

    async def remove(self, path: str | PurePath, *, recursive: bool = False) -> int:
        """Delete the note on this path and its history for good; `recursive` also deletes those on everything inside
        it. Return the number of deleted notes."""
        key = self._key(path)
        head = await self._head(key)
        gone = await self._under(key) if recursive else [head] if head is not None else []
        for memory in gone:
            await self._profile.forget(memory.id)
        return len(gone)

    def _key(self, path: str | PurePath) -> str:
        found = self.root if path == "" else file_keys.absolute_path(_plain_path(path), self.root)
        return file_keys.key_of_path(tuple(step for step in found.split("/") if step))

    async def _head(self, key: str) -> Memory | None:
        return next(iter(await self._listed(kind=KIND, key=key)), None)

    async def _under(self, key: str) -> Memories:
        return await self._listed(kind=KIND, filter=_under(key))

    async def _listed(self, **narrowed: Any) -> Memories:
        found: Memories = []
        cursor: str | None = None
        while True:
            page = await self._profile.list(limit=PAGE_SIZE, cursor=cursor, **narrowed)
            found += page.items
            if (cursor := page.cursor) is None:
                return found


def _plain_path(path: str | PurePath) -> str:
    return path.as_posix() if isinstance(path, PurePath) else path


def _under(key: str) -> dict[str, Any]:
    return {"or": [{"key": key}, {"key": {"prefix": file_keys.is_inside(key)}}]}


def _path(key: str | None) -> str:
    return "/" + "/".join(file_keys.steps_of(key or "/"))


def _note(memory: Memory) -> Note:
    text = text_of(memory.content, memory.value)
    return Note(_path(memory.key), text, memory.id, memory.version, memory.created_at, memory.metadata)


def _briefing(directory: str, notes: Iterable[Note], budget: int) -> Briefing:
    """A briefing of the first notes that fit. A note longer than a quarter of the budget is cut to that length."""
    from holdfast.recall import context

    lines = [f"# Notes in {directory}, as of {iso_text(now())[:10]}"]
    spent = context.token_count(lines[0]) + MIN_TOKENS // 4  # reserves room for the line that counts the notes left out
    taken: list[Note] = []
    left = 0
    for note in notes:
        line = _clipped_line(_line(note, directory), budget // 4)
        cost = context.token_count(line) + 1
        if spent + cost <= budget:
            spent += cost
            lines.append(line)
            taken.append(note)
        else:
            left += 1
    if not taken:
        return Briefing("", 0, (), left)
    text = "\n".join([*lines, f"- and {left:,} more"] if left else lines)
    return Briefing(text, context.token_count(text), tuple(taken), left)


def _line(note: Note, directory: str) -> str:
    name = note.path.removeprefix(file_keys.is_inside(directory)) if note.path != directory else "."
    return f"- {name} ({iso_text(note.written_at)[:10]}): {' '.join(note.text.split())}"


def _clipped_line(line: str, most: int) -> str:
    from holdfast.recall import context

    if context.token_count(line) <= most:
        return line
    short = " ".join(line.split(" ")[: most - 1]).encode()[: most * 4 - 4].decode(errors="ignore")
    return f"{short.rstrip()}…"
