"""The tools: few, with short descriptions, since every client pays for them in every conversation.

`search` and `fetch` answer in the shape that ChatGPT's connectors expect; other clients lose nothing by it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeVar

from .. import names
from ..errors import InvalidInput, NotFound
from ..library import Source
from ..malformed import malformed
from ..moments import iso
from ..notes import AsyncNotes
from ..profile import LocalProfile
from ..redaction import may_be_secret, redacted
from ..results import Hit, Origin
from ..types import Memory, Message
from . import several
from .arguments import (
    Arguments,
    Asked,
    Context,
    Correct,
    Directory,
    Forget,
    Identified,
    Ingest,
    Listing,
    OnPath,
    Query,
    Remember,
    Search,
)
from .several import NOTHING, Shared

T = TypeVar("T")
NOWHERE = Origin("", "")

LONGEST_TITLE = 80
MOST_RELATED = 20
MOST_BEFORE = 100_000


@dataclass(frozen=True, slots=True)
class Place:
    """A profile as a tool sees it: its memory, where a link to an item leads, who uses it, and what else they share."""

    profile: LocalProfile
    kind_of: Callable[[str], Awaitable[str | None]]
    uri: str
    agent: str | None = None
    home: Origin = NOWHERE
    shared: Shared = NOTHING

    async def ask(self, given: Query, ask: Callable[[Any], Awaitable[T]]) -> T:
        if not self.shared.readable and given.profiles is None:
            return await ask(self.profile)
        return await several.asked(self.shared, self.home, given.profiles, ask)


Act = Callable[[Place, Any], Awaitable[dict[str, Any]]]


@dataclass(frozen=True, slots=True)
class Tool:
    name: str
    description: str
    arguments: type[Arguments]
    right: str
    act: Act
    output: dict[str, Any]
    idempotent: bool = True

    @property
    def reads(self) -> bool:
        return self.right == "read"


async def _recall(place: Place, given: Query) -> dict[str, Any]:
    answer = await place.ask(given, lambda known: known.recall(given.query))
    cited = {each.hit for each in answer.citations}  # without an answer nothing is a source of it
    sources = [hit for hit in answer.hits if hit.id in cited] or answer.hits[: len(cited)]
    return {"answer": answer.answer, "sources": [_item(hit) for hit in sources]}


async def _search(place: Place, given: Search) -> dict[str, Any]:
    narrowed = {"limit": given.limit, "kind": given.kind, "session_id": given.session_id, "as_of": given.as_of}
    found = await place.ask(given, lambda known: known.search(given.query, **narrowed))
    return {"results": [_result(place, hit) for hit in found]}


async def _fetch(place: Place, given: Identified) -> dict[str, Any]:
    profile, id, home = several.opened(place.shared, place.home, given.id, place.profile)
    found = await profile.get(id)
    text = found.content if isinstance(found, Memory) else await _without_secrets(profile, found)
    about = {name: value for name, value in _item(found).items() if name not in ("id", "content")}
    return {
        "id": found.id, "title": _title(text), "text": text,
        "url": f"{place.uri}/memory/{found.id}" if home == place.home else several.link(home, found.id),
        "metadata": {**found.metadata, **about},
    }  # fmt: skip


async def _without_secrets(profile: LocalProfile, message: Message) -> str:
    """A message's text as a prompt may see it, as hits have it."""
    before: list[str] = []
    if may_be_secret(message.content):  # which what was said before it tells
        said = await profile.messages(message.session_id, limit=MOST_BEFORE)
        before = [each.content for each in said if each.position < message.position][-1:]
    return redacted(message.content, " ".join(before))


async def _context(place: Place, given: Context) -> dict[str, Any]:
    made = await place.ask(given, lambda known: known.context(given.query, tokens=given.tokens))
    return {"context": made.text, "tokens": made.tokens}


async def _remember(place: Place, given: Remember) -> dict[str, Any]:
    kind = given.kind or await place.kind_of(given.content)
    profile = several.written_to(place.shared, place.home, given.profile, place.profile)
    kept = await profile.remember(
        given.content, kind=kind, key=given.key, agent=place.agent, idempotency_key=given.idempotency_key
    )
    return _item(kept)


async def _correct(place: Place, given: Correct) -> dict[str, Any]:
    return _item(await place.profile.revise(given.id, content=given.content, idempotency_key=given.idempotency_key))


async def _about(place: Place, given: Asked) -> dict[str, Any]:
    """An entity, its links, and the memories that mention it; nothing when none does."""
    name = names.text(given.name, "name", limit=names.PROFILE_BYTES)
    try:
        graph = await place.profile.graph(name, limit=MOST_RELATED)
        memories = await place.profile.about(name, limit=MOST_RELATED)
    except NotFound:
        return {"name": name, "type": "", "links": [], "memories": []}
    shown = {each.id: each.name for each in graph.entities}
    links = [f"{shown[link.subject]} {link.relation} {shown[link.object]}" for link in graph.links]
    first = graph.entities[0]
    found = {"name": first.name, "type": first.type, "links": links}
    return found | {"memories": [_item(memory) for memory in memories]}


async def _list(place: Place, given: Listing) -> dict[str, Any]:
    page = await place.profile.list(limit=given.limit, cursor=given.cursor, kind=given.kind)
    found = {"memories": [_item(memory) for memory in page.items]}
    return found | ({"cursor": page.cursor} if page.cursor else {})


async def _forget(place: Place, given: Forget) -> dict[str, Any]:
    gone = await place.profile.forget(given.id, idempotency_key=given.idempotency_key)
    return {"memories": list(gone.memories), "messages": list(gone.messages)}


async def _enter(place: Place, given: Directory) -> dict[str, Any]:
    found = await AsyncNotes(place.profile, "/").entering(given.path)
    return {"notes": found.text, "more": found.more}


async def _note(place: Place, given: OnPath) -> dict[str, Any]:
    kept = await AsyncNotes(place.profile, "/").write(given.path, given.text, agent=place.agent)
    return {"path": kept.path, "version": kept.version}


async def _ingest(place: Place, given: Ingest) -> dict[str, Any]:
    if given.url is not None and given.messages is None:
        page = await place.profile.add(Source(url=given.url), idempotency_key=given.idempotency_key)
        return {"session_id": page.session_id, "new": 0, "known": 0, "document": page.id, "state": page.state}
    if given.messages is None or given.url is not None:
        raise InvalidInput("ingest: give messages or a url, one of them.", field="messages")
    receipt = await place.profile.ingest(
        given.messages, session_id=given.session_id, agent=place.agent, idempotency_key=given.idempotency_key
    )
    new = sum(message.new for message in receipt.messages)
    told = {"session_id": receipt.session_id, "new": new, "known": len(receipt.messages) - new}
    return told | ({"skipped": receipt.skipped} if receipt.skipped else {})


def _item(found: Hit | Memory | Message) -> dict[str, Any]:
    """What an agent needs of it, and nothing empty."""
    told = {
        "id": found.id, "content": found.content, "kind": getattr(found, "kind", "message"),
        "key": getattr(found, "key", None), "at": _when(found), "session_id": found.session_id,
        "speaker": getattr(found, "speaker", None), **_cited(found.metadata), **_from(found),
    }  # fmt: skip
    return {name: value for name, value in told.items() if value is not None}


def _from(found: Hit | Memory | Message) -> dict[str, Any]:
    """Which of several profiles it is from, and the link by which it is fetched there."""
    origin = found.origin if isinstance(found, Hit) else None
    return {} if origin is None else {"profile": str(origin), "url": several.link(origin, found.id)}


def _cited(metadata: dict[str, Any]) -> dict[str, Any]:
    """Where in which document it stands."""
    about = ("name", "url", "page", "heading") if "document" in metadata else ()
    return {name: metadata[name] for name in about if name in metadata}


def _when(found: Hit | Memory | Message) -> str | None:
    for name in ("occurred_at", "time", "timestamp", "created_at"):
        at = getattr(found, name, None)
        if isinstance(at, datetime):
            return iso(at)
    return None


def _result(place: Place, hit: Hit) -> dict[str, Any]:
    about = _item(hit)
    text = about.pop("content")
    about["relevance"] = hit.relevance
    return {"url": f"{place.uri}/memory/{hit.id}", **about, "title": _title(text), "text": text}


def _title(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= LONGEST_TITLE else f"{line[: LONGEST_TITLE - 1]}…"


def _object(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties)}


TEXT: dict[str, Any] = {"type": "string"}
MANY: dict[str, Any] = {"type": "array", "items": {"type": "object"}}
TEXTS: dict[str, Any] = {"type": "array", "items": TEXT}
COUNT: dict[str, Any] = {"type": "integer"}

TOOLS = (
    Tool(
        "recall", "Answer a question from memory, with sources; empty when nothing supports an answer.",
        Query, "read", _recall, _object(answer=TEXT, sources=MANY),
    ),
    Tool(
        "search", "Find memories and past messages about something, best first.",
        Search, "read", _search, _object(results=MANY),
    ),
    Tool(
        "fetch", "One memory or message in full, by the id that search gave, or the url.",
        Identified, "read", _fetch, _object(id=TEXT, title=TEXT, text=TEXT, url=TEXT, metadata={"type": "object"}),
    ),
    Tool(
        "get_context", "A block of what is known about a topic, to read before answering, within a token budget.",
        Context, "read", _context, _object(context=TEXT, tokens=COUNT),
    ),
    Tool(
        "list_memories", "Memories, newest first; pass the cursor on for more.",
        Listing, "read", _list, _object(memories=MANY),
    ),
    Tool(
        "about", "One person, place or thing (me: the user): relations to others, and memories of it.",
        Asked, "read", _about, _object(name=TEXT, type=TEXT, links=TEXTS, memories=MANY),
    ),
    Tool(
        "remember", "Keep one thing on purpose: a preference, decision, event, instruction or task.",
        Remember, "write", _remember, _object(id=TEXT, content=TEXT, kind=TEXT), idempotent=False,
    ),
    Tool(
        "correct", "Put a memory right; what it said before stays as its history.",
        Correct, "write", _correct, _object(id=TEXT, content=TEXT, kind=TEXT), idempotent=False,
    ),
    Tool(
        "ingest", "Keep messages or a page verbatim; memories are drawn from it. Repeating is harmless.",
        Ingest, "write", _ingest, _object(session_id=TEXT, new=COUNT, known=COUNT),
    ),
    Tool(
        "enter_directory", "What was noted on a directory and the files in it: ask when you begin to work there.",
        Directory, "read", _enter, _object(notes=TEXT, more=COUNT),
    ),
    Tool(
        "write_note", "Note on a file or directory what is going on there; replaces the note before.",
        OnPath, "write", _note, _object(path=TEXT, version=COUNT),
    ),
    Tool(
        "forget", "Delete a memory, or a message with what rests on it, for good.",
        Forget, "forget", _forget, _object(memories=TEXTS, messages=TEXTS),
    ),
)  # fmt: skip
NAMED = {tool.name: tool for tool in TOOLS}


UNSAID = ("title", "additionalProperties", "minLength", "maxLength", "minItems", "maxItems")
"""What is checked all the same, and no model needs to read."""


SHARING = ("profiles", "profile")
"""Arguments that only those need to know who share more than one memory."""


def schema(arguments: type[Arguments], *, sharing: bool = False) -> dict[str, Any]:
    """JSON Schema of the arguments: without what says nothing, and without references, which some clients refuse."""
    whole = arguments.model_json_schema()
    slim: dict[str, Any] = _slim(_without(whole, "$defs"), whole.get("$defs", {}))
    return slim if sharing else slim | {"properties": _without(slim["properties"], *SHARING)}


def _slim(held: Any, named: dict[str, Any]) -> Any:
    if isinstance(held, list):
        return [_slim(each, named) for each in held]
    if not isinstance(held, dict):
        return held
    if "$ref" in held:
        return _slim(named[held["$ref"].rpartition("/")[2]], named)
    either = held.get("anyOf")
    if isinstance(either, list) and {"type": "null"} in either and len(either) == 2:  # optional is said by `required`
        one = next(each for each in either if each != {"type": "null"})
        return _slim({**one, **_without(held, "anyOf", "default")}, named)
    return {
        name: {each: _slim(its, named) for each, its in value.items()} if name == "properties" else _slim(value, named)
        for name, value in _without(held, *UNSAID).items()
    }


def _without(held: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: value for name, value in held.items() if name not in names}


def checked(tool: Tool, given: dict[str, Any] | None) -> Arguments:
    """The arguments as the tool takes them. Raises InvalidInput that names what is wrong."""
    from pydantic import ValidationError

    try:
        return tool.arguments.model_validate(given or {})
    except ValidationError as wrong:
        said, field = malformed(wrong.errors(include_url=False), tool.arguments)
        raise InvalidInput(f"{tool.name}: {said}", field=field or "arguments") from None
