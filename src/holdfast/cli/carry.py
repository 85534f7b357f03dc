"""The commands that carry profiles out and in: export, import, backup, verify."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, BinaryIO, cast

import typer

from ..errors import Damaged, InvalidInput, NotFound
from .output import Block, Note, Reply
from .place import Place, add
from .progress import Meter, meter
from .tell import count, digested

if TYPE_CHECKING:
    from ..backup import Verified
    from ..restore import Imported

MOST_NAMED = 10
KEYS_INSIDE = (
    "warning: the backup has the master key in it: whoever gets hold of it can read everything. "
    "Keep it as you would keep the key."
)
KEYS_OUTSIDE = "The master key is not in it; keep a copy of {keyring} elsewhere, or nobody can read the backup."


def export(
    place: Place,
    file: Annotated[Path, typer.Argument(metavar="[FILE]", help="Where to; .gz compresses, - prints it.")] = Path("-"),
    vectors: Annotated[bool, typer.Option("--vectors", help="Also what the embedder made of it.")] = False,
) -> Reply:
    """Write everything that a profile holds into one file.

    Messages, memories with their history, settings and usage as lines of JSON, the last with a checksum of all.
    """
    printed = str(file) == "-"
    if printed and place.as_json:
        raise InvalidInput("The archive itself goes to standard output.", field="file", fix="Name a file.")
    start = time.monotonic()
    with place.memory() as memory, meter("Exporting", 0, quiet=place.as_json) as shown:
        total = 0 if printed else _size(memory)
        target = cast(BinaryIO, sys.stdout.buffer) if printed else file
        done = memory.export_to(target, vectors=vectors, seen=lambda lines: shown.reached(lines, total=total))
    if printed:
        sys.stdout.buffer.flush()
        return Reply(None)
    seconds = time.monotonic() - start
    held = f"{count(done.messages, 'message')} and {count(done.memories, 'memory')}"
    about = Note(f"{done.bytes:,} bytes in {seconds:.1f} s.")
    document = {name: getattr(done, name) for name in done.__dataclass_fields__}
    return Reply(document | {"file": str(file)}, (f"Wrote {held} to {file}.", f"sha256 {done.sha256}", about))


def import_(
    place: Place,
    path: Annotated[Path, typer.Argument(metavar="FILE|DIR", help="An archive, an export, or a folder of notes.")],
    format: Annotated[
        str,
        typer.Option(
            "--format",
            metavar="auto|archive|mem0|supermemory|chatgpt|claude|langgraph|markdown",
            help="What it is; auto looks at the content.",
        ),
    ] = "auto",
    replace: Annotated[
        bool, typer.Option("--replace", help="Let the archive's memories take keys that are in use.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Bring what can be read of a damaged archive.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only tell what would be done.")] = False,
    no_wait: Annotated[bool, typer.Option("--no-wait", help="Return once it is written; digest later.")] = False,
) -> Reply:
    """Bring in an archive, or what another memory exported.

    Twice is once: what is known is left alone. An archive is checked as a whole before anything is written.
    """
    start = time.monotonic()
    with place.memory() as memory:
        with meter("Importing", 0, quiet=place.as_json) as shown:
            done = memory.import_from(
                path, format=format, replace=replace, force=force, dry_run=dry_run, seen=_seen(shown, path)
            )
        if not (dry_run or no_wait):
            digested(memory, quiet=place.as_json)
    return Reply(done, _brought(done, time.monotonic() - start))


def backup(
    place: Place,
    path: Annotated[Path, typer.Argument(metavar="DIR", help="Where to; a folder of its own.")],
    with_keys: Annotated[bool, typer.Option("--with-keys", help="Put the master key into it as well.")] = False,
) -> Reply:
    """Copy a whole data folder, also while a server has it open.

    Every profile stays encrypted. Check the copy with: holdfast verify DIR
    """
    from ..backup import backup as kept
    from ..config import Settings

    chosen = Settings.read(data=place.data)
    if chosen.store is not None:
        raise InvalidInput("A database has backups of its own.", field="data", fix="Use pg_dump, or holdfast transfer.")
    keyring = chosen.keyring or chosen.folder / "keyring"
    if not (chosen.folder / "catalogue.db").exists():
        raise NotFound(f"There is no data folder at {chosen.folder}.", field="data")
    with meter("Profiles", 0, quiet=place.as_json) as shown:
        done = kept(chosen.folder, keyring, path, with_keys=with_keys, seen=lambda n, of: shown.reached(n, total=of))
    warning = KEYS_INSIDE if with_keys else KEYS_OUTSIDE.format(keyring=keyring)
    if with_keys and not place.as_json:
        print(warning, file=sys.stderr)
    said = f"Copied {count(done.profiles, 'profile')} to {path}, {done.bytes:,} bytes."
    document = {name: getattr(done, name) for name in done.__dataclass_fields__} | {"warning": warning}
    return Reply(document, (said,) if with_keys else (said, Note(warning)))


def verify(
    place: Place,
    path: Annotated[Path, typer.Argument(metavar="FILE|DIR", help="An archive or a backup.")],
) -> Reply:
    """Check every byte of an archive or a backup.

    A backup's profiles are opened too, when it has its keys in it, or those of the data folder open it.
    """
    if path.is_dir():
        return _verify_backup(place, path)
    from ..archive_file import Archive, opened

    with opened(path) as file, meter("Lines", 0, quiet=place.as_json) as shown:
        found = Archive(file).check(seen=lambda lines: shown.reached(lines, total=lines))
    counts, head = found.counts, found.header
    said = f"The archive of {head.namespace}/{head.profile} is whole: {_held(counts['messages'], counts['memories'])}."
    document = {"ok": True, "namespace": head.namespace, "profile": head.profile, "counts": counts}
    return Reply(document | {"sha256": found.sha256}, (said, f"sha256 {found.sha256}"))


def add_to(app: typer.Typer) -> None:
    add(app, "export", export)
    add(app, "import", import_)
    add(app, "backup", backup)
    add(app, "verify", verify)


def _verify_backup(place: Place, path: Path) -> Reply:
    from ..backup import verified
    from ..config import Settings

    chosen = Settings.read(data=place.data)
    keyring = None if chosen.store is not None else chosen.keyring or chosen.folder / "keyring"
    with meter("Files", 0, quiet=place.as_json) as shown:
        found = verified(path, keyring, seen=lambda n, of: shown.reached(n, total=of))
    document = {"ok": not found.problems} | {name: getattr(found, name) for name in found.__dataclass_fields__}
    return Reply(document, _checked(found), exit=Damaged.exit if found.problems else 0)


def _checked(found: Verified) -> tuple[Block, ...]:
    if found.problems:
        more = len(found.problems) - MOST_NAMED
        named = [f"✗ {each}" for each in found.problems[:MOST_NAMED]]
        return (*named, *([Note(f"and {more:,} more")] if more > 0 else []))
    whole = f"{count(found.files, 'file')} as they were written, {found.bytes:,} bytes."
    if found.opened is None:
        return whole, Note("Nothing was opened: the keys are not in the backup, nor in the data folder.")
    return whole, f"{count(found.opened, 'profile')} opened: {_held(found.messages, found.memories)}."


def _brought(done: Imported, seconds: float) -> tuple[Block, ...]:
    verb = "Would bring" if done.dry_run else "Brought"
    blocks: list[Block] = [f"{verb} {_held(done.messages, done.memories)}; {done.known:,} known already."]
    if done.documents:
        blocks.append(f"{count(done.documents, 'document')}.")
    if done.settings or done.usage:
        blocks.append(f"{count(done.settings, 'setting')} and {count(done.usage, 'line')} of usage.")
    for clash in done.conflicts[:MOST_NAMED]:
        where = f"; here it is {clash.held}" if clash.held else ""
        blocks.append(f"! {clash.what} {clash.name} was left out: its place is taken{where}.")
    more = len(done.conflicts) - MOST_NAMED
    blocks += [Note(f"and {more:,} more conflicts; --json names them all.")] if more > 0 else []
    blocks += [f"! {problem}" for problem in done.problems]
    blocks.append(Note(f"In {seconds:.1f} s."))
    return tuple(blocks)


def _held(messages: int, memories: int) -> str:
    return f"{count(messages, 'message')} and {count(memories, 'memory')}"


def _size(memory: Any) -> int:
    stats = memory.stats()
    return int(stats.messages + stats.memories + stats.superseded)


def _seen(shown: Meter, path: Path) -> Any:
    """How far it is: an archive tells how much it holds, others do not."""
    from ..archive_checks import header, value_of
    from ..archive_file import Archive, is_archive, opened

    total = 0
    if path.is_file():
        with opened(path) as file:
            if is_archive(file):
                counts = header(value_of(Archive(file).first())).counts
                total = counts["messages"] + counts["memories"]
    return lambda done: shown.reached(done, total=total or done)
