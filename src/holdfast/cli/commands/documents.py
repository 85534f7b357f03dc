"""The commands about documents: add, documents."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from holdfast.cli.options import CommandTarget, Metadata, Yes, add_command, confirm
from holdfast.cli.output import views
from holdfast.cli.output.progress import Interrupted, progress_meter, wait_for_digestion
from holdfast.cli.output.render import Block, CommandResult, Entry, Remark, print_result
from holdfast.cli.output.views import count
from holdfast.cli.parameters import Argument, Commands, Option
from holdfast.cli.transcript import parse_json
from holdfast.domain.errors import HoldfastError, InvalidInput

if TYPE_CHECKING:
    from holdfast.domain.results import Document
    from holdfast.service.sync import Profile

WATCH_SECONDS = 2.0
"""Time between two scans of watched folders. Chosen by hand; not measured."""
POLL_SECONDS = 0.1
"""Minimum time between two polls of a document's progress. Chosen by hand; not measured."""
FAILED_EXIT = 2
_URL = re.compile(r"https?://\S+", re.I)
FileStates = dict[Path, tuple[int, int]]


def add_documents(
    target: CommandTarget,
    sources: Annotated[list[str], Argument(metavar="FILE|URL|DIR…", help="What to read; - reads standard input.")],
    name: Annotated[str | None, Option("--name", metavar="NAME", help="A name for the document.")] = None,
    metadata: Metadata = None,
    no_wait: Annotated[bool, Option("--no-wait", help="Return once it is stored; read it later.")] = False,
    watch: Annotated[bool, Option("--watch", help="Keep adding new and changed files until Ctrl-C.")] = False,
) -> CommandResult:
    """Add files, web pages and folders as documents.

    Formats: text, Markdown, HTML, PDF, Office files, mail, EPUB, pictures, code, and archives of these. Adding the same
    file again changes nothing; a page that changed replaces its earlier version.
    """
    fields = None if metadata is None else parse_json(metadata, "metadata", "metadata")
    states = _file_states(sources) if watch else {}  # before reading: a file that changes meanwhile is read again
    inputs = [*_expand_sources(sources)]
    if not inputs and not watch:
        raise InvalidInput(
            f"There is nothing to read in {', '.join(sources)}. Hidden and empty files and data folders are skipped.",
            field="sources", fix="Name a file, a URL, or a folder with files in it.",
        )  # fmt: skip
    with target.open_profile(create=True) as profile:
        results = _add_sources(profile, inputs, name, fields, wait=not no_wait)
        pairs = [*zip(inputs, results, strict=True)]
        done = [document for _, document in pairs if not isinstance(document, InvalidInput)]
        refused = {_source_name(source): str(error) for source, error in pairs if isinstance(error, InvalidInput)}
        reply = CommandResult(
            {"documents": done, "refused": refused}, (*_document_entries(done), *_error_lines(refused))
        )
        if watch:
            print_result(reply, as_json=target.as_json)
            known = {
                path: each for path, each in pairs if isinstance(path, Path) and not isinstance(each, InvalidInput)
            }
            _watch_files(profile, fields, known, target, lambda: _file_states(sources), states)
            return CommandResult({"documents": []})
    failed = refused or any(document.state == "failed" for document in done)
    return replace(reply, exit=FAILED_EXIT if failed else 0)


def documents(
    target: CommandTarget,
    id: Annotated[str | None, Argument(metavar="[ID]", help="The id of a document.")] = None,
    retry: Annotated[bool, Option("--retry", help="Read it again.")] = False,
    save: Annotated[Path | None, Option("--save", metavar="FILE", help="Write the original file there.")] = None,
    forget: Annotated[
        bool, Option("--forget", help="Remove it for good, with the memories that come only from it.")
    ] = False,
    yes: Yes = False,
) -> CommandResult:
    """List documents and their progress, or manage one.

    With an id: show it, or read it again, save its original or forget it. On a terminal, --forget asks first.
    """
    if id is None:
        if retry or save or forget:
            raise InvalidInput("Which document? Give its id.", field="id")
        with target.open_profile() as profile:
            found = profile.documents()
        entries = views.capped(_document_entries(found)) or (Remark("There are no documents."),)
        return CommandResult({"documents": found}, entries)
    with target.open_profile() as profile:
        if forget:
            name = profile.document(id).name
            asks = sys.stdin.isatty() and not target.as_json
            if asks and not confirm(f"Forget {name!r} and what comes only from it, for good?", yes=yes, as_json=False):
                return CommandResult(None, (Remark("Nothing was forgotten."),))
            gone = profile.forget_document(id)
            items = f"{count(len(gone.messages), 'passage')} and {count(len(gone.memories), 'memory')}"
            return CommandResult(gone, (f"Forgot the document {name!r}, with {items}.",))
        if retry:
            profile.retry_document(id)
            _wait_until_read(profile, [profile.document(id)])
            wait_for_digestion(profile)
        if save is not None:
            _write_file(save, profile.original(id))
        document = profile.document(id)
    return CommandResult(
        document, _document_entries([document]), FAILED_EXIT if retry and document.state == "failed" else 0
    )


def _add_sources(
    profile: Profile, inputs: list[str | Path | bytes], name: str | None, metadata: Any, *, wait: bool
) -> list[Document | InvalidInput]:
    """Add each source; of several, also return the errors. All are stored before the first one is waited for."""
    if name is not None and len(inputs) != 1:
        raise InvalidInput("--name needs exactly one document.", field="name")
    taken: list[Document | InvalidInput] = []
    try:
        with progress_meter("Adding", len(inputs)) as adding:
            for source in inputs:
                try:
                    taken.append(profile.add(source, name=name, metadata=metadata))
                except InvalidInput as error:
                    if len(inputs) == 1:
                        raise
                    taken.append(error)
                adding.update(len(taken))
        if not wait:
            return taken
        _wait_until_read(profile, [each for each in taken if not isinstance(each, InvalidInput)])
    except KeyboardInterrupt:
        raise Interrupted(
            f"Interrupted. {len(taken):,} of {count(len(inputs), 'document')} are stored; the next command on this "
            "profile, or a server, reads the rest. Adding the same files again changes nothing."
        ) from None
    wait_for_digestion(profile)
    return [each if isinstance(each, InvalidInput) else profile.document(each.id) for each in taken]


def _wait_until_read(profile: Profile, added: list[Document]) -> None:
    """Wait until each document is read, has failed, or waits for its next attempt."""
    several = len(added) > 1
    with progress_meter("Reading", len(added) if several else 100) as reading:
        for n, document in enumerate(added):
            asked = time.monotonic()
            while (now := profile.document(document.id)).state == "waiting" and now.error is None:
                reading.update(n if several else now.percent, note=f" {now.name} ({now.stage})")
                took = time.monotonic() - asked
                time.sleep(max(POLL_SECONDS, 5 * took))  # polling must not slow down the reading of a large document
                asked = time.monotonic()
            reading.update(n + 1 if several else 100, note=f" {now.name}")


def _expand_sources(sources: Iterable[str]) -> Iterator[str | Path | bytes]:
    for source in sources:
        if source == "-":
            yield sys.stdin.buffer.read()
        elif _URL.fullmatch(source):
            yield source
        elif Path(source).is_dir():
            yield from _folder_files(Path(source))
        elif Path(source).exists():
            yield Path(source)
        else:
            hint = "; only http:// and https:// can be fetched" if "://" in source else ""
            raise InvalidInput(f"There is no file or folder {source!r}{hint}.", field="sources")


def _folder_files(folder: Path) -> Iterator[Path]:
    """The files in a folder and below it, without hidden files and our own data folders."""
    from holdfast.documents.library import is_in_data_folder

    for path in sorted(folder.rglob("*")):
        hidden = any(step.startswith(".") for step in path.relative_to(folder).parts)
        if path.is_file() and path.stat().st_size and not hidden and not is_in_data_folder(path):
            yield path


def _watch_files(
    profile: Profile,
    metadata: Any,
    known: dict[Path, Document],
    target: CommandTarget,
    look: Callable[[], FileStates],
    states: FileStates,
) -> None:
    """Add new and changed files; a changed file replaces its earlier version."""
    try:
        while True:
            sys.stdout.flush()
            time.sleep(WATCH_SECONDS)
            now = look()
            for path in [each for each, state in now.items() if states.get(each) != state]:
                _add_again(profile, path, metadata, known, target)
            states = now
    except KeyboardInterrupt:
        return


def _add_again(profile: Profile, path: Path, metadata: Any, known: dict[Path, Document], target: CommandTarget) -> None:
    try:
        (document,) = _add_sources(profile, [path], None, metadata, wait=True)
        assert not isinstance(document, InvalidInput)
    except HoldfastError as error:  # it may be half written or already deleted; the next scan tries again
        print(f"{path}: {error}", file=sys.stderr)
        return
    before = known.get(path)
    known[path] = document
    current = {each.id for each in known.values()}  # another file may have the earlier content of this one
    if before is not None and before.id not in current and document.state == "done":
        profile.forget_document(before.id)
    print_result(CommandResult({"documents": [document]}, _document_entries([document])), as_json=target.as_json)


def _file_states(sources: Iterable[str]) -> FileStates:
    found = [
        each for each in _expand_sources(each for each in sources if Path(each).exists()) if isinstance(each, Path)
    ]
    return {path: (path.stat().st_mtime_ns, path.stat().st_size) for path in found if path.exists()}


def _document_entries(found: Iterable[Document]) -> tuple[Block, ...]:
    return tuple(Entry(views.document_title(each), views.document_details(each), "•") for each in found)


def _source_name(source: str | Path | bytes) -> str:
    return "standard input" if isinstance(source, bytes) else str(source)


def _error_lines(refused: dict[str, str]) -> list[Block]:
    return [f"✗ {source}: {why}" for source, why in refused.items()]


def _write_file(file: Path, data: bytes) -> None:
    try:
        file.write_bytes(data)
    except OSError as bad:
        fix = "Check the path and its permissions, or name another file."
        raise InvalidInput(f"{file} cannot be written: {bad.strerror}.", field="save", fix=fix) from None


def add_to(app: Commands) -> None:
    add_command(app, "add", add_documents)
    add_command(app, "documents", documents)
