"""The same Holdfast, somewhere else: every verb of a profile over HTTP.

Each method here is made from its local one: same name, same parameters, same documentation, same results and errors.
"""

from __future__ import annotations

import asyncio
import functools
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from copy import copy
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, ParamSpec, Self, TypeVar

import httpx2 as httpx
import orjson

from . import errors, trail
from .archive_file import Archive
from .bookmarks import later
from .carrying import Exported, Seen, all_of, archived, by_line, chunked, source, written
from .errors import Closed, Forbidden, HoldfastError, InvalidInput, NotFound, TooMany, Unreachable, shown
from .foreign import brought
from .profile import LocalProfile
from .reading import read
from .records import Event
from .remote_admin import RemoteAdministration
from .remote_call import call
from .remote_curated import RemoteCurated
from .remote_files import RemoteFiles
from .remote_graph import RemoteGraph
from .reported import HEARTBEAT
from .restore import Imported
from .results import Answer
from .retention import PINNED
from .sent import READS, about_the_caller, json_of, quoted, reads_header
from .sights import Reads, agent_of, reads_of
from .types import Forgotten, Memory

if TYPE_CHECKING:
    from .across import Places
    from .remote_across import RemoteAcross

P = ParamSpec("P")
T = TypeVar("T")
SECONDS = 60.0
WAIT_SECONDS = 30.0
LONG_SECONDS = 3600.0
ERRORS = {
    kind.code: kind for kind in vars(errors).values()
    if isinstance(kind, type) and issubclass(kind, HoldfastError)
}  # fmt: skip


class RemoteHoldfast(RemoteAdministration):
    """Memory for many profiles on a server: `RemoteHoldfast(url, token)`; close it, or use `async with`."""

    def __init__(self, url: str, token: str, *, timeout: float = SECONDS) -> None:
        if not url.startswith(("http://", "https://")):
            raise InvalidInput(f"The address is {shown(url)}; write it like http://127.0.0.1:8420.", field="url")
        if not token or not token.isascii():
            raise InvalidInput("The token is empty or not ASCII; give the one that the server printed.", field="token")
        self._http = httpx.AsyncClient(
            base_url=url.rstrip("/"), headers={"authorization": f"Bearer {token}"}, timeout=timeout, trust_env=False
        )
        self._closed = False
        self._more: dict[str, str] = {}
        """Headers of every request, beside those about the caller."""
        self.bookmark = ""
        """How far the last write was; sent along, so that reads see it whoever answers them."""

    def profile(self, namespace: str, profile: str) -> RemoteProfile:
        """One profile's memory. It appears at its first write; before, there is nothing in it."""
        return RemoteProfile(self, namespace, profile)

    def across(self, namespace: str, profiles: Places) -> RemoteAcross:
        """Several profiles to be asked at once, by name, or as pairs of namespace and name."""
        from .remote_across import RemoteAcross  # late: it is made from what is here

        return RemoteAcross(self, namespace, profiles)

    async def close(self) -> None:
        self._closed = True
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, _: type[BaseException] | None, __: BaseException | None, ___: TracebackType | None
    ) -> None:
        await self.close()

    async def ask(
        self, method: str, path: str, body: Any = None, query: dict[str, Any] | None = None, **headers: str
    ) -> Any:
        """One request; the answer's JSON, or the error that the server names."""
        content = None if body is None else json_of(body)
        sent = {"content-type": "application/json"} | headers
        # Not orjson, which would round numbers of more than 64 bits.
        return (await self.answer(method, path, sent, params=query, content=content)).json()

    async def answer(self, method: str, path: str, headers: dict[str, str], **more: Any) -> httpx.Response:
        """One request, whatever it carries; its answer, or the error that the server names."""
        if self._closed:
            raise Closed("This connection was closed.")
        sent = self._about() | headers
        seen = later(self.bookmark, trail.needed())
        if seen:
            sent["holdfast-bookmark"] = seen
        with self._reached():
            answer = await self._http.request(method, path, headers=sent, **more)
        reached = answer.headers.get("holdfast-bookmark")
        if reached:
            self.bookmark = later(self.bookmark, reached)
            trail.reached(reached)
        _check(answer)
        return answer

    async def lines(
        self, path: str, query: dict[str, Any] | None = None, body: dict[str, Any] | None = None
    ) -> AsyncIterator[str]:
        """The lines of an answer that comes bit by bit."""
        sent: dict[str, Any] = {"params": query, "headers": self._about()}
        if body is not None:
            sent |= {"content": json_of(body)}
            sent["headers"] |= {"content-type": "application/json"}
        sent["timeout"] = httpx.Timeout(SECONDS, read=3 * HEARTBEAT)
        with self._reached():
            async with self._http.stream("GET" if body is None else "POST", path, **sent) as answer:
                if not answer.is_success:
                    await answer.aread()
                    _check(answer)
                async for line in answer.aiter_lines():
                    yield line

    async def chunks(self, path: str, query: dict[str, Any]) -> AsyncIterator[bytes]:
        """The bytes of a long answer as they come."""
        with self._reached():
            async with self._http.stream("GET", path, params=query, headers=self._about()) as answer:
                if not answer.is_success:
                    await answer.aread()
                    _check(answer)
                async for chunk in answer.aiter_bytes():
                    yield chunk

    async def send(self, path: str, query: dict[str, Any], body: AsyncIterator[bytes]) -> Any:
        """A long body bit by bit; what comes of it may take its time."""
        headers = {"content-type": "application/octet-stream"} | self._about()
        patience = httpx.Timeout(SECONDS, read=LONG_SECONDS)
        with self._reached():
            answer = await self._http.post(path, content=body, params=query, headers=headers, timeout=patience)
        _check(answer)
        return answer.json()

    def _about(self) -> dict[str, str]:
        return about_the_caller() | self._more

    def as_agent(self, agent: str, reads: Reads) -> RemoteHoldfast:
        """The same connection, asking as this agent."""
        by = agent_of(agent)
        found = copy(self)
        found._more = {"holdfast-agent": quoted(by), READS: reads_header(reads_of(reads, by))}
        return found

    @contextmanager
    def _reached(self) -> Iterator[None]:
        try:
            yield
        except httpx.HTTPError as failure:
            raise Unreachable(
                f"{self._http.base_url} does not answer: {type(failure).__name__} {failure}".rstrip() + ".",
                fix="Is `holdfast serve` running there?",
            ) from failure


def _check(answer: httpx.Response) -> None:
    if answer.is_success:
        return
    try:
        told = orjson.loads(answer.content)["error"]
        code, message, field = told["code"], told["message"], told["field"]
    except (ValueError, KeyError, TypeError):
        raise HoldfastError(f"The server answered {answer.status_code}: {answer.text[:200]}") from None
    if code == TooMany.code:
        raise TooMany(message, int(answer.headers.get("retry-after", "1")))
    wrong = ERRORS.get(code, HoldfastError)(message, field=field)
    wrong.fix = told.get("fix")
    raise wrong


class RemoteProfile(RemoteFiles, RemoteGraph, RemoteCurated):
    """The verbs, bound to one profile of a server."""

    def __init__(self, holdfast: RemoteHoldfast, namespace: str, profile: str) -> None:
        self._holdfast = holdfast
        self.namespace = namespace
        self.name = profile

    @functools.wraps(LocalProfile.as_agent)
    def as_agent(self, agent: str, *, reads: Reads = "all") -> RemoteProfile:
        return RemoteProfile(self._holdfast.as_agent(agent, reads), self.namespace, self.name)

    remember = call(LocalProfile.remember, "POST", "/remember")
    revise = call(LocalProfile.revise, "PATCH", "/memories/{id}")
    search = call(LocalProfile.search, "POST", "/search", "hits")
    recall = call(LocalProfile.recall, "POST", "/recall")
    context = call(LocalProfile.context, "POST", "/context")
    list = call(LocalProfile.list, "POST", "/memories/list", "memories")
    history = call(LocalProfile.history, "GET", "/memories/{id}/history", "versions")
    messages = call(LocalProfile.messages, "GET", "/messages", "messages")
    sessions = call(LocalProfile.sessions, "GET", "/sessions", "sessions")
    forget = call(LocalProfile.forget, "DELETE", "/memories/{id}")
    forget_session = call(LocalProfile.forget_session, "DELETE", "/sessions/{session_id}")
    forget_person = call(LocalProfile.forget_person, "POST", "/forget", name="person")
    _forget_where = call(LocalProfile.forget_where, "POST", "/forget")

    @functools.wraps(LocalProfile.forget_where)
    async def forget_where(self, **given: Any) -> Forgotten:
        if given.get("session_id") is not None:  # alone it would mean the whole session, with what was said in it
            of = {"session_id": given.pop("session_id")}
            given["filter"] = of if given.get("filter") is None else {"and": [of, given["filter"]]}
        return await self._forget_where(**given)

    summary = call(LocalProfile.summary, "GET", "/summary", "summary")
    stats = call(LocalProfile.stats, "GET", "/stats")
    job = call(LocalProfile.job, "GET", "/jobs/{id}")
    jobs = call(LocalProfile.jobs, "GET", "/jobs", "jobs")
    traces = call(LocalProfile.traces, "GET", "/traces", "traces", session_id="session", turn_id="turn")
    trace = call(LocalProfile.trace, "GET", "/traces/{id}")
    usage = call(LocalProfile.usage, "GET", "/usage", "usage")
    redigest = call(LocalProfile.redigest, "POST", "/redigest")
    retention = call(LocalProfile.retention, "GET", "/retention", "retention")
    set_retention = call(LocalProfile.set_retention, "PUT", "/retention", "retention")
    set_summaries = call(LocalProfile.set_summaries, "PUT", "/summaries", "cadence")
    apply_retention = call(LocalProfile.apply_retention, "POST", "/retention/apply", "retained")
    register_kind = call(LocalProfile.register_kind, "PUT", "/kinds/{kind}")
    kinds = call(LocalProfile.kinds, "GET", "/kinds", "kinds")
    kind = call(LocalProfile.kind, "GET", "/kinds/{kind}")
    drop_kind = call(LocalProfile.drop_kind, "DELETE", "/kinds/{kind}", "dropped")
    migrate_kind = call(LocalProfile.migrate_kind, "POST", "/kinds/{kind}/migrate")
    rollback_kind = call(LocalProfile.rollback_kind, "POST", "/kinds/{kind}/rollback")
    ingest = call(LocalProfile.ingest, "POST", "/ingest")

    documents = call(LocalProfile.documents, "GET", "/documents", "documents")
    document = call(LocalProfile.document, "GET", "/documents/{id}")
    retry_document = call(LocalProfile.retry_document, "POST", "/documents/{id}/retry")
    passages = call(LocalProfile.passages, "GET", "/documents/{id}/passages", "passages")
    forget_document = call(LocalProfile.forget_document, "DELETE", "/documents/{id}")

    async def pin(self, id: str) -> Memory:
        return await self.revise(id, metadata={PINNED: True})

    async def unpin(self, id: str) -> Memory:
        return await self.revise(id, metadata={PINNED: None})

    pin.__doc__ = LocalProfile.pin.__doc__
    get = call(LocalProfile.get, "GET", "/memories/{id}")

    @functools.wraps(LocalProfile.recall_stream)
    async def recall_stream(self, query: str, **how: Any) -> AsyncIterator[str | Answer]:
        asked = {"query": query} | {name: value for name, value in how.items() if value is not None}
        async for line in self._holdfast.lines(self._path("/recall/stream"), body=asked):
            if line.startswith("data:"):
                told = json.loads(line[5:])
                yield told["text"] if "text" in told else read(Answer, told["answer"])

    async def settle(self, timeout: float | None = None) -> bool:
        left = timeout
        while True:
            part = WAIT_SECONDS if left is None else min(left, WAIT_SECONDS)
            if (await self._ask("POST", "/settle", query={"timeout": part}))["settled"]:
                return True
            left = None if left is None else left - part
            if left is not None and left <= 0:
                return False

    async def events(self, *, after: int | None = None, heartbeat: float = HEARTBEAT) -> AsyncIterator[Event | None]:
        query = {} if after is None else {"after": after}
        async for line in self._holdfast.lines(self._path("/events"), query):
            if line.startswith("data:"):
                yield _event(orjson.loads(line[5:]))
            elif line.startswith(": still"):
                yield None

    @functools.wraps(LocalProfile.export_to)
    async def export_to(self, path: Any, *, vectors: bool = False, seen: Seen = lambda lines: None) -> Exported:
        return await written(self.exported(vectors=vectors), path, seen)

    async def exported(self, *, vectors: bool = False) -> AsyncIterator[bytes]:
        async for line in by_line(self._holdfast.chunks(self._path("/export"), {"vectors": vectors})):
            yield line

    @functools.wraps(LocalProfile.import_from)
    async def import_from(
        self, path: Any, *, format: str = "auto", seen: Seen = lambda items: None, **how: bool
    ) -> Imported:
        with source(path) as file:
            if not archived(file, format):
                return await brought(self, file, format, dry_run=how.get("dry_run", False), seen=seen)
            assert not isinstance(file, Path)
            query = {"format": "archive"} | how
            try:
                told = await self._holdfast.send(self._path("/import"), query, chunked(file))
            except NotFound as absent:
                if absent.field != "namespace":
                    raise
                if how.get("dry_run"):
                    return all_of(await asyncio.to_thread(Archive(file).check, force=how.get("force", False)))
                await self._create_namespace(absent)
                told = await self._holdfast.send(self._path("/import"), query, chunked(file))
            return read(Imported, told)

    async def _ask(self, method: str, path: str, *more: Any, **headers: Any) -> Any:
        try:
            return await self._holdfast.ask(method, self._path(path), *more, **headers)
        except NotFound as absent:
            first = path in ("/ingest", "/remember", "/documents") or method == "PUT"
            if absent.field != "namespace" or not first:
                raise
            await self._create_namespace(absent)
            return await self._holdfast.ask(method, self._path(path), *more, **headers)

    async def _create_namespace(self, absent: NotFound) -> None:
        """As in this process, a namespace appears with its first write, if the credential may create one."""
        try:
            await self._holdfast.create_namespace(self.namespace)
        except Forbidden:
            raise absent from None
        except errors.AlreadyExists:  # somebody created it meanwhile
            return

    def _path(self, path: str) -> str:
        return f"/v1/namespaces/{quoted(self.namespace)}/profiles/{quoted(self.name)}{path}"


def _event(told: dict[str, Any]) -> Event:
    n, at, type = told.pop("n"), told.pop("at"), told.pop("type")
    return Event(n, datetime.fromisoformat(at), type, told)
