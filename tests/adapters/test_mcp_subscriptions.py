"""Word of changes over MCP: it reaches whoever listens to the profile, and nobody else."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import httpx2 as httpx
import pytest
from mcp import Client
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError
from mcp.shared.subscriptions import ResourcesListChanged, ResourceUpdated

from holdfast.api.mcp import server
from holdfast.service.subscriptions import Subscriptions
from support.mcp_clients import Site, site
from support.waiting import PATIENCE_SECONDS, until

ALICE, BOB = "holdfast://team/alice", "holdfast://team/bob"
pytestmark = pytest.mark.filterwarnings("ignore::mcp.shared.exceptions.MCPDeprecationWarning")
QUIET = 0.3
"""Seconds of silence after which no more word is expected."""


@pytest.fixture
async def here(tmp_path: Path) -> AsyncIterator[Site]:
    async with site(tmp_path) as made:
        yield made


async def next_notifications(listening: Any, count: int) -> list[Any]:
    """So many, however long they take, and what else comes until it has been quiet."""
    events: list[Any] = []
    coming = aiter(listening)
    while True:
        try:
            seconds = PATIENCE_SECONDS if len(events) < count else QUIET
            events.append(await asyncio.wait_for(anext(coming), seconds))
        except (TimeoutError, StopAsyncIteration):
            return events


async def test_a_stateless_listener_hears_of_its_own_profile_only(here: Site) -> None:
    kept = (await here.profile().remember("Has a cat")).id
    async with Client(await here.url()) as alice, Client(await here.url("bob")) as bob:
        uris = [f"{ALICE}/summary", f"{ALICE}/memory/{kept}", f"{ALICE}/memory/another"]
        async with (
            alice.listen(resource_subscriptions=uris, resources_list_changed=True) as one,
            bob.listen(resource_subscriptions=[f"{BOB}/summary"], resources_list_changed=True) as other,
        ):
            assert one.honored.resource_subscriptions == uris
            await here.profile().remember("Has a dog")
            assert await next_notifications(one, 2) == [ResourceUpdated(f"{ALICE}/summary"), ResourcesListChanged()]
            await here.profile().forget(kept)
            changed = [ResourceUpdated(f"{ALICE}/summary"), ResourceUpdated(f"{ALICE}/memory/{kept}")]
            assert await next_notifications(one, 3) == [*changed, ResourcesListChanged()]
            assert await next_notifications(other, 0) == []
            await here.profile("bob").remember("Has a parrot")
            assert await next_notifications(other, 2) == [ResourceUpdated(f"{BOB}/summary"), ResourcesListChanged()]
            assert await next_notifications(one, 0) == []


@asynccontextmanager
async def subscribed_client(here: Site, transport: str, who: str, told: list[str]) -> AsyncIterator[Client]:
    """A client of the handshake era that notes which resources it is told of."""

    async def note(message: Any) -> None:
        if getattr(message, "method", "") == "notifications/resources/updated":
            told.append(str(message.params.uri))

    streaming = asyncio.Event()  # word comes on a standing stream, which a client opens beside its requests

    async def answered(response: httpx.Response) -> None:
        if response.request.method == "GET":
            streaming.set()

    secret, hooks = await here.secret(who), {"response": [answered]}
    async with httpx.AsyncClient(trust_env=False, timeout=PATIENCE_SECONDS, event_hooks=hooks) as http:
        target: Any = sse_client(f"{here.base}/sse/{secret}")
        if transport == "legacy":
            target = streamable_http_client(f"{here.base}/s/{secret}/mcp", http_client=http)
        async with Client(target, mode="legacy", message_handler=note) as client:
            await client.subscribe_resource(f"holdfast://team/{who}/summary")
            if transport == "legacy":
                await asyncio.wait_for(streaming.wait(), PATIENCE_SECONDS)
            yield client


@pytest.mark.parametrize("transport", ["legacy", "sse"])
async def test_a_session_hears_of_its_own_profile_only(here: Site, transport: str) -> None:
    one: list[str] = []
    other: list[str] = []
    async with (
        subscribed_client(here, transport, "alice", one) as alice,
        subscribed_client(here, transport, "bob", other),
    ):
        await here.profile().remember("Has a dog")
        await until(lambda: bool(one))
        await asyncio.sleep(QUIET)
        assert (one, other) == ([f"{ALICE}/summary"], [])
        await alice.unsubscribe_resource(f"{ALICE}/summary")
        await here.profile().remember("Has a cat")
        await here.profile("bob").remember("Has a parrot")
        await until(lambda: bool(other))
        await asyncio.sleep(QUIET)
        assert (one, other) == ([f"{ALICE}/summary"], [f"{BOB}/summary"])


async def test_nobody_listens_to_another_profile(here: Site) -> None:
    await here.profile("bob").remember("Has a parrot")
    for uri in (f"{BOB}/summary", "holdfast://other/alice/summary", f"{ALICE}x/summary", ALICE, "file:///"):
        async with Client(await here.url()) as client:
            with pytest.raises(MCPError, match="There is no resource"):
                async with client.listen(resource_subscriptions=[f"{ALICE}/summary", uri]):
                    pass
        async with Client(await here.url(), mode="legacy") as client:
            with pytest.raises(MCPError, match="There is no resource"):
                await client.subscribe_resource(uri)
    async with Client(await here.url(rights=("write",))) as client:
        with pytest.raises(MCPError, match="does not have the right 'read'"):
            async with client.listen(resource_subscriptions=[f"{ALICE}/summary"]):
                pass


async def test_many_changes_at_once_are_told_once(here: Site) -> None:
    told: list[str] = []
    async with subscribed_client(here, "legacy", "alice", told):
        began = asyncio.get_running_loop().time()
        for n in range(20):
            await here.profile().remember(f"Owns {n} plates")
        await until(lambda: bool(told))
        await asyncio.sleep(server.BURST_SECONDS + QUIET)
        took = asyncio.get_running_loop().time() - began
        assert 1 <= len(told) <= 1 + took / server.BURST_SECONDS


async def test_a_listener_that_was_away_listens_again(here: Site) -> None:
    url, uri = await here.url(), f"{ALICE}/summary"
    async with Client(url) as client, client.listen(resource_subscriptions=[uri]):
        pass
    await here.profile().remember("Moved to Porto")
    async with Client(url) as client, client.listen(resource_subscriptions=[uri]) as again:
        assert "Porto" in (await client.read_resource(uri)).contents[0].text  # type: ignore[union-attr]
        await here.profile().remember("Moved to Lisbon")
        assert await next_notifications(again, 1) == [ResourceUpdated(uri)]


async def test_a_profile_that_is_not_there_yet_can_be_listened_to(here: Site) -> None:
    async with Client(await here.url("new")) as client:
        uri = str((await client.list_resources()).resources[0].uri)
        async with client.listen(resource_subscriptions=[uri]) as listening:
            await here.profile("new").remember("Is here")
            assert await next_notifications(listening, 1) == [ResourceUpdated(uri)]


async def test_a_revoked_credential_hears_no_more(here: Site) -> None:
    made, secret = await here.holdfast.access.issue("url", "u", ["read"], namespace="team", profile="alice")
    async with (
        Client(f"{here.base}/s/{secret}/mcp") as client,
        client.listen(resource_subscriptions=[f"{ALICE}/summary"]) as listening,
    ):
        await here.profile().remember("Has a dog")
        assert len(await next_notifications(listening, 1)) == 1
        await here.holdfast.access.revoke(made.id)
        await here.profile().remember("Has a secret")
        assert await next_notifications(listening, 0) == []


async def test_whoever_stops_listening_leaves_nothing_behind(here: Site) -> None:
    url, told = await here.url(), []
    for _ in range(3):
        async with Client(url) as client, client.listen(resource_subscriptions=[f"{ALICE}/summary"]):
            assert here.holdfast.runtime.subscriptions._bells
        async with subscribed_client(here, "legacy", "alice", told):
            assert here.holdfast.runtime.subscriptions._bells
    await until(lambda: not here.holdfast.runtime.subscriptions._bells)
    await until(lambda: not [task for task in asyncio.all_tasks() if task.get_name() == "holdfast-mcp-follow"])


@pytest.mark.parametrize("transport", ["modern", "legacy", "sse"])
async def test_who_was_told_that_it_listens_misses_nothing(
    here: Site, transport: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also when finding the newest event takes long."""
    reach, written = Subscriptions._reach, asyncio.Event()

    async def slowly(self: Subscriptions, who: tuple[str, str]) -> tuple[int, int]:
        with suppress(TimeoutError):  # if word was given before this, the write is made and would be missed
            await asyncio.wait_for(written.wait(), 0.5)
        return await reach(self, who)

    monkeypatch.setattr(Subscriptions, "_reach", slowly)
    told: list[str] = []
    if transport == "modern":
        uri = f"{ALICE}/summary"
        async with Client(await here.url()) as client, client.listen(resource_subscriptions=[uri]) as listening:
            await here.profile().remember("Has a dog")
            written.set()
            assert await next_notifications(listening, 1) == [ResourceUpdated(uri)]
    else:
        async with subscribed_client(here, transport, "alice", told):
            await here.profile().remember("Has a dog")
            written.set()
            await until(lambda: told == [f"{ALICE}/summary"])
