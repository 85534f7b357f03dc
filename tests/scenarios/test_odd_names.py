"""Names and ids with characters that mean something in a URL: the same here and over HTTP."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from holdfast import AsyncHoldfast
from holdfast.domain.errors import HoldfastError
from holdfast.storage.sqlite.vault import SqliteVault
from holdfast.testing import FrozenClock, HashingEmbedder, ScriptedExtractor
from support.http_server import http_server

NAMES = [
    "a/b", "/a", "a//b", "../x", "x/..", "a?b=c&d", "a#b", "100%", "a%2Fb", "%2e%2e", "with space", " a", "a ", "a@2",
    "..", ".", "...", "a+b", "a;b:c", "a\\b", "a\nb", "\ue02f", "\ue02fs", "{id}", "memories", "日本 ünï", "e\u0301",
    "",
]  # fmt: skip


async def of_profile(holdfast: Any, name: str) -> Any:
    profile = holdfast.profile("app", name)
    written = await profile.remember("Likes tea", key="drink")
    found = (await profile.get(written.id)).content, [each.content for each in await profile.list()]
    await holdfast.delete_profile("app", name)
    return found, (await profile.stats()).memories


async def of_session(holdfast: Any, name: str) -> Any:
    ana = holdfast.profile("app", "ana")
    await ana.ingest([{"role": "user", "content": f"Hi {name}."}], session_id=name, wait=True)
    texts = [each.content for each in await ana.messages(name)]
    found = texts, await ana.summary(name), [each.content for each in await ana.search("Hi", session_id=name)]
    dry, wet = [await ana.forget_session(name, dry_run=dry_run) for dry_run in (True, False)]
    return found, len(dry.messages), dry == wet


async def of_key(holdfast: Any, name: str) -> Any:
    ana = holdfast.profile("app", "ana")
    await ana.remember("Likes tea", key=name, kind="note")
    found = [(each.key, each.content) for each in await ana.list(key=name)]
    return found, len((await ana.forget_where(key=name)).memories)


def of_id(verb: str, *more: Any) -> Callable[[Any, str], Awaitable[Any]]:
    async def act(holdfast: Any, name: str) -> Any:
        return await getattr(holdfast.profile("app", "ana"), verb)(name, *more)

    return act


ACTS: dict[str, Callable[[Any, str], Awaitable[Any]]] = {
    "profile": of_profile, "session": of_session, "key": of_key, "split": of_id("split", ["a", "b"]),
    **{verb: of_id(verb) for verb in (
        "get", "history", "forget", "mark", "pin", "unpin", "revise", "document", "forget_document", "job", "trace",
        "undo",
    )},
}  # fmt: skip


async def outcome(act: Callable[[Any, str], Awaitable[Any]], holdfast: Any, name: str) -> Any:
    try:
        return await act(holdfast, name)
    except HoldfastError as refused:
        return type(refused), str(refused), refused.field


@pytest.mark.parametrize("what", ACTS)
async def test_a_name_does_the_same_here_and_over_http(what: str, tmp_path: Path) -> None:
    async with AsyncHoldfast(
        SqliteVault(tmp_path), HashingEmbedder(), ScriptedExtractor({}), FrozenClock()
    ) as holdfast:
        await holdfast.profile("app", "ana").remember("Likes tea")
        async with http_server(holdfast) as url:
            _, token = await holdfast.access.issue("key", "test", ("read", "write", "forget", "admin"))
            remote = AsyncHoldfast.connect(url, token)
            for name in NAMES:
                here = await outcome(ACTS[what], holdfast, name)
                assert (name, await outcome(ACTS[what], remote, name)) == (name, here)
            await remote.close()
