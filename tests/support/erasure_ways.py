"""Words planted in every place where a user's text can go, and every way to forget them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from holdfast import AsyncHoldfast, acting
from holdfast.domain.errors import NotFound
from holdfast.domain.ports.storage import Vault
from holdfast.domain.types import Draft, Memory
from holdfast.models.rules import QuotingSummariser
from holdfast.service.profile.local import LocalProfile
from holdfast.testing import HashingEmbedder, ScriptedExtractor

SECRET = "zorblax"
SAID_PLACES = ("said", "speaker", "mark", "session", "agent", "saidkey")
WRITTEN_PLACES = ("content", "key", "value", "kind", "written", "writtenkey")
ASKED_PLACES = ("asked", "turn")
DRAWN_PLACES = ("drawn", "drawnkey")
DOCUMENT_PLACES = ("text", "name", "title", "about", "addkey")
PERSON = "quetzalina"


class Clock:
    """A clock that a test moves on."""

    def __init__(self) -> None:
        self.ahead = timedelta()

    def __call__(self) -> datetime:
        return datetime.now(UTC) + self.ahead


@dataclass(frozen=True)
class Plant:
    """Writes words into a profile and asks for them."""

    holdfast: AsyncHoldfast
    clock: Clock
    word: Callable[[str], str]
    """Place → the word that is planted there."""

    @property
    def ana(self) -> LocalProfile:
        return self.holdfast.profile("app", "ana")

    async def harmless(self) -> None:
        await self.ana.ingest([{"role": "user", "content": "harmless weather"}], session_id="other", wait=True)
        await self.ana.remember("harmless that stays, somewhere", kind="note")

    async def ask(self, *places: str) -> None:
        """Ask for the words in all ways, finding them or not, in a session and turn of its own."""
        for place in places:
            w = self.word(place)
            with acting(session_id="asks", turn_id="t1"):
                await self.ana.search(f"where does {w} live?")
                await self.ana.search(f'who said "{w}"', kind="fact")
                await self.ana.recall(f"Tell me about {w}")
                await self.ana.context(f"What of {w}\n{w}?")
        await self.ana.traces()

    async def say(self) -> None:
        w = self.word
        said = {"role": "user", "content": text_said(w), "speaker": w("speaker"), "metadata": {"m": w("mark")}}
        with acting(session_id=w("session"), agent=w("agent"), turn_id=w("turn")):
            await self.ana.ingest(
                [said], session_id=w("session"), agent=w("agent"), wait=True, idempotency_key=f"said-{w('saidkey')}"
            )
            await self.ana.search(f"what of {w('session')}'s plans?")
            await self.ana.summary(w("session"))
        await self.ana.search(f"What did the agent {w('agent')} say about {w('session')}?")

    async def write(self, **more: float) -> Memory:
        w = self.word
        found = await self.ana.remember(
            f"Likes {w('content')}", kind=w("kind"), key=f"/notes/{w('key')}.md", value={"v": [w("value")]},
            metadata={w("mark"): w("mark")}, session_id=w("written"), topic=False,
            idempotency_key=f"written-{w('writtenkey')}",
            **more,  # type: ignore[arg-type]
        )  # fmt: skip
        await self.ana.search("Likes?", kind=w("kind"))
        await self.ana.list(kind=w("kind"))
        await self.ana.settle()
        await self.ana.summary()
        return found


def text_said(word: Callable[[str], str]) -> str:
    return f"I like {word('said')} very much today"


def texts_of_several(word: Callable[[str], str]) -> tuple[str, str]:
    """A message and a passage that say something else beside what is forgotten."""
    one, two, three = (word(name).title() for name in ("one", "two", "three"))
    said = f"My boat is called {one}. My guitar is {two}, and my doctor is {three}. We talked of {one}'s sails."
    return said, f"The lighthouse of {one} is red. The ferry leaves at noon."


def drafts_of_several(word: Callable[[str], str]) -> tuple[list[Draft], list[Draft]]:
    one, two, three = (word(name).title() for name in ("one", "two", "three"))
    drawn = [
        Draft("fact", f"The user has a boat called {one}.", (), key=word("onekey"), keywords=(one,), queries=(one,)),
        Draft("fact", f"The user's guitar is {two}.", (), key="guitar"),
        Draft("fact", f"The user's doctor is {three}.", (), key="doctor"),
    ]  # fmt: skip
    return drawn, [
        Draft("fact", f"{one} has a red lighthouse.", (), trust="document"),
        Draft("fact", "The ferry leaves at noon.", (), trust="document"),
    ]


def make_holdfast(vault: Vault, clock: Clock, word: Callable[[str], str]) -> AsyncHoldfast:
    drafts = [Draft("fact", f"Likes {word('drawn')}", (), key=word("drawnkey"))]
    several = zip(texts_of_several(word), drafts_of_several(word), strict=True)
    extractor = ScriptedExtractor({text_said(word): drafts, **dict(several)})
    return AsyncHoldfast(vault, HashingEmbedder(), extractor, clock=clock, summariser=QuotingSummariser())


async def forget_by_id(plant: Plant) -> tuple[str, ...]:
    await plant.say()
    written = await plant.write()
    await plant.ask("said", "content", "drawn", "asked")
    for memory in (await plant.ana.list(limit=100)).items:
        if SECRET in repr(memory):
            with suppress(NotFound):  # it went with one before it
                await plant.ana.forget(memory.id)
    assert written.id not in repr(await plant.ana.list(limit=100))
    return (*SAID_PLACES, *DRAWN_PLACES, *WRITTEN_PLACES)


async def forget_one_of_several(plant: Plant) -> tuple[str, ...]:
    """The message and the passage keep what else they say, with the memories of it."""
    said, read = texts_of_several(plant.word)
    await plant.ana.set_summaries("every 2 turns")
    about = {"boat": plant.word("one"), "n": [1]}
    turns = [{"role": "user", "content": said, "metadata": about}, {"role": "assistant", "content": "I see."}]
    await plant.ana.ingest(turns, session_id="several", wait=True, idempotency_key="several")
    document = await plant.ana.add(read, name="guide.txt", wait=True)
    await plant.holdfast.runtime.worker.tour()
    assert plant.word("one") in repr(await plant.ana.list(kind="summary")).lower()
    await plant.ana.summary()
    await plant.ask("one")
    going = [memory for memory in await plant.ana.list(limit=100) if plant.word("one") in memory.content.lower()]
    for memory in going:
        if memory.kind == "fact":
            would = await plant.ana.forget(memory.id, dry_run=True)
            gone = await plant.ana.forget(memory.id, idempotency_key=f"forget-{memory.id}")
            assert (gone, gone.places) == (would, would.places)
            assert (gone.messages, len(gone.shortened)) == ((), 1)
    await plant.ana.settle()
    two, three = (plant.word(name).title() for name in ("two", "three"))
    left, _ = await plant.ana.messages("several")
    assert left.content == f"[…] My guitar is {two}, and my doctor is {three}. We talked of […] sails."
    assert (left.shortened, left.metadata) == (True, {"n": [1]})
    (passage,) = await plant.ana.passages(document.id)
    assert passage.content == "[…] The ferry leaves at noon."
    assert not (await plant.ana.document(document.id)).original
    assert {memory.content for memory in await plant.ana.list(kind="fact", limit=100)} == {
        f"The user's guitar is {two}.", f"The user's doctor is {three}.", "The ferry leaves at noon."
    }  # fmt: skip
    return ("one", "onekey")


async def forget_a_message(plant: Plant) -> tuple[str, ...]:
    await plant.say()
    await plant.ask("said", "drawn")
    (message,) = await plant.ana.messages(plant.word("session"))
    await plant.ana.forget(message.id)
    return (*SAID_PLACES, *DRAWN_PLACES)


async def forget_a_session(plant: Plant) -> tuple[str, ...]:
    await plant.say()
    await plant.ask("said", "drawn")
    gone = await plant.ana.forget_session(plant.word("session"), idempotency_key="f1")
    assert gone.places["session"] == 1
    return (*SAID_PLACES, *DRAWN_PLACES, "turn")


async def forget_by_filter(plant: Plant) -> tuple[str, ...]:
    await plant.say()
    await plant.write()
    await plant.ask("said", "content", "drawn")
    for session in ("session", "written"):
        assert (await plant.ana.forget_where(session_id=plant.word(session))).memories
    return (*SAID_PLACES, *DRAWN_PLACES, *WRITTEN_PLACES)


async def forget_a_person(plant: Plant) -> tuple[str, ...]:
    await plant.ask("asked")  # before anything of it is known, and finding nothing
    await plant.say()
    await plant.write()
    await plant.ana.add(f"{PERSON.title()} slept.", name=f"cv-{PERSON}.txt", wait=True)
    await plant.ask("said", "asked")
    await plant.ana.remember("Tom Weller works with Maria Weller", kind="fact")
    await plant.ana.settle()
    await plant.ana.merge_entities("Tom Weller", ["Maria Weller"], name=PERSON.title())
    await plant.ana.forget_person(PERSON.upper())
    assert (await plant.ana.forget_person(PERSON)).messages == ()
    return ("person",)


async def forget_a_document(plant: Plant) -> tuple[str, ...]:
    document = await _add_document(plant)
    await plant.ana.forget_document(document)
    return DOCUMENT_PLACES


async def forget_the_last_passage(plant: Plant) -> tuple[str, ...]:
    document = await _add_document(plant)
    for passage in await plant.ana.passages(document):
        await plant.ana.forget(passage.id)
    return DOCUMENT_PLACES


async def _add_document(plant: Plant) -> str:
    w = plant.word
    text = f"# About {w('title')}\n\nThe {w('text')} sleeps."
    found = await plant.ana.add(
        text, name=f"{w('name')}.md", metadata={"m": w("about")}, wait=True, idempotency_key=w("addkey")
    )
    await plant.ask("text", "name")
    return found.id


async def apply_retention(plant: Plant) -> tuple[str, ...]:
    await plant.ana.set_summaries("every 2 turns")
    await plant.say()
    await plant.write()
    await plant.ask("said", "content", "drawn")
    kind = plant.word("kind")
    plant.clock.ahead = timedelta(days=3)
    await plant.ana.ingest([{"role": "user", "content": "more weather"}], session_id="other", wait=True)
    await plant.ana.set_retention({"forget": [{"kind": "session", "older_than": "2d"}, {"kind": kind, "beyond": 0}]})
    assert sum(each.memories for each in await plant.ana.apply_retention()) >= 2
    await plant.ana.set_retention(None)
    return (*SAID_PLACES, *DRAWN_PLACES, *WRITTEN_PLACES)


async def undo_an_edit(plant: Plant) -> tuple[str, ...]:
    await plant.write()
    await plant.ask("content", "value")
    await plant.ana.undo()
    return WRITTEN_PLACES


async def digest_again(plant: Plant) -> tuple[str, ...]:
    await plant.say()
    await plant.ask("drawn")
    plant.holdfast.runtime.extractor.script.clear()  # type: ignore[attr-defined]
    assert (await plant.ana.redigest()).memories == 1
    await plant.ana.settle()
    return DRAWN_PLACES


async def let_it_expire(plant: Plant) -> tuple[str, ...]:
    await plant.write(ttl=60.0)
    await plant.ask("content", "value")
    plant.clock.ahead = timedelta(hours=1)
    await plant.holdfast.runtime.worker.tour()
    return WRITTEN_PLACES


WAYS: dict[str, Callable[[Plant], Awaitable[tuple[str, ...]]]] = {
    way.__name__: way
    for way in (
        forget_by_id, forget_one_of_several, forget_a_message, forget_a_session, forget_by_filter, forget_a_person,
        forget_a_document, forget_the_last_passage, apply_retention, undo_an_edit, digest_again, let_it_expire,
    )
}  # fmt: skip
"""Each plants words, forgets them, and returns the places whose words must be gone."""
