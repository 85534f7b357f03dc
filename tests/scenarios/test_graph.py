"""Entities and links, on every store and over HTTP: read off memories, followed, decided about, and forgotten."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from holdfast import AsyncHoldfast, Graph, InvalidInput, NotFound
from holdfast.api.client.holdfast import RemoteHoldfast
from holdfast.storage.in_memory import MemoryVault
from holdfast.storage.postgres.vault import PostgresVault
from holdfast.storage.sqlite.vault import SqliteVault
from holdfast.testing import HashingEmbedder, ScriptedExtractor
from support.http_server import http_server
from support.postgres import database

TOKEN = "a-token-of-these-tests"
START = datetime(2025, 3, 4, 12, tzinfo=UTC)


class Clock:
    now = START

    def __call__(self) -> datetime:
        return self.now


@pytest.fixture(params=["memory", "sqlite", "postgres", "sealed", "far"])
def vault(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Any]:
    if request.param in ("postgres", "sealed"):
        with database() as dsn:
            sealed = request.param == "sealed"
            yield PostgresVault(dsn, connections=4, keyring=tmp_path / "keyring" if sealed else None, sealed=sealed)
    else:
        yield MemoryVault() if request.param == "memory" else SqliteVault(tmp_path)


@pytest.fixture
async def clock() -> Clock:
    return Clock()


@pytest.fixture
async def ana(vault: Any, request: pytest.FixtureRequest, clock: Clock) -> AsyncIterator[Any]:
    """A profile on each store, and one behind HTTP."""
    async with AsyncHoldfast(vault, HashingEmbedder(), ScriptedExtractor({}), clock=clock) as memory:
        if request.node.callspec.params["vault"] != "far":
            yield _with_neighbour(memory)
            return
        await memory.access.admin(TOKEN)
        async with http_server(memory) as url, RemoteHoldfast(url, TOKEN) as far:
            yield _with_neighbour(far)


def _with_neighbour(memory: Any) -> Any:
    found = memory.profile("app", "ana")
    found.beside = memory.profile("app", "other")
    return found


async def remember_statements(profile: Any, *statements: str, **more: Any) -> list[str]:
    return [(await profile.remember(each, **more)).id for each in statements]


def link_triples(graph: Graph) -> set[tuple[str, str, str]]:
    return {(each.subject, each.relation, each.object) for each in graph.links if each.relation != "with"}


async def test_memories_make_a_graph(ana: Any) -> None:
    ids = await remember_statements(
        ana, "The user's sister Marta lives in Porto.", "Marta works at Acme Robotics.", "Acme Robotics uses Kafka.",
        "The billing service depends on Redis.",
    )  # fmt: skip
    found = await ana.graph("Marta")
    assert link_triples(found) == {
        ("user", "sibling-of", "marta"), ("marta", "lives-in", "porto"), ("marta", "works-at", "acme robotics"),
    }  # fmt: skip
    first = found.entities[0]
    assert (first.id, first.name, first.type, first.memories) == ("marta", "Marta", "person", 2)
    assert {each.id for each in found.entities} == {"marta", "porto", "acme robotics", "user"}
    assert not found.truncated
    further = await ana.graph("marta", depth=2)
    assert ("acme robotics", "uses", "kafka") in link_triples(further)
    assert [each.id for each in await ana.about("MARTA")] == ids[1::-1]
    with pytest.raises(NotFound, match="Nobody"):
        await ana.graph("Nobody")
    with pytest.raises(InvalidInput, match="depth"):
        await ana.graph("Marta", depth=9)


async def test_the_way_between_two_entities_is_the_shortest(ana: Any) -> None:
    await remember_statements(
        ana, "The user's sister Marta works at Acme Robotics.", "Acme Robotics uses Kafka.", "Bob works at Bolt.",
        "Kafka and Bolt were at the fair.",
    )  # fmt: skip
    way = await ana.path("me", "Kafka")
    assert [each.id for each in way.entities] == ["user", "marta", "acme robotics", "kafka"]
    assert [each.relation for each in way.links] == ["sibling-of", "works-at", "uses"]
    assert [each.id for each in (await ana.path("Bob", "kafka")).entities] == ["bob", "bolt", "kafka"]
    await remember_statements(ana, "Zoe lives in Oslo.")
    assert (await ana.path("Zoe", "Kafka")).entities == ()
    assert [each.id for each in (await ana.path("Zoe", "zoe")).entities] == ["zoe"]


async def test_a_name_that_a_memory_gives_is_a_name(ana: Any) -> None:
    await remember_statements(ana, "The user's brother works at Siemens.")
    assert link_triples(await ana.graph("my brother")) >= {("user's brother", "works-at", "siemens")}
    (id,) = await remember_statements(ana, "The user's brother's name is Bruno.")
    assert link_triples(await ana.graph("Bruno")) == {("user", "sibling-of", "bruno"), ("bruno", "works-at", "siemens")}
    assert (await ana.graph("user's brother")).entities[0].names == ("user's brother",)
    await remember_statements(ana, "The user's brother's name is Ben.")
    assert link_triples(await ana.graph("Bruno")) == {("user's brother", "same-as", "bruno")}, "two: nobody knows which"
    await ana.forget(id)
    await remember_statements(ana, "The user's sister Marta lives in Porto.", "The user's sister works at Acme.")
    assert ("marta", "works-at", "acme") in link_triples(await ana.graph("Marta"))
    assert link_triples(await ana.graph("Ben")) == {("user", "sibling-of", "ben"), ("ben", "works-at", "siemens")}


async def test_links_end_when_a_successor_comes(ana: Any, clock: Clock) -> None:
    await remember_statements(ana, "Ana works at Acme.", key="ana-works-at")
    clock.now = START + timedelta(days=10)
    await remember_statements(ana, "Ana works at Bolt.", key="ana-works-at")
    clock.now = START + timedelta(days=20)
    assert link_triples(await ana.graph("Ana")) == {("ana", "works-at", "bolt")}
    then = await ana.graph("Ana", as_of=START + timedelta(days=5))
    assert link_triples(then) == {("ana", "works-at", "acme")}
    assert [each.until for each in then.links] == [None], "nobody knew"
    both = await ana.graph("Ana", past=True)
    assert {(each.object, each.until) for each in both.links} == {("acme", START + timedelta(days=10)), ("bolt", None)}
    with pytest.raises(NotFound):
        await ana.graph("Acme")
    assert [each.content for each in await ana.about("Acme", as_of=START)] == ["Ana works at Acme."]
    assert [each.id for each in await ana.entities(as_of=START)] == ["acme", "ana"]


async def test_a_years_link_is_valid_in_those_years(ana: Any) -> None:
    await remember_statements(ana, "Ana worked at Nokia from 2015 to 2018.", "Ana leads the platform team since 2019.")
    dates = {each.object: (each.since, each.until) for each in (await ana.graph("Ana", past=True)).links}
    assert dates["nokia"] == (datetime(2015, 1, 1, tzinfo=UTC), datetime(2018, 1, 1, tzinfo=UTC))
    assert dates["platform team"] == (datetime(2019, 1, 1, tzinfo=UTC), None)
    assert link_triples(await ana.graph("Ana")) == {("ana", "manages", "platform team")}


async def test_what_is_over_is_past_and_has_no_date_that_nobody_told(ana: Any, clock: Clock) -> None:
    await remember_statements(
        ana, "The user used to live in Rome.", "The user lives in Porto.", "The user works at Siemens."
    )
    assert link_triples(await ana.graph("me")) == {("user", "lives-in", "porto"), ("user", "works-at", "siemens")}
    clock.now = START + timedelta(days=10)
    await remember_statements(ana, "The user does not work at Siemens.")
    assert link_triples(await ana.graph("me")) == {("user", "lives-in", "porto")}
    assert not (await ana.path("me", "Siemens")).entities
    links = {each.object: (each.until, each.ended) for each in (await ana.graph("me", past=True)).links}
    assert links == {"rome": (None, True), "porto": (None, False), "siemens": (None, True)}
    assert ("user", "works-at", "siemens") in link_triples(await ana.graph("me", as_of=START + timedelta(days=5)))
    await remember_statements(ana, "The user works at Siemens again.")
    assert ("user", "works-at", "siemens") in link_triples(await ana.graph("me"))


async def test_somebody_with_a_title_is_the_one_of_that_name_if_there_is_one(ana: Any) -> None:
    await remember_statements(ana, "The user met Dr. Braga.", "Braga recommended a walk.")
    (braga,) = await ana.entities("braga")
    assert (braga.id, braga.names, braga.memories) == ("dr. braga", ("braga",), 2)
    assert not [each for each in (await ana.graph("Braga")).links if each.relation == "same-as"]
    (id,) = await remember_statements(ana, "Mrs. Braga called.")
    assert len(await ana.entities("braga")) == 3, "two have the name: nobody knows which"
    await ana.forget(id)
    await remember_statements(ana, "The user flew to Braga.")
    assert [each.id for each in await ana.entities("braga")] == ["braga", "dr. braga"], "it is a place as well"


async def test_merging_splitting_and_taking_it_back(ana: Any) -> None:
    ids = await remember_statements(ana, "Robert Smith works at Acme.", "Bob lives in Porto.", "Bob visited Rome.")
    before = await whole_graph(ana)
    merge = await ana.merge_entities("Robert Smith", ["Bob", "Bobby"], name="Bob Smith")
    assert link_triples(await ana.graph("bobby")) == {
        ("robert smith", "works-at", "acme"), ("robert smith", "lives-in", "porto"),
        ("robert smith", "visited", "rome"),
    }  # fmt: skip
    (one,) = await ana.entities("smith")
    assert (one.name, one.memories, one.names) == ("Bob Smith", 3, ("bob",))
    merged = await whole_graph(ana)
    split = await ana.split_entity("Bob", "Bob of Rome", memories=[ids[2]])
    assert link_triples(await ana.graph("Bob of Rome")) == {("bob of rome", "visited", "rome")}
    assert (await ana.graph("Bob of Rome")).entities[0].memories == 1
    assert [each.id for each in await ana.about("Bob of Rome")] == [ids[2]]
    assert (await ana.graph("Bobby")).entities[0].memories == 2
    assert list(await ana.entity_changes()) == [merge, split]
    assert await ana.undo_entity_change() == split
    assert await whole_graph(ana) == merged
    await ana.split_entity("Robert Smith", "Bob", names=["bob"])
    assert link_triples(await ana.graph("Bob")) == {("bob", "lives-in", "porto"), ("bob", "visited", "rome")}
    await ana.undo_entity_change()
    assert await ana.undo_entity_change(merge.id) == merge
    assert await whole_graph(ana) == before
    with pytest.raises(NotFound):
        await ana.undo_entity_change()


async def test_decisions_that_make_no_sense_are_refused(ana: Any) -> None:
    ids = await remember_statements(ana, "Bob lives in Porto.", "Ida lives in Rome.")
    with pytest.raises(NotFound):
        await ana.merge_entities("Nobody", ["Bob"])
    for others in (["bob"], [""], []):
        with pytest.raises(InvalidInput):
            await ana.merge_entities("Bob", others)
    with pytest.raises(InvalidInput, match="Give the names"):
        await ana.split_entity("Bob", "Bob 2")
    with pytest.raises(NotFound, match="memories"):
        await ana.split_entity("Bob", "Bob 2", memories=[ids[1]])
    with pytest.raises(InvalidInput, match="already"):
        await ana.split_entity("Bob", "BOB", memories=[ids[0]])
    assert await ana.entity_changes() == ()


async def test_what_is_forgotten_is_in_no_graph_and_in_no_decision(ana: Any) -> None:
    ids = await remember_statements(ana, "Robert works at Acme.", "Bob lives in Porto.")
    await ana.merge_entities("Robert", ["Bob"])
    await ana.forget(ids[1])
    assert {each.id for each in await ana.entities()} == {"robert", "acme"}
    assert await ana.entity_changes() == ()


async def test_the_whole_graph_is_of_the_most_mentioned(ana: Any) -> None:
    await remember_statements(ana, *(f"Ana works with Friend{n} at Acme." for n in range(5)), "Ana lives in Porto.")
    found = await ana.graph(limit=2)
    assert [each.id for each in found.entities] == ["ana", "acme"]
    assert found.truncated
    assert {(each.subject, each.object) for each in found.links} == {("ana", "acme")}
    everyone = await ana.graph(limit=100)
    assert not everyone.truncated
    assert len(everyone.entities) == 8
    assert [each.id for each in await ana.entities(type="place")] == ["porto"]
    assert [each.id for each in await ana.entities("FRIEND3")] == ["friend3"]
    assert (await ana.graph("Ana", limit=3)).truncated


async def whole_graph(profile: Any) -> tuple[Any, ...]:
    """All that anybody can see of a graph."""
    graph = await profile.graph(limit=1000, past=True)
    return graph, tuple([await profile.graph(each.id, past=True) for each in graph.entities]), await profile.entities()


async def test_an_agent_sees_no_graph_of_what_it_may_not_read(ana: Any) -> None:
    await remember_statements(ana.as_agent("sales"), "Bob works at Acme.")
    support = ana.as_agent("support", reads="own")
    await remember_statements(support, "Bob lives in Porto.")
    assert link_triples(await ana.graph("Bob")) == {("bob", "works-at", "acme"), ("bob", "lives-in", "porto")}
    assert link_triples(await support.graph("Bob")) == {("bob", "lives-in", "porto")}
    assert {each.id: each.memories for each in await support.entities()} == {"bob": 1, "porto": 1}
    with pytest.raises(NotFound):
        await support.graph("Acme")
    change = await ana.merge_entities("Porto", ["Acme"])
    assert await support.entity_changes() == ()
    with pytest.raises(NotFound):
        await support.undo_entity_change(change.id)


async def test_what_was_decided_travels_with_the_profile(ana: Any, tmp_path: Path) -> None:
    await remember_statements(ana, "Robert works at Acme.", "Bob lives in Porto.")
    await ana.merge_entities("Robert", ["Bob"])
    await ana.export_to(tmp_path / "ana.jsonl")
    other = ana.beside
    await other.import_from(tmp_path / "ana.jsonl")
    assert await whole_graph(other) == await whole_graph(ana)
    assert await other.entity_changes() == await ana.entity_changes()
    await other.import_from(tmp_path / "ana.jsonl")
    assert len(await other.entity_changes()) == 1
