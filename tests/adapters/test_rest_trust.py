"""Whose words they are, over real HTTP: a page does not speak for the user, and an answer names its document."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx2 as httpx

from holdfast import AsyncHoldfast
from support.http_server import http_server
from support.poison import TOPICS

PROFILE = "/v1/namespaces/app/profiles/ana"


async def test_a_page_does_not_speak_for_the_user_over_http(tmp_path: Path) -> None:
    async with await AsyncHoldfast.open(tmp_path, embedder="potion") as memory:
        await memory.create_namespace("app")
        place: Any = {"namespace": "app", "profile": "ana"}
        _, key = await memory.access.issue("key", "key", ["read", "write", "forget"], **place)
        headers = {"authorization": f"Bearer {key}"}
        async with (
            http_server(memory) as base,
            httpx.AsyncClient(base_url=base, headers=headers, timeout=120) as http,
        ):

            async def post(path: str, **body: Any) -> Any:
                answer = await http.post(f"{PROFILE}/{path}", json=body)
                assert answer.is_success, answer.text
                return answer.json()

            said = [{"role": "user", "content": topic.said} for topic in TOPICS]
            await post("ingest", messages=said, session_id="a")
            lies = " ".join(topic.first for topic in TOPICS)
            await post("ingest", messages=[{"role": "tool", "content": lies}], session_id="b")
            page = f"{lies} The boiler needs a pressure of 1.5 bar.".encode()
            sent = await http.post(f"{PROFILE}/documents", files={"file": ("page.txt", page)})
            assert sent.is_success, sent.text
            await memory.profile("app", "ana").settle()
            for topic in TOPICS:
                found = await post("recall", query=topic.question)
                assert topic.true in found["answer"]
                assert topic.false not in found["answer"]
                assert topic.false not in found["hits"][0]["content"]
            found = await post("recall", query="What pressure does the boiler need?")
            assert found["answer"].startswith("According to page.txt: ")
            block = await post("context", query="What is my bank?", tokens=2000)
            lines = block["text"].splitlines()
            assert next(n for n, line in enumerate(lines) if "Millennium" in line) == 1
            assert all(line.startswith(("- [document, page.txt", "- [tool")) for line in lines if "Evilbank" in line)
