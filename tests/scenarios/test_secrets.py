"""A secret that somebody mentioned is in no prompt: not in hits, contexts, answers, summaries or MCP's answers.

What was said is kept as it was said, and whoever reads it by id, as messages or as an export gets it back.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from holdfast import AsyncHoldfast
from holdfast.domain.types import Draft
from holdfast.models.llm.embeddings import embedder_from_setting
from holdfast.testing import Asked, HashingEmbedder, ModelServer, ScriptedExtractor
from holdfast.text.redaction import redacted_text
from support.mcp_clients import connected_client, site
from support.scripted_llm import ScriptedLlm

WIFI = "hunter2-blue-7"
TOKEN = "sk-live-9f8e7d6c5b4a39281706"
BARE = "Quartz77lantern"
SECRETS = (WIFI, TOKEN, BARE)
SAID = [
    {"role": "user", "content": f"My wifi password is {WIFI}."},
    {"role": "user", "content": f"Use {TOKEN} for the payments service."},
    {"role": "assistant", "content": "And what is the password of the router?"},
    {"role": "user", "content": BARE},
]
ASKED = ("What is my wifi password?", "payments service", "router", BARE)


@pytest.fixture
async def memory(tmp_path: Path) -> AsyncIterator[AsyncHoldfast]:
    async with await AsyncHoldfast.open(tmp_path / "data", embedder=HashingEmbedder()) as memory:
        await memory.create_namespace("app")
        await memory.profile("app", "ana").ingest(SAID, session_id="chat", wait=True)
        yield memory


def leaked_secrets(told: Any) -> list[str]:
    return [secret for secret in SECRETS if secret in str(told)]


@pytest.mark.parametrize("question", ASKED)
async def test_no_prompt_holds_a_secret(memory: AsyncHoldfast, question: str) -> None:
    ana = memory.profile("app", "ana")
    hits = await ana.search(question)
    assert "[redacted]" in str(hits)
    assert not leaked_secrets(hits)
    assert not leaked_secrets(await ana.recall(question))
    assert not leaked_secrets(await ana.context(question))
    assert not leaked_secrets(await memory.across("app", ["ana"]).search(question))
    assert not leaked_secrets(await memory.across("app", ["ana"]).context(question))


async def test_the_profile_page_holds_none_either(memory: AsyncHoldfast) -> None:
    page = await memory.profile("app", "ana").summary()
    assert "[redacted]" in page
    assert not leaked_secrets(page)


async def test_a_reranker_is_sent_none(tmp_path: Path) -> None:
    read: list[str] = []

    class Reranker:
        async def rerank(self, query: str, texts: Sequence[str]) -> list[float]:
            read.extend(texts)
            return [0.0] * len(texts)

    opened = await AsyncHoldfast.open(tmp_path / "data", embedder=HashingEmbedder(), reranker=Reranker())
    async with opened as memory:
        await memory.profile("app", "ana").ingest(SAID[:2], session_id="chat", wait=True)
        await memory.profile("app", "ana").search("wifi password payments")
    assert "[redacted]" in str(read)
    assert not leaked_secrets(read)


async def test_a_reranker_is_sent_no_bare_password_and_no_secret_of_the_question(tmp_path: Path) -> None:
    read: list[str] = []

    class Reranker:
        async def rerank(self, query: str, texts: Sequence[str]) -> list[float]:
            read.extend([query, *texts])
            return [0.0] * len(texts)

    opened = await AsyncHoldfast.open(tmp_path / "data", embedder=HashingEmbedder(), reranker=Reranker())
    async with opened as memory:
        ana = memory.profile("app", "ana")
        await ana.ingest(SAID, session_id="chat", wait=True)
        await ana.remember(f"The deploy token is {TOKEN}")
        await ana.search(f"The router: is its password {WIFI}?")
    assert "[redacted]" in read[0]
    assert not leaked_secrets(read)


async def test_a_model_is_sent_none(tmp_path: Path) -> None:
    """Not in conversations, questions, evidence, comparisons or what is filed, also of what was remembered."""
    asked: list[Asked] = []
    scripted = ScriptedLlm({"The user has a payments service.": "for the payments service"})

    def mind(each: Asked) -> Any:
        asked.append(each)
        return scripted(each)

    async with (
        ModelServer(mind) as server,
        await AsyncHoldfast.open(tmp_path / "data", embedder=HashingEmbedder(), llm=f"{server.url}#scripted") as memory,
    ):
        ana = memory.profile("app", "ana")
        await ana.remember(f"The deploy token is {TOKEN}")
        await ana.ingest(SAID, session_id="chat", wait=True)
        await ana.ingest([{"role": "user", "content": f"The deploy token is {TOKEN}."}], session_id="two", wait=True)
        await ana.recall(f"Is my wifi password {WIFI}, and what is the deploy token?")
    assert {"extract", "analyse", "answer"} <= {*scripted.asked}
    assert "[redacted]" in str(asked)
    assert not leaked_secrets(asked)


async def test_an_embedder_on_a_server_is_sent_none(tmp_path: Path) -> None:
    read: list[Asked] = []

    def script(asked: Asked) -> str:
        read.append(asked)
        return ""

    async with ModelServer(script) as server:
        embedder = embedder_from_setting(f"{server.url}#vectors/64")
        await embedder.embed([each["content"] for each in SAID[:2]])
        await embedder.embed_query(f"Is my wifi password {WIFI}?")
        await embedder.close()
        bodies = str([each.body for each in server.seen])
    assert "[redacted]" in bodies
    assert not leaked_secrets(bodies)


async def test_a_memory_that_would_be_only_redacted_is_not_kept(tmp_path: Path) -> None:
    said = [
        {"role": "user", "content": f"My password is {WIFI}."},
        {"role": "user", "content": TOKEN},
        {"role": "user", "content": f"My wifi password at the cabin is {WIFI}."},
    ]
    async with await AsyncHoldfast.open(tmp_path / "data", embedder=HashingEmbedder()) as memory:
        ana = memory.profile("app", "ana")
        await ana.ingest(said, session_id="chat", wait=True)
        kept = [each.content for each in (await ana.list()).items]
    assert not [text for text in kept if "cabin" not in text and "[redacted]" in text]


async def test_no_extractor_of_any_make_keeps_only_a_mark(tmp_path: Path) -> None:
    class Maker(ScriptedExtractor):
        async def extract(self, messages: Any, before: Any, keys: Any = None) -> list[Draft]:
            texts = ("[redacted]", "The user's PIN is [redacted].", "The user lives in Porto.")
            return [Draft("fact", text, (messages[-1].id,)) for text in texts]

    opened = await AsyncHoldfast.open(tmp_path / "data", embedder=HashingEmbedder(), extractor=Maker())
    async with opened as memory:
        ana = memory.profile("app", "ana")
        await ana.ingest([{"role": "user", "content": "I live in Porto."}], session_id="chat", wait=True)
        assert [each.content for each in (await ana.list()).items] == ["The user lives in Porto."]


async def test_what_was_said_stays_as_it_was_said(memory: AsyncHoldfast) -> None:
    ana = memory.profile("app", "ana")
    said = await ana.messages("chat")
    assert [each.content for each in said] == [each["content"] for each in SAID]
    for message in said:
        assert await ana.get(message.id) == message
    exported = b"".join([line async for line in ana.exported()]).decode()
    assert leaked_secrets(exported) == [*SECRETS]


async def test_what_is_remembered_on_purpose_comes_back_as_it_was_written(memory: AsyncHoldfast) -> None:
    ana = memory.profile("app", "ana")
    kept = await ana.remember(f"The deploy token is {TOKEN}", key="deploy-token")
    assert (await ana.search("deploy token", kind="fact", key="deploy-token"))[0].content == kept.content


async def test_tools_of_an_agent_show_none(tmp_path: Path) -> None:
    async with site(tmp_path / "data") as here, connected_client("modern", here, tmp_path) as client:

        async def call_tool(tool: str, **arguments: Any) -> Any:
            answer = await client.call_tool(tool, arguments)
            assert not answer.is_error, answer.content
            return answer.structured_content

        await call_tool("ingest", messages=SAID, session_id="chat")
        for question in ASKED:
            found = await call_tool("search", query=question)
            assert not leaked_secrets(json.dumps([found, await call_tool("recall", query=question)]))
            assert not leaked_secrets(json.dumps(await call_tool("get_context", query=question)))
            for each in found["results"]:
                fetched = await call_tool("fetch", id=each["id"])
                assert not leaked_secrets(json.dumps(fetched))
                assert fetched["text"] == each["text"] or "[redacted]" in each["text"]


def test_words_that_are_no_secrets_stay() -> None:
    for text in ("We fly on 3 April at 19:30, gate B12.", "See https://example.org/a1b2 for the code.", "2x4 beams"):
        assert redacted_text(text) == text
