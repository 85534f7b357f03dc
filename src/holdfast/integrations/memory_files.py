"""The files under /memories, with the commands of Anthropic's memory tool.

A file is a note (see service/facades/notes.py): `Notes(profile, "/memories")` reads the same notes. A folder exists
while it has files; an empty folder is stored as a memory of kind `folder`. Results and errors have the wording of the
SDK's own implementation, because models were trained on it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from holdfast import AlreadyExists, InvalidInput, Memory, NotFound
from holdfast.service.facades.file_keys import is_inside, key_of_path, steps_of
from holdfast.service.facades.notes import KIND, PAGE_SIZE, text_of, truncated_content

Steps = tuple[str, ...]
MEMORIES_ROOT = "/memories"
FOLDER_KIND = "folder"
FOLDER_SIZE_TEXT = "4K"
LINE_NUMBER_WIDTH = 6
MAX_LINES = 999_999
_NO_SUCH_PATH = "The path {} does not exist. Please provide a valid path."


class MemoryFiles:
    """The six commands of the memory tool, over a profile with awaitable methods."""

    def __init__(self, profile: Any) -> None:
        self._profile = profile

    async def view(self, path: str, view_range: Sequence[int] | None = None) -> str:
        """Show a file with line numbers, or list a folder two levels deep."""
        steps = resolve_path(path)
        found = await self._at(steps)
        if found is None:
            raise NotFound(_NO_SUCH_PATH.format(path))
        if isinstance(found, Memory):
            return _numbered_view(path, _file_text(found), view_range)
        inner = {steps_of(each.key or "/")[len(steps) :]: each for each in await self._below(steps)}
        lines = [f"{size}\t{path}/{name}" for size, name in _folder_listing(inner)]
        head = f"Here're the files and directories up to 2 levels deep in {path}, excluding hidden items:"
        return "\n".join([head, f"{FOLDER_SIZE_TEXT}\t{path}", *lines])

    async def create(self, path: str, file_text: str) -> str:
        steps = resolve_path(path)
        if (blocked := await self._blocked(steps)) is not None:
            raise InvalidInput(blocked)
        if await self._at(steps) is not None:
            raise AlreadyExists(f"File {path} already exists")
        content = _search_text(file_text, path)
        await self._profile.remember(content, kind=KIND, key=key_of_path(steps), value=file_text, trust="agent")
        return f"File created successfully at: {path}"

    async def str_replace(self, path: str, old_str: str, new_str: str) -> str:
        file = await self._file(path)
        text = _file_text(file)
        if old_str not in text:
            raise InvalidInput(f"No replacement was performed, old_str `{old_str}` did not appear verbatim in {path}.")
        if text.count(old_str) > 1:
            lines = ", ".join(
                str(_line_number(text, start)) for start in range(len(text) + 1) if text.startswith(old_str, start)
            )
            raise InvalidInput(
                f"No replacement was performed. Multiple occurrences of old_str `{old_str}` in lines: {lines}. "
                "Please ensure it is unique"
            )
        at = _line_number(text, text.index(old_str)) - 1
        changed = text.replace(old_str, new_str)
        await self._rewrite(file, changed, path)
        first = max(0, at - 2)
        shown = _numbered_lines(changed.split("\n")[first : at + 3], first + 1)
        return f"The memory file has been edited. Here is the snippet showing the change (with line numbers):\n{shown}"

    async def insert(self, path: str, insert_line: int, insert_text: str) -> str:
        file = await self._file(path)
        lines = _file_text(file).split("\n")
        if lines[-1] == "":
            lines.pop()
        if not 0 <= insert_line <= len(lines):
            raise InvalidInput(
                f"Invalid `insert_line` parameter: {insert_line}. It should be within the range [0, {len(lines)}]."
            )
        lines.insert(insert_line, insert_text.rstrip("\n"))
        changed = "\n".join(lines)
        await self._rewrite(file, changed if changed.endswith("\n") else f"{changed}\n", path)
        return f"The file {path} has been edited."

    async def delete(self, path: str) -> str:
        """Delete a file, or a folder with everything in it, with every earlier version."""
        steps = resolve_path(path)
        if len(steps) == 1:
            raise InvalidInput("Cannot delete the /memories directory itself")
        if await self._at(steps) is None:
            raise NotFound(f"The path {path} does not exist")
        await self._forget(key_of_path(steps))
        await self._keep_folder(steps[:-1])
        return f"Successfully deleted {path}"

    async def rename(self, old_path: str, new_path: str) -> str:
        old, new = resolve_path(old_path), resolve_path(new_path)
        if len(old) == 1:
            raise InvalidInput("Cannot rename the /memories directory itself")
        if await self._at(new) is not None:
            raise AlreadyExists(f"The destination {new_path} already exists")
        blocked = await self._blocked(new)
        found = await self._at(old)
        into_itself = len(new) > len(old) and new[: len(old)] == old
        if blocked is None and (found is None or into_itself):
            await self._keep_folder(new[:-1])  # the SDK creates the destination's folder before it checks the source
        if found is None and not into_itself:
            raise NotFound(f"The path {old_path} does not exist")
        if blocked is not None or into_itself:
            raise InvalidInput(blocked or f"The destination {new_path} is inside {old_path}")
        here, there = key_of_path(old), key_of_path(new)
        for each in [*([found] if isinstance(found, Memory) else []), *await self._below(old, itself=True)]:
            await self._profile.revise(each.id, key=there + (each.key or here)[len(here) :])
        await self._keep_folder(old[:-1])
        return f"Successfully renamed {old_path} to {new_path}"

    async def clear(self) -> str:
        await self._forget(MEMORIES_ROOT)
        return "All memory cleared"

    async def _file(self, path: str) -> Memory:
        found = await self._at(resolve_path(path))
        if found is None:
            raise NotFound(_NO_SUCH_PATH.format(path))
        if not isinstance(found, Memory):
            raise InvalidInput(f"The path {path} is not a file.")
        return found

    async def _at(self, steps: Steps) -> Memory | str | None:
        """The file at a path; FOLDER_KIND for a folder; otherwise None."""
        if len(steps) == 1:
            return FOLDER_KIND
        key = key_of_path(steps)
        exact = await self._listed(kind=[KIND, FOLDER_KIND], key=key, limit=1)
        if exact:
            return exact[0] if exact[0].kind == KIND else FOLDER_KIND
        below = await self._listed(kind=[KIND, FOLDER_KIND], key_prefix=is_inside(key), limit=1)
        return FOLDER_KIND if below else None

    async def _below(self, steps: Steps, itself: bool = False) -> list[Memory]:
        """All files in a folder; with `itself` also the memory that represents an empty folder."""
        key = key_of_path(steps)
        found = await self._listed(kind=[KIND, FOLDER_KIND], key_prefix=is_inside(key))
        return [*await self._listed(kind=FOLDER_KIND, key=key), *found] if itself else found

    async def _blocked(self, steps: Steps) -> str | None:
        """The error message if a step of the path is a file instead of a folder, otherwise None."""
        above = [key_of_path(steps[:length]) for length in range(2, len(steps))]
        files = await self._listed(kind=KIND, filter={"key": {"in": above}}, limit=1) if above else []
        return f"The path {'/'.join(['', *steps_of(files[0].key or '/')])} is not a directory." if files else None

    async def _keep_folder(self, steps: Steps) -> None:
        if await self._at(steps) is None:
            key = key_of_path(steps)
            await self._profile.remember(key, kind=FOLDER_KIND, key=key, trust="agent", embed=False)

    async def _forget(self, key: str) -> None:
        """Forget what is currently at the key and below it, by id: a filter would also match files that were renamed
        away."""
        either = [{"key": key}, {"key": {"prefix": is_inside(key)}}]
        for each in await self._listed(kind=[KIND, FOLDER_KIND], filter={"or": either}):
            await self._profile.forget(each.id)

    async def _rewrite(self, file: Memory, text: str, path: str) -> None:
        """Write a new version of a file; raise Stale if another writer changed the file since it was read."""
        await self._profile.revise(file.id, etag=file.etag, content=_search_text(text, path), value=text)

    async def _listed(self, *, limit: int | None = None, **narrowed: Any) -> list[Memory]:
        found: list[Memory] = []
        cursor: str | None = None
        while True:
            page = await self._profile.list(limit=limit or PAGE_SIZE, cursor=cursor, **narrowed)
            found += page.items
            cursor = page.cursor
            if cursor is None or limit is not None:
                return found


def resolve_path(path: str) -> Steps:
    """The steps of a path, from `memories` on. `..` works as in a shell, but cannot leave /memories."""
    if not path.startswith(MEMORIES_ROOT):
        raise InvalidInput(f"Path must start with /memories, got: {path}", field="path")
    if "\0" in path:
        raise InvalidInput("Path must not contain a NUL character", field="path")
    steps = ["memories"]
    for step in path.removeprefix(MEMORIES_ROOT).split("/"):
        if step == ".." and not steps:
            break
        if step == "..":
            steps.pop()
        elif step not in ("", "."):
            steps.append(step)
    else:
        if steps[:1] == ["memories"]:
            return tuple(steps)
    raise InvalidInput(f"Path {path} would escape /memories directory", field="path")


def _file_text(file: Memory) -> str:
    return text_of(file.content, file.value)


def _search_text(text: str, path: str) -> str:
    """The text by which search finds a file: as much of the file as `content` allows; for an empty file, its path."""
    content = truncated_content(text)
    return content if content.strip() else path


def _line_number(text: str, position: int) -> int:
    return text.count("\n", 0, position) + 1


def _numbered_lines(lines: Sequence[str], first: int) -> str:
    return "\n".join(f"{number:>{LINE_NUMBER_WIDTH}}\t{line}" for number, line in enumerate(lines, first))


def _numbered_view(path: str, text: str, view_range: Sequence[int] | None) -> str:
    lines = text.split("\n")
    if len(lines) > MAX_LINES:
        raise InvalidInput(f"File {path} exceeds maximum line limit of 999,999 lines.")
    first = 1
    if view_range and len(view_range) == 2:
        first = max(1, view_range[0])
        lines = lines[first - 1 : None if view_range[1] == -1 else view_range[1]]
    return f"Here's the content of {path} with line numbers:\n{_numbered_lines(lines, first)}"


def _folder_listing(inner: dict[Steps, Memory]) -> list[tuple[str, str]]:
    """(size, name) of the visible files and folders, two levels deep, each folder before its files."""
    seen: dict[Steps, str] = {}
    for steps, each in inner.items():
        for depth in range(1, min(len(steps), 2) + 1):
            is_file = depth == len(steps) and each.kind == KIND
            if not any(step.startswith(".") for step in steps[:depth]):
                seen[steps[:depth]] = size_text(len(_file_text(each).encode())) if is_file else ""
    return [(size or FOLDER_SIZE_TEXT, "/".join(steps) + ("" if size else "/")) for steps, size in sorted(seen.items())]


def size_text(count: int) -> str:
    unit = 0
    while unit < 3 and count >= 1024 ** (unit + 1):
        unit += 1
    scaled = count / 1024**unit
    return f"{int(scaled) if scaled == int(scaled) else f'{scaled:.1f}'}{'BKMG'[unit]}"
