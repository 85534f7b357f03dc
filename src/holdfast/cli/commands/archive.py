"""The commands that write and read archives and backups: export, import, backup, verify."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, BinaryIO, cast

from holdfast.cli.options import CommandTarget, DryRun, NoWait, add_command
from holdfast.cli.output.progress import (
    Interrupted,
    progress_meter,
    stop_spinner,
    wait_for_digestion,
    waiting_work,
)
from holdfast.cli.output.render import Block, CommandResult, Remark
from holdfast.cli.output.views import count
from holdfast.cli.parameters import Argument, Commands, Option
from holdfast.domain.errors import AlreadyExists, Damaged, InvalidInput, NotFound

if TYPE_CHECKING:
    from holdfast.archive.backup import VerifiedBackup
    from holdfast.domain.reports import Imported

MAX_NAMED_PROBLEMS = 10
"""How many problems or conflicts a report names. Chosen by hand; not measured."""
KEYS_INSIDE_WARNING = (
    "warning: the backup contains the master key. Anyone who has the backup can read everything in it. "
    "Protect it like the key itself."
)
KEYS_OUTSIDE_NOTICE = (
    "The backup does not contain the master key. Keep a copy of {keyring}: the backup cannot be read without it."
)


def export(
    target: CommandTarget,
    file: Annotated[Path, Argument(metavar="[FILE]", help="The file to write; .gz compresses it, - prints it.")] = Path(
        "-"
    ),
    vectors: Annotated[bool, Option("--vectors", help="Include the embedding vectors.")] = False,
    force: Annotated[bool, Option("--force", help="Replace the file if there is one.")] = False,
) -> CommandResult:
    """Write everything in a profile to one file, an archive.

    It has messages, memories with their history, settings and usage as JSON Lines; the last line has a checksum.
    """
    printed = str(file) == "-" or _is_standard_output(file)
    if printed and target.as_json:
        raise InvalidInput(
            "--json needs a file: without one, the archive itself is printed.", field="file", fix="Name a file."
        )
    if not force and not printed and _would_be_lost(file):
        raise AlreadyExists(
            f"{file} exists already.", field="file", fix="Choose another name, or add --force to replace it."
        )
    start = time.monotonic()
    if printed:
        stop_spinner()
    with target.open_profile() as profile, progress_meter("Exporting", 0) as progress:
        total = 0 if printed else _item_count(profile)
        destination = cast(BinaryIO, sys.stdout.buffer) if printed else file
        done = profile.export_to(destination, vectors=vectors, seen=lambda lines: progress.update(lines, total=total))
    if printed:
        sys.stdout.buffer.flush()
        return CommandResult(None)
    seconds = time.monotonic() - start
    size = Remark(f"{done.bytes:,} bytes in {seconds:.1f} s.")
    document = {name: getattr(done, name) for name in done.__dataclass_fields__}
    return CommandResult(
        document | {"file": str(file)},
        (f"Wrote {_counted_items(done.messages, done.memories)} to {file}.", f"sha256 {done.sha256}", size),
    )


def import_archive(
    target: CommandTarget,
    path: Annotated[Path, Argument(metavar="FILE|DIR", help="An archive, an export (.zip too), or a folder of notes.")],
    format: Annotated[
        str,
        Option(
            "--format",
            metavar="auto|archive|mem0|supermemory|chatgpt|claude|langgraph|markdown",
            help="The format; auto detects it from the content.",
        ),
    ] = "auto",
    replace: Annotated[
        bool, Option("--replace", help="Let the archive's memories supersede those with the same key.")
    ] = False,
    force: Annotated[bool, Option("--force", help="Import what can be read of a damaged archive.")] = False,
    dry_run: DryRun = False,
    no_wait: NoWait = False,
) -> CommandResult:
    """Import an archive, or the export of another product.

    Exports of ChatGPT and Claude are read as they come, the .zip too. Importing the same file again changes nothing. An
    archive is checked completely before anything is written.
    """
    start = time.monotonic()
    total = _stated_item_count(path, format)  # before the profile is opened: a wrong path makes no data folder
    with target.open_profile(create=not dry_run) as profile:
        before = profile.stats()
        try:
            with progress_meter("Importing", 0) as progress:
                done = profile.import_from(
                    path, format=format, replace=replace, force=force, dry_run=dry_run,
                    seen=lambda items: progress.update(items, total=total or items),
                )  # fmt: skip
        except KeyboardInterrupt:
            stored = count(profile.stats().messages - before.messages, "message")
            raise Interrupted(
                f"Interrupted. {stored} of it are stored. Run the same command again to import the rest; nothing is "
                f"stored twice. {waiting_work(profile)}"
            ) from None
        if not (dry_run or no_wait):
            wait_for_digestion(profile)
        after = profile.stats()
    sessions = after.sessions - before.sessions
    extracted = max(0, after.memories + after.superseded - before.memories - before.superseded - done.memories)
    document = {name: getattr(done, name) for name in done.__dataclass_fields__}
    return CommandResult(
        document | {"sessions": sessions, "extracted": extracted, "pending": after.pending},
        (*_import_report(done, sessions, extracted, after.pending), Remark(f"In {time.monotonic() - start:.1f} s.")),
    )


def backup(
    target: CommandTarget,
    path: Annotated[Path, Argument(metavar="DIR", help="The folder to write; it must be new or empty.")],
    with_keys: Annotated[bool, Option("--with-keys", help="Include the master key.")] = False,
) -> CommandResult:
    """Copy a whole data folder, even while a server has it open.

    Every profile stays encrypted. Check the copy with: holdfast verify DIR
    """
    from holdfast.archive import backup as archive_backup
    from holdfast.service.settings import Settings

    chosen = Settings.read(data=target.data)
    if chosen.store is not None:
        raise InvalidInput(
            "holdfast backup copies a data folder, not a database.",
            field="data",
            fix="Use pg_dump, or holdfast transfer.",
        )
    keyring = chosen.keyring or chosen.folder / "keyring"
    if not (chosen.folder / "catalogue.db").exists():
        raise NotFound(f"There is no data folder at {chosen.folder}.", field="data")
    try:
        with progress_meter("Profiles", 0) as progress:
            done = archive_backup.create_backup(
                chosen.folder, keyring, path, with_keys=with_keys, seen=lambda n, of: progress.update(n, total=of)
            )
    except KeyboardInterrupt:
        raise Interrupted(f"Interrupted. {path} is not complete; the same command starts it again.") from None
    warning = KEYS_INSIDE_WARNING if with_keys else KEYS_OUTSIDE_NOTICE.format(keyring=keyring)
    if with_keys and not target.as_json:
        print(warning, file=sys.stderr)
    line = f"Copied {count(done.profiles, 'profile')} to {path}, {done.bytes:,} bytes."
    document = {name: getattr(done, name) for name in done.__dataclass_fields__} | {"warning": warning}
    return CommandResult(document, (line,) if with_keys else (line, Remark(warning)))


def verify(
    target: CommandTarget,
    path: Annotated[Path, Argument(metavar="FILE|DIR", help="An archive or a backup.")],
) -> CommandResult:
    """Check every byte of an archive or a backup.

    The profiles of a backup are opened as well if the key is in the backup or in the data folder.
    """
    if path.is_dir():
        return _verify_backup(target, path)
    from holdfast.archive.file import Archive, open_for_reading

    with open_for_reading(path) as file, progress_meter("Lines", 0) as progress:
        found = Archive(file).check(seen=lambda lines: progress.update(lines, total=lines))
    counts, header = found.counts, found.header
    items = _counted_items(counts["messages"], counts["memories"])
    line = f"The archive of {header.namespace}/{header.profile} is undamaged: {items}."
    document = {"ok": True, "namespace": header.namespace, "profile": header.profile, "counts": counts}
    return CommandResult(document | {"sha256": found.sha256}, (line, f"sha256 {found.sha256}"))


def add_to(app: Commands) -> None:
    add_command(app, "export", export)
    add_command(app, "import", import_archive)
    add_command(app, "backup", backup)
    add_command(app, "verify", verify)


def _verify_backup(target: CommandTarget, path: Path) -> CommandResult:
    from holdfast.archive.backup import verify_backup
    from holdfast.service.settings import Settings

    chosen = Settings.read(data=target.data)
    keyring = None if chosen.store is not None else chosen.keyring or chosen.folder / "keyring"
    with progress_meter("Files", 0) as progress:
        found = verify_backup(path, keyring, seen=lambda n, of: progress.update(n, total=of))
    document = {"ok": not found.problems} | {name: getattr(found, name) for name in found.__dataclass_fields__}
    return CommandResult(document, _backup_report(found), exit=Damaged.exit if found.problems else 0)


def _backup_report(found: VerifiedBackup) -> tuple[Block, ...]:
    if found.problems:
        more = len(found.problems) - MAX_NAMED_PROBLEMS
        problems = [f"✗ {each}" for each in found.problems[:MAX_NAMED_PROBLEMS]]
        return (*problems, *([Remark(f"and {more:,} more")] if more > 0 else []))
    files = f"{count(found.files, 'file')} undamaged, {found.bytes:,} bytes."
    if found.opened is None:
        return files, Remark("No profile was opened: the master key is neither in the backup nor in the data folder.")
    return files, f"{count(found.opened, 'profile')} opened: {_counted_items(found.messages, found.memories)}."


def _import_report(done: Imported, sessions: int, extracted: int, pending: int) -> tuple[Block, ...]:
    """What was imported, in how many new conversations, and what was extracted from it."""
    verb = "Would import" if done.dry_run else "Imported"
    of_sessions = f" in {count(sessions, 'conversation')}" if sessions else ""
    items = f"{count(done.messages, 'message')}{of_sessions} and {count(done.memories, 'memory')}"
    blocks: list[Block] = [f"{verb} {items}; {done.known:,} already known."]
    if extracted:
        blocks.append(f"Made {count(extracted, 'memory')} from the messages.")
    if pending:
        blocks.append(f"{count(pending, 'message')} waiting to be digested.")
    if done.documents:
        blocks.append(f"{count(done.documents, 'document')}.")
    if done.settings or done.usage:
        blocks.append(f"{count(done.settings, 'setting')} and {count(done.usage, 'line')} of usage.")
    for clash in done.conflicts[:MAX_NAMED_PROBLEMS]:
        holder = f" ({clash.held})" if clash.held else ""
        blocks.append(f"! {clash.what} {clash.name} was left out: the profile already has another one{holder}.")
    more = len(done.conflicts) - MAX_NAMED_PROBLEMS
    blocks += [Remark(f"and {more:,} more conflicts; --json lists them all.")] if more > 0 else []
    blocks += [f"! {problem}" for problem in done.problems]
    return tuple(blocks)


def _is_standard_output(file: Path) -> bool:
    """Whether the file is standard output under another name, such as /dev/stdout: a report would end up inside it."""
    try:
        return os.path.samestat(file.stat(), os.fstat(sys.stdout.fileno()))
    except OSError:
        return False


def _would_be_lost(file: Path) -> bool:
    """Whether a new file would take the place of one with content."""
    from holdfast.archive.file import is_replaceable

    return file.is_file() and file.stat().st_size > 0 and is_replaceable(file)


def _counted_items(messages: int, memories: int) -> str:
    return f"{count(messages, 'message')} and {count(memories, 'memory')}"


def _item_count(profile: Any) -> int:
    stats = profile.stats()
    return int(stats.messages + stats.memories + stats.superseded)


def _stated_item_count(path: Path, format: str) -> int:
    """How many items an archive states that it has; 0 for other formats, which state nothing. Raises InvalidInput for
    what cannot be imported, as far as its beginning shows it."""
    from holdfast.archive.file import Archive
    from holdfast.archive.importers import parse_export
    from holdfast.archive.io import open_import, reads_as_archive

    with open_import(path) as file:
        if not reads_as_archive(file, format):
            next(parse_export(file, format), None)
            return 0
        assert not isinstance(file, Path)
        counts = Archive(file).header().counts
    return counts["messages"] + counts["memories"]
