"""Filters, orders, totals, facets and pages are the same here, over HTTP, over MCP and on the command line."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from holdfast import AsyncHoldfast, Holdfast, InvalidInput
from holdfast.api.mcp.tools import NAMED, ToolPlace, validate_arguments
from holdfast.cli import main
from holdfast.storage.sqlite.vault import SqliteVault
from holdfast.testing import HashingEmbedder, ScriptedExtractor
from support.http_server import http_server

TOKEN = "a-token-of-these-tests"
FILTER = {"any": [{"content": {"icontains": "STRASSE"}}, {"metadata.tags": {"contains": "food"}}]}


@pytest.fixture(params=["here", "far"])
async def ana(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Any]:
    async with AsyncHoldfast(SqliteVault(tmp_path), HashingEmbedder(), ScriptedExtractor()) as holdfast:
        profile: Any = holdfast.profile("app", "ana")
        for n in range(3):
            said = [{"role": "user", "content": f"line {n}", "speaker": "Ana"}]
            await profile.ingest(said, session_id="s", wait=True)
        await profile.remember("Hauptstraße 1", key="street", occurred_at="2025-05-01")
        await profile.remember("Green tea", key="drink", metadata={"tags": ["food", "hot"]}, occurred_at="2025-04-01")
        await profile.remember("Nothing", key="other", occurred_at="2025-03-01")
        if request.param == "here":
            yield profile
            return
        await holdfast.access.admin(TOKEN)
        async with http_server(holdfast) as url, AsyncHoldfast.connect(url, TOKEN) as far:
            yield far.profile("app", "ana")


async def test_a_listing_has_filters_orders_pages_and_totals(ana: Any) -> None:
    first = await ana.list(filter=FILTER, order="occurred_asc", limit=1, total=True)
    assert ([each.key for each in first], first.total) == (["drink"], 2)
    second = await ana.list(filter=FILTER, order="occurred_asc", limit=1, cursor=first.cursor)
    assert ([each.key for each in second], second.total, second.cursor) == (["street"], None, None)
    found = await ana.search("street tea nothing", order="occurred", kind="fact")
    assert [hit.key for hit in found] == [key for key in ("street", "drink", "other") if key in {h.key for h in found}]


async def test_facets_count_under_the_same_conditions(ana: Any) -> None:
    counted = await ana.facets(["key", "tag", "month"], filter=FILTER, limit=1)
    assert counted.total == 2
    assert counted.counts == {"key": {"drink": 1}, "tag": {"food": 1}, "month": {"2025-04": 1}}
    assert counted.distinct == {"key": 2, "tag": 2, "month": 2}


async def test_messages_and_jobs_come_by_page(ana: Any) -> None:
    first = await ana.messages("s", limit=2)
    second = await ana.messages("s", limit=2, cursor=first.cursor)
    assert [each.content for each in (*first, *second)] == ["line 0", "line 1", "line 2"]
    assert second.cursor is None
    newest = await ana.jobs(limit=2)
    oldest = await ana.jobs(limit=2, cursor=newest.cursor)
    assert ([len(newest), len(oldest)], oldest.cursor) == ([2, 1], None)
    assert len({job.id for job in (*newest, *oldest)}) == 3


@pytest.mark.parametrize(
    ("ask", "field", "said"),
    [
        (lambda ana: ana.list(filter={"contents": "x"}), "filter", "contents"),
        (lambda ana: ana.list(filter={"content": {"has": "x"}}), "filter.content", "has"),
        (lambda ana: ana.list(filter={"version": {"contains": "1"}}), "filter.version", "number"),
        (lambda ana: ana.list(filter={"version": "one"}), "filter.version", "one"),
        (lambda ana: ana.list(filter={"created_at": {"icontains": "2025"}}), "filter.created_at", "time"),
        (lambda ana: ana.list(filter={"content": {"icontains": 7}}), "filter.content", "7"),
        (lambda ana: ana.list(filter={"any": []}), "filter.any", "list"),
        (lambda ana: ana.list(order="newest"), "order", "newest"),
        (lambda ana: ana.search("x", order="best"), "order", "best"),
        (lambda ana: ana.facets(["colour"]), "by", "colour"),
        (lambda ana: ana.list(cursor="AAAA"), "cursor", "AAAA"),
        (lambda ana: ana.messages(cursor="AAAA"), "cursor", "AAAA"),
        (lambda ana: ana.jobs(cursor="AAAA"), "cursor", "AAAA"),
    ],
)
async def test_errors_name_the_field_and_the_value(ana: Any, ask: Any, field: str, said: str) -> None:
    with pytest.raises(InvalidInput) as bad:
        await ask(ana)
    assert (bad.value.field or "").startswith(field)
    assert said in str(bad.value)


async def test_a_tool_lists_and_counts(ana: Any) -> None:
    tool = NAMED["list_memories"]
    given = validate_arguments(tool, {"filter": FILTER, "order": "occurred", "facets": ["tag"], "limit": 1})

    async def no_kind(text: str) -> str | None:
        return None

    found = await tool.act(ToolPlace(ana, no_kind, "holdfast://"), given)
    assert [each["key"] for each in found["memories"]] == ["street"]
    assert (found["total"], found["facets"]) == (2, {"tag": {"food": 1, "hot": 1}})


def test_the_command_line_lists_and_counts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Holdfast.open(tmp_path / "data", embedder="potion") as memory:
        memory.profile("default", "default").remember("Hauptstraße 1", key="street", metadata={"tags": ["x"]})

    def printed(*words: str) -> Any:
        assert main([*words, "--data", str(tmp_path / "data"), "--json"]) == 0
        return json.loads(capsys.readouterr().out)

    listed = printed("list", "--filter", json.dumps(FILTER), "--order", "created_asc", "--total")
    assert (listed["memories"][0]["key"], listed["total"]) == ("street", 1)
    assert printed("facets", "--by", "tag")["counts"] == {"tag": {"x": 1}}
    assert printed("messages", "--limit", "1") == {"messages": [], "cursor": None}
    assert printed("jobs") == {"jobs": [], "cursor": None}
