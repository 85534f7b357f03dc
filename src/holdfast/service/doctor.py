"""Checks an installation and a data folder and tells how to fix what is wrong.

It changes nothing, unless its owner accepts the loss of what cannot be read any more.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from holdfast.domain.errors import UPGRADE_FIX, HoldfastError, InvalidInput, NotFound, install_fix
from holdfast.service.settings import Settings

if TYPE_CHECKING:
    from holdfast.storage.postgres.health import DatabaseHealth as DatabaseHealth
    from holdfast.storage.sqlite.health import FileHealth, ProfileFile
    from holdfast.storage.sqlite.repair import SalvagedFile

Level = Literal["ok", "warn", "fail"]
REQUIRED_LIBRARIES = ("numpy", "onnxruntime", "PyStemmer")
RESTORE_ADVICE = (
    "Restore this file from a backup, or delete the profile; `holdfast doctor --accept-loss` keeps what is left of it. "
    "The others are not affected."
)


@dataclass(frozen=True, slots=True)
class HealthFinding:
    level: Level
    what: str
    fix: str = ""


def findings(data: str | Path | None = None) -> list[HealthFinding]:
    """Run every check and return the findings. A check that fails unexpectedly is a finding, never an exception."""
    try:
        settings = Settings.read(data=data)
    except HoldfastError as bad:
        return [*_library_findings(), _failure_finding(bad)]
    checks: tuple[Callable[[], Iterator[HealthFinding]], ...] = (
        _library_findings,
        lambda: _model_finding(settings.embedder),
        *(
            (_storage_library_finding, lambda: _folder_findings(settings))
            if settings.store is None
            else (lambda: _database_findings(settings),)
        ),
    )
    return [finding for check in checks for finding in _checked_findings(check)]


def accept_loss(data: str | Path | None = None) -> list[HealthFinding]:
    """Keep what can be read of every damaged file, with a copy of the damaged ones aside; what was done for each."""
    settings = Settings.read(data=data)
    if settings.store is not None:
        raise InvalidInput("A database is repaired with PostgreSQL's own tools.", field="data")
    from holdfast.storage.sqlite.folder import check_catalogue_exists
    from holdfast.storage.sqlite.repair import salvage_folder

    check_catalogue_exists(settings.folder)
    if not (settings.folder / "catalogue.db").exists():
        raise NotFound(f"There is no data folder at {settings.folder}.", field="data")
    return [_salvage_finding(each) for each in salvage_folder(settings.folder, settings.keyring)]


def _salvage_finding(salvaged: SalvagedFile) -> HealthFinding:
    if salvaged.counts is None:
        fix = "Nothing of it can be read. Restore it from a backup, or delete the profile."
        return HealthFinding("fail", salvaged.problem, fix)
    left = " and ".join(f"{count:,} rows of {table}" for table, count in salvaged.counts.items())
    fix = f"Kept what could be read: {left}. The damaged files were copied to {salvaged.aside}."
    if salvaged.family == "catalogue":
        fix += " Credentials that were revoked last may be valid again, and new profiles missing: check both."
    return HealthFinding("warn", salvaged.problem, fix)


def _checked_findings(check: Callable[[], Iterator[HealthFinding]]) -> Iterator[HealthFinding]:
    try:
        yield from check()
    except HoldfastError as bad:
        yield _failure_finding(bad)
    except Exception as bad:
        yield HealthFinding(
            "fail",
            f"A check could not finish: {type(bad).__name__}: {bad}",
            "This is a fault in Holdfast; report it with this line.",
        )


def _failure_finding(bad: HoldfastError) -> HealthFinding:
    fix = bad.fix or ""
    return HealthFinding("fail", str(bad).removesuffix(fix).strip(), fix)


def _library_findings() -> Iterator[HealthFinding]:
    versions = []
    for name in REQUIRED_LIBRARIES:
        try:
            versions.append(f"{name} {metadata.version(name)}")
        except metadata.PackageNotFoundError:
            yield HealthFinding("fail", f"{name} is not installed.", f"pip install {name}")
    yield HealthFinding("ok", f"Python {sys.version.split()[0]}, {', '.join(versions)}")


def _storage_library_finding() -> Iterator[HealthFinding]:
    reinstall = "pip uninstall -y apsw apsw-sqlite3mc && pip install apsw-sqlite3mc"
    try:
        metadata.version("apsw")
        yield HealthFinding("fail", "apsw and apsw-sqlite3mc are both installed; they overwrite each other.", reinstall)
    except metadata.PackageNotFoundError:
        pass
    try:
        from holdfast.storage.sqlite import health as check
    except ImportError as bad:
        yield HealthFinding("fail", f"The storage library does not load: {bad}", reinstall)
        return
    yield HealthFinding("ok", check.library_version())


def _model_finding(name: str) -> Iterator[HealthFinding]:
    from holdfast.models.local import ArcticEmbedder, PotionEmbedder

    embedder = PotionEmbedder() if name == "potion" else ArcticEmbedder()
    reinstall = "Reinstall holdfast; in a source checkout run: python scripts/fetch_models.py"
    try:
        cat, kitten, tax = asyncio.run(embedder.embed(["a cat", "a kitten", "income tax law"]))
    except HoldfastError:
        raise
    except Exception as bad:
        yield HealthFinding("fail", f"The {name} model does not load: {type(bad).__name__}: {bad}", reinstall)
        return
    if not float(cat @ kitten) > float(cat @ tax):
        yield HealthFinding(
            "fail", f"The {name} model loads but gives wrong results; its weights are damaged.", reinstall
        )
    else:
        yield HealthFinding("ok", f"Model {embedder.model} loads and embeds")


def _folder_findings(settings: Settings) -> Iterator[HealthFinding]:
    folder = settings.folder
    if not folder.exists():
        yield HealthFinding("ok", f"Data folder {folder} does not exist yet; the first write creates it")
        return
    if not folder.is_dir():
        yield HealthFinding("fail", f"Data folder {folder} is not a folder.", "Move it away, or set HOLDFAST_DATA.")
        return
    if os.access(folder, os.R_OK | os.W_OK | os.X_OK):
        yield HealthFinding("ok", f"Data folder {folder} is there and writable")
    else:
        yield HealthFinding(
            "fail", f"Data folder {folder} cannot be written.", f"Check its owner and: chmod u+rwx {folder}"
        )
    yield from _lock_findings(folder, settings.keyring or folder / "keyring")


def _database_findings(settings: Settings) -> Iterator[HealthFinding]:
    try:
        from holdfast.storage.postgres import health as check
    except ImportError as absent:
        yield HealthFinding(
            "fail",
            f"The setting store is a database, but its driver is not installed: {absent}.",
            install_fix("postgres"),
        )
        return
    address = settings.store or ""
    try:
        health = check.check_database(address)
    except Exception as bad:  # any message of the driver about the address helps the operator
        yield HealthFinding("fail", f"The database does not answer: {str(bad).strip()}", "Check HOLDFAST_STORE.")
        return
    yield HealthFinding("ok", f"PostgreSQL {health.server} answers; tables: {health.spread}")
    if health.vector_will_do:
        yield HealthFinding("ok", f"pgvector {health.vector}")
    else:
        fix = "Install pgvector 0.8 or newer on the database server; the first start enables it."
        level: Level = "warn" if health.vector is None else "fail"
        yield HealthFinding(level, f"pgvector is {health.vector or 'not enabled in this database'}.", fix)
    if health.changed or health.level > health.newest:
        what = f"The schema is a different one ({', '.join(health.changed) or health.level})."
        yield HealthFinding("fail", what, f"Use the Holdfast release that wrote it, or a newer one. {UPGRADE_FIX}")
    elif health.level:
        yield from _database_contents(health)
    if settings.replica is not None:
        yield _replica(address, settings.replica)


def _database_contents(health: DatabaseHealth) -> Iterator[HealthFinding]:
    if not health.walled:
        fix = "ALTER ROLE holdfast_profile NOSUPERUSER NOBYPASSRLS"
        yield HealthFinding("fail", "The profiles' role can bypass row-level security, or is missing.", fix)
    yield HealthFinding(
        "ok",
        f"{health.profiles:,} profiles, {health.sealed:,} encrypted; {health.waiting:,} being worked on; "
        f"{health.processes} processes at work",
    )


def _replica(address: str, replica: str) -> HealthFinding:
    from holdfast.storage.postgres import health as check

    try:
        behind = check.replica_lag_bytes(address, replica)
    except Exception as bad:
        return HealthFinding("fail", f"The replica does not answer: {str(bad).strip()}", "Check HOLDFAST_REPLICA.")
    if behind < 0:
        return HealthFinding("fail", "HOLDFAST_REPLICA is not a replica.", "Name a streaming standby.")
    return HealthFinding("ok", f"The replica answers, {behind:,} bytes behind")


def _lock_findings(folder: Path, keyring: Path) -> Iterator[HealthFinding]:
    """Check the keyring, then the files that it decrypts."""
    from holdfast.storage.sqlite import health as check
    from holdfast.storage.sqlite.folder import check_catalogue_exists

    check_catalogue_exists(folder)
    catalogue = (folder / "catalogue.db").exists()
    if not keyring.exists():
        if catalogue:
            fix = "Put it back, or set HOLDFAST_KEYRING to where it is; without it nothing can be decrypted."
            yield HealthFinding("fail", f"The keyring {keyring} is missing.", fix)
        return
    key = check.load_master_key(keyring)
    mode = keyring.stat().st_mode & 0o777
    if os.name == "posix" and mode & 0o077:
        yield HealthFinding(
            "warn", f"The keyring {keyring} can be read by others ({mode:04o}).", f"chmod 600 {keyring}"
        )
    else:
        yield HealthFinding("ok", f"Keyring {keyring} is there and private")
    owner = check.lock_owner(folder)
    if owner is not None:
        fix = "To check the files as well, stop it and run doctor again."
        yield HealthFinding("ok", f"Process {owner} has the data folder open; its files were not checked", fix)
    elif catalogue:
        yield from _file_findings(folder, key)


def _file_findings(folder: Path, key: bytes) -> Iterator[HealthFinding]:
    from holdfast.storage.sqlite import health as check
    from holdfast.storage.sqlite.connection import CATALOGUE_LABEL
    from holdfast.storage.sqlite.witness import is_witnessed

    catalogue = folder / "catalogue.db"
    fix = "Put the folder's own keyring back, or restore catalogue.db from a backup."
    try:
        known = check.list_profiles(folder, key)
        yield from _health_findings("catalogue.db", check.check_file(catalogue, key, CATALOGUE_LABEL), fix)
    except HoldfastError as bad:
        if is_witnessed(catalogue, key):
            yield _failure_finding(bad)
        else:
            what = f"The catalogue cannot be read with this keyring: {_failure_finding(bad).what}"
            yield HealthFinding("fail", what, fix)
        return
    yield HealthFinding("ok", f"The catalogue opens; it lists {len(known):,} profile{'s' * (len(known) != 1)}")
    found = [finding for each in known for finding in _profile_findings(each)]
    yield from found
    if known and all(finding.level != "fail" for finding in found):
        yield HealthFinding("ok", f"Every profile's file opens with its key and passes its check ({len(known):,})")
    strays = check.stray_files(folder, known)
    if strays:
        names = ", ".join(str(path.relative_to(folder)) for path in strays[:3]) + (" …" if len(strays) > 3 else "")
        fix = "Left by an interrupted first write, or copied here; move them away once you are sure."
        yield HealthFinding("warn", f"{len(strays):,} files belong to no profile: {names}", fix)


def _profile_findings(each: ProfileFile) -> Iterator[HealthFinding]:
    from holdfast.storage.sqlite import health as check

    name = each.label.name
    try:
        health = check.check_file(each.path, each.key, each.label)
    except HoldfastError as bad:
        yield HealthFinding("fail", _failure_finding(bad).what, RESTORE_ADVICE)
        return
    yield from _health_findings(name, health, RESTORE_ADVICE)
    if health.waiting:
        fix = "The next command that opens the folder digests them, such as: holdfast stats"
        yield HealthFinding("warn", f"{name}: {health.waiting:,} messages wait to be digested.", fix)
    if health.aside:
        why = f" ({health.reason})" if health.reason else ""
        fix = "Search still finds them. Fix the cause, then: holdfast redigest --aside"
        yield HealthFinding(
            "warn", f"{name}: {health.aside:,} messages were set aside after repeated failures{why}.", fix
        )


def _health_findings(name: str, health: FileHealth, fix: str) -> Iterator[HealthFinding]:
    if health.problems:
        yield HealthFinding("fail", f"{name}: {'; '.join(health.problems)}", fix)
    if not health.encrypted:
        copy = "Copy its contents into a new data folder with a current Holdfast, then delete this one."
        yield HealthFinding("fail", f"{name}: the file is not encrypted.", copy)
    if not health.level:
        yield HealthFinding("fail", f"{name}: the file is empty.", fix)
    if health.level > health.newest:
        what = f"{name}: is at version {health.level}; this Holdfast knows up to {health.newest}."
        yield HealthFinding("fail", what, UPGRADE_FIX)
    if health.changed:
        what = f"{name}: was built with another version of {', '.join(health.changed)}."
        yield HealthFinding("fail", what, "Use the Holdfast release that wrote it.")
