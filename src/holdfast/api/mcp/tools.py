"""The MCP tools. They are few and briefly described, since their descriptions use tokens in every conversation.

`search` and `fetch` return the format that ChatGPT's connectors expect; it works for other clients as well.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeVar

from holdfast.api.mcp import shared_profiles
from holdfast.api.mcp.arguments import (
    AboutArguments,
    Arguments,
    ContextArguments,
    Correct,
    Directory,
    ForgetArguments,
    Identified,
    IngestArguments,
    ListArguments,
    OnPath,
    Query,
    RememberArguments,
    SearchArguments,
)
from holdfast.api.mcp.shared_profiles import NOTHING, Shared
from holdfast.api.validation_errors import validation_message
from holdfast.domain import identifiers, limits
from holdfast.domain.arguments import DocumentSource
from holdfast.domain.errors import InvalidInput, NotFound
from holdfast.domain.ports.profile import AsyncProfile
from holdfast.domain.results import Hit, Origin
from holdfast.domain.timestamps import iso_text
from holdfast.domain.types import Memory, Message
from holdfast.service.facades.notes import AsyncNotes
from holdfast.text.redaction import may_be_secret, redacted_text

T = TypeVar("T")
NOWHERE = Origin("", "")

MAX_TITLE_CHARACTERS = 80
MAX_RELATED = 20
MAX_BEFORE = 100_000


@dataclass(frozen=True, slots=True)
class ToolPlace:
    """A profile as a tool sees it: its memory, the base URI of its items, the calling agent, and shared profiles."""

    profile: AsyncProfile
    kind_of: Callable[[str], Awaitable[str | None]]
    uri: str
    agent: str | None = None
    home: Origin = NOWHERE
    shared: Shared = NOTHING

    async def ask(self, given: Query, ask: Callable[[Any], Awaitable[T]]) -> T:
        if not self.shared.readable and given.profiles is None:
            return await ask(self.profile)
        return await shared_profiles.asked_profiles(self.shared, self.home, given.profiles, ask)


ToolFunction = Callable[[ToolPlace, Any], Awaitable[dict[str, Any]]]


@dataclass(frozen=True, slots=True)
class Tool:
    name: str
    description: str
    arguments: type[Arguments]
    right: str
    act: ToolFunction
    output: dict[str, Any]
    idempotent: bool = True
    answers_with_memory: bool = False
    """Whether it answers with more than its caller gave, so that it needs the right to read as well."""

    @property
    def rights(self) -> tuple[str, ...]:
        return (self.right, "read") if self.answers_with_memory else (self.right,)

    @property
    def reads(self) -> bool:
        return self.right == "read"


async def _recall(place: ToolPlace, given: Query) -> dict[str, Any]:
    answer = await place.ask(given, lambda known: known.recall(given.query, exclude_session=given.exclude_session))
    cited = {each.hit for each in answer.citations}  # without an answer there are no sources
    sources = [hit for hit in answer.hits if hit.id in cited] or answer.hits[: len(cited)]
    nearest = [_item(hit) for hit in answer.nearest]
    told = {"answer": answer.answer, "sources": [_item(hit) for hit in sources], "nearest": nearest}
    return told | {"confidence": round(answer.confidence, 2)}


async def _search(place: ToolPlace, given: SearchArguments) -> dict[str, Any]:
    narrowed = {
        "limit": given.limit, "kind": given.kind, "session_id": given.session_id, "as_of": given.as_of,
        "filter": given.filter, "exclude_session": given.exclude_session, "min_relevance": given.min_relevance,
    }  # fmt: skip
    found = await place.ask(given, lambda known: known.search(given.query, **narrowed))
    return {"results": [_result(place, hit) for hit in found]}


async def _fetch(place: ToolPlace, given: Identified) -> dict[str, Any]:
    profile, id, home = shared_profiles.opened_profile(place.shared, place.home, given.id, place.profile)
    found = await profile.get(id)
    text = found.content if isinstance(found, Memory) else await _without_secrets(profile, found)
    about = {name: value for name, value in _item(found).items() if name not in ("id", "content")}
    return {
        "id": found.id, "title": _title(text), "text": text,
        "url": f"{place.uri}/memory/{found.id}" if home == place.home else shared_profiles.link(home, found.id),
        "metadata": {**found.metadata, **about},
    }  # fmt: skip


async def _without_secrets(profile: AsyncProfile, message: Message) -> str:
    """A message's text with secrets redacted, as in hits."""
    before: list[str] = []
    if may_be_secret(message.content):  # the message before it decides
        said = await profile.messages(message.session_id, limit=MAX_BEFORE)
        before = [each.content for each in said if each.position < message.position][-1:]
    return redacted_text(message.content, " ".join(before))


async def _context(place: ToolPlace, given: ContextArguments) -> dict[str, Any]:
    how = {
        "tokens": given.tokens,
        "min_relevance": given.min_relevance,
        "exclude_session": given.exclude_session,
    }
    made = await place.ask(given, lambda known: known.context(given.query, **how))
    return {"context": made.text, "tokens": made.tokens}


async def _remember(place: ToolPlace, given: RememberArguments) -> dict[str, Any]:
    kind = given.kind or await place.kind_of(given.content)
    profile = shared_profiles.written_profile(place.shared, place.home, given.profile, place.profile)
    kept = await profile.remember(
        given.content, kind=kind, key=given.key, agent=place.agent, idempotency_key=given.idempotency_key
    )
    return _item(kept)


async def _correct(place: ToolPlace, given: Correct) -> dict[str, Any]:
    return _item(await place.profile.revise(given.id, content=given.content, idempotency_key=given.idempotency_key))


async def _about(place: ToolPlace, given: AboutArguments) -> dict[str, Any]:
    """Return an entity, its links, and the memories that mention it; empty when none does."""
    name = identifiers.validate_text(given.name, "name", limit=limits.MAX_PROFILE_BYTES)
    try:
        graph = await place.profile.graph(name, limit=MAX_RELATED)
        memories = await place.profile.about(name, limit=MAX_RELATED)
    except NotFound:
        return {"name": name, "type": "", "links": [], "memories": []}
    shown = {each.id: each.name for each in graph.entities}
    links = [f"{shown[link.subject]} {link.relation} {shown[link.object]}" for link in graph.links]
    first = graph.entities[0]
    found = {"name": first.name, "type": first.type, "links": links}
    return found | {"memories": [_item(memory) for memory in memories]}


async def _list(place: ToolPlace, given: ListArguments) -> dict[str, Any]:
    page = await place.profile.list(
        limit=given.limit, cursor=given.cursor, kind=given.kind, filter=given.filter, order=given.order
    )
    found: dict[str, Any] = {"memories": [_item(memory) for memory in page.items]}
    if given.facets is not None:
        counted = await place.profile.facets(given.facets, kind=given.kind, filter=given.filter)
        found |= {"total": counted.total, "facets": counted.counts}
    return found | ({"cursor": page.cursor} if page.cursor else {})


async def _forget(place: ToolPlace, given: ForgetArguments) -> dict[str, Any]:
    gone = await place.profile.forget(given.id, idempotency_key=given.idempotency_key)
    return {"memories": list(gone.memories), "messages": list(gone.messages), "shortened": list(gone.shortened)}


async def _enter(place: ToolPlace, given: Directory) -> dict[str, Any]:
    found = await AsyncNotes(place.profile, "/").entering(given.path)
    return {"notes": found.text, "more": found.more}


async def _note(place: ToolPlace, given: OnPath) -> dict[str, Any]:
    kept = await AsyncNotes(place.profile, "/").write(given.path, given.text, agent=place.agent)
    return {"path": kept.path, "version": kept.version}


async def _ingest(place: ToolPlace, given: IngestArguments) -> dict[str, Any]:
    if given.url is not None and given.messages is None:
        page = await place.profile.add(DocumentSource(url=given.url), idempotency_key=given.idempotency_key)
        return {"session_id": page.session_id, "new": 0, "known": 0, "document": page.id, "state": page.state}
    if given.messages is None or given.url is not None:
        raise InvalidInput("ingest: give either messages or a url.", field="messages")
    receipt = await place.profile.ingest(
        given.messages, session_id=given.session_id, agent=place.agent, idempotency_key=given.idempotency_key
    )
    new = sum(message.new for message in receipt.messages)
    told = {"session_id": receipt.session_id, "new": new, "known": len(receipt.messages) - new}
    return told | ({"skipped": receipt.skipped} if receipt.skipped else {})


def _item(found: Hit | Memory | Message) -> dict[str, Any]:
    """The fields that an agent needs, without empty ones."""
    told = {
        "id": found.id, "content": found.content, "kind": getattr(found, "kind", "message"),
        "key": getattr(found, "key", None), "at": _when(found), "session_id": found.session_id,
        "speaker": getattr(found, "speaker", None), **_cited(found.metadata), **_from(found),
    }  # fmt: skip
    return {name: value for name, value in told.items() if value is not None}


def _from(found: Hit | Memory | Message) -> dict[str, Any]:
    """The profile of a hit among several, and the link to fetch it."""
    origin = found.origin if isinstance(found, Hit) else None
    return {} if origin is None else {"profile": str(origin), "url": shared_profiles.link(origin, found.id)}


def _cited(metadata: dict[str, Any]) -> dict[str, Any]:
    """The document that the item comes from, and the place in it."""
    about = ("name", "url", "page", "heading") if "document" in metadata else ()
    return {name: metadata[name] for name in about if name in metadata}


def _when(found: Hit | Memory | Message) -> str | None:
    for name in ("occurred_at", "time", "timestamp", "created_at"):
        at = getattr(found, name, None)
        if isinstance(at, datetime):
            return iso_text(at)
    return None


def _result(place: ToolPlace, hit: Hit) -> dict[str, Any]:
    about = _item(hit)
    text = about.pop("content")
    about["relevance"] = hit.relevance
    return {"url": f"{place.uri}/memory/{hit.id}", **about, "title": _title(text), "text": text}


def _title(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= MAX_TITLE_CHARACTERS else f"{line[: MAX_TITLE_CHARACTERS - 1]}…"


def _object(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties)}


TEXT: dict[str, Any] = {"type": "string"}
MANY: dict[str, Any] = {"type": "array", "items": {"type": "object"}}
TEXTS: dict[str, Any] = {"type": "array", "items": TEXT}
COUNT: dict[str, Any] = {"type": "integer"}

TOOLS = (
    Tool(
        "recall", "Answer a question from memory, with sources; empty when nothing supports it: see nearest.",
        Query, "read", _recall, _object(answer=TEXT, sources=MANY),
    ),
    Tool(
        "search", "Find memories and past messages about something, best first.",
        SearchArguments, "read", _search, _object(results=MANY),
    ),
    Tool(
        "fetch", "One memory or message in full, by the id that search gave, or the url.",
        Identified, "read", _fetch, _object(id=TEXT, title=TEXT, text=TEXT, url=TEXT, metadata={"type": "object"}),
    ),
    Tool(
        "get_context", "What is known about a topic, within a token budget: read it before answering.",
        ContextArguments, "read", _context, _object(context=TEXT, tokens=COUNT),
    ),
    Tool(
        "list_memories", "Memories, newest first; pass the cursor on for more.",
        ListArguments, "read", _list, _object(memories=MANY),
    ),
    Tool(
        "about", "One person, place or thing (me: the user): relations to others, and memories of it.",
        AboutArguments, "read", _about, _object(name=TEXT, type=TEXT, links=TEXTS, memories=MANY),
    ),
    Tool(
        "remember", "Keep one thing on purpose: a preference, decision, event, instruction or task.",
        RememberArguments, "write", _remember, _object(id=TEXT, content=TEXT, kind=TEXT), idempotent=False,
    ),
    Tool(
        "correct", "Correct a memory; its earlier text stays in its history.",
        Correct, "write", _correct, _object(id=TEXT, content=TEXT, kind=TEXT), idempotent=False,
        answers_with_memory=True,
    ),
    Tool(
        "ingest", "Keep messages or a page verbatim; memories are extracted from it. Repeating is harmless.",
        IngestArguments, "write", _ingest, _object(session_id=TEXT, new=COUNT, known=COUNT),
    ),
    Tool(
        "enter_directory", "Notes on a directory and its files: ask when you begin to work there.",
        Directory, "read", _enter, _object(notes=TEXT, more=COUNT),
    ),
    Tool(
        "write_note", "Note on a file or directory what is going on there; replaces the earlier note.",
        OnPath, "write", _note, _object(path=TEXT, version=COUNT),
    ),
    Tool(
        "forget", "Delete a memory, or a message with what is based on it, for good.",
        ForgetArguments, "forget", _forget, _object(memories=TEXTS, messages=TEXTS, shortened=TEXTS),
    ),
)  # fmt: skip
NAMED = {tool.name: tool for tool in TOOLS}


UNSAID = (
    "title", "additionalProperties", "minLength", "maxLength", "minItems", "maxItems", "minimum", "maximum",
    "default",
)  # fmt: skip
"""Schema keywords that are left out of descriptions: they are validated anyway, and no model needs to read them."""


SHARING = ("profiles", "profile")
"""Arguments that are described only to clients that share more than one profile."""


OF_PROGRAMS = ("exclude_session", "min_relevance", "idempotency_key")
"""Arguments of programs that call tools themselves, such as hooks. A model knows neither its session's id nor whether a
call was lost, and each description costs tokens in every conversation; docs/mcp.md has them."""


def tool_schema(arguments: type[Arguments], *, sharing: bool = False) -> dict[str, Any]:
    """JSON Schema of the arguments, without redundant keywords and without references, which some clients reject."""
    whole = arguments.model_json_schema()
    slim: dict[str, Any] = _slim(_without(whole, "$defs"), whole.get("$defs", {}))
    hidden = OF_PROGRAMS if sharing else (*OF_PROGRAMS, *SHARING)
    return slim | {"properties": _without(slim["properties"], *hidden)}


def _slim(held: Any, named: dict[str, Any]) -> Any:
    if isinstance(held, list):
        return [_slim(each, named) for each in held]
    if not isinstance(held, dict):
        return held
    if "$ref" in held:
        return _slim(named[held["$ref"].rpartition("/")[2]], named)
    either = held.get("anyOf")
    if isinstance(either, list) and {"type": "null"} in either and len(either) == 2:  # `required` already says it
        one = next(each for each in either if each != {"type": "null"})
        return _slim({**one, **_without(held, "anyOf", "default")}, named)
    return {
        name: {each: _slim(its, named) for each, its in value.items()} if name == "properties" else _slim(value, named)
        for name, value in _without(held, *UNSAID).items()
    }


def _without(held: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: value for name, value in held.items() if name not in names}


def validate_arguments(tool: Tool, given: dict[str, Any] | None) -> Arguments:
    """Parse and validate a tool's arguments. Raises InvalidInput that names the wrong field."""
    from pydantic import ValidationError

    try:
        return tool.arguments.model_validate(given or {})
    except ValidationError as wrong:
        said, field = validation_message(wrong.errors(include_url=False), tool.arguments)
        raise InvalidInput(f"{tool.name}: {said}", field=field or "arguments") from None
