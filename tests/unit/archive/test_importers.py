"""What other memories export comes in whole, and a second time changes nothing."""

from __future__ import annotations

import io
import json
import os
import re
import tempfile
import zipfile
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from holdfast import AsyncHoldfast, HoldfastError, InvalidInput
from holdfast.archive.importers import detect_format, parse_export
from holdfast.archive.importers.files import CHUNK, ImportSource
from holdfast.archive.importers.types import ImportedConversation, ImportedItem, ImportedStatement, message_pieces
from holdfast.domain.limits import MAX_CONTENT_BYTES
from holdfast.storage.in_memory import MemoryVault
from holdfast.testing import HashingEmbedder, ScriptedExtractor
from support.paths import VENDOR_EXPORTS

EXPORTS = {
    "mem0": "mem0.json", "supermemory": "supermemory.json", "chatgpt": "chatgpt.json", "claude": "claude.json",
    "langgraph": "langgraph.json", "markdown": "notes",
}  # fmt: skip


def export_file(name: str) -> Any:
    path = VENDOR_EXPORTS / EXPORTS[name]
    return path if path.is_dir() else io.BytesIO(path.read_bytes())


def found_items(name: str) -> list[Any]:
    found: list[ImportedItem] = list(parse_export(export_file(name)))
    return found


def of(data: Any) -> io.BytesIO:
    return io.BytesIO(json.dumps(data).encode())


@pytest.mark.parametrize("format", EXPORTS)
def test_a_format_is_known_by_its_content(format: str) -> None:
    assert detect_format(ImportSource(export_file(format))) == format


def test_mem0_memories_keep_whose_they_are_and_when_they_were_written() -> None:
    first, second = found_items("mem0")
    assert first.content == "Dev works at TechCorp as a senior engineer"
    assert first.metadata == {
        "type": "professional", "source": "mem0", "mem0_id": "892db2ae-06d9-49e5-8b3e-585ef9b85b8e", "user_id": "dev",
        "categories": ["work"], "updated_at": "2025-07-10T08:00:00-07:00",
    }  # fmt: skip
    assert first.occurred_at == datetime(2025, 7, 9, 19, 12, 25, 201534, UTC)
    assert (second.agent, second.session_id) == ("planner", "mem0-run-7")
    assert second.expires_at == datetime(2099, 1, 1, tzinfo=UTC)


def test_supermemory_documents_are_ingested_and_their_latest_memories_kept() -> None:
    document, entry = found_items("supermemory")
    assert isinstance(document, ImportedConversation)
    assert document.session_id == "supermemory-handbook"
    assert [(m["role"], m["content"]) for m in document.messages] == [
        ("document", "Holidays are booked in the portal.")
    ]
    assert document.messages[0]["metadata"]["title"] == "Handbook"
    assert document.messages[0]["metadata"]["category"] == "hr"
    assert entry == ImportedStatement(
        "Holidays are booked in the portal", metadata={"source": "supermemory", "supermemory_id": "mem_1"},
        occurred_at=datetime(2025, 2, 1, 9, 0, 5, tzinfo=UTC),
    )  # fmt: skip


def test_chatgpt_conversations_follow_the_branch_that_is_shown() -> None:
    (talk,) = found_items("chatgpt")
    assert talk.session_id == "chatgpt-8f3a2b1c-1111-4222-8333-444455556666"
    assert [(m["role"], m["content"]) for m in talk.messages] == [
        ("user", "I move to Lisbon."), ("tool", "42"), ("assistant", "Lisbon it is."),
    ]  # fmt: skip
    assert talk.messages[0]["timestamp"] == datetime(2025, 1, 7, 0, 25, tzinfo=UTC)
    assert talk.messages[2]["metadata"] == {"source": "chatgpt", "title": "Moving to Lisbon", "model": "gpt-4o"}


def test_claude_conversations_bring_what_was_attached() -> None:
    (talk,) = found_items("claude")
    assert talk.session_id == "claude-0d6f3a6e-1111-4222-8333-444455556666"
    assert [(m["role"], m["content"]) for m in talk.messages] == [
        ("document", "No peanuts."), ("user", "I am allergic to peanuts."), ("assistant", "Noted."),
        ("user", "Thanks!"),
    ]  # fmt: skip
    assert talk.messages[0]["metadata"]["file"] == "diet.txt"
    assert talk.messages[1]["timestamp"] == datetime(2026, 2, 14, 10, 4, 22, tzinfo=UTC)


def test_langgraph_items_keep_key_and_value() -> None:
    seat, theme, cello = found_items("langgraph")
    assert (seat.key, seat.content) == ("users/ana/prefs/seat", "Window seat")
    assert seat.value == {"text": "Window seat", "since": 2024}
    assert (theme.content, theme.value) == ('{"dark": true}', {"dark": True})
    assert (cello.key, cello.content) == ("memories/m-1", "Ana plays the cello")


def test_markdown_paths_are_keys_and_front_matter_is_metadata() -> None:
    harbour, thought, tone = found_items("markdown")
    assert (harbour.key, harbour.kind) == ("projects/harbour", "note")
    assert harbour.content == "# Harbour bridge\n\nThe bridge opens in June."
    assert harbour.metadata == {
        "title": "Harbour bridge", "tags": ["bridge", "steel"], "aliases": ["the bridge", "HB"], "date": "2025-03-04",
        "status": "active", "budget": 12.5, "draft": False,
    }  # fmt: skip
    assert harbour.occurred_at == datetime(2025, 3, 4, tzinfo=UTC)
    assert thought.content == "Just a thought, without front matter.\n\n---\n\nAnd a rule."
    assert (tone.key, tone.kind, tone.content) == ("tone", "instruction", "Always answer briefly.")


@pytest.mark.parametrize("format", EXPORTS)
async def test_a_second_import_finds_everything_known(format: str) -> None:
    async with AsyncHoldfast(MemoryVault(), HashingEmbedder(), ScriptedExtractor()) as memory:
        ana = memory.profile("app", "ana")
        rehearsed = await ana.import_from(export_file(format), dry_run=True)
        assert await memory.namespaces() == []
        first = await ana.import_from(export_file(format))
        assert (first.messages, first.memories) == (rehearsed.messages, rehearsed.memories)
        assert first.messages + first.memories > 0
        before = await ana.stats()
        again = await ana.import_from(export_file(format), format=format)
        assert (again.messages, again.memories, again.known) == (0, 0, first.messages + first.memories)
        after = await ana.stats()
        assert (after.messages, after.memories, after.superseded) == (before.messages, before.memories, 0)


async def test_an_edited_note_becomes_a_new_version(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("One.")
    async with AsyncHoldfast(MemoryVault(), HashingEmbedder(), ScriptedExtractor()) as memory:
        ana = memory.profile("app", "ana")
        await ana.import_from(tmp_path)
        (tmp_path / "a.md").write_text("Two.")
        await ana.import_from(tmp_path)
        (page,) = await ana.list(key="a")
        assert [each.content for each in await ana.history(page.id)] == ["Two.", "One."]


def test_zip_files_and_folders_with_conversations_are_read(tmp_path: Path) -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as made:
        made.write(VENDOR_EXPORTS / "chatgpt.json", "export/conversations.json")
        made.writestr("export/user.json", "{}")
    assert list(parse_export(packed)) == found_items("chatgpt")
    (tmp_path / "conversations-000.json").write_bytes((VENDOR_EXPORTS / "claude.json").read_bytes())
    (tmp_path / "readme.md").write_text("Not a note.")
    assert list(parse_export(tmp_path)) == found_items("claude")


def test_lines_of_json_and_large_lists_are_read_bit_by_bit() -> None:
    talks = json.loads((VENDOR_EXPORTS / "claude.json").read_text())
    lines = io.BytesIO("\n".join(json.dumps(talk) for talk in talks).encode())
    assert list(parse_export(lines)) == found_items("claude")
    many = [{"namespace": ["n"], "key": f"k{n}", "value": {"text": "x" * 5000}} for n in range(3 * CHUNK // 5000)]
    assert len(list(parse_export(of(many)))) == len(many)


def test_long_texts_come_in_pieces_that_make_the_whole() -> None:
    text = "\n\n".join("Ünï " * 300 for _ in range(60))
    cut = list(message_pieces(text))
    assert len(cut) > 1
    assert "".join(cut) == text
    assert max(len(piece.encode()) for piece in cut) <= MAX_CONTENT_BYTES
    assert "".join(message_pieces("ü" * 40_000)) == "ü" * 40_000


def test_characters_that_no_memory_keeps_are_replaced() -> None:
    bad = [{"uuid": "u", "chat_messages": [{"sender": "human", "text": "a\0b \ud83d\ude00 \ud800"}]}]
    (talk,) = parse_export(of(bad))
    assert isinstance(talk, ImportedConversation)
    assert talk.messages[0]["content"] == "a� 😀 �".replace("a�", "a�b")


@pytest.mark.parametrize(
    ("format", "data", "said"),
    [
        ("auto", b"", "nor an export"), ("auto", b"[{]", "not JSON"), ("auto", b'{"what": 1}', "nor an export"),
        ("auto", b"Dear diary", "nor an export"),
        ("auto", b"[]", "nor an export"), ("auto", b"PK\x03\x04broken", "ZIP"), ("mem0", b"hello", "no JSON"),
        ("chatgpt", b'[{"mapping": 7}]', "entry 1: mapping"), ("chatgpt", b'[{"mapping": {}}]', "conversation_id"),
        ("chatgpt", b'[{"id": "x", "current_node": "a", "mapping": {"a": {"parent": "a"}}}]', "current_node"),
        ("chatgpt", b'[{"id": "x", "current_node": "gone", "mapping": {}}]', "current_node"),
        ("claude", b'[{"uuid": "x", "chat_messages": [{"sender": "robot"}]}]', r"chat_messages\[0\]: sender"),
        ("claude", b'[{"chat_messages": []}]', "uuid"), ("mem0", b'[{"memory": 7}]', "memory is 7"),
        ("mem0", b'[{"memory": "x", "created_at": "someday"}]', "created_at"),
        ("mem0", b'[{"memory": "x", "metadata": 1}]', "metadata"), ("mem0", b"[1]", "memory is 1"),
        ("supermemory", b'[{"id": "x"}]', "content"), ("supermemory", b'[{"memoryEntries": [1], "id": "x"}]', "memory"),
        ("langgraph", b'[{"namespace": [1], "key": "k", "value": {}}]', "namespace"),
        ("langgraph", b'[{"namespace": [], "key": "", "value": {}}]', "key"),
        ("langgraph", b'[{"namespace": [], "key": "k", "value": 1}]', "value"),
        ("langgraph", b'[{"namespace": [], "key": "k", "value": {"text": "x"}}', "middle"),
        ("markdown", b"\xff\xfe", "UTF-8"), ("markdown", b"---\n: x\n---\nbody", "front matter"),
        ("markdown", b"---\nkind: No Kind\n---\nbody", "kind"), ("claude", b"[\xff]", "UTF-8"),
        ("claude", b"[" * 100_000, "nested|not JSON"),
    ],
)  # fmt: skip
def test_broken_input_is_refused_with_what_and_where(format: str, data: bytes, said: str) -> None:
    with pytest.raises(InvalidInput, match=said):
        list(parse_export(io.BytesIO(data), format))


def position_in(data: bytes) -> tuple[int, int, int]:
    """Line, column and character that the error names."""
    with pytest.raises(InvalidInput, match="is not JSON") as refused:
        list(parse_export(io.BytesIO(data), "mem0"))
    found = re.search(r"line (\d+) column (\d+) \(char (\d+)\)", str(refused.value))
    assert found is not None
    line, column, char = map(int, found.groups())
    return line, column, char


@pytest.mark.parametrize("size", [1, CHUNK // 50, CHUNK // 7, CHUNK])
@pytest.mark.parametrize("line_end", ["\n", "\r\n", " "])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_the_position_of_an_error_counts_from_the_start_of_the_file(size: int, line_end: str, mark: bytes) -> None:
    good = json.dumps({"memory": "é" * 100}, ensure_ascii=False)
    text = "[" + f",{line_end}".join([good] * (size // 100 + 1))
    wrong = f'{text},{line_end}{{"memory": oops}}]'
    char = wrong.index("oops")
    line, column = wrong.count("\n", 0, char) + 1, char - wrong.rfind("\n", 0, char)
    assert position_in(mark + wrong.encode()) == (line, column, char)


@pytest.mark.parametrize("size", [10, CHUNK - 5, CHUNK, 3 * CHUNK])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_a_byte_that_is_not_utf_8_is_counted_from_the_start_of_the_file(size: int, mark: bytes) -> None:
    good = mark + b'[{"memory": "' + "é".encode() * (size // 2)
    for wrong in (good + b'\xff"}]', good + b"\xc3"):
        with pytest.raises(InvalidInput, match=f"is not UTF-8 at byte {len(good)}\\."):
            list(parse_export(io.BytesIO(wrong), "mem0"))


def test_errors_name_what_was_read_and_never_a_descriptor(tmp_path: Path) -> None:
    (tmp_path / "mine.json").write_text("[7]")
    with (tmp_path / "mine.json").open("rb") as file:
        assert ImportSource(file).name == str(tmp_path / "mine.json")
    with os.fdopen(os.open(tmp_path / "mine.json", os.O_RDONLY), "rb") as by_number:
        assert isinstance(by_number.name, int)
        with pytest.raises(InvalidInput, match=r"^The file is neither an archive"):
            parse_export(by_number)
    with tempfile.TemporaryFile() as unnamed:
        unnamed.write(b"hello")
        with pytest.raises(InvalidInput, match=r"^The file is neither an archive"):
            parse_export(unnamed)
    with io.FileIO(tmp_path / "mine.json") as raw:
        piped = io.BufferedReader(raw)
        raw.name = "<stdin>"  # as the interpreter's own standard input is called
        assert ImportSource(piped).name == "Standard input"


async def test_an_unknown_format_or_place_is_refused(tmp_path: Path) -> None:
    async with AsyncHoldfast(MemoryVault(), HashingEmbedder(), ScriptedExtractor()) as memory:
        ana = memory.profile("app", "ana")
        for place, format in (
            (export_file("mem0"), "mem1"),
            (tmp_path, "archive"),
            (tmp_path, "auto"),
            (tmp_path / "no", "auto"),
        ):
            with pytest.raises(HoldfastError):
                await ana.import_from(place, format=format)
        assert await memory.namespaces() == []


def test_timestamps_keep_the_order_of_a_conversation() -> None:
    (talk,) = found_items("claude")
    times = [message["timestamp"] for message in talk.messages]
    assert times == sorted(times)
    assert times[-1] - times[0] == timedelta(seconds=38)
