"""Creates and verifies backups: a copy of a data folder with a manifest of its files and their checksums.

    backup/
      backup.json       the manifest: path, size and SHA-256 of each file; written last
      catalogue.db      as in the data folder, also encrypted
      profiles/ab/….db  each with its witness beside it
      keyring           only on request: anyone with the backup and its keyring can read everything in it

A backup cannot be read without its keyring and is not secret with it: keep the two apart.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from holdfast.domain.errors import AlreadyExists, Damaged, HoldfastError, InvalidInput
from holdfast.domain.timestamps import iso_text, now
from holdfast.storage.keyring import load_master_key

MANIFEST_NAME = "backup.json"
UNFINISHED_NAME = "unfinished"
FORMAT = "holdfast-backup"
FileProgress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class CreatedBackup:
    """A backup that was created."""

    path: str
    profiles: int
    files: int
    bytes: int
    with_keys: bool


@dataclass(frozen=True, slots=True)
class VerifiedBackup:
    """The result of verifying a backup. `opened` is None when no keyring is available to open profiles."""

    files: int
    bytes: int
    opened: int | None
    messages: int = 0
    memories: int = 0
    problems: tuple[str, ...] = ()


def create_backup(
    folder: Path, keyring: Path, target: Path, *, with_keys: bool, seen: FileProgress = lambda n, of: None
) -> CreatedBackup:
    """Copy a data folder; a process may have it open."""
    from holdfast.storage.sqlite.backup import copy_folder

    _prepare_target(target, folder)
    key = load_master_key(keyring, new=False)
    (target / UNFINISHED_NAME).touch()
    copies = copy_folder(folder, target, key, seen)
    if with_keys:
        copies.append(target / "keyring")
        os.close(os.open(copies[-1], os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600))
        copies[-1].write_bytes(keyring.read_bytes())
    files = [{"path": str(path.relative_to(target)), "bytes": path.stat().st_size, "sha256": _file_sha256(path)}
             for path in sorted(copies)]  # fmt: skip
    manifest = {"format": FORMAT, "version": 1, "created_at": iso_text(now()), "with_keys": with_keys, "files": files}
    fresh = target / f"{MANIFEST_NAME}.new"
    with fresh.open("w", encoding="utf-8") as out:
        json.dump(manifest, out, indent=1)
        out.flush()
        os.fsync(out.fileno())
    fresh.replace(target / MANIFEST_NAME)
    (target / UNFINISHED_NAME).unlink()
    size = sum(path.stat().st_size for path in copies)
    profiles = sum(path.suffix == ".db" for path in copies) - 1
    return CreatedBackup(str(target), profiles, len(copies), size, with_keys)


def _prepare_target(target: Path, folder: Path) -> None:
    """Create the target folder, or clear what an interrupted backup has left in it."""
    if target.resolve() == folder.resolve() or folder.resolve() in target.resolve().parents:
        raise InvalidInput("A backup inside the data folder would be lost with it.", field="path")
    if (target / UNFINISHED_NAME).exists():
        shutil.rmtree(target)
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise AlreadyExists(f"{target} is not empty.", field="path", fix="Write each backup to a new folder.")
    try:
        target.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as bad:
        raise InvalidInput(f"{target} cannot be created: {bad.strerror}.", field="path") from None


def is_backup(path: Path) -> bool:
    """Whether the folder holds a backup, complete or not."""
    return (path / MANIFEST_NAME).exists() or (path / UNFINISHED_NAME).exists()


def verify_backup(path: Path, keyring: Path | None, *, seen: FileProgress = lambda n, of: None) -> VerifiedBackup:
    """Compare every file with the manifest, and open every profile if a keyring is available."""
    if not (path / MANIFEST_NAME).exists():
        why = "it was interrupted" if (path / UNFINISHED_NAME).exists() else f"it has no {MANIFEST_NAME}"
        raise Damaged(f"{path} is not a complete backup: {why}.", fix="Create the backup again.")
    manifest = _load_manifest(path / MANIFEST_NAME)
    problems = []
    for n, (name, size, digest) in enumerate(manifest):
        seen(n, len(manifest))
        file = path / name
        if not file.is_file():
            problems.append(f"{name} is missing")
        elif file.stat().st_size != size or _file_sha256(file) != digest:
            problems.append(f"{name} was changed after it was written")
    names = {name for name, _, _ in manifest}
    found = {str(each.relative_to(path)) for each in path.rglob("*") if each.is_file()} - {MANIFEST_NAME}
    problems += [f"{name} is not in the manifest" for name in sorted(found - names)]
    total = sum(size for _, size, _ in manifest)
    ring = path / "keyring" if (path / "keyring").exists() else keyring
    if problems or ring is None or not ring.exists():
        return VerifiedBackup(len(manifest), total, None, problems=tuple(problems))
    with _readable_copy(path, ring) as (copy, reading):
        opened, messages, memories, bad = asyncio.run(_open_profiles(copy, ring, reading=reading))
    return VerifiedBackup(len(manifest), total, opened, messages, memories, tuple(bad))


@contextmanager
def _readable_copy(path: Path, keyring: Path) -> Iterator[tuple[Path, bool]]:
    """The backup itself, to be read only; or, of one by an earlier version, a temporary copy that opening migrates."""
    from holdfast.storage.sqlite.health import is_migrated

    if is_migrated(path, load_master_key(keyring, new=False)):
        yield path, True
        return
    with tempfile.TemporaryDirectory(prefix="holdfast-") as folder:
        yield shutil.copytree(path, Path(folder) / "backup"), False


async def _open_profiles(path: Path, keyring: Path, *, reading: bool) -> tuple[int, int, int, list[str]]:
    """Open every profile; return the numbers of profiles, messages and memories, and the problems."""
    from holdfast.storage.inventory import take_inventory
    from holdfast.storage.sqlite.vault import SqliteVault

    vault = SqliteVault(path, keyring=keyring, reading=reading)
    profiles, messages, memories, bad = 0, 0, 0, []
    try:
        for space in await vault.namespaces():
            for each in await vault.profiles(space.name):
                try:
                    held = await take_inventory(await vault.open(space.name, each.name, create=False))
                    profiles, messages = profiles + 1, messages + len(held.messages)
                    memories += len(held.memories)
                except HoldfastError as wrong:
                    bad.append(f"{space.name}/{each.name}: {wrong}")
    finally:
        await vault.close()
        for left in (*path.rglob("*.db-wal"), *path.rglob("*.db-shm")):  # created by opening the databases
            left.unlink(missing_ok=True)
    return profiles, messages, memories, bad


def _load_manifest(path: Path) -> list[tuple[str, int, str]]:
    try:
        manifest = json.loads(path.read_text("utf-8"))
        if manifest["format"] != FORMAT or manifest["version"] != 1:
            raise ValueError(f"it is {manifest['format']} {manifest['version']}")
        return [(str(each["path"]), int(each["bytes"]), str(each["sha256"])) for each in manifest["files"]]
    except (ValueError, KeyError, TypeError) as bad:
        raise Damaged(f"{path} is not the manifest of a backup: {bad}.", fix="Create the backup again.") from bad


def _file_sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
