"""Documents become memory: found with their page, read once whatever happens, and forgotten without a trace."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from holdfast import AsyncHoldfast, Document, InvalidInput, KeyReused, NotFound
from holdfast.api.client.holdfast import RemoteHoldfast
from holdfast.documents.chunk import Chunk
from holdfast.documents.rules import DocumentRules
from holdfast.domain import timestamps
from holdfast.domain.types import Draft
from holdfast.service import document_worker
from holdfast.storage.postgres.vault import PostgresVault
from holdfast.storage.sqlite.vault import SqliteVault
from holdfast.testing import FrozenClock, HashingEmbedder, ScriptedExtractor
from support.documents import fake_network, samples
from support.http_server import http_server
from support.postgres import database

PLACE: dict[str, Any] = {"far": False, "database": None}
TOKEN = "a-token-of-these-tests"


@pytest.fixture(params=["here", "far", "database"], autouse=True)
def place(request: pytest.FixtureRequest) -> Iterator[None]:
    """In this process, behind HTTP, and with a PostgreSQL."""
    PLACE["far"] = request.param == "far"
    if request.param == "database":
        with database() as dsn:
            PLACE["database"] = dsn
            yield
    else:
        yield
    PLACE.update(far=False, database=None)


@asynccontextmanager
async def open_memory(
    path: Path,
    rules: DocumentRules = DocumentRules(),
    script: dict[str, Any] | None = None,
    clock: Any = timestamps.now,
) -> AsyncIterator[Any]:
    vault = PostgresVault(PLACE["database"], connections=4) if PLACE["database"] else SqliteVault(path / "data")
    memory = AsyncHoldfast(vault, HashingEmbedder(), ScriptedExtractor(script or {}), documents=rules, clock=clock)
    async with await memory.start():
        if PLACE["far"]:
            await memory.access.admin(TOKEN)
            async with http_server(memory) as url, RemoteHoldfast(url, TOKEN) as far:
                yield far
        else:
            yield memory


async def test_planted_facts_are_found_with_page_and_heading(tmp_path: Path) -> None:
    sample = samples.pdf()
    (tmp_path / sample.name).write_bytes(sample.data)
    steps: list[Document] = []
    async with open_memory(tmp_path) as memory:
        ana = memory.profile("app", "ana")
        read = await ana.add(tmp_path / sample.name, metadata={"shelf": "B"}, on_progress=steps.append)
        assert (read.state, read.stage, read.percent, read.pending, read.error) == ("done", "done", 100, 0, None)
        assert (read.title, read.author, read.pages, read.format) == (sample.title, sample.author, 30, "pdf")
        assert (read.bytes, read.version, read.original, read.chunks > 10) == (len(sample.data), 1, True, True)
        assert set(read.seconds) == {"read"}
        assert [step.percent for step in steps] == sorted(step.percent for step in steps)
        for planted in sample.facts:
            hit = (await ana.search(planted.fact, limit=1))[0]
            assert planted.fact in hit.content
            assert (hit.role, hit.metadata["document"], hit.metadata["page"]) == ("document", read.id, planted.page)
            assert planted.heading in hit.metadata["heading"]
            assert hit.metadata["shelf"] == "B"
        said = await ana.messages(read.session_id)
        assert [message.metadata["chunk"] for message in said] == [*range(1, read.chunks + 1)]
        assert await ana.original(read.id) == sample.data
        assert await ana.documents() == (read,)
        assert await ana.document(read.id) == read


async def test_every_format_is_found_where_it_was_planted(tmp_path: Path) -> None:
    """All formats in a data folder of this process, a few elsewhere: parsing is the same."""
    here = not PLACE["far"] and PLACE["database"] is None
    await find_what_was_planted(tmp_path, samples.MAKERS if here else samples.MAKERS[::5])


@pytest.mark.slow
async def test_every_format_is_found_in_every_place(tmp_path: Path) -> None:
    await find_what_was_planted(tmp_path, samples.MAKERS)


async def find_what_was_planted(tmp_path: Path, makers: Sequence[Callable[[], samples.Sample]]) -> None:
    corpus = [maker() for maker in makers]
    folder = tmp_path / "corpus"
    folder.mkdir()
    async with open_memory(tmp_path) as memory:
        ana = memory.profile("app", "ana")
        ids = {}
        for n, sample in enumerate(corpus):
            (folder / f"{n}-{sample.name}").write_bytes(sample.data)
            ids[n] = (await ana.add(folder / f"{n}-{sample.name}", name=sample.name)).id
        assert await ana.settle(120)
        found = {document.id: document for document in await ana.documents()}
        assert [(each.name, each.error) for each in found.values() if each.state != "done"] == []
        for n, sample in enumerate(corpus):
            assert found[ids[n]].format == sample.format
            for planted in sample.facts:
                hits = await ana.search(planted.fact, limit=1, filter={"metadata.document": ids[n]})
                assert [hit for hit in hits if planted.fact in hit.content], planted
                assert planted.page is None or hits[0].metadata["page"] == planted.page
                assert planted.heading is None or planted.heading in hits[0].metadata["heading"]


async def test_a_document_is_cited_in_a_context_and_is_no_conversation(tmp_path: Path) -> None:
    sample = samples.pdf()
    async with open_memory(tmp_path) as memory:
        ana = memory.profile("app", "ana")
        await ana.set_summaries("every 2 turns")
        await ana.ingest([{"role": "user", "content": "The boiler is loud."}], session_id="s1")
        await ana.add(sample.data, name="report.pdf", wait=True)
        block = await ana.context("Which crane lifts 187 tonnes?", tokens=400)
        assert "- [document, report.pdf, page 17, " in block.text
        page = await ana.summary()
        assert "The boiler is loud." in page
        assert "crane" not in page
        assert not (await ana.list(kind="summary")).items


async def test_the_same_file_twice_is_one_document(tmp_path: Path) -> None:
    async with open_memory(tmp_path) as memory:
        ana = memory.profile("app", "ana")
        first = await ana.add("The heron is a patient bird.", wait=True)
        (tmp_path / "heron.txt").write_text("The heron is a patient bird.")
        again = await ana.add(str(tmp_path / "heron.txt"), name="other", wait=True)
        assert again == first
        assert len(await ana.documents()) == len(await ana.messages()) == 1
        assert first.name == "text"


@asynccontextmanager
async def pages(texts: dict[str, bytes]) -> AsyncIterator[tuple[str, DocumentRules, list[str]]]:
    """A server of pages, where it is, rules that let it be asked, and what was asked."""
    asked: list[str] = []

    def answer(path: str, headers: dict[str, str]) -> bytes:
        asked.append(path)
        return fake_network.reply(texts[path]) if path in texts else fake_network.reply(b"", "404 Not Found")

    async with fake_network.loopback_server(answer) as port:
        yield f"http://127.0.0.1:{port}", DocumentRules(allow=(f"127.0.0.1:{port}",)), asked


def page(*paragraphs: str) -> bytes:
    body = "".join(f"<p>{each}</p>" for each in paragraphs)
    return f"<!doctype html><html><head><title>Tides</title></head><body><h1>Tides</h1>{body}</body></html>".encode()


async def test_a_page_that_changed_is_a_new_version_in_place_of_the_old(tmp_path: Path) -> None:
    texts = {"/tides": page("High water is at seven in the morning.", "The harbour master is Olga Brandt.")}
    drawn = {"Tides\nHigh water is at seven in the morning.": [Draft("fact", "High water is at seven", (), key="tide")]}
    async with pages(texts) as (at, rules, asked), open_memory(tmp_path, rules, drawn) as memory:
        ana = memory.profile("app", "ana")
        first = await ana.add(f"{at}/tides#top", wait=True)
        assert (first.state, first.version, first.title, first.url) == ("done", 1, "Tides", f"{at}/tides")
        same = await ana.add(f"{at}/tides", wait=True)
        assert (same.id, same.version, same.session_id) == (first.id, 1, first.session_id)
        assert asked == ["/tides", "/tides"]
        texts["/tides"] = page("High water is at nine in the evening.", "The harbour master is Olga Brandt.")
        second = await ana.add(f"{at}/tides", wait=True)
        assert (second.id, second.version, second.stale) == (first.id, 2, ())
        said = " ".join(message.content for message in await ana.messages())
        assert "nine in the evening" in said
        assert "seven" not in said
        assert not await ana.messages(first.session_id)
        assert b"nine" in await ana.original(second.id)
        assert len(await ana.documents()) == 1


async def test_pages_are_looked_at_again_after_a_while(tmp_path: Path) -> None:
    if PLACE["far"]:
        pytest.skip("it is the server that looks")
    texts = {"/tides": page("High water is at seven in the morning.")}
    clock = FrozenClock()
    async with pages(texts) as (at, rules, asked):
        weekly = replace(rules, again=timedelta(days=7))
        async with open_memory(tmp_path, weekly, clock=clock) as memory:
            ana = memory.profile("app", "ana")
            first = await ana.add(f"{at}/tides", wait=True)
            texts["/tides"] = page("High water is at nine in the evening.")
            for days, version in ((6, 1), (2, 2), (6, 2)):
                clock.advance(timedelta(days=days))
                await memory.runtime.worker.tour()
                assert await ana.settle(120)
                assert (await ana.document(first.id)).version == version
            assert len(asked) == 2


async def test_what_cannot_be_read_stays_in_sight_and_leaves_nothing_half(tmp_path: Path) -> None:
    async with open_memory(tmp_path) as memory:
        ana = memory.profile("app", "ana")
        bad = await ana.add(b"%PDF-1.7 and then nothing", name="broken.pdf", wait=True)
        assert (bad.state, bad.chunks, bad.original) == ("failed", 0, True)
        assert bad.error
        assert not await ana.messages()
        good = await ana.add("The heron is a patient bird.", wait=True)
        assert {each.id: each.state for each in await ana.documents()} == {bad.id: "failed", good.id: "done"}
        retried = await ana.retry_document(bad.id)
        assert retried.id == bad.id
        await ana.settle(120)
        assert (await ana.document(bad.id)).state == "failed"
        assert await ana.original(bad.id) == b"%PDF-1.7 and then nothing"


async def test_a_server_that_is_down_is_tried_again_later(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(document_worker, "FIRST_WAIT", timedelta(seconds=600))
    texts: dict[str, bytes] = {}
    down = [True]

    def answer(path: str, headers: dict[str, str]) -> bytes:
        return fake_network.reply(b"", "503 Busy") if down[0] else fake_network.reply(texts[path])

    async with (
        fake_network.loopback_server(answer) as port,
        open_memory(tmp_path, DocumentRules(allow=(f"127.0.0.1:{port}",))) as memory,
    ):
        ana = memory.profile("app", "ana")
        late = await ana.add(f"http://127.0.0.1:{port}/tides", wait=True)
        assert (late.state, late.stage, late.tries) == ("waiting", "fetching", 1)
        assert "503" in (late.error or "")
        assert late.retry_at is not None
        down[0], texts["/tides"] = False, page("High water is at seven in the morning.")
        await ana.retry_document(late.id)
        await ana.settle(120)
        done = await ana.document(late.id)
        assert (done.state, done.error, done.version) == ("done", None, 1)


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1/", "http://169.254.169.254/latest/meta-data", "http://[::1]/", "http://0x7f.1/",
            "https://user:secret@example.com/", "http://example.com:22/"],
)  # fmt: skip
async def test_an_address_that_is_not_public_is_refused_at_once(tmp_path: Path, url: str) -> None:
    async with open_memory(tmp_path) as memory:
        ana = memory.profile("app", "ana")
        await ana.remember("something, so that the profile is there")
        with pytest.raises(InvalidInput):
            await ana.add(url)
        assert not await ana.documents()


async def test_a_name_that_leads_to_a_private_address_fails_in_sight(tmp_path: Path) -> None:
    async with open_memory(tmp_path) as memory:
        ana = memory.profile("app", "ana")
        refused = await ana.add("http://localhost/secrets", wait=True)
        assert (refused.state, refused.tries) == ("failed", 1)
        assert "public" in (refused.error or "")
    async with open_memory(tmp_path, DocumentRules(fetch=False)) as memory:
        with pytest.raises(InvalidInput, match="disabled"):
            await memory.profile("app", "ana").add("https://example.com/")


async def test_a_document_is_forgotten_whole(tmp_path: Path) -> None:
    text = "# Zorblax\n\nThe zorblax sleeps.\n\n# Other\n\nThe heron does not."
    drawn = {"The zorblax sleeps.": [Draft("fact", "The zorblax sleeps", (), key="zorblax")]}
    async with open_memory(tmp_path, script=drawn) as memory:
        ana = memory.profile("app", "ana")
        await ana.remember("Likes tea")
        kept = await ana.add(text, name="zorblax.md", wait=True)
        would = await ana.forget_document(kept.id, dry_run=True)
        assert len(would.messages) == len(await ana.messages()) == kept.chunks
        gone = await ana.forget_document(kept.id)
        assert (set(gone.messages), gone.places["document"], gone.places["original"]) == (set(would.messages), 1, 1)
        for act in (ana.document(kept.id), ana.original(kept.id), ana.forget_document(kept.id)):
            with pytest.raises(NotFound):
                await act
        assert not await ana.messages()
        assert [memory.content for memory in (await ana.list()).items] == ["Likes tea"]


async def test_forgetting_a_passage_takes_the_original_and_adding_the_file_brings_it_back(tmp_path: Path) -> None:
    text = "# One\n\nThe heron is patient.\n\n# Two\n\nThe gull is not."
    async with open_memory(tmp_path) as memory:
        ana = memory.profile("app", "ana")
        kept = await ana.add(text, name="birds.md", wait=True)
        await ana.forget((await ana.messages())[0].id)
        assert not (await ana.document(kept.id)).original
        with pytest.raises(NotFound):
            await ana.original(kept.id)
        again = await ana.add(text, name="birds.md", wait=True)
        assert (again.id, again.original, again.state) == (kept.id, True, "done")
        assert len(await ana.messages()) == kept.chunks
        gone = await ana.forget_session(again.session_id)
        assert gone.places["document"] == 1
        assert not await ana.documents()


async def test_whoever_a_document_is_by_goes_with_it(tmp_path: Path) -> None:
    async with open_memory(tmp_path) as memory:
        ana = memory.profile("app", "ana")
        await ana.add("The boiler was fixed on Monday.", name="Report by Marek.txt", wait=True)
        await ana.add("The boiler is new.", name="boiler.txt", wait=True)
        await ana.forget_person("Marek")
        assert [document.name for document in await ana.documents()] == ["boiler.txt"]


async def test_one_forgotten_while_it_is_read_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(document_worker, "PASSAGES_PER_CHANGE", 1)
    text = "\n\n".join(f"# Part {n}\n\nThe heron number {n} stands on one leg." for n in range(60))
    async with open_memory(tmp_path) as memory:
        ana = memory.profile("app", "ana")
        kept = await ana.add(text, name="herons.md")
        while not await ana.messages():  # noqa: ASYNC110  (it is another task that reads)
            await asyncio.sleep(0.01)
        await ana.forget_document(kept.id)
        assert await ana.settle(120)
        assert not await ana.messages()
        assert not await ana.documents()


async def test_a_profile_deleted_while_its_document_is_read_stays_deleted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(document_worker, "PASSAGES_PER_CHANGE", 1)
    text = "\n\n".join(f"# Part {n}\n\nThe heron number {n} stands on one leg." for n in range(60))
    async with open_memory(tmp_path) as memory:
        ana, bob = memory.profile("app", "ana"), memory.profile("app", "bob")
        await ana.add(text, name="herons.md")
        while not await ana.messages():  # noqa: ASYNC110  (it is another task that reads)
            await asyncio.sleep(0.01)
        assert await memory.delete_profile("app", "ana")
        assert (await bob.add("The gull is not patient.", wait=True)).state == "done"
        assert await ana.documents() == ()
        assert [profile.name for profile in await memory.profiles("app")] == ["bob"]


async def test_reading_goes_on_after_a_stop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write = document_worker._DocumentTask._write

    async def write_once(reading: document_worker._DocumentTask, chunks: list[Chunk], before: int) -> int:
        if before:
            await asyncio.sleep(3600)  # as if the disk were slow, so that the stop finds it reading
        return await write(reading, chunks, before)

    monkeypatch.setattr(document_worker, "PASSAGES_PER_CHANGE", 1)
    monkeypatch.setattr(document_worker._DocumentTask, "_write", write_once)
    text = "\n\n".join(f"# Part {n}\n\nThe heron number {n} stands on one leg." for n in range(60))
    async with open_memory(tmp_path) as memory:
        kept = await memory.profile("app", "ana").add(text, name="herons.md")
        while not await memory.profile("app", "ana").messages():  # noqa: ASYNC110  (it is another task that reads)
            await asyncio.sleep(0.01)
    monkeypatch.undo()
    async with open_memory(tmp_path) as memory:
        ana = memory.profile("app", "ana")
        assert await ana.settle(120)
        done = await ana.document(kept.id)
        assert (done.state, done.tries) == ("done", 2)
        assert len(await ana.messages()) == done.chunks == 60


async def test_a_data_folder_of_ours_is_not_read(tmp_path: Path) -> None:
    async with open_memory(tmp_path) as memory:
        ana = memory.profile("app", "ana")
        await ana.remember("something, so that the profile is there")
        own = tmp_path / "own"
        own.mkdir()
        for name in ("keyring", "catalogue.db"):
            (own / name).write_text("a key that must not be searchable text")
        with pytest.raises(InvalidInput, match="keys"):
            await ana.add(own / "keyring")


async def test_wrong_sources_are_told(tmp_path: Path) -> None:
    async with open_memory(tmp_path, DocumentRules(bytes=1000)) as memory:
        ana = memory.profile("app", "ana")
        (tmp_path / "large.txt").write_text("word " * 300)
        for wrong in ("missing.pdf", tmp_path / "missing.pdf", b"", "  ", 7, tmp_path / "large.txt"):
            with pytest.raises(InvalidInput):
                await ana.add(wrong)
        for folder in (tmp_path, str(tmp_path)):
            with pytest.raises(InvalidInput, match=r"is a folder.*Add its files one by one"):
                await ana.add(folder)
        with pytest.raises(InvalidInput, match=r"'/my notes/birds\.md' is neither a file nor a URL"):
            await ana.add("/my notes/birds.md")


async def test_a_long_line_is_a_text(tmp_path: Path) -> None:
    async with open_memory(tmp_path) as memory:
        added = await memory.profile("app", "ana").add("The heron is a patient bird, says the gull. " * 20, wait=True)
        assert (added.state, added.chunks) == ("done", 1)


async def test_a_repeated_request_changes_nothing_and_gets_the_first_answer(tmp_path: Path) -> None:
    async with open_memory(tmp_path) as memory:
        ana = memory.profile("app", "ana")
        first = await ana.add("The heron is a patient bird.", idempotency_key="a", wait=True)
        both = await asyncio.gather(*(ana.add(b"Two at once.", idempotency_key="b") for _ in range(2)))
        assert both[0].id == both[1].id
        again = await ana.add("The heron is a patient bird.", idempotency_key="a")
        assert (again.id, again.state, again.version) == (first.id, "done", 1)
        with pytest.raises(KeyReused):
            await ana.add("Something else altogether.", idempotency_key="a")
        with pytest.raises(KeyReused):
            await ana.forget_document(first.id, idempotency_key="a")
        gone = await ana.forget_document(first.id, idempotency_key="c")
        assert len(gone.messages) == 1
        assert (await ana.forget_document(first.id, idempotency_key="c")).messages == gone.messages
        with pytest.raises(NotFound):  # what was added is forgotten, and the repeat does not bring it back
            await ana.add("The heron is a patient bird.", idempotency_key="a")
        anew = await ana.add("The heron is a patient bird.", wait=True)
        await ana.forget_document(first.id, idempotency_key="c")
        assert (await ana.document(anew.id)).state == "done"


async def test_passages_are_listed_in_order_behind_a_position(tmp_path: Path) -> None:
    text = "\n\n".join(f"# Part {n}\n\nThe heron number {n} stands on one leg." for n in range(12))
    async with open_memory(tmp_path) as memory:
        ana = memory.profile("app", "ana")
        read = await ana.add(text, name="herons.md", wait=True)
        every = await ana.passages(read.id)
        assert [each.metadata["heading"] for each in every] == [f"Part {n}" for n in range(12)]
        assert [each.metadata["chunk"] for each in every] == [each.position for each in every] == list(range(1, 13))
        for each in every[2:8]:
            await ana.forget(each.id)
        some, after = [], 0
        while page := await ana.passages(read.id, after=after, limit=2):
            some += [each.position for each in page]
            after = page[-1].position
        assert some == [1, 2, 9, 10, 11, 12]
        for bad in ({"limit": 0}, {"after": -1}):
            with pytest.raises(InvalidInput):
                await ana.passages(read.id, **bad)
        with pytest.raises(NotFound):
            await ana.passages("doc-0")
