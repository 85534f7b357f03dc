"""What is wrong with this installation and this data folder, and how to fix it. Looks, and changes nothing."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from .config import Settings
from .errors import HoldfastError

if TYPE_CHECKING:
    from .postgres.check import Health as DatabaseHealth
    from .sqlite.check import Health, Listed

Level = Literal["ok", "warn", "fail"]
LIBRARIES = ("numpy", "onnxruntime", "PyStemmer")
RESTORE = "Restore this file from a backup, or delete the profile; the others are not affected."


@dataclass(frozen=True, slots=True)
class Finding:
    level: Level
    what: str
    fix: str = ""


def findings(data: str | Path | None = None) -> list[Finding]:
    """Every check's outcome. A check that breaks is a finding, never an exception."""
    try:
        settings = Settings.read(data=data)
    except HoldfastError as bad:
        return [*_libraries(), _failed(bad)]
    checks: tuple[Callable[[], Iterator[Finding]], ...] = (
        _libraries,
        lambda: _model(settings.embedder),
        *((_storage_library, lambda: _folder(settings)) if settings.store is None else (lambda: _database(settings),)),
    )
    return [finding for check in checks for finding in _survived(check)]


def _survived(check: Callable[[], Iterator[Finding]]) -> Iterator[Finding]:
    try:
        yield from check()
    except HoldfastError as bad:
        yield _failed(bad)
    except Exception as bad:
        yield Finding("fail", f"A check broke off: {type(bad).__name__}: {bad}", "Please report this.")


def _failed(bad: HoldfastError) -> Finding:
    fix = bad.fix or ""
    return Finding("fail", str(bad).removesuffix(fix).strip(), fix)


def _libraries() -> Iterator[Finding]:
    versions = []
    for name in LIBRARIES:
        try:
            versions.append(f"{name} {metadata.version(name)}")
        except metadata.PackageNotFoundError:
            yield Finding("fail", f"{name} is not installed.", f"pip install {name}")
    yield Finding("ok", f"Python {sys.version.split()[0]}, {', '.join(versions)}")


def _storage_library() -> Iterator[Finding]:
    reinstall = "pip uninstall -y apsw apsw-sqlite3mc && pip install apsw-sqlite3mc"
    try:
        metadata.version("apsw")
        yield Finding("fail", "apsw is installed beside apsw-sqlite3mc; they overwrite each other.", reinstall)
    except metadata.PackageNotFoundError:
        pass
    try:
        from .sqlite import check
    except ImportError as bad:
        yield Finding("fail", f"The storage library does not load: {bad}", reinstall)
        return
    yield Finding("ok", check.library())


def _model(name: str) -> Iterator[Finding]:
    from .models.local import ArcticEmbedder, PotionEmbedder

    embedder = PotionEmbedder() if name == "potion" else ArcticEmbedder()
    reinstall = "Reinstall holdfast; in a source checkout run: python scripts/fetch_models.py"
    try:
        cat, kitten, tax = asyncio.run(embedder.embed(["a cat", "a kitten", "income tax law"]))
    except HoldfastError:
        raise
    except Exception as bad:
        yield Finding("fail", f"The {name} model does not load: {type(bad).__name__}: {bad}", reinstall)
        return
    if not float(cat @ kitten) > float(cat @ tax):
        yield Finding("fail", f"The {name} model loads and talks nonsense; its weights are damaged.", reinstall)
    else:
        yield Finding("ok", f"Model {embedder.model} loads and embeds")


def _folder(settings: Settings) -> Iterator[Finding]:
    folder = settings.folder
    if not folder.exists():
        yield Finding("ok", f"Data folder {folder} does not exist yet; the first write makes it")
        return
    if not folder.is_dir():
        yield Finding("fail", f"Data folder {folder} is not a folder.", "Move it away, or set HOLDFAST_DATA.")
        return
    if os.access(folder, os.R_OK | os.W_OK | os.X_OK):
        yield Finding("ok", f"Data folder {folder} is there and writable")
    else:
        yield Finding("fail", f"Data folder {folder} cannot be written.", f"Check its owner and: chmod u+rwx {folder}")
    yield from _locked_up(folder, settings.keyring or folder / "keyring")


def _database(settings: Settings) -> Iterator[Finding]:
    try:
        from .postgres import check
    except ImportError as absent:
        yield Finding("fail", f"The setting store names a database: {absent}.", "pip install 'holdfast[postgres]'")
        return
    address = settings.store or ""
    try:
        health = check.health(address)
    except Exception as bad:  # whatever the driver says about an address is what its owner must know
        yield Finding("fail", f"The database does not answer: {str(bad).strip()}", "Check HOLDFAST_STORE.")
        return
    yield Finding("ok", f"PostgreSQL {health.server} answers; tables: {health.spread}")
    if health.vector_will_do:
        yield Finding("ok", f"pgvector {health.vector}")
    else:
        fix = "Install pgvector 0.8 or newer on the database server; the first start enables it."
        level: Level = "warn" if health.vector is None else "fail"
        yield Finding(level, f"pgvector is {health.vector or 'not enabled in this database'}.", fix)
    if health.changed or health.level > health.newest:
        what = f"The schema is another one ({', '.join(health.changed) or health.level})."
        yield Finding("fail", what, "Use the Holdfast release that wrote it, or: pip install -U holdfast")
    elif health.level:
        yield from _database_contents(health)
    if settings.replica is not None:
        yield _replica(address, settings.replica)


def _database_contents(health: DatabaseHealth) -> Iterator[Finding]:
    if not health.walled:
        fix = "ALTER ROLE holdfast_profile NOSUPERUSER NOBYPASSRLS"
        yield Finding("fail", "The profiles' role can bypass row-level security, or is missing.", fix)
    yield Finding(
        "ok",
        f"{health.profiles:,} profiles, {health.sealed:,} sealed; {health.waiting:,} being worked on; "
        f"{health.processes} processes at work",
    )


def _replica(address: str, replica: str) -> Finding:
    from .postgres import check

    try:
        behind = check.lag(address, replica)
    except Exception as bad:
        return Finding("fail", f"The replica does not answer: {str(bad).strip()}", "Check HOLDFAST_REPLICA.")
    if behind < 0:
        return Finding("fail", "HOLDFAST_REPLICA is no replica: it replays nothing.", "Name a streaming standby.")
    return Finding("ok", f"The replica answers, {behind:,} bytes behind")


def _locked_up(folder: Path, keyring: Path) -> Iterator[Finding]:
    """The keyring, then what it opens."""
    from .sqlite import check

    catalogue = (folder / "catalogue.db").exists()
    if not keyring.exists():
        if catalogue:
            fix = "Put it back, or set HOLDFAST_KEYRING to where it is; without it nothing can be decrypted."
            yield Finding("fail", f"The keyring {keyring} is missing.", fix)
        return
    key = check.master_key(keyring)
    mode = keyring.stat().st_mode & 0o777
    if os.name == "posix" and mode & 0o077:
        yield Finding("warn", f"The keyring {keyring} can be read by others ({mode:04o}).", f"chmod 600 {keyring}")
    else:
        yield Finding("ok", f"Keyring {keyring} is there and private")
    owner = check.owner(folder)
    if owner is not None:
        fix = "That is fine; stop it and run doctor again to check the files as well."
        yield Finding("warn", f"Process {owner} has the data folder open; its files were not checked.", fix)
    elif catalogue:
        yield from _files(folder, key)


def _files(folder: Path, key: bytes) -> Iterator[Finding]:
    from .sqlite import check

    catalogue = folder / "catalogue.db"
    fix = "Put the folder's own keyring back, or restore catalogue.db from a backup."
    try:
        known = check.listed(folder, key)
        yield from _judged("catalogue.db", check.health(catalogue, key, "catalogue"), fix)
    except HoldfastError as bad:
        yield Finding("fail", f"The catalogue cannot be read with this keyring: {_failed(bad).what}", fix)
        return
    yield Finding("ok", f"The catalogue opens; it lists {len(known):,} profile{'s' * (len(known) != 1)}")
    found = [finding for each in known for finding in _profile(each)]
    yield from found
    if known and all(finding.level != "fail" for finding in found):
        yield Finding("ok", f"Every profile's file opens with its key and passes its check ({len(known):,})")
    strays = check.strays(folder, known)
    if strays:
        names = ", ".join(str(path.relative_to(folder)) for path in strays[:3]) + (" …" if len(strays) > 3 else "")
        fix = "Left by an interrupted first write, or copied here; move them away once you are sure."
        yield Finding("warn", f"{len(strays):,} files belong to no profile: {names}", fix)


def _profile(each: Listed) -> Iterator[Finding]:
    from .sqlite import check

    name = f"Profile {each.namespace}/{each.profile}"
    try:
        health = check.health(each.path, each.key, "profile")
    except HoldfastError as bad:
        yield Finding("fail", f"{name}: {_failed(bad).what}", RESTORE)
        return
    yield from _judged(name, health, RESTORE)
    if health.waiting:
        fix = "It is digested the next time the folder is opened: holdfast stats"
        yield Finding("warn", f"{name}: {health.waiting:,} messages wait to be digested.", fix)
    if health.aside:
        why = f" ({health.reason})" if health.reason else ""
        fix = "Search still finds them. Fix the cause and ingest them again, or forget them."
        yield Finding("warn", f"{name}: {health.aside:,} messages were set aside after repeated failures{why}.", fix)


def _judged(name: str, health: Health, fix: str) -> Iterator[Finding]:
    if health.problems:
        yield Finding("fail", f"{name}: {'; '.join(health.problems)}", fix)
    if not health.encrypted:
        copy = "Copy its contents into a new data folder with a current Holdfast, then delete this one."
        yield Finding("fail", f"{name}: the file is not encrypted.", copy)
    if not health.level:
        yield Finding("fail", f"{name}: the file is empty.", fix)
    if health.level > health.newest:
        what = f"{name}: is at version {health.level}; this Holdfast knows up to {health.newest}."
        yield Finding("fail", what, "pip install -U holdfast")
    if health.changed:
        what = f"{name}: was built with another version of {', '.join(health.changed)}."
        yield Finding("fail", what, "Use the Holdfast release that wrote it.")
