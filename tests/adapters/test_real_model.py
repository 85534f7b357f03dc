"""A real small model behind a real server, end to end: said, known, asked for, digested anew. `make prove-llm`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from holdfast import Answer, AsyncHoldfast
from holdfast.models.llm.chat import ChatReply, ChatRequest
from holdfast.models.llm.endpoint import parse_endpoint
from holdfast.models.llm.openai import OpenAiChat
from holdfast.models.llm.tasks.answer_schemas import Analysis, Items, answer_parser, schema
from holdfast.models.llm.tasks.parse_answer import ask_for_json
from holdfast.testing import HashingEmbedder
from support.http_server import http_server
from support.llama_server import QWEN, SMOL, LlamaServer

pytestmark = [pytest.mark.llm, pytest.mark.timeout(900)]
TOKEN = "a-token-for-this-test-alone"
SECONDS = 240.0
SAID = [{"role": "user", "content": "I live in Porto and my dog is called Bolt."}]


@pytest.fixture(scope="module")
def qwen() -> Iterator[LlamaServer]:
    with LlamaServer(QWEN) as model:
        yield model


async def test_what_is_said_is_digested_recalled_and_digested_anew(tmp_path: Path, qwen: LlamaServer) -> None:
    memory = await AsyncHoldfast.open(tmp_path, embedder=HashingEmbedder(), llm=qwen.llm, llm_seconds=SECONDS)
    async with memory:
        profile = memory.profile("app", "ana")
        receipt = await profile.ingest(SAID, wait=True)
        assert receipt.pending == 0
        (known,) = (await profile.list()).items
        assert "Porto" in known.content
        assert known.extractor.startswith(f"custom/{QWEN.stem}/extract-")
        assert (known.trust, known.sources) == ("user", (receipt.messages[0].id,))
        spent = {each.task: each for each in await profile.usage()}
        assert {"extract", "verify", "classify"} <= set(spent)
        assert all(each.input > 0 and each.output > 0 for each in spent.values())

        found = await profile.recall("Where do I live?", thinking_level="high")
        assert "Porto" in found.hits[0].content
        assert {citation.hit for citation in found.citations} <= {hit.id for hit in found.hits}

        again = await profile.redigest()
        assert (again.messages, again.memories) == (1, 1)
        await profile.settle()
        (anew,) = (await profile.list()).items
        assert (anew.content, anew.extractor) == (known.content, known.extractor)


async def test_the_same_over_the_service(tmp_path: Path, qwen: LlamaServer) -> None:
    memory = await AsyncHoldfast.open(tmp_path, embedder=HashingEmbedder(), llm=qwen.llm, llm_seconds=SECONDS)
    async with memory:
        await memory.access.admin(TOKEN)
        async with http_server(memory) as url, AsyncHoldfast.connect(url, TOKEN, timeout=SECONDS) as far:
            profile = far.profile("app", "ana")
            await profile.ingest(SAID, wait=True)
            assert [each.extractor.partition("/extract")[0] for each in (await profile.list()).items] == [
                f"custom/{QWEN.stem}"
            ]
            pieces = [piece async for piece in profile.recall_stream("What is my dog called?")]
            assert isinstance(pieces[-1], Answer)
            assert any("Bolt" in hit.content for hit in pieces[-1].hits)


async def test_a_schema_is_kept_by_a_model_that_knows_nothing() -> None:
    """SmolLM2 invents what it says, so only the wire is asked for: a whole answer, a stream, and what they cost."""
    with LlamaServer(SMOL) as smol:
        chat = OpenAiChat(parse_endpoint(smol.llm))
        try:
            ask = ChatRequest(
                "extract", "Write down one fact.", "I live in Porto.", schema(Items), tokens=400, seconds=SECONDS
            )
            assert isinstance(await ask_for_json(chat, ask, answer_parser(Items)), Items)
            ask = ChatRequest(
                "analyse", "Give search terms.", "Where is it?", schema(Analysis), tokens=400, seconds=SECONDS
            )
            pieces = [piece async for piece in chat.stream(ask)]
            whole = pieces[-1]
            assert isinstance(whole, ChatReply)
            assert whole.text == "".join(piece for piece in pieces if isinstance(piece, str))
            assert len(pieces) > 2
            assert whole.usage.output > 0
        finally:
            await chat.close()


def test_a_server_stops_with_its_block() -> None:
    with LlamaServer(SMOL) as smol:
        process = smol._process
        assert process.poll() is None
        assert smol.cpu > 0
    assert process.returncode == 0


def test_a_model_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="fetch_test_model"), LlamaServer(tmp_path / "none.gguf"):
        pass


def test_a_file_that_is_no_model_is_told(tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.gguf"
    wrong.write_bytes(b"no model")
    with pytest.raises(RuntimeError, match="did not start"), LlamaServer(wrong):
        pass
