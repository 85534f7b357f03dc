"""The memory tool does what the SDK's own does on a file system: same answers, refusals and files left.

The SDK takes a second to load, so only the process that runs these tests loads it.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from holdfast import AsyncHoldfast, Holdfast, Notes, Profile
from holdfast.integrations.memory_files import size_text
from holdfast.testing import HashingEmbedder
from support.example_counts import example_count

if TYPE_CHECKING:
    from anthropic.tools.memory import BetaAbstractMemoryTool

    from holdfast.integrations.anthropic_memory import HoldfastMemoryTool

TEXTS = st.one_of(
    st.sampled_from(["", "\n", "a", "a\nb\n", "a\r\nb", "aaa", "x\n\n\ny\nz", "é ü\n", " \t "]),
    st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=12),
)
NAMES = st.sampled_from(["a", "b", "ab", "A", ".h", "c d", "e ", "%2F", "é", "e\u0301"])
PATHS = st.one_of(
    st.lists(NAMES, min_size=1, max_size=3).map(lambda names: "/memories/" + "/".join(names)),
    st.sampled_from(["/memories/a", "/memories/b", "/memories/a/b"]),
    st.sampled_from(["/memories", "/memories/", "/memories/../x", "/memories/a/../b", "/memories/../memories/a",
                     "/memories/../../memories/a", "/memoriesa", "/etc/a", "memories/a", "/memories//a/./b/",
                     "/memories/a/.."]),
)  # fmt: skip
RANGES = st.none() | st.lists(st.integers(-3, 6), min_size=2, max_size=2)
CREATE = st.fixed_dictionaries({"command": st.just("create"), "path": PATHS, "file_text": TEXTS})
COMMANDS = st.one_of(
    CREATE,
    CREATE,
    st.fixed_dictionaries({"command": st.just("view"), "path": PATHS, "view_range": RANGES}),
    st.fixed_dictionaries({"command": st.just("str_replace"), "path": PATHS, "old_str": TEXTS, "new_str": TEXTS}),
    st.fixed_dictionaries(
        {"command": st.just("insert"), "path": PATHS, "insert_line": st.integers(-1, 4), "insert_text": TEXTS}
    ),
    st.fixed_dictionaries({"command": st.just("delete"), "path": PATHS}),
    st.fixed_dictionaries({"command": st.just("rename"), "old_path": PATHS, "new_path": PATHS}),
)
_numbers = itertools.count()
_FOLDER = re.compile(r"^[\d.]+[BKMG]\t(.*/)$", re.M)


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Holdfast]:
    with Holdfast.open(tmp_path_factory.mktemp("data"), embedder=HashingEmbedder()) as memory:
        yield memory


def memory_tool(profile: Profile, **more: Any) -> HoldfastMemoryTool:
    from holdfast.integrations.anthropic_memory import HoldfastMemoryTool

    return HoldfastMemoryTool(profile, **more)


def answer(tool: BetaAbstractMemoryTool, command: dict[str, Any]) -> tuple[str, str]:
    from anthropic.lib.tools import ToolError

    try:
        told = str(tool.call(command))
    except ToolError as refused:
        return "refused", str(refused.content)
    except (OSError, ValueError) as failed:  # the SDK leaves these to the file system: their words are nobody's promise
        return "failed", str(failed)
    if told.startswith("Here're"):  # what a folder's own size is, each file system tells differently
        head, first, *rest = told.split("\n")
        told = _FOLDER.sub(r"-\t\1", "\n".join([head, "-\t" + first.split("\t", 1)[1], *rest]))
    return "told", told


def alike(theirs: tuple[str, str], ours: tuple[str, str]) -> bool:
    return theirs == ours if theirs[0] != "failed" else ours[0] == "refused"


def tree(root: Path) -> dict[str, str | None]:
    """Every file with its text, and every folder, by its path."""
    return {
        "/" + str(path.relative_to(root.parent)): path.read_bytes().decode() if path.is_file() else None
        for path in root.rglob("*")
    }


def kept_files(tool: HoldfastMemoryTool, notes: Notes) -> dict[str, str | None]:
    found: dict[str, str | None] = {note.path: note.text for note in notes.list()}
    waiting = ["/memories"]
    while waiting:
        folder = waiting.pop()
        for line in str(tool.call({"command": "view", "path": folder})).split("\n")[2:]:
            path = line.split("\t", 1)[1]
            if path.endswith("/") and path.rstrip("/") not in found:
                found[path.rstrip("/")] = None
                waiting.append(path.rstrip("/"))
    return found


def create(path: str, text: str = "x") -> dict[str, Any]:
    return {"command": "create", "path": path, "file_text": text}


def delete(path: str) -> dict[str, Any]:
    return {"command": "delete", "path": path}


def rename(old: str, new: str) -> dict[str, Any]:
    return {"command": "rename", "old_path": old, "new_path": new}


@settings(max_examples=example_count(100), deadline=None)
@given(st.lists(COMMANDS, min_size=4, max_size=14))
@example([create("/memories/a/b"), delete("/memories/a/b"), rename("/memories/a", "/memories/b")])
@example([rename("/memories/a", "/memories/a/b/c"), create("/memories/a/b", "")])
@example([rename("/memories/x", "/memories/n/y"), {"command": "view", "path": "/memories"}])
@example([create("/memories/a"), create("/memories/a/b"), rename("/memories/a", "/memories/a/b")])
@example([create("/memories/d/a"), create("/memories/d/b/c"), rename("/memories/d", "/memories/b/d")])
@example(
    [create("/memories/a", "aaa"), {"command": "str_replace", "path": "/memories/a", "old_str": "aa", "new_str": ""}]
)
@example([create("/memories/a"), rename("/memories/a", "/memories/b"), create("/memories/a"), delete("/memories/a")])
def test_any_sequence_of_commands_is_answered_as_on_a_file_system(memory: Holdfast, commands: list[Any]) -> None:
    from anthropic.tools.memory import BetaLocalFilesystemMemoryTool

    profile = memory.profile("app", f"files-{next(_numbers)}")
    ours, notes = memory_tool(profile), Notes(profile, "/memories")
    with TemporaryDirectory() as folder:
        theirs = BetaLocalFilesystemMemoryTool(folder)
        for command in commands:
            wanted, given = answer(theirs, command), answer(ours, command)
            assert alike(wanted, given), f"{command}: {wanted} and {given}"
        wanted_tree = tree(Path(folder) / "memories")
        hidden = {path for path in wanted_tree if "/." in path}
        got = kept_files(ours, notes)
        assert {path: text for path, text in got.items() if "/." not in path} == {
            path: text for path, text in wanted_tree.items() if path not in hidden
        }
        assert {path for path, text in got.items() if text is not None} == {
            path for path, text in wanted_tree.items() if text is not None
        }


@given(st.integers(0, 2**41))
def test_sizes_read_as_the_sdk_writes_them(count: int) -> None:
    from anthropic.lib.tools import _beta_builtin_memory_tool as sdk

    assert size_text(count) == sdk._format_file_size(count)


def test_clearing_takes_everything_under_memories_and_nothing_else(memory: Holdfast) -> None:
    profile = memory.profile("app", "clearing")
    tool = memory_tool(profile, cache_control={"type": "ephemeral"})
    assert tool.to_dict() == {"type": "memory_20250818", "name": "memory", "cache_control": {"type": "ephemeral"}}
    assert tool.clear_all_memory() == "All memory cleared"
    tool.call(create("/memories/a/b", "text"))
    tool.call(delete("/memories/a/b"))
    tool.call(create("/memories/c", "text"))
    profile.remember("Lives in Lisbon", kind="fact", key="/memories/home")
    assert tool.clear_all_memory() == "All memory cleared"
    assert [memory.content for memory in profile.list()] == ["Lives in Lisbon"]


def test_a_file_is_a_note_with_a_history_found_by_meaning(memory: Holdfast) -> None:
    profile = memory.profile("app", "as-notes")
    tool, notes = memory_tool(profile), Notes(profile, "/memories")
    tool.call(create("/memories/people/ana.md", "Ana is a nurse.\n"))
    edit = {"command": "str_replace", "path": "/memories/people/ana.md", "old_str": "nurse", "new_str": "surgeon"}
    tool.call(edit)
    assert [note.text for note in notes.history("people/ana.md")] == ["Ana is a surgeon.\n", "Ana is a nurse.\n"]
    assert [note.path for note in notes.search("surgeon", under="people")] == ["/memories/people/ana.md"]
    tool.call(create("/memories/big", "line\n" * 20_000))
    assert str(tool.call({"command": "view", "path": "/memories/big", "view_range": [20_000, 20_000]})).endswith(
        "\tline"
    )
    for unfit in ("a\0b", "x" * 300_000):
        assert answer(tool, create("/memories/unfit", unfit))[0] == "refused"


async def test_an_edit_of_what_somebody_else_has_written_since_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from anthropic.lib.tools import ToolError

    from holdfast.integrations.anthropic_memory import AsyncHoldfastMemoryTool

    async with await AsyncHoldfast.open(tmp_path, embedder=HashingEmbedder()) as holdfast:
        profile = holdfast.profile("app", "ana")
        tool = AsyncHoldfastMemoryTool(profile)
        assert await tool.call(create("/memories/a", "one\n")) == "File created successfully at: /memories/a"
        revise = profile.revise

        async def late(id: str, **given: Any) -> Any:
            monkeypatch.setattr(profile, "revise", revise)
            await tool.call({"command": "insert", "path": "/memories/a", "insert_line": 1, "insert_text": "two"})
            return await revise(id, **given)

        monkeypatch.setattr(profile, "revise", late)
        with pytest.raises(ToolError, match="changed since"):
            await tool.call({"command": "insert", "path": "/memories/a", "insert_line": 0, "insert_text": "zero"})
        assert str(await tool.call({"command": "view", "path": "/memories/a"})).endswith(
            "     1\tone\n     2\ttwo\n     3\t"
        )
        await tool.call(rename("/memories/a", "/memories/b/c"))
        assert await tool.call(delete("/memories/b")) == "Successfully deleted /memories/b"
        assert await tool.clear_all_memory() == "All memory cleared"
