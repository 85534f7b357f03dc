"""The same conversations and questions in files and in a database: every hit, in its place, with its score."""

from __future__ import annotations

from pathlib import Path

import pytest
from evals.data import benchmarks
from evals.profiles import message_body

from holdfast import AsyncHoldfast
from holdfast.domain.ports.storage import Vault
from holdfast.models.local import PotionEmbedder
from holdfast.models.rules import RuleExtractor
from holdfast.storage.postgres.vault import PostgresVault
from holdfast.storage.sqlite.vault import SqliteVault
from holdfast.testing import FrozenClock
from support.postgres import database

DEPTH = 100
Ranking = list[tuple[str, float]]


async def ranking_of(vault: Vault, case: benchmarks.Case, most: int | None) -> list[Ranking]:
    found, model = [], PotionEmbedder()
    async with AsyncHoldfast(vault, model, RuleExtractor(model), clock=FrozenClock()) as holdfast:
        profile = holdfast.profile(case.set, case.id)
        for session in case.sessions:  # one after the other: what is digested together depends on the moment
            said = [message_body(message, session["date"]) for message in session["messages"]]
            await profile.ingest(said, session_id=session["id"][:64], wait=True)
        for question in case.questions[:most]:
            hits = await profile.search(question.text, limit=DEPTH, reference_date=question.asked_at)
            found.append([(f"{hit.kind}: {hit.content}", hit.score) for hit in hits])
    return found


async def compare_rankings(case: benchmarks.Case, folder: Path, most: int | None = None) -> int:
    files = await ranking_of(SqliteVault(folder), case, most)
    with database() as dsn:
        rows = await ranking_of(PostgresVault(dsn, connections=2), case, most)
    for question, ours, theirs in zip(case.questions, files, rows, strict=False):
        assert [text for text, _ in ours] == [text for text, _ in theirs], question.text
        assert max(abs(a - b) for (_, a), (_, b) in zip(ours, theirs, strict=True)) < 1e-3, question.text
    return sum(map(len, files))


async def test_rankings_of_a_conversation_are_the_same(tmp_path: Path) -> None:
    case = benchmarks.own()[0]
    assert await compare_rankings(case, tmp_path) > 20 * len(case.questions)


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("name", ["own", "locomo"])
async def test_rankings_of_all_development_data_are_the_same(name: str, tmp_path: Path) -> None:
    cases = getattr(benchmarks, name)()
    hits = 0
    for n, case in enumerate(cases):
        hits += await compare_rankings(case, tmp_path / str(n), 40)
    print(f"{name}: {len(cases)} profiles, {hits} hits in the same places")
