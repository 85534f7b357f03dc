"""Messages as chat clients write them: taken as they are, by the library, a server and the command line alike."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from holdfast import AsyncHoldfast, InvalidInput
from holdfast.api.client.holdfast import RemoteHoldfast
from holdfast.cli import main
from holdfast.ingest.chat_formats import normalised_messages, text_pieces
from holdfast.testing import HashingEmbedder, ScriptedExtractor
from support.http_server import http_server
from support.mcp_clients import connected_client, site

TOKEN = "a-token-of-these-tests"

CALL = {"id": "call_1", "type": "function", "function": {"name": "weather", "arguments": "{}"}}
OPENAI = [
    {"role": "developer", "content": "Answer briefly."},
    {"role": "user", "name": "Ana", "content": [
        {"type": "text", "text": "I moved to Lisbon."},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}},
        {"type": "text", "text": "How is the weather?"},
    ]},
    {"role": "assistant", "content": None, "tool_calls": [CALL], "refusal": None, "annotations": []},
    {"role": "tool", "tool_call_id": "call_1", "content": "22 degrees"},
    {"role": "assistant", "content": "It is warm."},
]  # fmt: skip
ANTHROPIC = [
    {"role": "user", "content": [{"type": "text", "text": "How is the weather?"}]},
    {"role": "assistant", "content": [
        {"type": "thinking", "thinking": "I need a tool.", "signature": "x"},
        {"type": "tool_use", "id": "toolu_1", "name": "weather", "input": {}},
    ]},
    {"role": "user", "content": [
        {"type": "tool_result", "tool_use_id": "toolu_1", "content": [{"type": "text", "text": "I live in Oslo."}]},
        {"type": "text", "text": "And tomorrow?"},
    ]},
]  # fmt: skip


@dataclass(frozen=True)
class Block:
    """An object such as a client's answer holds."""

    text: str

    def model_dump(self) -> dict[str, Any]:
        return {"type": "text", "text": self.text, "citations": None}


@pytest.fixture(params=["here", "far"])
async def holdfast(tmp_path: Path, request: pytest.FixtureRequest) -> AsyncIterator[AsyncHoldfast | RemoteHoldfast]:
    made = await AsyncHoldfast.open(tmp_path / "data", embedder=HashingEmbedder(), extractor=ScriptedExtractor())
    async with made:
        await made.create_namespace("app")
        if request.param == "here":
            yield made
            return
        await made.access.admin(TOKEN)
        async with http_server(made) as url, RemoteHoldfast(url, TOKEN) as far:
            yield far


def roles_and_texts(messages: list[Any]) -> list[tuple[str, str]]:
    return [(row["role"], row["content"]) for row in normalised_messages(messages).rows]


def test_openai_messages_keep_their_text_and_who_said_it() -> None:
    found = normalised_messages(OPENAI)
    assert roles_and_texts(OPENAI) == [
        ("system", "Answer briefly."),
        ("user", "I moved to Lisbon.\nHow is the weather?"),
        ("tool", "22 degrees"),
        ("assistant", "It is warm."),
    ]
    assert found.rows[1]["speaker"] == "Ana"
    assert found.rows[2]["metadata"] == {"tool_call_id": "call_1"}
    assert found.given == (0, 1, 3, 4)
    assert found.skipped == 1


def test_what_a_tool_brought_is_never_what_the_user_said() -> None:
    assert roles_and_texts(ANTHROPIC) == [
        ("user", "How is the weather?"), ("tool", "I live in Oslo."), ("user", "And tomorrow?"),
    ]  # fmt: skip
    assert normalised_messages(ANTHROPIC).rows[1]["metadata"] == {"tool_call_id": "toolu_1"}
    assert normalised_messages(ANTHROPIC).skipped == 1


def test_objects_of_a_client_are_taken_as_they_are() -> None:
    assert roles_and_texts([{"role": "assistant", "content": [Block("It is"), Block(" warm.")]}]) == [
        ("assistant", "It is warm.")
    ]


def test_a_refusal_is_something_said() -> None:
    assert roles_and_texts([{"role": "assistant", "content": None, "refusal": "I cannot."}]) == [
        ("assistant", "I cannot.")
    ]


def test_a_long_text_is_cut_where_it_breaks_and_nothing_is_lost() -> None:
    text = "".join(f"Paragraph {n} says öäü.\n\n" for n in range(3000)) + "x" * 70_000
    found = [*text_pieces(text)]
    assert "".join(found) == text
    assert all(len(piece.encode()) <= 32_768 for piece in found)
    assert found[0].endswith("\n\n")
    assert [
        row["content"] for row in normalised_messages([{"role": "tool", "name": "cat", "content": text}]).rows
    ] == found


async def test_a_batch_with_calls_and_long_results_is_kept_whole(holdfast: AsyncHoldfast) -> None:
    alice = holdfast.profile("app", "alice")
    long = "".join(f"Line {n} of the log says nothing of note. " for n in range(2000))
    receipt = await alice.ingest([*OPENAI, {"role": "tool", "content": long}], session_id="chat")
    assert receipt.skipped == 1
    assert [each.given for each in receipt.messages] == [0, 1, 3, 4, 5, 5, 5]
    kept = await alice.messages("chat")
    assert "".join(each.content for each in kept[4:]) == long
    again = await alice.ingest([*OPENAI, {"role": "tool", "content": long}], session_id="chat")
    assert not any(each.new for each in again.messages)


async def test_objects_of_a_client_travel(holdfast: AsyncHoldfast) -> None:
    alice = holdfast.profile("app", "alice")
    await alice.ingest([{"role": "assistant", "content": [Block("It is warm.")]}], session_id="chat")
    assert [each.content for each in await alice.messages("chat")] == ["It is warm."]


async def test_messages_without_any_text_write_nothing(holdfast: AsyncHoldfast) -> None:
    alice = holdfast.profile("app", "alice")
    receipt = await alice.ingest([{"role": "user", "content": " "}, {"role": "assistant", "content": None}])
    assert (receipt.skipped, receipt.messages, receipt.session_id) == (2, (), "")
    assert [each.name for each in await holdfast.profiles("app")] == []


def test_too_much_at_once_says_how_to_send_it() -> None:
    with pytest.raises(InvalidInput, match="several calls"):
        normalised_messages([{"role": "tool", "content": "x" * 100_000}], 3)


async def test_an_agent_may_hand_on_its_messages_as_they_are(tmp_path: Path) -> None:
    async with site(tmp_path / "data") as here, connected_client("modern", here, tmp_path) as client:
        answer = await client.call_tool("ingest", {"messages": OPENAI, "session_id": "chat"})
        assert answer.structured_content == {"session_id": "chat", "new": 4, "known": 0, "skipped": 1}


def test_the_command_line_counts_what_has_no_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HOLDFAST_EMBEDDER", "potion")
    monkeypatch.setenv("HOLDFAST_DATA", str(tmp_path / "data"))
    chat = tmp_path / "chat.json"
    chat.write_text(json.dumps(OPENAI))
    assert main(["ingest", str(chat), "--no-wait"]) == 0
    assert "4 new messages, 1 without text" in capsys.readouterr().out
    chat.write_text(json.dumps([{"role": "assistant", "content": None, "tool_calls": [CALL]}]))
    assert main(["ingest", str(chat)]) == 0
    assert "None of 1 message has any text" in " ".join(capsys.readouterr().out.split())
