"""The commands about documents: add, documents."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import HoldfastError, InvalidInput
from . import views
from .output import Block, Entry, Note, Reply, show
from .place import Place, add
from .progress import meter
from .tell import count, digested
from .transcript import parsed

if TYPE_CHECKING:
    from ..results import Document
    from ..sync import Profile

LOOK_SECONDS = 2.0
POLL_SECONDS = 0.1
FAILED = 2
_URL = re.compile(r"https?://\S+", re.I)
Seen = dict[Path, tuple[int, int]]


def add_documents(
    place: Place,
    sources: Annotated[list[str], typer.Argument(metavar="FILE|URL|DIR…", help="What to read; - for standard input.")],
    name: Annotated[str | None, typer.Option("--name", metavar="NAME", help="What to call it.")] = None,
    metadata: Annotated[str | None, typer.Option(metavar="JSON", help="A JSON object to keep with it.")] = None,
    no_wait: Annotated[bool, typer.Option("--no-wait", help="Return once it is kept; read later.")] = False,
    watch: Annotated[bool, typer.Option("--watch", help="Go on: add what is new or changed, until Ctrl-C.")] = False,
) -> Reply:
    """Read files, pages and folders into memory.

    Text, Markdown, HTML, PDF, Office files, mail, EPUB, pictures, code, archives of these. The same file twice is one
    document; a page that changed replaces what it said before.
    """
    about = None if metadata is None else parsed(metadata, "metadata", "metadata")
    seen = _looked(sources) if watch else {}  # before they are read: what changes meanwhile is read again
    listed = [*_sources(sources)]
    if not listed and not watch:
        raise InvalidInput(
            f"There is nothing to read in {', '.join(sources)}; what is hidden, empty or in a data folder is left out.",
            field="sources", fix="Name a file, an address, or a folder that has some.",
        )  # fmt: skip
    with place.memory() as memory:
        read = _read(memory, listed, name, about, wait=not no_wait, quiet=place.as_json)
        tried = [*zip(listed, read, strict=True)]
        done = [document for _, document in tried if not isinstance(document, InvalidInput)]
        refused = {_called(source): str(wrong) for source, wrong in tried if isinstance(wrong, InvalidInput)}
        reply = Reply({"documents": done, "refused": refused}, (*_told(done), *_refused(refused)))
        if watch:
            show(reply, as_json=place.as_json)
            known = {
                path: each for path, each in tried if isinstance(path, Path) and not isinstance(each, InvalidInput)
            }
            _watch(memory, about, known, place, lambda: _looked(sources), seen)
            return Reply({"documents": []})
    failed = refused or any(document.state == "failed" for document in done)
    return replace(reply, exit=FAILED if failed else 0)


def documents(
    place: Place,
    id: Annotated[str | None, typer.Argument(metavar="[ID]", help="One document.")] = None,
    retry: Annotated[bool, typer.Option("--retry", help="Read it once more.")] = False,
    save: Annotated[Path | None, typer.Option("--save", metavar="FILE", help="Write its original there.")] = None,
    forget: Annotated[bool, typer.Option("--forget", help="Remove it for good, with what rests on it.")] = False,
) -> Reply:
    """List what was added and how far each is; show, retry, save or forget one."""
    if id is None:
        if retry or save or forget:
            raise InvalidInput("Say which document.", field="id")
        with place.memory() as memory:
            found = memory.documents()
        return Reply({"documents": found}, _told(found) or (Note("There are no documents."),))
    with place.memory() as memory:
        if forget:
            gone = memory.forget_document(id)
            told = f"Forgot it, with {count(len(gone.messages), 'passage')} and {count(len(gone.memories), 'memory')}."
            return Reply(gone, (told,))
        if retry:
            memory.retry_document(id)
            memory.settle()
        if save is not None:
            _write(save, memory.original(id))
        document = memory.document(id)
    return Reply(document, _told([document]), FAILED if retry and document.state == "failed" else 0)


def _read(
    memory: Profile, listed: list[str | Path | bytes], name: str | None, about: Any, *, wait: bool, quiet: bool
) -> list[Document | InvalidInput]:
    """Each that is taken, and why one of several is not. All are on disk before the first is waited for."""
    if name is not None and len(listed) != 1:
        raise InvalidInput("A name is for one document.", field="name")
    taken: list[Document | InvalidInput] = []
    with meter("Adding", len(listed), quiet=quiet) as adding:
        for source in listed:
            try:
                taken.append(memory.add(source, name=name, metadata=about))
            except InvalidInput as wrong:
                if len(listed) == 1:
                    raise
                taken.append(wrong)
            adding.reached(len(taken))
    if not wait:
        return taken
    _followed(memory, [each for each in taken if not isinstance(each, InvalidInput)], quiet=quiet)
    digested(memory, quiet=quiet)
    return [each if isinstance(each, InvalidInput) else memory.document(each.id) for each in taken]


def _followed(memory: Profile, added: list[Document], *, quiet: bool) -> None:
    """Wait until each is read, is given up or waits for another try."""
    several = len(added) > 1
    with meter("Reading", len(added) if several else 100, quiet=quiet) as reading:
        for n, document in enumerate(added):
            asked = time.monotonic()
            while (now := memory.document(document.id)).state == "waiting" and now.error is None:
                reading.reached(n if several else now.percent, note=f" {now.name} ({now.stage})")
                took = time.monotonic() - asked
                time.sleep(max(POLL_SECONDS, 5 * took))  # what is asked of a large one must not keep it from being read
                asked = time.monotonic()
            reading.reached(n + 1 if several else 100, note=f" {now.name}")


def _sources(sources: Iterable[str]) -> Iterator[str | Path | bytes]:
    for source in sources:
        if source == "-":
            yield sys.stdin.buffer.read()
        elif _URL.fullmatch(source):
            yield source
        elif Path(source).is_dir():
            yield from _files(Path(source))
        elif Path(source).exists():
            yield Path(source)
        else:
            no_web = "; only http:// and https:// can be fetched" if "://" in source else ""
            raise InvalidInput(f"There is no file or folder {source!r}{no_web}.", field="sources")


def _files(folder: Path) -> Iterator[Path]:
    """What is in a folder and below, without what is hidden, and without data folders of ours."""
    from ..library import is_ours

    for path in sorted(folder.rglob("*")):
        hidden = any(step.startswith(".") for step in path.relative_to(folder).parts)
        if path.is_file() and path.stat().st_size and not hidden and not is_ours(path):
            yield path


def _watch(
    memory: Profile, about: Any, known: dict[Path, Document], place: Place, look: Callable[[], Seen], seen: Seen
) -> None:
    """Add what comes or changes; a file that changed takes the place of what it was."""
    try:
        while True:
            sys.stdout.flush()
            time.sleep(LOOK_SECONDS)
            now = look()
            for path in [each for each, state in now.items() if seen.get(each) != state]:
                _again(memory, path, about, known, place)
            seen = now
    except KeyboardInterrupt:
        return


def _again(memory: Profile, path: Path, about: Any, known: dict[Path, Document], place: Place) -> None:
    try:
        (document,) = _read(memory, [path], None, about, wait=True, quiet=place.as_json)
        assert not isinstance(document, InvalidInput)
    except HoldfastError as wrong:  # it may be half written, or gone again; the next look tells
        print(f"{path}: {wrong}", file=sys.stderr)
        return
    before = known.get(path)
    known[path] = document
    held = {each.id for each in known.values()}  # another file may say what this one said before
    if before is not None and before.id not in held and document.state == "done":
        memory.forget_document(before.id)
    show(Reply({"documents": [document]}, _told([document])), as_json=place.as_json)


def _looked(sources: Iterable[str]) -> Seen:
    found = [each for each in _sources(each for each in sources if Path(each).exists()) if isinstance(each, Path)]
    return {path: (path.stat().st_mtime_ns, path.stat().st_size) for path in found if path.exists()}


def _told(found: Iterable[Document]) -> tuple[Block, ...]:
    return tuple(Entry(views.titled(each), views.about_document(each), "•") for each in found)


def _called(source: str | Path | bytes) -> str:
    return "standard input" if isinstance(source, bytes) else str(source)


def _refused(refused: dict[str, str]) -> list[Block]:
    return [f"✗ {source}: {why}" for source, why in refused.items()]


def _write(file: Path, data: bytes) -> None:
    try:
        file.write_bytes(data)
    except OSError as bad:
        raise InvalidInput(f"{file} cannot be written: {bad.strerror}.", field="save") from None


def add_to(app: typer.Typer) -> None:
    add(app, "add", add_documents)
    add(app, "documents", documents)
