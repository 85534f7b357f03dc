"""Run by an interpreter that has Cloudflare's SDK: the contract by its raw calls; prints every request it made."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from cloudflare import (
    APIStatusError,
    AuthenticationError,
    BadRequestError,
    Cloudflare,
    ConflictError,
    DefaultHttpxClient,
    NotFoundError,
)
from cloudflare.pagination import SyncCursorPagination

ROOT = "/accounts/local/agent-memory/namespaces"
SPACE = ROOT + "/sdk"
ANA = SPACE + "/profiles/ana"
requests: list[str] = []


class Raw:
    """The SDK's get, post and delete, their envelopes opened."""

    def __init__(self, base: str, token: str) -> None:
        noted = DefaultHttpxClient(event_hooks={"request": [lambda sent: requests.append(f"{sent.method} {sent.url}")]})
        self._sdk = Cloudflare(base_url=base + "/client/v4", api_token=token, http_client=noted)

    def get(self, path: str, **params: Any) -> Any:
        return self._opened(self._sdk.get(path, cast_to=object, options={"params": params}))

    def post(self, path: str, **body: Any) -> Any:
        return self._opened(self._sdk.post(path, cast_to=object, body=body))

    def delete(self, path: str) -> Any:
        return self._opened(self._sdk.delete(path, cast_to=object))

    def every(self, path: str, **params: Any) -> list[Any]:
        """All entries, page by page, as the SDK's own cursor pagination walks them."""
        page: Any = SyncCursorPagination[object]
        return list(self._sdk.get_api_list(path, page=page, model=object, options={"params": params}))

    @staticmethod
    def _opened(envelope: Any) -> Any:
        assert (envelope["success"], envelope["errors"], envelope["messages"]) == (True, [], [])
        return envelope["result"]


@contextmanager
def refused(kind: type[APIStatusError], code: int | None = None, pointer: str | None = None) -> Iterator[None]:
    """The block fails with this error of the SDK's, after one request."""
    before, body = len(requests), None
    try:
        yield
    except kind as wrong:
        body = wrong.body
    assert isinstance(body, dict), f"no {kind.__name__}"
    told = body["errors"][0]
    assert code is None or told["code"] == code, told
    assert pointer is None or told["source"]["pointer"] == pointer, told
    assert len(requests) == before + 1, "the SDK tried again"


def namespaces(client: Raw) -> None:
    made = client.post(ROOT, name="sdk")
    assert client.get(SPACE) == made == client.get(f"{ROOT}/{made['id']}")
    for n in range(5):
        client.post(ROOT, name=f"sdk-{n}")
    before = len(requests)
    names = [each["name"] for each in client.every(ROOT, per_page=2, order="name", direction="desc")]
    assert [name for name in names if name.startswith("sdk")] == ["sdk-4", "sdk-3", "sdk-2", "sdk-1", "sdk-0", "sdk"]
    assert len(requests) - before == -(-len(names) // 2)
    ids = [each["id"] for each in client.every(ROOT, per_page=1, order="id")]
    assert ids == sorted(ids)
    for n in range(5):
        assert client.delete(f"{ROOT}/sdk-{n}") is None


def a_conversation(client: Raw) -> None:
    said = [{"role": "user", "content": "I live in Porto.", "timestamp": "2026-03-02T10:00:00.000Z"}]
    assert client.post(f"{ANA}/ingest", messages=said, sessionId="chat:1") is None
    found = client.post(
        f"{ANA}/recall",
        query="Where do I live?",
        thinkingLevel="high",
        responseLength="short",
        referenceDate="2026-03-05",
    )
    assert found["answer"] == "The user lives in Porto.", found
    assert found["count"] == len(found["candidates"]) > 0
    assert [set(each) for each in found["candidates"][:1]] == [{"id", "summary", "sessionId", "score"}]
    scores = [each["score"] for each in found["candidates"]]
    assert scores == sorted(scores, reverse=True)
    assert client.post(f"{ANA}/recall", query="What is my blood type?")["answer"] == ""
    assert "Porto" in client.post(f"{ANA}/summary")["summary"]
    assert "Porto" in client.post(f"{ANA}/summary", sessionId="chat:1")["summary"]


def memories(client: Raw) -> None:
    kept = [client.post(f"{ANA}/remember", content=f"Prefers seat {n}", sessionId="seats/ü") for n in range(7)]
    parts = {"id", "type", "summary", "content", "sessionId", "createdAt", "updatedAt"}
    assert set(kept[0]) == parts
    before = len(requests)
    listed = client.every(f"{ANA}/memories", per_page=3, session_id="seats/ü")
    assert len(requests) - before == 3
    assert {each["id"] for each in listed} == {each["id"] for each in kept}
    assert len(listed) == 7
    assert set(listed[0]) == parts - {"content"}
    assert {each["type"] for each in client.every(f"{ANA}/memories", type="fact")} == {"fact"}
    one = f"{ANA}/memories/{kept[0]['id']}"
    assert client.get(one) == kept[0] == client.delete(one)
    with refused(NotFoundError):
        client.get(one)
    for _ in range(2):
        assert client.delete(f"{ANA}/sessions/seats%2F%C3%BC") is None
    assert [each["sessionId"] for each in client.every(f"{ANA}/memories")] == ["chat:1"]
    assert client.delete(f"{ANA}/sessions/chat%3A1") is None
    assert client.every(f"{ANA}/memories") == []


def profiles(client: Raw) -> None:
    for name in ("cy", "bo", "dan"):
        client.post(f"{SPACE}/profiles/{name}/remember", content="Drinks tea")
    before = len(requests)
    assert [each["name"] for each in client.every(f"{SPACE}/profiles", per_page=3)] == ["ana", "bo", "cy", "dan"]
    assert len(requests) - before == 2
    assert client.delete(f"{SPACE}/profiles/bo") is None
    assert [each["name"] for each in client.every(f"{SPACE}/profiles")] == ["ana", "cy", "dan"]


def mistakes(client: Raw, base: str) -> None:
    with refused(ConflictError, 10008, "/name"):
        client.post(ROOT, name="sdk")
    with refused(BadRequestError, pointer="/name"):
        client.post(ROOT, name="Not OK")
    with refused(NotFoundError, 1003):
        client.get(f"{ROOT}/nowhere/profiles/ana/memories")
    with refused(NotFoundError, 10003):
        client.get(f"{ROOT.rpartition('/')[0]}/nothing")
    with refused(NotFoundError, 10003):
        client.get(f"{ANA}/summary")
    with refused(BadRequestError, pointer="/query"):
        client.post(f"{ANA}/recall", query="é" * 600)
    with refused(BadRequestError, pointer="/messages"):
        client.post(f"{ANA}/ingest", messages=[])
    with refused(AuthenticationError):
        Raw(base, "hf_wrong").get(ROOT)


def main(base: str, token: str) -> None:
    client = Raw(base, token)
    namespaces(client)
    a_conversation(client)
    memories(client)
    profiles(client)
    mistakes(client, base)
    assert client.delete(SPACE) is None
    print(json.dumps(requests))


if __name__ == "__main__":
    main(*sys.argv[1:])
