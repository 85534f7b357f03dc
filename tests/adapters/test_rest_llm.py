"""A served Holdfast with a language model: streamed answers, usage and redigestion from far away, and in a database."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, nullcontext
from pathlib import Path
from urllib.parse import urlencode

import httpx2 as httpx
import psycopg
import pytest

from holdfast import Answer, AsyncHoldfast
from holdfast.domain.errors import InvalidInput
from holdfast.testing import HashingEmbedder, ModelServer
from support.http_server import http_server
from support.postgres import database
from support.scripted_llm import ScriptedLlm
from support.waiting import until

SAID = [{"role": "user", "content": "I live in Porto."}]
ANSWER = {"supported": True, "answer": "You live in Porto — by the river.", "cited": [1]}
TOKEN = "preset-admin-token-of-the-tests"
PLACE = "/v1/namespaces/app/profiles/ana"


def _dsn(data: str) -> str:
    """What psycopg writes as words, as an address."""
    if data.startswith("/"):
        return data
    told = psycopg.conninfo.conninfo_to_dict(data)
    return f"postgres:///?{urlencode(told)}"


@asynccontextmanager
async def far(data: str, mind: ScriptedLlm) -> AsyncIterator[tuple[AsyncHoldfast, str]]:
    async with (
        ModelServer(mind) as server,
        await AsyncHoldfast.open(_dsn(data), embedder=HashingEmbedder(), llm=f"{server.url}#scripted") as holdfast,
    ):
        await holdfast.access.admin(TOKEN)
        async with http_server(holdfast) as base:
            yield holdfast, base


@pytest.mark.parametrize("where", ["folder", "database"])
async def test_everything_is_there_from_far_away(tmp_path: Path, where: str) -> None:
    place = database() if where == "database" else nullcontext(str(tmp_path))
    mind = ScriptedLlm({"The user lives in Porto.": "I live in Porto"}, answer=ANSWER)
    with place as data:
        await _asked(data, mind)


async def _asked(data: str, mind: ScriptedLlm) -> None:
    async with far(data, mind) as (_, base), AsyncHoldfast.connect(base, TOKEN) as away:
        ana = away.profile("app", "ana")
        receipt = await ana.ingest(SAID, wait=True)
        assert [memory.extractor.partition("/")[0] for memory in receipt.memories] == ["custom"]
        found = await ana.recall("Where do I live?", thinking_level="medium", response_length="short")
        assert found.answer == ANSWER["answer"]
        pieces = [piece async for piece in ana.recall_stream("Where do I live?")]
        assert "".join(piece for piece in pieces if isinstance(piece, str)) == ANSWER["answer"]
        assert isinstance(pieces[-1], Answer)
        assert pieces[-1].citations == found.citations
        assert {spent.task for spent in await ana.usage()} == {"extract", "verify", "classify", "analyse", "answer"}
        redone = await ana.redigest(dry_run=True)
        assert (redone.messages, redone.memories) == (1, 1)
        with pytest.raises(InvalidInput):
            await ana.recall("Where?", thinking_level="hard")


async def test_a_stream_that_is_left_early_leaves_nothing_running(tmp_path: Path) -> None:
    mind = ScriptedLlm(answer={**ANSWER, "answer": "word " * 1000})
    async with far(str(tmp_path), mind) as (holdfast, base):
        await holdfast.profile("app", "ana").ingest(SAID, wait=True)
        before = {task.get_name() for task in asyncio.all_tasks()}
        async with httpx.AsyncClient(headers={"authorization": f"Bearer {TOKEN}"}, timeout=120) as http:
            asked = {"json": {"query": "Where do I live?"}}
            async with http.stream("POST", f"{base}{PLACE}/recall/stream", **asked) as answer:
                async for line in answer.aiter_lines():
                    if line.startswith("data:"):
                        assert "text" in json.loads(line[5:])
                        break

        def ended() -> bool:
            left = {task.get_name() for task in asyncio.all_tasks()} - before
            return not any("holdfast" in name for name in left)

        await until(ended)
        assert (await holdfast.profile("app", "ana").recall("Where do I live?")).answer.startswith("word")


async def test_a_question_that_is_wrong_is_an_error_and_no_stream(tmp_path: Path) -> None:
    async with far(str(tmp_path), ScriptedLlm()) as (holdfast, base), httpx.AsyncClient(timeout=120) as http:
        await holdfast.profile("app", "ana").ingest(SAID, wait=True)
        answer = await http.post(
            f"{base}{PLACE}/recall/stream", json={"query": ""}, headers={"authorization": f"Bearer {TOKEN}"}
        )
        assert answer.status_code == 400
        assert answer.json()["error"]["code"] == "invalid_input"
