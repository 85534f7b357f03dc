"""Who and what memories are about, and how they hang together.

Entities and links are read off memories, by the worker as it goes and by whoever asks before it got there. Whose a name
is follows from what memories say and what people decided (identity.py), anew with every question.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from .entity_words import TITLES
from .errors import InvalidInput, NotFound, ReadOnly, shown
from .graphs import BARE, USER, WITH, Entity, Graph, Link, Mention, Scope, Tie, folded
from .identity import Identity
from .lasting import denied, lasting, linked, titled
from .ports import Store
from .relations import VERSION, read
from .types import Memory

BATCH = 500
MOST_ALIASES = 5_000
MOST_NAMES = 200_000
READ_OF_EACH = 400
"""How many of a name's newest ties are followed; more make an answer `truncated`."""
DESCRIBED_BY = 3
"""How many of a name's newest mentions say how it is written and of which type it is."""
MOST_READ = 20
"""How many of a name's newest mentions say whether it is somebody's."""
FARTHEST = 6
MOST_VISITED = 2_000
READ_ON_THE_WAY = 100


async def learn_some(store: Store, limit: int = BATCH) -> int:
    """Read a batch of memories that were not read yet; how many there were."""
    unread = await store.graph.unread(VERSION, limit)
    if unread:
        await store.graph.learn(VERSION, [read(memory) for memory in unread])
    return len(unread)


async def caught_up(store: Store) -> None:
    """Read what was not read yet; what somebody opened for reading only stays as far as its owner has read it."""
    try:
        while await learn_some(store) == BATCH:
            continue
    except ReadOnly:
        return


@dataclass(frozen=True, slots=True)
class Seeing:
    """A store's graph at a moment, and whose the names in it are."""

    store: Store
    scope: Scope
    identity: Identity

    async def links(self, entities: Iterable[str], each: int = READ_OF_EACH) -> tuple[list[Link], bool]:
        """The links of these entities, newest first and those that say how before those that do not; whether all."""
        wanted = set(entities)
        names = [name for entity in sorted(wanted) for name in self.identity.names(entity)]
        ties = await self.store.graph.ties(names, self.scope, each)
        busy = Counter(name for tie in ties for name in (tie.subject, tie.object))
        seen = [(link, denied(tie)) for tie in ties if (link := self._link(tie))]
        found = [(link, no) for link, no in seen if {link.subject, link.object} & wanted]
        holding = lasting(found, self.scope.as_of or self.scope.now, past=self.scope.past)
        kept: dict[tuple[object, ...], Link] = {}
        for link in sorted(holding, key=lambda link: link.relation == WITH):
            ends = tuple(sorted((link.subject, link.object))) if link.relation == WITH else (link.subject, link.object)
            kept.setdefault((*ends, link.relation, link.until, link.ended), link)
        return list(kept.values()), all(busy[name] < each for name in names)

    def _link(self, tie: Tie) -> Link | None:
        one, other = (self.identity.of(name, tie.memory) for name in (tie.subject, tie.object))
        if one == other or titled([(tie.subject, tie.object)], TITLES):
            return None
        return linked(tie, one, other)

    async def mentions(self, entity: str, limit: int) -> list[Mention]:
        found = await self.store.graph.mentions(self.identity.names(entity), self.scope, limit)
        return [each for each in found if each.type != BARE and self.identity.of(each.name, each.memory) == entity]

    async def described(self, entities: Sequence[str]) -> dict[str, Entity]:
        """What is known of these entities, in this order; those that no memory mentions are left out."""
        names = {name: None for entity in entities for name in self.identity.names(entity)}
        told: dict[str, list[Mention]] = {entity: [] for entity in entities}
        for each in await self.store.graph.mentions(list(names), self.scope, DESCRIBED_BY):
            if each.type != BARE:
                told.get(self.identity.of(each.name, each.memory), []).append(each)
        groups = [self.identity.names(entity) for entity in entities]
        counts = dict(zip(entities, await self.store.graph.count(groups, self.scope), strict=True))
        for entity in self.identity.torn & told.keys():
            told[entity] = await self.mentions(entity, MOST_NAMES)
            counts[entity] = len({each.memory for each in told[entity]})
        return {entity: self._entity(entity, told[entity], counts[entity]) for entity in entities if told[entity]}

    def _entity(self, entity: str, mentions: list[Mention], count: int) -> Entity:
        own = [each.shown for each in mentions if each.name == entity] or [each.shown for each in mentions]
        name = self.identity.shown(entity) or Counter(own).most_common(1)[0][0]
        types = Counter(each.type for each in mentions if each.type != "other").most_common(1)
        others = sorted({each.name for each in mentions} - {entity})
        kind = USER if entity == USER else types[0][0] if types else "other"
        return Entity(entity, name, kind, count, tuple(others))


async def seeing(store: Store, scope: Scope) -> Seeing:
    await caught_up(store)
    said = await store.graph.aliases(scope, MOST_ALIASES)
    unsafe = await _unsafe(store, scope, said)
    identity = Identity([pair for pair in said if pair not in unsafe], await store.graph.changes())
    identity.torn.update(unsafe.values())
    return Seeing(store, scope, identity)


async def _unsafe(store: Store, scope: Scope, said: list[tuple[str, str]]) -> dict[tuple[str, str], str]:
    """Titles that do not tell who is meant, with the name alone: "Braga" is Dr. Braga unless there is a Mrs. Braga, or
    it is a place."""
    bare = titled(said, TITLES)
    shared = Counter(bare.values())
    mentions = await store.graph.mentions(sorted(shared), scope, MOST_READ) if bare else []
    others = {each.name for each in mentions if each.type not in ("person", "other", BARE)}
    return {pair: name for pair, name in bare.items() if shared[name] > 1 or name in others}


async def known(seen: Seeing, entity: str, field: str = "entity") -> str:
    """The id of an entity that somebody names. Raises NotFound when no memory mentions it."""
    asked = name_of(entity, field)
    for name in (asked, f"user's {asked.removeprefix('my ')}"):
        found = seen.identity.of(name)
        if await seen.mentions(found, 1 if not seen.identity.torn else MOST_NAMES):
            return found
    raise NotFound(f"No memory mentions {shown(entity)}.", field=field, fix="List the entities to see their names.")


def name_of(entity: object, field: str) -> str:
    if not isinstance(entity, str) or not entity.strip() or len(entity) > 200:
        raise InvalidInput(f"{field} is {shown(entity)}; give a name of 1 to 200 characters.", field=field)
    name = folded(entity)
    return USER if name in ("me", "i", "myself") else name


async def around(seen: Seeing, entity: str, depth: int, limit: int) -> Graph:
    """An entity, and what is no more than so many links away."""
    start = await known(seen, entity)
    reached: dict[str, None] = {start: None}
    links: dict[Link, None] = {}
    ring, whole = [start], True
    for _ in range(depth):
        found, all_read = await seen.links(ring, min(limit, READ_OF_EACH))
        whole &= all_read
        ends = dict.fromkeys(end for link in found for end in (link.subject, link.object))
        ring = [end for end in ends if end not in reached]
        whole &= len(reached) + len(ring) <= limit
        ring = ring[: limit - len(reached)]
        reached |= dict.fromkeys(ring)
        links |= dict.fromkeys(found)
        if not ring:
            break
    entities = await seen.described(list(reached))
    return Graph(tuple(entities.values()), _within(links, entities.keys()), not whole)


async def whole(seen: Seeing, limit: int) -> Graph:
    """The entities that most memories mention, and the links between them."""
    found = await listed(seen)
    kept = await seen.described(found[:limit])
    links, _ = await seen.links(kept, READ_ON_THE_WAY)
    return Graph(tuple(kept.values()), _within(links, kept.keys()), len(found) > limit)


async def listed(seen: Seeing, query: str | None = None) -> list[str]:
    """The entities, most mentioned first; with `query`, those with that in one of their names."""
    counts: Counter[str] = Counter()
    wanted = None if query is None else folded(query)
    matched: set[str] = set()
    for name, count in await seen.store.graph.counted(seen.scope, MOST_NAMES):
        counts[seen.identity.of(name)] += count
        if wanted is None or wanted in name:
            matched.add(seen.identity.of(name))
    for entity in seen.identity.torn:
        counts[entity] = len(await seen.mentions(entity, MOST_NAMES))
        if wanted is None or wanted in entity:
            matched.add(entity)
    return [
        entity for entity, count in sorted(counts.items(), key=lambda e: (-e[1], e[0])) if count and entity in matched
    ]


def _within(links: Iterable[Link], entities: Iterable[str]) -> tuple[Link, ...]:
    there = set(entities)
    return tuple(link for link in links if link.subject in there and link.object in there)


async def path(seen: Seeing, start: str, end: str) -> Graph:
    """The shortest way from one entity to another, by links that say how if there is one; empty when there is none."""
    one, other = await known(seen, start, "start"), await known(seen, end, "end")
    found: list[Link] | None = []
    if one != other:
        read: dict[str, list[Link]] = {}
        found = await _way(seen, (one, other), read, typed=True) or await _way(seen, (one, other), read, typed=False)
    if found is None:
        return Graph()
    steps = dict.fromkeys([one, *(end for link in found for end in (link.subject, link.object)), other])
    entities = await seen.described(_in_order(one, found) or list(steps))
    return Graph(tuple(entities.values()), tuple(found))


def _in_order(start: str, links: Sequence[Link]) -> list[str]:
    """The entities as a way passes them."""
    passed = [start]
    for link in links:
        passed.append(link.object if link.subject == passed[-1] else link.subject)
    return passed


async def _way(seen: Seeing, ends: tuple[str, str], read: dict[str, list[Link]], *, typed: bool) -> list[Link] | None:
    """From both ends at once, a ring at a time, the smaller first. What was read is kept in `read`."""
    came: list[dict[str, Link | None]] = [{end: None} for end in ends]
    rings: list[list[str]] = [[end] for end in ends]
    for _ in range(FARTHEST):
        side = 0 if len(rings[0]) <= len(rings[1]) else 1
        await _read(seen, rings[side], read)
        ring: dict[str, None] = {}
        for here in rings[side]:
            for link in read[here]:
                there = link.object if link.subject == here else link.subject
                if there not in came[side] and not (typed and link.relation == WITH):
                    came[side][there] = link
                    ring[there] = None
        met = next((entity for entity in ring if entity in came[1 - side]), None)
        if met is not None:
            return [*reversed(_back(came[0], met)), *_back(came[1], met)]
        rings[side] = list(ring)
        if not ring or len(came[0]) + len(came[1]) > MOST_VISITED:
            return None
    return None


async def _read(seen: Seeing, ring: Sequence[str], read: dict[str, list[Link]]) -> None:
    new = {entity: list[Link]() for entity in ring if entity not in read}
    if new:
        for link in (await seen.links(new, READ_ON_THE_WAY))[0]:
            for end in {link.subject, link.object} & new.keys():
                new[end].append(link)
        read |= new


def _back(came: dict[str, Link | None], entity: str) -> list[Link]:
    """The links from an entity to where its side began."""
    links = []
    while (link := came[entity]) is not None:
        links.append(link)
        entity = link.object if link.subject == entity else link.subject
    return links


async def about(seen: Seeing, entity: str, limit: int) -> list[Memory]:
    """The memories that mention an entity, newest first."""
    start = await known(seen, entity)
    mentions = await seen.mentions(start, limit if not seen.identity.torn else MOST_NAMES)
    found = await seen.store.get(list(dict.fromkeys(each.memory for each in mentions)))
    memories = [item for item in found if isinstance(item, Memory)]
    return sorted(memories, key=lambda memory: memory.updated_at, reverse=True)[:limit]
