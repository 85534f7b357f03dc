"""The profile on one page, and what was said rolled up on a cadence."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from holdfast import AsyncHoldfast, Memory
from holdfast.domain.errors import InvalidInput
from holdfast.domain.filters import parse_filter
from holdfast.domain.ports.profile import AsyncProfile
from holdfast.domain.records import PROFILE_PAGE_SETTING
from holdfast.lifecycle.profile_page import whole_sentences
from holdfast.models.rules import QuotingSummariser
from holdfast.recall.context import token_count as tokens
from holdfast.service.facades.agent_memory import AsyncAgentMemory
from holdfast.service.profile.local import LocalProfile
from holdfast.storage.sqlite.vault import SqliteVault
from holdfast.testing import Asked, FrozenClock, HashingEmbedder, ModelServer, ScriptedExtractor
from support.http_server import http_server
from support.scripted_llm import ScriptedLlm
from support.vaults import on_every_backend, open_vault

TALK = [
    "The boiler in the cellar was repaired by Marek on Tuesday.",
    "Hi there!",
    "Marek said the boiler needs a new valve before winter.",
    "What do you think?",
    "The valve for the boiler costs 180 euros at the shop in Graz.",
    "We decided to order the valve next week.",
]


@asynccontextmanager
async def open_profile(
    backend: str, path: Path, clock: FrozenClock
) -> AsyncIterator[tuple[AsyncHoldfast, LocalProfile]]:
    with open_vault(backend, path) as vault:
        async with AsyncHoldfast(
            vault, HashingEmbedder(), ScriptedExtractor(), clock, summariser=QuotingSummariser()
        ) as holdfast:
            yield holdfast, holdfast.profile("app", "ana")


def messages_of(texts: list[str], clock: FrozenClock) -> list[dict[str, Any]]:
    return [{"role": "user", "content": text, "timestamp": clock.at.isoformat()} for text in texts]


async def summaries(profile: LocalProfile) -> list[Memory]:
    return list((await profile.list(kind="summary")).items)


@on_every_backend
async def test_every_so_many_turns_become_a_summary_that_covers_them(backend: str, tmp_path: Path) -> None:
    clock = FrozenClock()
    async with open_profile(backend, tmp_path, clock) as (_, ana):
        await ana.set_summaries("every 6 turns")
        receipt = await ana.ingest(
            messages_of([*TALK, "One more thing about the boiler."], clock), session_id="s", wait=True
        )
        (made,) = await summaries(ana)
        assert made.sources == tuple(each.id for each in receipt.messages[:6])
        assert made.trust == "agent"
        assert "valve for the boiler costs 180 euros" in made.content
        assert "Hi there" not in made.content
        assert made.extractor == "rollup/1:quotes/1"
        assert len(await ana.messages("s")) == 7
        await ana.ingest(messages_of(["Later."], clock), session_id="s", wait=True)
        assert [memory.id for memory in await summaries(ana)] == [made.id]


@on_every_backend
async def test_forgetting_what_is_covered_takes_the_summary_and_the_rest_is_rolled_up_anew(
    backend: str, tmp_path: Path
) -> None:
    clock = FrozenClock()
    async with open_profile(backend, tmp_path, clock) as (holdfast, ana):
        await ana.set_summaries("every 6 turns")
        receipt = await ana.ingest(messages_of(TALK, clock), session_id="s", wait=True)
        await ana.ingest(messages_of([f"{text} Again." for text in TALK], clock), session_id="s", wait=True)
        first, second = sorted(await summaries(ana), key=lambda memory: memory.sources[0] != receipt.messages[0].id)
        gone = await ana.forget(receipt.messages[4].id, dry_run=True)
        assert first.id in gone.memories
        await ana.forget(receipt.messages[4].id)
        assert [memory.id for memory in await summaries(ana)] == [second.id]
        await holdfast.runtime.worker.tour()
        again = next(memory for memory in await summaries(ana) if memory.id != second.id)
        assert set(again.sources) == {each.id for each in receipt.messages} - {receipt.messages[4].id}
        assert "180 euros" not in again.content


async def test_the_page_ends_the_last_session_without_courtesies(tmp_path: Path) -> None:
    clock = FrozenClock()
    said = ["The valve arrived.", "Is it the right one?", "Yes.", "Order a second valve.", "OK.", "Thanks Kim!", "👍"]
    async with open_profile("files", tmp_path, clock) as (_, ana):
        await ana.ingest(messages_of(said, clock), session_id="s", wait=True)
        page = await ana.summary()
        assert [line.partition(": ")[2] for line in page.splitlines() if line.startswith("- user")] == said[:4]


async def test_daily_rolls_up_what_was_said_before(tmp_path: Path) -> None:
    clock = FrozenClock()  # noon
    async with open_profile("files", tmp_path, clock) as (holdfast, ana):
        await ana.set_summaries("daily at 03:00")
        await ana.ingest(messages_of(TALK, clock), session_id="s", wait=True)
        await holdfast.runtime.worker.tour()
        assert await summaries(ana) == []
        clock.advance(timedelta(hours=16))
        await holdfast.runtime.worker.tour()
        await holdfast.runtime.worker.tour()
        (made,) = await summaries(ana)
        assert len(made.sources) == len(TALK)


@on_every_backend
async def test_memories_of_a_kind_can_be_rolled_up(backend: str, tmp_path: Path) -> None:
    clock = FrozenClock()
    async with open_profile(backend, tmp_path, clock) as (holdfast, ana):
        await ana.set_summaries({"cadence": "every 3 turns", "of": "turn"})
        turns = []
        for n, text in enumerate(TALK):
            clock.advance(timedelta(seconds=1))
            turns.append(await ana.remember(text, kind="turn", key=f"turn-{n}"))
        await holdfast.runtime.worker.tour()
        made = sorted(await summaries(ana), key=lambda memory: str(memory.occurred_at))
        covers = [[turn.ref for turn in turns[:3]], [turn.ref for turn in turns[3:]]]
        assert [memory.metadata["covers"] for memory in made] == covers
        assert len((await ana.list(kind="turn")).items) == 6
        await ana.forget(turns[0].id)
        assert [memory.id for memory in await summaries(ana)] == [made[1].id]


@pytest.mark.parametrize("where", ["memory", "files", "database", "remote"])
async def test_memories_of_a_kind_follow_their_cadence_without_any_message(where: str, tmp_path: Path) -> None:
    clock = FrozenClock()
    async with AsyncExitStack() as stack:
        backend = "files" if where == "remote" else where
        holdfast, ana = await stack.enter_async_context(open_profile(backend, tmp_path, clock))
        turns: AsyncProfile = ana
        if where == "remote":
            _, token = await holdfast.access.issue("key", "test", ("read", "write", "forget", "admin"))
            url = await stack.enter_async_context(http_server(holdfast))
            remote = AsyncHoldfast.connect(url, token)
            stack.push_async_callback(remote.close)
            turns = remote.profile("app", "ana")
        await turns.set_summaries({"cadence": "every 4 turns", "of": "turn"})
        for n in range(9):
            clock.advance(timedelta(seconds=1))
            await turns.remember(f"{TALK[n % 6]} Noted as number {n}.", kind="turn")
        assert await turns.settle(120)
        made = (await turns.list(kind="summary")).items
        assert [len(memory.metadata["covers"]) for memory in made] == [4, 4]
        assert await turns.settle(120)
        assert (await turns.list(kind="summary")).items == made


async def test_processes_that_write_one_turn_and_end_follow_the_cadence_too(tmp_path: Path) -> None:
    clock = FrozenClock()
    for n in range(8):
        clock.advance(timedelta(seconds=1))
        async with open_profile("files", tmp_path, clock) as (_, ana):
            if n == 0:
                await ana.set_summaries({"cadence": "every 4 turns", "of": "turn"})
            await ana.remember(f"{TALK[n % 6]} Noted as number {n}.", kind="turn")
    vault = SqliteVault(tmp_path)  # no worker runs here
    store = await vault.open("app", "ana", create=False)
    made = (await store.scan(parse_filter(kind="summary"), now=None, limit=10)).items
    await vault.close()
    assert [len(memory.metadata["covers"]) for memory in made] == [4, 4]


SPOKEN_TURNS: list[Any] = [
    {"asked": "Which train?", "answered": "The 8:05", "version": 3},
    {"asked": "What does it cost?", "answered": "31.50 euros", "version": 3},
    {"asked": "May the dog come?", "answered": {"short": "In a carrier", "fee": None}, "version": 3},
    {"asked": "Tell me about Porto.", "answered": "It lies on the Douro. " * 40, "version": 3},
]


async def test_turns_of_fields_are_rolled_up_into_what_was_asked_and_answered(tmp_path: Path) -> None:
    clock = FrozenClock()
    async with open_profile("files", tmp_path, clock) as (_, ana):
        await ana.set_summaries({"cadence": "every 4 turns", "of": "turn"})
        desk = AsyncAgentMemory(ana)
        for turn in SPOKEN_TURNS:
            clock.advance(timedelta(seconds=1))
            await desk.write("turn", None, turn)
        assert await ana.settle(120)
        (made,) = await summaries(ana)
        lines = made.content.splitlines()
        assert lines[:3] == [
            "- turn: asked: Which train? · answered: The 8:05",
            "- turn: asked: What does it cost? · answered: 31.50 euros",
            "- turn: asked: May the dog come? · answered short: In a carrier",
        ]
        assert lines[3].startswith("- turn: asked: Tell me about Porto. · answered: It lies on the Douro.")
        assert len(lines[3].split()) < 50


async def test_an_expired_turn_is_not_rolled_up(tmp_path: Path) -> None:
    clock = FrozenClock()
    async with open_profile("files", tmp_path, clock) as (holdfast, ana):
        await ana.remember("The code of the alarm is 8842 for today.", kind="turn", ttl=60)
        await ana.remember("The cellar was cleaned by Marek last week.", kind="turn")
        assert await ana.settle(120)  # a visit that began before the clock moves would see both
        clock.advance(timedelta(minutes=5))
        await ana.set_summaries({"cadence": "every 2 turns", "of": "turn"})
        await holdfast.runtime.worker.tour()
        assert await summaries(ana) == []


async def test_a_context_may_hold_summaries_in_place_of_turns(tmp_path: Path) -> None:
    clock = FrozenClock()
    async with open_profile("files", tmp_path, clock) as (_, ana):
        await ana.set_summaries("every 6 turns")
        await ana.ingest(messages_of(TALK, clock), session_id="s", wait=True)
        (made,) = await summaries(ana)
        plain = await ana.context("boiler valve")
        short = await ana.context("boiler valve", summaries=True)
        assert len([hit for hit in plain.hits if hit.message_id]) > 1
        assert [hit.id for hit in short.hits] == [made.id]


async def test_a_model_writes_summaries_when_there_is_one_and_invents_nothing(tmp_path: Path) -> None:
    told = ["The boiler was repaired by Marek."]
    mind = ScriptedLlm(summarise=lambda asked: {"summary": told[-1]})

    def script(asked: Asked) -> Any:
        return mind(asked)

    async with (
        ModelServer(script) as server,
        await AsyncHoldfast.open(tmp_path, embedder=HashingEmbedder(), llm=f"{server.url}#scripted") as holdfast,
    ):
        ana = holdfast.profile("app", "ana")
        await ana.set_summaries("every 6 turns")
        talk = [{"role": "user", "content": text} for text in TALK]
        await ana.ingest(talk, session_id="one", wait=True)
        (made,) = await summaries(ana)
        assert made.content == "The boiler was repaired by Marek."
        assert made.extractor == "rollup/1:custom/scripted/summarise-1"
        told.append("The boiler was repaired by Ludwig in 1987.")
        await ana.ingest(talk, session_id="two", wait=True)
        other = next(memory for memory in await summaries(ana) if memory.id != made.id)
        assert "Ludwig" not in other.content
        assert "Marek" in other.content


@on_every_backend
async def test_the_page_is_kept_until_something_changes_and_goes_with_what_is_forgotten(
    backend: str, tmp_path: Path
) -> None:
    clock = FrozenClock()
    async with open_profile(backend, tmp_path, clock) as (holdfast, ana):
        kept = await ana.remember("Prefers window seats", kind="instruction")
        assert "window seats" in await ana.summary()
        store = await holdfast.runtime.vault.open("app", "ana", create=False)
        held = (await store.journal.settings())[PROFILE_PAGE_SETTING]
        assert "window seats" in held["text"]
        assert await ana.summary() == held["text"]
        await ana.remember("Likes tea", kind="fact")
        assert "Likes tea" in await ana.summary()
        await ana.forget(kept.id)
        assert PROFILE_PAGE_SETTING not in await store.journal.settings()
        assert "window seats" not in await ana.summary()


async def test_the_page_keeps_to_its_tokens_and_every_section_has_a_share(tmp_path: Path) -> None:
    clock = FrozenClock()
    async with open_profile("files", tmp_path, clock) as (_, ana):
        for n in range(60):
            for kind in ("instruction", "fact", "event", "task"):
                await ana.remember(f"{kind} number {n} that takes some room on the page", kind=kind)
        for budget in (200, 500, 2000):
            page = await ana.summary(tokens=budget)
            assert tokens(page) <= budget * 1.15
            assert [title for title in ("Instructions", "Facts", "Recent events", "Tasks") if title in page][:2]
        with pytest.raises(InvalidInput):
            await ana.summary(tokens=3)


@pytest.mark.parametrize("bad", ["sometimes", "every 1 turns", "every 99 turns", "daily at 25:00", 7, {"every": 3}])
async def test_a_cadence_that_makes_no_sense_is_refused(tmp_path: Path, bad: Any) -> None:
    async with open_profile("memory", tmp_path, FrozenClock()) as (_, ana):
        with pytest.raises(InvalidInput):
            await ana.set_summaries(bad)


async def test_a_page_says_whole_sentences_and_tells_how_much_it_leaves_out(tmp_path: Path) -> None:
    clock = FrozenClock()
    party = "The birthday party of the neighbours' children has to be after the school holidays, says Nora"
    story = "The boat is called Gull. It lies in Porto. " + "It was painted by Marek long ago, all blue. " * 12
    async with open_profile("files", tmp_path, clock) as (_, ana):
        for text in (party, story, "word " * 200):
            await ana.remember(text)
        said_by = [
            {"role": "user", "content": "The valve costs 180 euros all in. " + "I would rather not, or later. " * 20}
        ]
        await ana.ingest(said_by, session_id="s", wait=True)
        page = await ana.summary()
        assert f"- {party}\n" in page
        assert "- The boat is called Gull. It lies in Porto. It was painted" in page
        assert "- (1 more)" in page
        for line in page.splitlines():
            assert not line.endswith("…") or line.endswith((". …", "? …", "! …")), line
        short = await ana.summary(tokens=80)
        assert f"- {party}\n" in short
        assert "- (2 more)" in short


async def test_what_matters_most_stands_first(tmp_path: Path) -> None:
    clock = FrozenClock()
    async with open_profile("files", tmp_path, clock) as (_, ana):
        pinned = await ana.remember("The house key is with Rosa.")
        await ana.pin(pinned.id)
        for text, key in (("The user lives in Porto.", "home-city"), ("The sky was grey.", None)):
            clock.advance(timedelta(minutes=1))
            await ana.remember(text, key=key)
        lines = (await ana.summary()).splitlines()
        facts = lines[lines.index("## Facts") + 1 :]
        assert facts == ["- The house key is with Rosa.", "- The user lives in Porto.", "- The sky was grey."]


@pytest.mark.parametrize(
    ("most", "kept"),
    [
        (45, "Dr. Braga said that St. Mary's is open. …"),
        (90, "Dr. Braga said that St. Mary's is open. Mrs. Smith, e.g. her dog, came at 3.5 pm! …"),
        (30, ""),
    ],
)
def test_a_cut_is_made_where_a_sentence_ends(most: int, kept: str) -> None:
    text = "Dr. Braga said that St. Mary's is open. Mrs. Smith, e.g. her dog, came at 3.5 pm! It was J. Doe's idea, so "
    assert whole_sentences(text + "speak " * 20, most) == kept


async def test_a_page_tells_a_date_once(tmp_path: Path) -> None:
    with open_vault("memory", tmp_path) as vault:
        holdfast = AsyncHoldfast(vault, HashingEmbedder(), ScriptedExtractor({}), FrozenClock())
        ana = holdfast.profile("app", "ana")
        for text in (
            "Rent goes up to 1,600 in june (June 2026).", "The wedding is on 2026-06-01", "The fair opens (at noon)",
            "Moved in June 2026",
        ):  # fmt: skip
            await ana.remember(text, kind="event", occurred_at="2026-06-01", topic=False)
        page = await ana.summary()
    assert set(page.split("## Recent events\n")[1].split("\n\n")[0].splitlines()) == {
        "- Rent goes up to 1,600 in june (June 2026).",
        "- The wedding is on 2026-06-01",
        "- The fair opens (at noon) (2026-06-01)",
        "- Moved in June 2026 (2026-06-01)",
    }
