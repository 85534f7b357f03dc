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
from holdfast.redaction import redacted
from holdfast.testing import HashingEmbedder
from mcp_clients import connected, site

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


def leaked(told: Any) -> list[str]:
    return [secret for secret in SECRETS if secret in str(told)]


@pytest.mark.parametrize("question", ASKED)
async def test_no_prompt_holds_a_secret(memory: AsyncHoldfast, question: str) -> None:
    ana = memory.profile("app", "ana")
    hits = await ana.search(question)
    assert "[redacted]" in str(hits)
    assert not leaked(hits)
    assert not leaked(await ana.recall(question))
    assert not leaked(await ana.context(question))
    assert not leaked(await memory.across("app", ["ana"]).search(question))
    assert not leaked(await memory.across("app", ["ana"]).context(question))


async def test_the_profile_page_holds_none_either(memory: AsyncHoldfast) -> None:
    page = await memory.profile("app", "ana").summary()
    assert "[redacted]" in page
    assert not leaked(page)


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
    assert not leaked(read)


async def test_what_was_said_stays_as_it_was_said(memory: AsyncHoldfast) -> None:
    ana = memory.profile("app", "ana")
    said = await ana.messages("chat")
    assert [each.content for each in said] == [each["content"] for each in SAID]
    for message in said:
        assert await ana.get(message.id) == message
    exported = b"".join([line async for line in ana.exported()]).decode()
    assert leaked(exported) == [*SECRETS]


async def test_what_is_remembered_on_purpose_comes_back_as_it_was_written(memory: AsyncHoldfast) -> None:
    ana = memory.profile("app", "ana")
    kept = await ana.remember(f"The deploy token is {TOKEN}", key="deploy-token")
    assert (await ana.search("deploy token", kind="fact", key="deploy-token"))[0].content == kept.content


async def test_tools_of_an_agent_show_none(tmp_path: Path) -> None:
    async with site(tmp_path / "data") as here, connected("modern", here, tmp_path) as client:

        async def told(tool: str, **arguments: Any) -> Any:
            answer = await client.call_tool(tool, arguments)
            assert not answer.is_error, answer.content
            return answer.structured_content

        await told("ingest", messages=SAID, session_id="chat")
        for question in ASKED:
            found = await told("search", query=question)
            assert not leaked(json.dumps([found, await told("recall", query=question)]))
            assert not leaked(json.dumps(await told("get_context", query=question)))
            for each in found["results"]:
                fetched = await told("fetch", id=each["id"])
                assert not leaked(json.dumps(fetched))
                assert fetched["text"] == each["text"] or "[redacted]" in each["text"]


def test_words_that_are_no_secrets_stay() -> None:
    for text in ("We fly on 3 April at 19:30, gate B12.", "See https://example.org/a1b2 for the code.", "2x4 beams"):
        assert redacted(text) == text
