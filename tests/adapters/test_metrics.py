"""/metrics: backlog, failures, spending and memory, counted as they happen; the dashboard asks for nothing else."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2 as httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from holdfast import AsyncHoldfast
from holdfast.domain.ports.storage import Vault
from holdfast.service.backlog import Backlog
from holdfast.storage.in_memory import MemoryVault
from holdfast.testing import HashingEmbedder, ModelServer, ScriptedExtractor
from support.http_server import http_server
from support.paths import ROOT
from support.scripted_llm import ScriptedLlm
from support.waiting import until

TOKEN = "preset-admin-token-of-the-tests"
SAID = [{"role": "user", "content": "I live in Porto."}]


class Scraper:
    """What Prometheus would be told, by name and labels."""

    def __init__(self, http: httpx.AsyncClient) -> None:
        self._http = http

    async def text(self) -> str:
        return (await self._http.get("/metrics")).raise_for_status().text

    async def value(self, name: str, **labels: str) -> float:
        families = text_string_to_metric_families(await self.text())
        samples = [each for family in families for each in family.samples if each.name == name]
        return sum(each.value for each in samples if labels.items() <= each.labels.items())


@asynccontextmanager
async def scraped(memory: AsyncHoldfast) -> AsyncIterator[Scraper]:
    await memory.access.admin(TOKEN)
    headers = {"authorization": f"Bearer {TOKEN}"}
    async with http_server(memory) as base, httpx.AsyncClient(base_url=base, headers=headers, timeout=120) as http:
        yield Scraper(http)


class UnwillingExtractor(ScriptedExtractor):
    """Fails while it is told to."""

    fails = True

    async def extract(self, *given: Any, **named: Any) -> Any:
        if self.fails:
            raise RuntimeError("not today")
        return await super().extract(*given, **named)


async def test_failed_digestion_and_what_waits_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("holdfast.service.worker.IDLE_SECONDS", 0.0)
    extractor = UnwillingExtractor()
    async with AsyncHoldfast(MemoryVault(), HashingEmbedder(), extractor) as memory, scraped(memory) as metrics:
        assert await metrics.value("holdfast_backlog_profiles") == 0
        await memory.profile("app", "ana").ingest(SAID, wait=True)
        assert await metrics.value("holdfast_failures_total", work="digestion") == 1
        assert await metrics.value("holdfast_messages_digested_total") == 0
        extractor.fails = False
        await memory.profile("app", "ben").ingest(SAID, wait=True)
        assert await metrics.value("holdfast_messages_digested_total") == 1
        # Ben's profile is done; Ana's message is still to be tried again.
        await until(lambda: memory.runtime.worker.backlog() == Backlog(profiles=1, seconds=0.0))
        assert await metrics.value("holdfast_backlog_profiles") == 1


async def test_a_profile_waits_from_its_write_until_its_work_is_done() -> None:
    async with AsyncHoldfast(MemoryVault(), HashingEmbedder(), ScriptedExtractor()) as memory:
        worker = memory.runtime.worker
        async with worker.expecting(("app", "ana")):
            assert worker.backlog().profiles == 1
            assert worker.backlog().seconds == 0
        worker.notify(("app", "ana"))
        assert worker.backlog().seconds > 0
        await memory.profile("app", "ana").settle()
        assert (worker.backlog().profiles, worker.backlog().seconds) == (0, 0)


async def test_documents_are_counted_by_how_they_end() -> None:
    async with AsyncHoldfast(MemoryVault(), HashingEmbedder(), ScriptedExtractor()) as memory, scraped(memory) as told:
        ana = memory.profile("app", "ana")
        await ana.add(b"The heron stands by the river.", name="heron.md", wait=True)
        await ana.add(b"%PDF-1.7 and nothing more", name="broken.pdf", wait=True)
        assert await told.value("holdfast_documents_total", outcome="done") == 1
        assert await told.value("holdfast_documents_total", outcome="failed") == 1


async def test_spending_is_told_by_model_and_task(tmp_path: Path) -> None:
    mind = ScriptedLlm({"The user lives in Porto.": "I live in Porto"})
    async with (
        ModelServer(mind) as server,
        await AsyncHoldfast.open(
            tmp_path, embedder=HashingEmbedder(), llm=f"{server.url}#scripted", llm_price="1/2"
        ) as memory,
        scraped(memory) as metrics,
    ):
        ana = memory.profile("app", "ana")
        await ana.ingest(SAID, wait=True)
        spent = await ana.usage()
        assert {each.task for each in spent} >= {"extract", "verify"}
        for each in spent:
            labels = {"model": each.model, "task": each.task}
            assert await metrics.value("holdfast_model_calls_total", **labels) == each.calls
            assert await metrics.value("holdfast_model_tokens_total", kind="input", **labels) == each.input
            assert await metrics.value("holdfast_model_tokens_total", kind="output", **labels) == each.output
            assert await metrics.value("holdfast_model_cost_total", **labels) == pytest.approx(each.cost, abs=1e-6)


async def test_calls_that_a_ceiling_prevents_and_failing_models_are_told(tmp_path: Path) -> None:
    mind = ScriptedLlm({"The user lives in Porto.": "I live in Porto"})
    async with (
        ModelServer(mind) as server,
        await AsyncHoldfast.open(
            tmp_path, embedder=HashingEmbedder(), llm=f"{server.url}#scripted", llm_ceiling="1 tokens"
        ) as memory,
        scraped(memory) as metrics,
    ):
        await memory.profile("app", "ana").ingest(SAID, wait=True)
        assert await metrics.value("holdfast_model_refusals_total") > 0
        assert await metrics.value("holdfast_failures_total", work="digestion") > 0


async def test_a_scrape_asks_no_storage(monkeypatch: pytest.MonkeyPatch) -> None:
    async with AsyncHoldfast(MemoryVault(), HashingEmbedder(), ScriptedExtractor()) as memory, scraped(memory) as told:
        await memory.profile("app", "ana").ingest(SAID, wait=True)
        await told.text()  # the token is known from here on

        def refuse(*_: Any, **__: Any) -> Any:
            raise AssertionError("a scrape looked into the storage")

        for name in [name for name in vars(Vault) if not name.startswith("_")]:
            if callable(getattr(MemoryVault, name, None)):
                monkeypatch.setattr(MemoryVault, name, refuse)
        assert await told.value("holdfast_messages_digested_total") == 1
        monkeypatch.undo()


async def test_the_dashboard_asks_for_metrics_that_exist_and_shows_all_of_ours() -> None:
    board = json.loads((ROOT / "deploy" / "grafana" / "holdfast.json").read_text("utf-8"))
    queries = [target["expr"] for panel in board["panels"] for target in panel.get("targets", ())]
    asked = {name for query in queries for name in re.findall(r"\b((?:holdfast|process)_\w+)", query)}
    async with AsyncHoldfast(MemoryVault(), HashingEmbedder(), ScriptedExtractor()) as memory, scraped(memory) as told:
        types = dict(re.findall(r"^# TYPE (\S+) (\w+)$", await told.text(), re.M))
    exist = {f"{name}_bucket" if kind == "histogram" else name for name, kind in types.items()}
    assert asked - exist == set()
    ours = {name for name in exist if name.startswith("holdfast_")}
    assert ours - asked == set()
    assert "process_resident_memory_bytes" in asked
