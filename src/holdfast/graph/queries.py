"""Queries the graph: which entities memories mention, how they are linked, and the paths between them.

Entities and links are extracted from memories, by the worker in the background and by the first query that runs before
it. Which entity a name refers to follows from what memories state and what people decided (identity.py); it is computed
anew for every query.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from holdfast.domain.errors import InvalidInput, NotFound, ReadOnly, quoted_value
from holdfast.domain.graph import (
    BARE,
    LONG_AGO,
    USER,
    WITH,
    Entity,
    EntityChange,
    Graph,
    Link,
    Mention,
    Scope,
    Tie,
    folded_name,
)
from holdfast.domain.identifiers import referenced_id
from holdfast.domain.ports.storage import Store
from holdfast.domain.types import Memory
from holdfast.graph.identity import Identity, untitled_names
from holdfast.graph.relations import RULES_VERSION, mentions_and_ties
from holdfast.text.lexicon.sentences import TITLES

# The limits below were chosen by hand; docs/results/graph.md has the query times under them.
BATCH_MEMORIES = 500
"""How many memories are processed in one change."""
BACKGROUND_BATCH_MEMORIES = 50
"""The same in background work: other work of the process waits for it."""
MAX_ALIASES = 5_000
MAX_NAMES = 200_000
MAX_TIES_PER_NAME = 400
"""How many of a name's newest ties are followed; with more, the result is `truncated`."""
MENTIONS_PER_DESCRIPTION = 3
"""How many of a name's newest mentions decide its spelling and type."""
MENTIONS_PER_TITLE = 20
"""How many of a name's newest mentions decide whether it can be a person's name."""
MAX_PATH_LINKS = 6
"""Maximum number of links in a path."""
MAX_VISITED_ENTITIES = 2_000
"""Maximum number of entities that a search for a path may reach."""
MAX_TIES_ON_PATH = 100
"""Like MAX_TIES_PER_NAME, for a path or an overview."""


async def learn_batch(store: Store, limit: int = BATCH_MEMORIES) -> int:
    """Extract mentions and ties from a batch of unread memories; returns how many there were."""
    unread = await store.graph.unread(RULES_VERSION, limit)
    if unread:
        await store.graph.learn(RULES_VERSION, [mentions_and_ties(memory) for memory in unread])
    return len(unread)


async def learn_all(store: Store, batch: int = BATCH_MEMORIES) -> None:
    """Read every memory that was not read yet. A read-only store is left unchanged."""
    try:
        while await learn_batch(store, batch) == batch:
            continue
    except ReadOnly:
        return


@dataclass(frozen=True, slots=True)
class GraphSnapshot:
    """The graph of a store at a moment, with the identity of its names."""

    store: Store
    scope: Scope
    identity: Identity

    async def links(self, entities: Iterable[str], each: int = MAX_TIES_PER_NAME) -> tuple[list[Link], bool]:
        """Load the links of these entities, newest first, typed before untyped ones; and whether these are all."""
        wanted = set(entities)
        names = [name for entity in sorted(wanted) for name in self.identity.names(entity)]
        ties = await self.store.graph.ties(names, self.scope, each)
        busy = Counter(name for tie in ties for name in (tie.subject, tie.object))
        resolved = [(link, is_denial(tie)) for tie in ties if (link := self._link(tie))]
        found = [(link, no) for link, no in resolved if {link.subject, link.object} & wanted]
        holding = valid_links(found, self.scope.as_of or self.scope.now, past=self.scope.past)
        kept: dict[tuple[object, ...], Link] = {}
        for link in sorted(holding, key=lambda link: link.relation == WITH):
            ends = tuple(sorted((link.subject, link.object))) if link.relation == WITH else (link.subject, link.object)
            kept.setdefault((*ends, link.relation, link.until, link.ended), link)
        return list(kept.values()), all(busy[name] < each for name in names)

    def _link(self, tie: Tie) -> Link | None:
        one, other = (self.identity.of(name, tie.memory) for name in (tie.subject, tie.object))
        if one == other or untitled_names([(tie.subject, tie.object)], TITLES):
            return None
        link = link_of_tie(tie, one, other)
        now = self.scope.as_of is None and not self.scope.past
        return replace(link, memory=referenced_id(link.memory)) if now else link

    async def mentions(self, entity: str, limit: int) -> list[Mention]:
        found = await self.store.graph.mentions(self.identity.names(entity), self.scope, limit)
        return [each for each in found if each.type != BARE and self.identity.of(each.name, each.memory) == entity]

    async def described(self, entities: Sequence[str]) -> dict[str, Entity]:
        """Load these entities, in this order; those that no memory mentions are left out."""
        names = {name: None for entity in entities for name in self.identity.names(entity)}
        mentioned: dict[str, list[Mention]] = {entity: [] for entity in entities}
        for each in await self.store.graph.mentions(list(names), self.scope, MENTIONS_PER_DESCRIPTION):
            if each.type != BARE:
                mentioned.get(self.identity.of(each.name, each.memory), []).append(each)
        groups = [self.identity.names(entity) for entity in entities]
        counts = dict(zip(entities, await self.store.graph.count(groups, self.scope), strict=True))
        for entity in self.identity.ambiguous & mentioned.keys():
            mentioned[entity] = await self.mentions(entity, MAX_NAMES)
            counts[entity] = len({each.memory for each in mentioned[entity]})
        return {each: self._entity(each, mentioned[each], counts[each]) for each in entities if mentioned[each]}

    def _entity(self, entity: str, mentions: list[Mention], count: int) -> Entity:
        own = [each.shown for each in mentions if each.name == entity] or [each.shown for each in mentions]
        name = self.identity.shown(entity) or Counter(own).most_common(1)[0][0]
        types = Counter(each.type for each in mentions if each.type != "other").most_common(1)
        others = sorted({each.name for each in mentions} - {entity})
        kind = USER if entity == USER else types[0][0] if types else "other"
        return Entity(entity, name, kind, count, tuple(others))


def link_of_tie(tie: Tie, subject: str, object: str) -> Link:
    """Converts a tie between two entities to a link; `until` is None when the end is not known."""
    since, until = (None if at == LONG_AGO else at for at in (tie.since, tie.until))
    return Link(subject, tie.relation, object, tie.memory, since, until, ended=tie.until is not None)


def is_denial(tie: Tie) -> bool:
    """Whether the tie only denies a relation ("I don't work at Acme")."""
    return tie.since == tie.until == LONG_AGO


def valid_links(links: Sequence[tuple[Link, bool]], at: datetime, *, past: bool) -> list[Link]:
    """The links that are valid at a time, or with `past` all of them. `links` are given newest first, each with whether
    it is a denial.

    A memory may state that something is over without saying when ("I used to live in Rome"), or only deny it ("I don't
    work at Acme"): no date is invented for it. The newer memory counts, so the same link of an older memory is over
    too.
    """
    newest: dict[tuple[str, str, str], Link] = {}
    found = []
    for link, no in links:
        same = (link.subject, link.relation, link.object)
        last = newest.setdefault(same, link)
        if last.ended and not link.ended and not _starts_after(link, last):
            link = replace(link, ended=True, until=last.until)
        if not no:
            found.append(replace(link, ended=_is_over(link, at)))
    return [link for link in found if past or not link.ended]


def _starts_after(link: Link, end: Link) -> bool:
    return link.since is not None and end.until is not None and link.since >= end.until


def _is_over(link: Link, at: datetime) -> bool:
    return link.ended and (link.until is None or link.until <= at)


async def open_graph(store: Store, scope: Scope) -> GraphSnapshot:
    """Read unread memories, resolve identities, and return the snapshot."""
    await learn_all(store)
    said = await store.graph.aliases(scope, MAX_ALIASES)
    unsafe = await _find_ambiguous_titles(store, scope, said)
    changes = [await _with_memory_ids(store, change) for change in await store.graph.changes()]
    identity = Identity([pair for pair in said if pair not in unsafe], changes)
    identity.ambiguous.update(unsafe.values())
    return GraphSnapshot(store, scope, identity)


async def _with_memory_ids(store: Store, change: EntityChange) -> EntityChange:
    """The change with the memories' ids; 0.1.0 named them by the id that a version was drafted with."""
    found = [next(iter(await store.get([name])), None) for name in change.memories]
    ids = (name if item is None else item.id for name, item in zip(change.memories, found, strict=True))
    return replace(change, memories=tuple(ids)) if change.memories else change


async def _find_ambiguous_titles(store: Store, scope: Scope, said: list[tuple[str, str]]) -> dict[tuple[str, str], str]:
    """Find names with a title whose bare name is ambiguous: "Braga" means Dr. Braga unless there is a Mrs. Braga, or
    Braga is a place. Returns pairs of names → the bare name."""
    bare = untitled_names(said, TITLES)
    shared = Counter(bare.values())
    mentions = await store.graph.mentions(sorted(shared), scope, MENTIONS_PER_TITLE) if bare else []
    others = {each.name for each in mentions if each.type not in ("person", "other", BARE)}
    return {pair: name for pair, name in bare.items() if shared[name] > 1 or name in others}


async def find_entity(view: GraphSnapshot, entity: str, field: str = "entity") -> str:
    """Find the id of an entity by a name. Raises NotFound when no memory mentions it."""
    asked = validate_name(entity, field)
    for name in (asked, f"user's {asked.removeprefix('my ')}"):
        found = view.identity.of(name)
        if await view.mentions(found, 1 if not view.identity.ambiguous else MAX_NAMES):
            return found
    raise NotFound(
        f"No memory mentions {quoted_value(entity)}.", field=field, fix="List the entities to see their names."
    )


def validate_name(entity: object, field: str) -> str:
    """Validate and normalise a name that a caller gave; "me" means the user."""
    if not isinstance(entity, str) or not entity.strip() or len(entity) > 200:
        raise InvalidInput(f"{field} is {quoted_value(entity)}; give a name of 1 to 200 characters.", field=field)
    name = folded_name(entity)
    return USER if name in ("me", "i", "myself") else name


async def load_neighbourhood(view: GraphSnapshot, entity: str, depth: int, limit: int) -> Graph:
    """Load an entity and every entity at most `depth` links away."""
    start = await find_entity(view, entity)
    reached: dict[str, None] = {start: None}
    links: dict[Link, None] = {}
    ring, whole = [start], True
    for _ in range(depth):
        found, all_read = await view.links(ring, min(limit, MAX_TIES_PER_NAME))
        whole &= all_read
        ends = dict.fromkeys(end for link in found for end in (link.subject, link.object))
        ring = [end for end in ends if end not in reached]
        whole &= len(reached) + len(ring) <= limit
        ring = ring[: limit - len(reached)]
        reached |= dict.fromkeys(ring)
        links |= dict.fromkeys(found)
        if not ring:
            break
    entities = await view.described(list(reached))
    return Graph(tuple(entities.values()), _links_within(links, entities.keys()), not whole)


async def load_overview(view: GraphSnapshot, limit: int) -> Graph:
    """Load the entities that most memories mention, and the links between them."""
    found = await list_entities(view)
    kept = await view.described(found[:limit])
    links, _ = await view.links(kept, MAX_TIES_ON_PATH)
    return Graph(tuple(kept.values()), _links_within(links, kept.keys()), len(found) > limit)


async def list_entities(view: GraphSnapshot, query: str | None = None) -> list[str]:
    """List the entities, most mentioned first; with `query`, only those with a name that contains it."""
    counts: Counter[str] = Counter()
    wanted = None if query is None else folded_name(query)
    matched: set[str] = set()
    for name, count in await view.store.graph.counted(view.scope, MAX_NAMES):
        counts[view.identity.of(name)] += count
        if wanted is None or wanted in name:
            matched.add(view.identity.of(name))
    for entity in view.identity.ambiguous:
        counts[entity] = len(await view.mentions(entity, MAX_NAMES))
        if wanted is None or wanted in entity:
            matched.add(entity)
    return [
        entity for entity, count in sorted(counts.items(), key=lambda e: (-e[1], e[0])) if count and entity in matched
    ]


def _links_within(links: Iterable[Link], entities: Iterable[str]) -> tuple[Link, ...]:
    there = set(entities)
    return tuple(link for link in links if link.subject in there and link.object in there)


async def find_path(view: GraphSnapshot, start: str, end: str) -> Graph:
    """Find the shortest path between two entities, by typed links if possible; an empty graph when there is none."""
    one, other = await find_entity(view, start, "start"), await find_entity(view, end, "end")
    links: list[Link] | None = []
    if one != other:
        read: dict[str, list[Link]] = {}
        links = await _search_path(view, (one, other), read, typed=True) or await _search_path(
            view, (one, other), read, typed=False
        )
    if links is None:
        return Graph()
    steps = dict.fromkeys([one, *(end for link in links for end in (link.subject, link.object)), other])
    entities = await view.described(_in_order(one, links) or list(steps))
    return Graph(tuple(entities.values()), tuple(links))


def _in_order(start: str, links: Sequence[Link]) -> list[str]:
    """The entities in the order in which a path passes them."""
    passed = [start]
    for link in links:
        passed.append(link.object if link.subject == passed[-1] else link.subject)
    return passed


async def _search_path(
    view: GraphSnapshot, ends: tuple[str, str], read: dict[str, list[Link]], *, typed: bool
) -> list[Link] | None:
    """Search from both ends at once, breadth first, the smaller frontier first. `read` caches links by entity."""
    came: list[dict[str, Link | None]] = [{end: None} for end in ends]
    rings: list[list[str]] = [[end] for end in ends]
    for _ in range(MAX_PATH_LINKS):
        side = 0 if len(rings[0]) <= len(rings[1]) else 1
        await _load_links(view, rings[side], read)
        ring: dict[str, None] = {}
        for here in rings[side]:
            for link in read[here]:
                there = link.object if link.subject == here else link.subject
                if there not in came[side] and not (typed and link.relation == WITH):
                    came[side][there] = link
                    ring[there] = None
        met = next((entity for entity in ring if entity in came[1 - side]), None)
        if met is not None:
            return [*reversed(_links_to_start(came[0], met)), *_links_to_start(came[1], met)]
        rings[side] = list(ring)
        if not ring or len(came[0]) + len(came[1]) > MAX_VISITED_ENTITIES:
            return None
    return None


async def _load_links(view: GraphSnapshot, ring: Sequence[str], read: dict[str, list[Link]]) -> None:
    new = {entity: list[Link]() for entity in ring if entity not in read}
    if new:
        for link in (await view.links(new, MAX_TIES_ON_PATH))[0]:
            for end in {link.subject, link.object} & new.keys():
                new[end].append(link)
        read |= new


def _links_to_start(came: dict[str, Link | None], entity: str) -> list[Link]:
    """The links from an entity back to the end at which its side of the search started."""
    links = []
    while (link := came[entity]) is not None:
        links.append(link)
        entity = link.object if link.subject == entity else link.subject
    return links


async def load_memories_about(view: GraphSnapshot, entity: str, limit: int) -> list[Memory]:
    """Load the memories that mention an entity, newest first."""
    start = await find_entity(view, entity)
    mentions = await view.mentions(start, limit if not view.identity.ambiguous else MAX_NAMES)
    found = await view.store.get(list(dict.fromkeys(each.memory for each in mentions)))
    memories = [item for item in found if isinstance(item, Memory)]
    return sorted(memories, key=lambda memory: memory.updated_at, reverse=True)[:limit]
