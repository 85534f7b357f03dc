"""A backup: a data folder as it was, with a list of its files and their checksums. And the proof that one is good.

    backup/
      backup.json       what is here: each file's path, size and SHA-256; written last
      catalogue.db      as in the data folder, and as encrypted
      profiles/ab/….db
      keyring           only when asked for: with it, whoever has the backup can read everything in it

Without its keyring a backup is worth nothing, and with it no secret: keep the two apart.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from .errors import AlreadyExists, Damaged, HoldfastError, InvalidInput
from .keyring import master_key
from .moments import iso, now

LIST = "backup.json"
UNFINISHED = "unfinished"
FORMAT = "holdfast-backup"
Seen = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Kept:
    """A backup that was made."""

    path: str
    profiles: int
    files: int
    bytes: int
    with_keys: bool


@dataclass(frozen=True, slots=True)
class Verified:
    """What a look at every byte found. `opened` is None when the keys are not there to open anything."""

    files: int
    bytes: int
    opened: int | None
    messages: int = 0
    memories: int = 0
    problems: tuple[str, ...] = ()


def backup(folder: Path, keyring: Path, target: Path, *, with_keys: bool, seen: Seen = lambda n, of: None) -> Kept:
    """Copy a data folder, also one that a process has open."""
    from .sqlite.backup import copied

    _make_room(target, folder)
    key = master_key(keyring, new=False)
    (target / UNFINISHED).touch()
    made = copied(folder, target, key, seen)
    if with_keys:
        made.append(target / "keyring")
        os.close(os.open(made[-1], os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600))
        made[-1].write_bytes(keyring.read_bytes())
    files = [{"path": str(path.relative_to(target)), "bytes": path.stat().st_size, "sha256": _sum(path)}
             for path in sorted(made)]  # fmt: skip
    about = {"format": FORMAT, "version": 1, "created_at": iso(now()), "with_keys": with_keys, "files": files}
    fresh = target / f"{LIST}.new"
    with fresh.open("w", encoding="utf-8") as out:
        json.dump(about, out, indent=1)
        out.flush()
        os.fsync(out.fileno())
    fresh.replace(target / LIST)
    (target / UNFINISHED).unlink()
    size = sum(path.stat().st_size for path in made)
    return Kept(str(target), len(made) - 1 - with_keys, len(made), size, with_keys)


def _make_room(target: Path, folder: Path) -> None:
    """An empty folder, or what an interrupted backup has left."""
    if target.resolve() == folder.resolve() or folder.resolve() in target.resolve().parents:
        raise InvalidInput("A backup inside the data folder would be lost with it.", field="path")
    if (target / UNFINISHED).exists():
        shutil.rmtree(target)
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise AlreadyExists(f"{target} is not empty.", field="path", fix="Give each backup a folder of its own.")
    target.mkdir(parents=True, exist_ok=True, mode=0o700)


def is_backup(path: Path) -> bool:
    return (path / LIST).exists() or (path / UNFINISHED).exists()


def verified(path: Path, keyring: Path | None, *, seen: Seen = lambda n, of: None) -> Verified:
    """Compare every file with the list, and open every profile when the keys are there."""
    if not (path / LIST).exists():
        why = "it was interrupted" if (path / UNFINISHED).exists() else f"it has no {LIST}"
        raise Damaged(f"{path} is no whole backup: {why}.", fix="Make it again.")
    listed = _listed(path / LIST)
    problems = []
    for n, (name, size, digest) in enumerate(listed):
        seen(n, len(listed))
        file = path / name
        if not file.is_file():
            problems.append(f"{name} is missing")
        elif file.stat().st_size != size or _sum(file) != digest:
            problems.append(f"{name} is not as it was written")
    known = {name for name, _, _ in listed}
    own = {str(each.relative_to(path)) for each in path.rglob("*") if each.is_file()} - {LIST}
    problems += [f"{name} is not in the list" for name in sorted(own - known)]
    total = sum(size for _, size, _ in listed)
    ring = path / "keyring" if (path / "keyring").exists() else keyring
    if problems or ring is None or not ring.exists():
        return Verified(len(listed), total, None, problems=tuple(problems))
    opened, messages, memories, bad = asyncio.run(_opened(path, ring))
    return Verified(len(listed), total, opened, messages, memories, tuple(bad))


async def _opened(path: Path, keyring: Path) -> tuple[int, int, int, list[str]]:
    """Every profile as a reader would open it; how many, what they hold, and what is wrong with them."""
    from .inventory import taken
    from .sqlite.vault import SqliteVault

    vault = SqliteVault(path, keyring=keyring, reading=True)
    profiles, messages, memories, bad = 0, 0, 0, []
    try:
        for space in await vault.namespaces():
            for each in await vault.profiles(space.name):
                try:
                    held = await taken(await vault.open(space.name, each.name, create=False))
                    profiles, messages = profiles + 1, messages + len(held.messages)
                    memories += len(held.memories)
                except HoldfastError as wrong:
                    bad.append(f"{space.name}/{each.name}: {wrong}")
    finally:
        await vault.close()
        for left in (*path.rglob("*.db-wal"), *path.rglob("*.db-shm")):  # reading has made them
            left.unlink(missing_ok=True)
    return profiles, messages, memories, bad


def _listed(path: Path) -> list[tuple[str, int, str]]:
    try:
        about = json.loads(path.read_text("utf-8"))
        if about["format"] != FORMAT or about["version"] != 1:
            raise ValueError(f"it is {about['format']} {about['version']}")
        return [(str(each["path"]), int(each["bytes"]), str(each["sha256"])) for each in about["files"]]
    except (ValueError, KeyError, TypeError) as bad:
        raise Damaged(f"{path} is not the list of a backup: {bad}.", fix="Make the backup again.") from bad


def _sum(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
