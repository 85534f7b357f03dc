"""Contract of a GraphStore."""

from __future__ import annotations

from datetime import timedelta

from holdfast.domain.graph import EntityChange, MemoryReading, Mention, Scope, Tie
from holdfast.domain.ports.storage import Store
from holdfast.domain.types import Change, Memory, Supersede
from holdfast.testing.conformance.samples import AT, memory, message, written

LATER = AT + timedelta(days=1)
NOW = Scope(LATER)


def graph_reading(read: Memory, *names: str, relation: str = "knows") -> MemoryReading:
    """A reading of a memory that mentions these names, with ties from the first to each of the others."""
    mentions = tuple(Mention(read.ref, name, "person") for name in names)
    ties = tuple(Tie(read.ref, names[0].casefold(), relation, other.casefold()) for other in names[1:])
    return MemoryReading(read.ref, mentions, ties)


async def learn(store: Store, *readings: MemoryReading) -> None:
    await store.graph.unread(1, 100)
    await store.graph.learn(1, readings)


class GraphContract:
    """Part of StoreContract."""

    async def test_what_nobody_has_read_is_offered_once(self, store: Store) -> None:
        one, two, three = (memory(f"Statement {n}", n=n) for n in range(3))
        await store.apply(written(one, two))
        assert [each.id for each in await store.graph.unread(1, 1)] == [one.id]
        await store.graph.learn(1, [graph_reading(one, "Ana")])
        assert [each.id for each in await store.graph.unread(1, 9)] == [two.id]
        await store.graph.learn(1, [graph_reading(one, "Bob"), graph_reading(two)])
        assert await store.graph.mentions(["bob"], NOW, 9) == [], "it was read already"
        assert await store.graph.unread(1, 9) == []
        await store.apply(written(three))
        assert [each.id for each in await store.graph.unread(1, 9)] == [three.id]
        await store.graph.learn(1, [MemoryReading(three.ref)])
        assert [each.id for each in await store.graph.unread(2, 9)] == [one.id, two.id, three.id]
        await store.graph.learn(2, [graph_reading(one, "Ida")])
        assert await store.graph.mentions(["ana"], NOW, 9) == [], "what another version found is gone"

    async def test_mentions_and_ties_come_newest_first(self, store: Store) -> None:
        one, two, three = (memory(f"Statement {n}", n=n) for n in range(3))
        await store.apply(written(one, two, three))
        since = Tie(three.ref, "bob", "met", "ana", AT, LATER)
        last = MemoryReading(
            three.ref, (Mention(three.ref, "ANA", "other"), Mention(three.ref, "Bob", "person")), (since,)
        )
        await learn(store, graph_reading(one, "Ana", "Bob"), graph_reading(two, "Ana", "Cleo", "Bob"), last)
        mentions = await store.graph.mentions(["ana"], NOW, 2)
        assert mentions == [Mention(three.ref, "ANA", "other"), Mention(two.ref, "Ana", "person")]
        knows = [Tie(each.ref, "ana", "knows", other) for each, other in ((two, "cleo"), (two, "bob"), (one, "bob"))]
        assert await store.graph.ties(["ana"], NOW, 9) == [since, *knows]
        assert await store.graph.ties(["ana", "bob"], NOW, 2) == [since, knows[0], knows[1]]
        assert await store.graph.ties(["nobody"], NOW, 9) == []
        assert await store.graph.counted(NOW, 2) == [("ana", 3), ("bob", 3)]
        assert await store.graph.count([["cleo"], ["bob", "cleo", "x"], [], ["x"]], NOW) == [1, 3, 0, 0]

    async def test_a_graph_is_of_what_was_known_then(self, store: Store) -> None:
        old = memory("Ana works at Acme.", key="work")
        new = memory("Ana works at Bolt.", key="work", n=60)
        await store.apply(written(old))
        await store.apply(written(new, supersede=(Supersede(old.ref, new.ref),)))
        await learn(store, graph_reading(old, "Ana", "Acme"), graph_reading(new, "Ana", "Bolt"))
        then = AT + timedelta(seconds=30)
        first, second = Tie(old.ref, "ana", "knows", "acme"), Tie(new.ref, "ana", "knows", "bolt")
        ended = Tie(old.ref, "ana", "knows", "acme", None, new.updated_at)
        assert await store.graph.ties(["ana"], NOW, 9) == [second]
        assert await store.graph.ties(["ana"], Scope(LATER, then), 9) == [first]
        assert await store.graph.ties(["ana"], Scope(LATER, AT - timedelta(seconds=1)), 9) == []
        assert await store.graph.ties(["ana"], Scope(LATER, past=True), 9) == [second, ended]
        assert await store.graph.ties(["ana"], Scope(LATER, then, past=True), 9) == [first]
        assert await store.graph.counted(NOW, 9) == [("ana", 1), ("bolt", 1)]
        assert await store.graph.count([["ana", "acme"], ["acme"]], NOW) == [1, 0]
        assert await store.graph.count([["ana", "acme"], ["acme"]], Scope(LATER, then)) == [1, 1]
        assert await store.graph.count([["ana", "acme"], ["acme"]], Scope(LATER, past=True)) == [2, 1]
        await store.apply(Change(forget=(new.id,)))
        assert await store.graph.count([["ana"], ["acme"]], NOW) == [1, 1], "it is current again"
        assert [each.memory for each in await store.graph.mentions(["ana"], Scope(LATER, then), 9)] == [old.ref]

    async def test_what_expired_is_in_no_graph(self, store: Store) -> None:
        brief = memory("Ana visits Bob.", expires_at=AT + timedelta(hours=1))
        await store.apply(written(brief))
        await learn(store, graph_reading(brief, "Ana", "Bob"))
        assert await store.graph.ties(["ana"], NOW, 9) == []
        assert len(await store.graph.ties(["ana"], Scope(AT), 9)) == 1

    async def test_an_agent_sees_the_graph_of_what_it_may_read(self, store: Store) -> None:
        own, other, nobody = (memory(f"Statement {n}", n=n, agent=agent) for n, agent in enumerate(("a", "b", None)))
        await store.apply(written(own, other, nobody))
        named = [(own, "Bob"), (other, "Cleo"), (nobody, "Ida")]
        await learn(store, *(graph_reading(each, "Ana", name) for each, name in named))
        for agents, seen in ((None, {"bob", "cleo", "ida"}), (("a",), {"bob", "ida"}), ((), {"ida"})):
            scope = Scope(LATER, agents=agents)
            assert {tie.object for tie in await store.graph.ties(["ana"], scope, 9)} == seen
            assert {name for name, _ in await store.graph.counted(scope, 9)} == {"ana", *seen}
            assert await store.graph.count([["ana"], ["cleo"]], scope) == [len(seen), int("cleo" in seen)]
            assert len(await store.graph.mentions(["ana", "cleo"], scope, 9)) == len(seen) + int("cleo" in seen)

    async def test_forgetting_a_memory_takes_its_mentions_and_ties(self, store: Store) -> None:
        said = message("Ana knows Bob.")
        one, two = memory("Ana knows Bob.", sources=(said.id,)), memory("Ana knows Cleo.", n=1)
        await store.apply(written(said, one, two))
        await learn(store, graph_reading(one, "Ana", "Bob", relation="same-as"), graph_reading(two, "Ana", "Cleo"))
        assert await store.graph.aliases(NOW, 9) == [("ana", "bob")]
        await store.apply(Change(forget=(said.id,), dry_run=True))
        assert len(await store.graph.mentions(["bob"], NOW, 9)) == 1
        await store.apply(Change(forget=(said.id,)))
        assert await store.graph.mentions(["bob"], NOW, 9) == []
        assert await store.graph.aliases(NOW, 9) == []
        assert [tie.object for tie in await store.graph.ties(["ana"], NOW, 9)] == ["cleo"]
        await store.apply(Change(forget=(two.id,)))
        again = memory("Ida.", n=2)
        await store.apply(written(again))
        assert [each.id for each in await store.graph.unread(1, 9)] == [again.id]

    async def test_decisions_stay_in_order_until_undone_or_their_names_are_forgotten(self, store: Store) -> None:
        one, two = memory("Ana knows Bob."), memory("Ana knows Cleo.", n=1)
        await store.apply(written(one, two))
        await learn(store, graph_reading(one, "Ana", "Bob"), graph_reading(two, "Ana", "Cleo"))
        merge = EntityChange("1", AT, "merge", "ana", names=("bob",), shown="Ana B.")
        split = EntityChange("2", AT, "split", "ana", "ana 2", memories=(one.id, two.id))
        other = EntityChange("3", AT, "merge", "cleo", names=("ana 2",))
        for change in (merge, split, other):
            await store.graph.keep(change)
        assert await store.graph.changes() == [merge, split, other]
        await store.apply(Change(forget=(one.id,)))
        kept = EntityChange("2", AT, "split", "ana", "ana 2", memories=(two.id,))
        assert await store.graph.changes() == [kept, other]
        assert await store.graph.undo("3")
        assert not await store.graph.undo("3")
        assert await store.graph.changes() == [kept]
        await store.apply(Change(forget=(two.id,)))
        assert await store.graph.changes() == []
