"""RemoteProfile: every verb of one profile over HTTP.

Most methods are derived from the port's: same name, parameters, docstring, results and errors.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from holdfast.api.client.call import EXPLAINED, call, documented_by
from holdfast.api.client.documents import follow_document, upload
from holdfast.api.client.request import header_value, profile_path, quoted_segment
from holdfast.domain import errors
from holdfast.domain.arguments import DocumentSource
from holdfast.domain.errors import Forbidden, NotFound
from holdfast.domain.graph import Graph
from holdfast.domain.json_codec import decode
from holdfast.domain.ports.profile import AsyncProfile
from holdfast.domain.ports.profile.journal import HEARTBEAT_SECONDS
from holdfast.domain.records import Event
from holdfast.domain.reports import Audit, Exported, Imported
from holdfast.domain.results import Answer, Document
from holdfast.domain.timestamps import iso_text
from holdfast.domain.types import Forgotten, Memory
from holdfast.domain.visibility import Reads

if TYPE_CHECKING:
    from holdfast.api.client.holdfast import RemoteHoldfast
    from holdfast.archive.io import ItemProgress

WAIT_SECONDS = 30.0
"""How long one request waits for digestion; below the timeouts of common proxies."""


class RemoteProfile(AsyncProfile):
    """All verbs of one profile on a server."""

    def __init__(self, holdfast: RemoteHoldfast, namespace: str, profile: str) -> None:
        self.connection = holdfast
        self._namespace = namespace
        self._name = profile

    @property
    def namespace(self) -> str:
        return self._namespace

    @property
    def name(self) -> str:
        return self._name

    def as_agent(self, agent: str, *, reads: Reads = "all") -> RemoteProfile:
        return RemoteProfile(self.connection.as_agent(agent, reads), self.namespace, self.name)

    # memories

    ingest = call(AsyncProfile.ingest, "POST", "/ingest")
    remember = call(AsyncProfile.remember, "POST", "/remember")
    revise = call(AsyncProfile.revise, "PATCH", "/memories/{id}")
    list = call(AsyncProfile.list, "POST", "/memories/list", "memories")
    get = call(AsyncProfile.get, "GET", "/memories/{id}")
    history = call(AsyncProfile.history, "GET", "/memories/{id}/history", "versions")
    facets = call(AsyncProfile.facets, "POST", "/memories/facets")
    messages = call(AsyncProfile.messages, "GET", "/messages", "messages")
    sessions = call(AsyncProfile.sessions, "GET", "/sessions", "sessions")
    summary = call(AsyncProfile.summary, "GET", "/summary", "summary")
    stats = call(AsyncProfile.stats, "GET", "/stats")
    redigest = call(AsyncProfile.redigest, "POST", "/redigest")

    async def settle(self, timeout: float | None = None) -> bool:
        left = timeout
        while True:
            part = WAIT_SECONDS if left is None else min(left, WAIT_SECONDS)
            if (await self.request("POST", "/settle", query={"timeout": part}))["settled"]:
                return True
            left = None if left is None else left - part
            if left is not None and left <= 0:
                return False

    # recall

    search = call(AsyncProfile.search, "POST", "/search", "hits", EXPLAINED)
    recall = call(AsyncProfile.recall, "POST", "/recall", fixed=EXPLAINED)
    context = call(AsyncProfile.context, "POST", "/context", fixed=EXPLAINED)

    @documented_by(AsyncProfile.recall_stream)
    async def recall_stream(self, query: str, **how: Any) -> AsyncIterator[str | Answer]:
        asked = {"query": query, **EXPLAINED} | {name: value for name, value in how.items() if value is not None}
        async for line in self.connection.lines(self.url("/recall/stream"), body=asked):
            if line.startswith("data:"):
                told = json.loads(line[5:])
                yield told["text"] if "text" in told else decode(Answer, told["answer"])

    # forget

    forget = call(AsyncProfile.forget, "DELETE", "/memories/{id}")
    forget_session = call(AsyncProfile.forget_session, "DELETE", "/sessions/{session_id}")
    forget_person = call(AsyncProfile.forget_person, "POST", "/forget", name="person")
    forget_document = call(AsyncProfile.forget_document, "DELETE", "/documents/{id}")
    _forget_where = call(AsyncProfile.forget_where, "POST", "/forget")

    @documented_by(AsyncProfile.forget_where)
    async def forget_where(self, **given: Any) -> Forgotten:
        if given.get("session_id") is not None:  # alone it would select the whole session with its messages
            of = {"session_id": given.pop("session_id")}
            given["filter"] = of if given.get("filter") is None else {"and": [of, given["filter"]]}
        return await self._forget_where(**given)

    # retention

    retention = call(AsyncProfile.retention, "GET", "/retention", "retention")
    set_retention = call(AsyncProfile.set_retention, "PUT", "/retention", "retention")
    set_summaries = call(AsyncProfile.set_summaries, "PUT", "/summaries", "cadence")
    apply_retention = call(AsyncProfile.apply_retention, "POST", "/retention/apply", "retained")

    async def pin(self, id: str) -> Memory:
        from holdfast.lifecycle.retention import PINNED_FIELD

        return await self.revise(id, metadata={PINNED_FIELD: True})

    async def unpin(self, id: str) -> Memory:
        from holdfast.lifecycle.retention import PINNED_FIELD

        return await self.revise(id, metadata={PINNED_FIELD: None})

    # curation

    merge = call(AsyncProfile.merge, "POST", "/memories/merge")
    split = call(AsyncProfile.split, "POST", "/memories/{id}/split")
    mark = call(AsyncProfile.mark, "POST", "/memories/{id}/mark")
    revise_where = call(AsyncProfile.revise_where, "POST", "/memories/revise")
    review = call(AsyncProfile.review, "GET", "/review", "review")
    resolve = call(AsyncProfile.resolve, "POST", "/review/{id}")
    edits = call(AsyncProfile.edits, "GET", "/edits", "edits")
    undo = call(AsyncProfile.undo, "POST", "/undo")
    _looked_at = call(AsyncProfile.audit, "GET", "/audit")
    _mended = call(AsyncProfile.audit, "POST", "/audit")

    @documented_by(AsyncProfile.audit)
    async def audit(self, *, fix: str | None = None, dry_run: bool = False, examples: int = 5) -> Audit:
        if fix is None:
            return await self._looked_at(examples=examples)
        return await self._mended(fix=fix, dry_run=dry_run, examples=examples)

    # documents

    documents = call(AsyncProfile.documents, "GET", "/documents", "documents")
    document = call(AsyncProfile.document, "GET", "/documents/{id}")
    retry_document = call(AsyncProfile.retry_document, "POST", "/documents/{id}/retry")
    passages = call(AsyncProfile.passages, "GET", "/documents/{id}/passages", "passages")

    @documented_by(AsyncProfile.add)
    async def add(
        self,
        source: str | Path | bytes | DocumentSource,
        *,
        name: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        wait: bool = False,
        on_progress: Callable[[Document], None] | None = None,
        idempotency_key: str | None = None,
    ) -> Document:
        from holdfast.documents.library import document_source

        once = {} if idempotency_key is None else {"idempotency-key": header_value(idempotency_key, "idempotency_key")}
        given, about = document_source(source), {"name": name, "metadata": metadata}
        told = {key: value for key, value in about.items() if value is not None}
        if given.url is not None:
            added = decode(Document, await self.request("POST", "/documents", {"url": given.url, **told}, **once))
        else:
            added = decode(Document, await upload(self, given, told, once))
        if not wait and on_progress is None:
            return added
        return await follow_document(self, added.id, on_progress)

    async def original(self, id: str) -> bytes:
        answer = await self.connection.answer("GET", self.url(f"/documents/{quoted_segment(id, 'id')}/original"), {})
        return bytes(answer.content)

    # graph

    @documented_by(AsyncProfile.graph)
    async def graph(self, entity: str | None = None, **how: Any) -> Graph:
        return _graph(await self.request("GET", "/graph", None, _query(how | {"entity": entity})))

    @documented_by(AsyncProfile.path)
    async def path(self, start: str, end: str, **how: Any) -> Graph:
        return _graph(await self.request("GET", "/graph/path", None, _query(how | {"start": start, "end": end})))

    entities = call(AsyncProfile.entities, "GET", "/entities", "entities")
    about = call(AsyncProfile.about, "GET", "/entities/about", "memories")
    merge_entities = call(AsyncProfile.merge_entities, "POST", "/entities/merge")
    split_entity = call(AsyncProfile.split_entity, "POST", "/entities/split")
    entity_changes = call(AsyncProfile.entity_changes, "GET", "/entities/changes", "changes")
    undo_entity_change = call(AsyncProfile.undo_entity_change, "POST", "/entities/undo")

    # kinds

    register_kind = call(AsyncProfile.register_kind, "PUT", "/kinds/{kind}")
    kinds = call(AsyncProfile.kinds, "GET", "/kinds", "kinds")
    kind = call(AsyncProfile.kind, "GET", "/kinds/{kind}")
    drop_kind = call(AsyncProfile.drop_kind, "DELETE", "/kinds/{kind}", "dropped")
    migrate_kind = call(AsyncProfile.migrate_kind, "POST", "/kinds/{kind}/migrate")
    rollback_kind = call(AsyncProfile.rollback_kind, "POST", "/kinds/{kind}/rollback")

    # archive

    @documented_by(AsyncProfile.export_to)
    async def export_to(self, path: Any, *, vectors: bool = False, seen: ItemProgress = lambda lines: None) -> Exported:
        from holdfast.archive.io import write_archive

        return await write_archive(self.exported(vectors=vectors), path, seen)

    async def exported(self, *, vectors: bool = False) -> AsyncIterator[bytes]:
        from holdfast.archive.io import lines_of_chunks

        async for line in lines_of_chunks(self.connection.chunks(self.url("/export"), {"vectors": vectors})):
            yield line

    @documented_by(AsyncProfile.import_from)
    async def import_from(
        self, path: Any, *, format: str = "auto", seen: ItemProgress = lambda items: None, **how: bool
    ) -> Imported:
        from holdfast.archive.file import Archive
        from holdfast.archive.io import file_chunks, full_import, open_import, reads_as_archive
        from holdfast.archive.vendor_import import import_vendor_export

        with open_import(path) as file:
            if not reads_as_archive(file, format):
                return await import_vendor_export(self, file, format, dry_run=how.get("dry_run", False), seen=seen)
            assert not isinstance(file, Path)
            query = {"format": "archive"} | how
            try:
                told = await self.connection.send(self.url("/import"), query, file_chunks(file))
            except NotFound as absent:
                if absent.field != "namespace":
                    raise
                if how.get("dry_run"):
                    return full_import(await asyncio.to_thread(Archive(file).check, force=how.get("force", False)))
                await self.create_namespace(absent)
                told = await self.connection.send(self.url("/import"), query, file_chunks(file))
            return decode(Imported, told)

    # journal

    job = call(AsyncProfile.job, "GET", "/jobs/{id}")
    jobs = call(AsyncProfile.jobs, "GET", "/jobs", "jobs")
    traces = call(AsyncProfile.traces, "GET", "/traces", "traces", session_id="session", turn_id="turn")
    trace = call(AsyncProfile.trace, "GET", "/traces/{id}")
    usage = call(AsyncProfile.usage, "GET", "/usage", "usage")

    async def events(
        self, *, after: int | None = None, heartbeat: float = HEARTBEAT_SECONDS
    ) -> AsyncIterator[Event | None]:
        query = {} if after is None else {"after": after}
        async for line in self.connection.lines(self.url("/events"), query):
            if line.startswith("data:"):
                yield _event(json.loads(line[5:]))  # not orjson: it would round numbers of more than 64 bits
            elif line.startswith(": still"):
                yield None

    # requests

    async def request(self, method: str, path: str, *more: Any, **headers: Any) -> Any:
        try:
            return await self.connection.ask(method, self.url(path), *more, **headers)
        except NotFound as absent:
            first = path in ("/ingest", "/remember", "/documents") or method == "PUT"
            if absent.field != "namespace" or not first:
                raise
            await self.create_namespace(absent)
            return await self.connection.ask(method, self.url(path), *more, **headers)

    async def create_namespace(self, absent: NotFound) -> None:
        """Create the namespace on the first write, as a local Holdfast does, if the credential may create one."""
        try:
            await self.connection.create_namespace(self.namespace)
        except Forbidden:
            raise absent from None
        except errors.AlreadyExists:  # another client created it in the meantime
            return

    def url(self, path: str) -> str:
        return profile_path(self.namespace, self.name) + path


def _event(told: dict[str, Any]) -> Event:
    n, at, type = told.pop("n"), told.pop("at"), told.pop("type")
    return Event(n, datetime.fromisoformat(at), type, told)


def _query(given: dict[str, Any]) -> dict[str, Any]:
    told = {name: value for name, value in given.items() if value is not None}
    return {name: iso_text(value) if isinstance(value, datetime) else value for name, value in told.items()}


def _graph(told: dict[str, Any]) -> Graph:
    links = [{**each, "subject": each["from"], "object": each["to"]} for each in told["links"]]
    return decode(Graph, told | {"links": links})
