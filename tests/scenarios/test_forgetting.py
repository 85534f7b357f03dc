"""What each way of forgetting takes: the table of docs/retention.md, here and over HTTP, on both backends."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx2 as httpx
import pytest

from holdfast import AsyncHoldfast, InvalidInput, NotFound
from holdfast.domain.types import Change, Draft, Forgotten, Message
from holdfast.models.rules import QuotingSummariser
from holdfast.storage.postgres.vault import PostgresVault
from holdfast.storage.sqlite.vault import SqliteVault
from holdfast.testing import HashingEmbedder, ScriptedExtractor
from support.erasure_ways import Clock
from support.http_server import http_server
from support.paths import ROOT
from support.postgres import database

TOKEN = "a-token-of-these-tests"
CONTRACT = "/client/v4/accounts/any/agent-memory/namespaces/app/profiles/ana"
SAID, ALSO = "My boat is Alpha. My guitar is Beta.", "My doctor is Gamma."
READ = "The Delta ferry is red. The Epsilon train is blue."
BOAT, GUITAR, DOCTOR = "The user's boat is Alpha.", "The user's guitar is Beta.", "The user's doctor is Gamma."
FERRY, TRAIN, TEA = "The Delta ferry is red.", "The Epsilon train is blue.", "Likes Zeta tea."
MEMORIES = {BOAT, GUITAR, DOCTOR, FERRY, TRAIN, TEA}
MESSAGES = {SAID, ALSO, READ}
SCRIPT: dict[str, Any] = {
    SAID: [Draft("fact", BOAT, (), key="boat"), Draft("fact", GUITAR, (), key="guitar")],
    ALSO: [Draft("fact", DOCTOR, (), key="doctor")],
    READ: [Draft("fact", FERRY, (), trust="document"), Draft("fact", TRAIN, (), trust="document")],
}


@dataclass
class Place:
    """A profile with three messages and six memories, and how to reach it."""

    ana: Any
    holdfast: AsyncHoldfast
    clock: Clock
    url: str | None
    ids: dict[str, str]
    document: str

    async def delete_by_contract(self, dry_run: bool) -> Forgotten:
        if dry_run or self.url is None:
            return await self.ana.forget(self.ids[BOAT], dry_run=dry_run, sources=True)
        async with httpx.AsyncClient(headers={"authorization": f"Bearer {TOKEN}"}, timeout=120) as client:
            answer = await client.delete(f"{self.url}{CONTRACT}/memories/{self.ids[BOAT]}")
        assert answer.json()["result"]["id"] == self.ids[BOAT]
        return Forgotten((self.ids[BOAT],), (self.ids[SAID],))

    async def expire(self) -> None:
        await self.ana.revise(self.ids[BOAT], ttl=60.0)
        self.clock.ahead = timedelta(hours=1)
        await self.holdfast.runtime.worker.tour()

    async def retain(self, dry_run: bool) -> Forgotten | None:
        await self.ana.set_retention({"forget": [{"kind": "fact", "beyond": 4}]})
        (told,) = await self.ana.apply_retention(dry_run=dry_run)
        assert (told.memories, told.messages) == (2, 0)
        return None


@asynccontextmanager
async def opened(where: str, path: Path) -> AsyncIterator[Place]:
    backend, _, far = where.partition(", ")
    async with AsyncExitStack() as stack:
        vault: Any = SqliteVault(path / "data")
        if backend == "database":
            vault = PostgresVault(stack.enter_context(database()), connections=4)
        clock, extractor = Clock(), ScriptedExtractor(SCRIPT)
        holdfast = await stack.enter_async_context(
            AsyncHoldfast(vault, HashingEmbedder(), extractor, clock=clock, summariser=QuotingSummariser())
        )
        found: Any = holdfast
        url = None
        if far:
            await holdfast.access.admin(TOKEN)
            url = await stack.enter_async_context(http_server(holdfast))
            found = await stack.enter_async_context(AsyncHoldfast.connect(url, TOKEN))
        ana = found.profile("app", "ana")
        for text in (SAID, ALSO):
            await ana.ingest([{"role": "user", "content": text}], session_id="s", wait=True)
        document = await ana.add(READ, name="guide.txt", wait=True)
        await ana.remember(TEA, kind="fact", session_id="s")
        await ana.settle()
        items = [*(await ana.list(limit=100)).items, *await ana.messages(), *await ana.passages(document.id)]
        ids = {item.content: item.id for item in items}
        assert set(ids) == MEMORIES | MESSAGES
        yield Place(ana, holdfast, clock, url, ids, document.id)


Act = Callable[[Place, bool], Awaitable[Forgotten | None]]


@dataclass(frozen=True)
class Row:
    """A row of the table: the act, the memories and messages that go, and the messages that are shortened."""

    act: Act
    memories: tuple[str, ...] = ()
    messages: tuple[str, ...] = ()
    shortened: tuple[tuple[str, str], ...] = ()
    has_dry_run: bool = True


async def _expire(place: Place, dry_run: bool) -> None:
    await place.expire()


async def _forget_version(place: Place, dry_run: bool) -> None:
    with pytest.raises(InvalidInput, match="all its versions"):
        await place.ana.forget(f"{place.ids[BOAT]}@1", dry_run=dry_run)


async def _forget_summary(place: Place, dry_run: bool) -> None:
    await place.ana.set_summaries("every 2 turns")
    await place.holdfast.runtime.worker.tour()
    await place.ana.set_summaries("off")
    (made,) = (await place.ana.list(kind="summary")).items
    gone = await place.ana.forget(made.id)
    assert (gone.memories, gone.messages, gone.shortened) == ((made.id,), (), ())


async def _mark_wrong(place: Place, dry_run: bool) -> None:
    await place.ana.mark(place.ids[BOAT], right=False)


async def _delete_profile(place: Place, dry_run: bool) -> None:
    await place.holdfast.delete_profile("app", "ana")


ROWS = {
    "a memory": Row(
        lambda place, dry: place.ana.forget(place.ids[BOAT], dry_run=dry), (BOAT,), (),
        ((SAID, "[…] My guitar is Beta."),),
    ),
    "a memory of which the message says nothing else": Row(
        lambda place, dry: place.ana.forget(place.ids[DOCTOR], dry_run=dry), (DOCTOR,), (ALSO,)
    ),
    "one version of a memory": Row(_forget_version),
    "a summary": Row(_forget_summary, has_dry_run=False),
    "a memory with its sources": Row(lambda place, dry: place.delete_by_contract(dry), (BOAT,), (SAID,)),
    "a message": Row(lambda place, dry: place.ana.forget(place.ids[SAID], dry_run=dry), (BOAT, GUITAR), (SAID,)),
    "a session": Row(
        lambda place, dry: place.ana.forget_session("s", dry_run=dry), (BOAT, GUITAR, DOCTOR, TEA), (SAID, ALSO)
    ),
    "a person": Row(lambda place, dry: place.ana.forget_person("Beta", dry_run=dry), (BOAT, GUITAR), (SAID,)),
    "a document": Row(
        lambda place, dry: place.ana.forget_document(place.document, dry_run=dry), (FERRY, TRAIN), (READ,)
    ),
    "a passage": Row(lambda place, dry: place.ana.forget(place.ids[READ], dry_run=dry), (FERRY, TRAIN), (READ,)),
    "a filter": Row(
        lambda place, dry: place.ana.forget_where(filter={"key": {"in": ["boat", "doctor"]}}, dry_run=dry),
        (BOAT, DOCTOR), (ALSO,), ((SAID, "[…] My guitar is Beta."),),
    ),
    "expiry": Row(_expire, (BOAT,), has_dry_run=False),
    "a retention rule": Row(lambda place, dry: place.retain(dry), (BOAT, GUITAR)),
    "a profile": Row(_delete_profile, tuple(MEMORIES), tuple(MESSAGES), has_dry_run=False),
    "marked as wrong": Row(_mark_wrong, has_dry_run=False),
}  # fmt: skip
"""As the first column of the table in docs/retention.md names them."""


@pytest.mark.parametrize(
    "where",
    [
        "files",
        "database, far",
        pytest.param("files, far", marks=pytest.mark.slow),
        pytest.param("database", marks=pytest.mark.slow),
    ],
)
@pytest.mark.parametrize("name", ROWS)
async def test_each_row_of_the_table(tmp_path: Path, name: str, where: str) -> None:
    row = ROWS[name]
    async with opened(where, tmp_path) as place:
        would = await row.act(place, True) if row.has_dry_run else None
        assert await contents(place) == (MEMORIES, MESSAGES), "a dry run changes nothing"
        gone = await row.act(place, False)
        if gone is not None:
            assert would is not None
            assert gone == would
            taken = (
                (row.memories, gone.memories),
                (row.messages, gone.messages),
                (dict(row.shortened), gone.shortened),
            )
            for texts, ids in taken:
                assert sorted(place.ids[each] for each in texts) == sorted(ids)
        memories, messages = await contents(place)
        if name != "marked as wrong":  # it leaves the list, and stays in history
            assert memories == MEMORIES - set(row.memories)
        renamed = dict(row.shortened)
        assert messages == {renamed.get(each, each) for each in MESSAGES - set(row.messages)}
        if name not in ("a profile", "marked as wrong"):
            await nothing_is_found(place, {*row.memories}, messages | memories)


async def contents(place: Place) -> tuple[set[str], set[str]]:
    items = (await place.ana.list(limit=100)).items
    messages = list(await place.ana.messages())
    with suppress(NotFound):  # the document was forgotten
        messages += await place.ana.passages(place.document)
    return {item.content for item in items}, {message.content for message in messages}


async def nothing_is_found(place: Place, gone: set[str], left: set[str]) -> None:
    """Words that only the forgotten items had are in no search, context, answer or entity."""
    words = {word for text in gone for word in re.findall(r"[A-Z][a-z]+", text)} - {"The", "Likes"}
    for word in words - {word for text in left for word in re.findall(r"\w+", text)}:
        assert word not in repr([hit.content for hit in await place.ana.search(f"What is {word}?")])
        assert word not in str(await place.ana.context("a boat, a guitar, a doctor, a ferry"))
        assert word not in (await place.ana.recall("What is my boat?")).answer
        assert word not in repr(await place.ana.entities())
        assert word not in await place.ana.summary()


def test_the_table_is_whole() -> None:
    text = (ROOT / "docs/retention.md").read_text()
    table = text.split("| what is forgotten |")[1].split("\n\n")[0]
    assert re.findall(r"^\| \*\*(.+?)\*\*", table, re.M) == list(ROWS)


async def test_what_is_pending_stays_pending_with_the_shorter_text(tmp_path: Path) -> None:
    """It is digested from what is left, also when a worker had begun with the old text."""
    reached, going_on = asyncio.Event(), asyncio.Event()

    class Slow(ScriptedExtractor):
        async def extract(self, messages: Any, *more: Any) -> list[Draft]:
            found = await super().extract(messages, *more)
            if any(message.content == SAID for message in messages) and len(self.seen) > 1:
                reached.set()
                await going_on.wait()
            return found

    extractor = Slow(dict(SCRIPT))
    async with AsyncHoldfast(SqliteVault(tmp_path), HashingEmbedder(), extractor) as holdfast:
        ana = holdfast.profile("app", "ana")
        await ana.ingest([{"role": "user", "content": SAID}], session_id="s", wait=True)
        (boat,) = await ana.list(key="boat")
        extractor.script[SAID] = [Draft("fact", "Alpha is the name of the boat.", ())]
        store = await holdfast.runtime.vault.open("app", "ana", create=False)
        await store.apply(Change(redo=(boat.sources[0],)))
        holdfast.runtime.worker.notify(("app", "ana"))
        await asyncio.wait_for(reached.wait(), 120)
        gone = await ana.forget(boat.id)
        assert gone.shortened == boat.sources
        (message,) = await ana.messages()
        assert isinstance(message, Message)
        assert (message.content, message.pending) == ("[…] My guitar is Beta.", True)
        going_on.set()
        await ana.settle()
        assert {memory.content for memory in await ana.list()} == {GUITAR}
        assert extractor.seen[-1].content == "My guitar is Beta."


async def test_siblings_forgotten_at_the_same_time_both_go(tmp_path: Path) -> None:
    async with opened("files", tmp_path) as place:
        gone = await asyncio.gather(*(place.ana.forget(place.ids[each]) for each in (BOAT, GUITAR)))
        assert sum(place.ids[SAID] in each.messages for each in gone) == 1
        memories, messages = await contents(place)
        assert memories == MEMORIES - {BOAT, GUITAR}
        assert messages == MESSAGES - {SAID}


async def test_a_resend_does_not_bring_words_back(tmp_path: Path) -> None:
    async with opened("files", tmp_path) as place:
        await place.ana.forget(place.ids[BOAT])
        again = [{"role": "user", "content": text} for text in (SAID, ALSO)]
        receipt = await place.ana.ingest(again, session_id="s", wait=True)
        assert [message.new for message in receipt.messages] == [False, False]
        assert "Alpha" not in repr(await contents(place))


async def test_an_archive_made_later_has_the_shorter_text(tmp_path: Path) -> None:
    async with opened("files", tmp_path) as place:
        await place.ana.forget(place.ids[BOAT])
        await place.ana.settle()
        for vectors in (False, True):
            file = tmp_path / f"archive-{vectors}.jsonl"
            await place.ana.export_to(file, vectors=vectors)
            assert "Alpha" not in file.read_text()
            copy = place.holdfast.profile("app", f"copy-{vectors}")
            await copy.import_from(file)
            assert await copy.messages() == await place.ana.messages()
            again = tmp_path / f"again-{vectors}.jsonl"
            await copy.export_to(again, vectors=vectors)
            assert again.read_text().splitlines()[1:-1] == file.read_text().splitlines()[1:-1]


@pytest.mark.parametrize("agent", ["a", "b"])
async def test_an_agent_shortens_what_it_sees_and_keeps_what_it_does_not(tmp_path: Path, agent: str) -> None:
    """Both agents heard the same; one memory rests on both messages."""
    text = "The plan is Omega. The price is Sigma."
    script: dict[str, Any] = {text: [Draft("fact", "The plan is Omega.", (), key="plan")]}
    async with AsyncHoldfast(SqliteVault(tmp_path), HashingEmbedder(), ScriptedExtractor(script)) as holdfast:
        whole = holdfast.profile("app", "ana")
        for name in ("a", "b"):
            await whole.ingest([{"role": "user", "content": text}], session_id=name, agent=name, wait=True)
        (plan,) = await whole.list(key="plan")
        assert (plan.agent, len(plan.sources)) == ("a", 2)
        await whole.as_agent("b").remember("A hidden note.", key="hidden")
        view = whole.as_agent(agent, reads="own")
        if agent == "b":
            with pytest.raises(NotFound):
                await view.forget(plan.id)
            return
        would = await view.forget(plan.id, dry_run=True)
        assert await view.forget(plan.id) == would
        assert would.shortened == (plan.sources[0],)
        left = {message.agent: message.content for message in await whole.messages()}
        assert left == {"a": "[…] The price is Sigma.", "b": text}
        assert [memory.key for memory in await whole.list()] == ["hidden"]


async def test_a_hidden_sibling_stays_and_is_not_revealed(tmp_path: Path) -> None:
    async with AsyncHoldfast(SqliteVault(tmp_path), HashingEmbedder(), ScriptedExtractor(SCRIPT)) as holdfast:
        whole = holdfast.profile("app", "ana")
        await whole.ingest([{"role": "user", "content": SAID}], session_id="s", wait=True)
        store = await holdfast.runtime.vault.open("app", "ana", create=False)
        boat, guitar = [(await whole.list(key=key))[0] for key in ("boat", "guitar")]
        hidden = replace(guitar, id="01HIDDENHIDDENHIDDENHIDDEN", key="hidden", agent="b")
        await store.apply(Change(memories=(hidden,), forget=(guitar.id,)))
        view = whole.as_agent("a", reads="own")
        gone = await view.forget(boat.id, dry_run=True)
        assert gone == await view.forget(boat.id)
        assert (gone.memories, gone.shortened) == ((boat.id,), boat.sources)
        assert [memory.id for memory in await whole.list()] == [hidden.id]


async def test_what_is_digested_from_a_shortened_message_has_no_mark(tmp_path: Path) -> None:
    """The extractor that is part of the package reads each side of a mark separately."""
    async with await AsyncHoldfast.open(tmp_path) as holdfast:
        ana = holdfast.profile("app", "ana")
        texts = [
            "My sister lives in Porto and my brother works in Porto as a nurse.",
            "I live in Porto and I work in Porto.",
            "I'm allergic to peanuts. My son is allergic to peanuts too. My dog Rex is afraid of cats.",
        ]
        await ana.set_summaries("every 2 turns")
        for n, text in enumerate(texts):
            await ana.ingest([{"role": "user", "content": text}], session_id=f"s{n}", wait=True)
        for words in ("brother", "works in Porto.", "son is"):
            (memory,) = [each for each in await ana.list(limit=50, kind="fact") if words in each.content]
            await ana.forget(memory.id)
        left = {each.content for each in await ana.list(limit=50)}
        assert {message.content for message in await ana.messages()} == {
            "My sister lives in Porto […].",
            "I live in Porto […].",
            "I'm allergic to peanuts. […] My dog Rex is afraid of cats.",
        }
        await ana.redigest()
        await ana.settle()
        again = await ana.list(limit=50)
        assert {each.content for each in again} == left
        assert "[…]" not in repr([(e.content, e.summary, e.keywords, e.queries) for e in again])
        assert "[…]" not in await ana.summary()
