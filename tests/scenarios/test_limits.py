"""Every interface, the same limits: a value below or at a limit is taken, one above it is refused."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple

import httpx2 as httpx
import pytest

from holdfast import AsyncHoldfast, InvalidInput
from holdfast.api.client.holdfast import RemoteHoldfast
from holdfast.domain import limits
from holdfast.domain.arguments import DocumentSource
from holdfast.domain.json_codec import encode
from holdfast.testing import HashingEmbedder
from support.http_server import http_server
from support.mcp_clients import call


def nested(depth: int) -> Any:
    """Lists in an object, so many levels in all."""
    value: Any = []
    for _ in range(depth - 2):
        value = [value]
    return {"a": value}


def sized(size: int) -> dict[str, str]:
    """An object of so many bytes of JSON."""
    return {"a": "x" * (size - len('{"a": ""}'))}


def counted(items: int) -> dict[str, Any]:
    """An object with so many names and list items."""
    return {"a": [0] * (items - 1)}


class Limit(NamedTuple):
    field: str
    most: int
    made: Callable[[int], Any]


LIMITS = {
    "content": Limit("content", limits.MAX_CONTENT_BYTES, lambda n: "x" * n),
    "key": Limit("key", limits.MAX_KEY_BYTES, lambda n: "k" * n),
    "kind": Limit("kind", limits.MAX_KIND_CHARACTERS, lambda n: "k" * n),
    "session": Limit("session_id", limits.MAX_SESSION_CHARACTERS, lambda n: "s" * n),
    "agent": Limit("agent", limits.MAX_PROFILE_BYTES, lambda n: "a" * n),
    "metadata size": Limit("metadata", limits.MAX_METADATA_BYTES, sized),
    "metadata depth": Limit("metadata", limits.MAX_JSON_DEPTH, nested),
    "metadata items": Limit("metadata", limits.MAX_METADATA_ITEMS, counted),
    "value size": Limit("value", limits.MAX_VALUE_BYTES, sized),
    "value depth": Limit("value", limits.MAX_JSON_DEPTH, nested),
    "value items": Limit("value", limits.MAX_VALUE_ITEMS, counted),
}
HOSTILE = {
    "deep": ("metadata", nested(490)),
    "deeper": ("metadata", nested(900)),
    "deep value": ("value", nested(600)),
    "NUL": ("metadata", {"a": "b\0c"}),
    "NUL in a name": ("metadata", {"a\0": 1}),
    "NUL in a key": ("key", "a\0b"),
}


@dataclass
class Doors:
    """A profile behind every interface."""

    holdfast: AsyncHoldfast
    url: str
    token: str
    http: httpx.AsyncClient
    archive: list[dict[str, Any]]

    @property
    def profile(self) -> Any:
        return self.holdfast.profile("app", "ana")

    async def python(self, given: dict[str, Any]) -> None:
        await self.profile.remember(**{"content": "x", **given})

    async def revision(self, given: dict[str, Any]) -> None:
        wanted = {name: value for name, value in given.items() if name not in ("agent", "session_id")}
        kept = await self.profile.remember("to be revised", key="revised")
        try:
            await self.profile.revise(kept.id, **wanted)
        finally:
            await self.profile.forget(kept.id)

    async def rest(self, given: dict[str, Any]) -> None:
        await self._posted("/v1/namespaces/app/profiles/ana/remember", {"content": "x", **given})

    async def items(self, given: dict[str, Any]) -> None:
        await self._posted("/v1/agents/app/entities/ana/items", {"kind": "fact", "content": "x", **given})

    async def remote(self, given: dict[str, Any]) -> None:
        async with RemoteHoldfast(self.url, self.token) as far:
            await far.profile("app", "ana").remember(**{"content": "x", **given})

    async def mcp(self, given: dict[str, Any]) -> None:
        url, bearer = f"{self.url}/mcp?namespace=app&profile=ana", {"authorization": f"Bearer {self.token}"}
        answer = await call(self.http, url, "remember", {"content": "x", **given}, **bearer)
        if "error" in answer.json() or answer.json()["result"].get("isError"):
            raise InvalidInput(answer.text)

    async def message(self, given: dict[str, Any]) -> None:
        about = {name: given[name] for name in ("metadata", "agent") if name in given}
        more = {"session_id": given["session_id"]} if "session_id" in given else {}
        await self.profile.ingest([{"role": "user", "content": "hello", **about}], **more)

    async def document(self, given: dict[str, Any]) -> None:
        await self.profile.add(DocumentSource(data=b"Bees sleep at night."), metadata=given["metadata"])

    async def brought(self, given: dict[str, Any]) -> None:
        """The import of an archive with one memory like this."""
        lines = [dict(line) for line in self.archive]
        for line in lines:
            if line.get("type") == "memory":
                line |= {"id": "01ARZ3NDEKTSV4RRFFQ69G5FAV", **given}
        file = BytesIO("\n".join(json.dumps(line) for line in lines).encode() + b"\n")
        done = await self.profile.import_from(file, force=True)
        if any("another" not in problem for problem in done.problems if "checksum" not in problem):
            raise InvalidInput("; ".join(done.problems))

    async def _posted(self, path: str, body: dict[str, Any]) -> None:
        answer = await self.http.post(self.url + path, json=body, headers={"authorization": f"Bearer {self.token}"})
        if answer.status_code == 400:
            raise InvalidInput(answer.text)
        assert answer.status_code == 201, answer.text


TAKEN: dict[str, set[str]] = {
    "python": {limit.field for limit in LIMITS.values()},
    "revision": {"content", "key", "kind", "metadata", "value"},
    "rest": {limit.field for limit in LIMITS.values()},
    "remote": {limit.field for limit in LIMITS.values()},
    "items": {"content", "key", "kind", "metadata", "value"},
    "mcp": {"content", "key"},
    "message": {"metadata", "agent", "session_id"},
    "document": {"metadata"},
    "brought": {limit.field for limit in LIMITS.values()},
}
"""Interface → the fields that it takes."""


@pytest.fixture
async def doors(tmp_path: Path) -> AsyncIterator[Doors]:
    async with (
        await AsyncHoldfast.open(tmp_path, embedder=HashingEmbedder()) as holdfast,
        http_server(holdfast) as url,
        httpx.AsyncClient(timeout=120) as http,
    ):
        await holdfast.profile("app", "sample").remember("x")
        lines = [json.loads(line) async for line in holdfast.profile("app", "sample").exported()]
        token = await holdfast.access.admin() or ""
        yield Doors(holdfast, url, token, http, [line for line in lines if line.get("type") != "setting"])


@pytest.mark.parametrize("door", TAKEN)
async def test_each_interface_keeps_each_limit(doors: Doors, door: str) -> None:
    write: Callable[[dict[str, Any]], Awaitable[None]] = getattr(doors, door)
    for name, limit in LIMITS.items():
        if limit.field not in TAKEN[door]:
            continue
        for size in (limit.most - 1, limit.most):
            await write({limit.field: limit.made(size)})
            await doors.holdfast.delete_profile("app", "ana")
        with pytest.raises(InvalidInput) as refused:
            await write({limit.field: limit.made(limit.most + 1)})
        assert any(f"{limit.most:{how}}" in str(refused.value) for how in ("d", ",")) or door == "mcp", name
        assert not (await doors.profile.list(superseded=True)).items, name


@pytest.mark.parametrize("door", TAKEN)
async def test_nothing_hostile_is_stored_through_any_interface(doors: Doors, door: str) -> None:
    """What was refused is not there, and everything that reads still works."""
    write: Callable[[dict[str, Any]], Awaitable[None]] = getattr(doors, door)
    await doors.profile.remember("The user keeps bees")
    for name, (field, value) in HOSTILE.items():
        if field in TAKEN[door]:
            with pytest.raises(InvalidInput):
                await write({field: value})
            assert [memory.content for memory in (await doors.profile.list()).items] == ["The user keeps bees"], name
            encode((await doors.profile.search("bees"))[0])
            assert [line async for line in doors.profile.exported()]


@pytest.mark.parametrize("field", ["key", "key_prefix", "session_id", "agent", "kind"])
async def test_a_nul_in_a_filter_is_refused(doors: Doors, field: str) -> None:
    body = {"query": "bees", field: "a\0b"}
    answer = await doors.http.post(
        f"{doors.url}/v1/namespaces/app/profiles/ana/search", json=body,
        headers={"authorization": f"Bearer {doors.token}"},
    )  # fmt: skip
    assert (answer.status_code, "NUL" in answer.text) == (400, True), answer.text
    with pytest.raises(InvalidInput, match="NUL"):
        await doors.profile.list(filter={"metadata.a": "b\0"})


async def test_a_summary_that_a_caller_forged_stops_no_forgetting(doors: Doors) -> None:
    await doors.profile.remember("roll-up", kind="summary", metadata={"covers": 5})
    kept = await doors.profile.remember("to be forgotten")
    assert (await doors.profile.forget(kept.id)).memories == (kept.id,)
