"""When a part of what was told changes, the rest of it stays known."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from holdfast import Holdfast
from holdfast.service.sync import Profile

SHOP = "We run the shop on a Raspberry Pi, backup to Backblaze every night, and Ilka has the passwords."
CHANGE = "Backups go to a disk at my mother's since we cancelled Backblaze."


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Profile]:
    with Holdfast.open(tmp_path) as memory:
        profile = memory.profile("app", "shop")
        for day, text in (("2025-10-01", SHOP), ("2025-10-11", CHANGE)):
            profile.ingest([{"role": "user", "content": text, "timestamp": day}], session_id=day, wait=True)
        yield profile


def test_the_rest_stays_current_and_the_whole_stays_history(shop: Profile) -> None:
    held = {memory.content: memory for memory in shop.list().items}
    (new,) = (memory for content, memory in held.items() if "mother" in content)
    (rest,) = (memory for content, memory in held.items() if "Ilka" in content)
    assert "Raspberry Pi" in rest.content
    assert "Backblaze" not in rest.content
    before = shop.history(new.id)[-1]
    assert "Backblaze" in before.content
    assert "Ilka" in before.content
    assert rest.sources == before.sources


def test_the_rest_changes_too(shop: Profile) -> None:
    text = "Joris has the passwords now, Ilka left."
    shop.ingest([{"role": "user", "content": text, "timestamp": "2025-10-20"}], session_id="later", wait=True)
    held = [memory.content for memory in shop.list().items]
    assert any("Raspberry Pi" in content and "Ilka" not in content for content in held)
    assert any("Joris" in content for content in held)
    assert not any("Ilka has the passwords" in content for content in held)


def test_forgetting_the_session_takes_the_rest_with_it(shop: Profile) -> None:
    shop.forget_session("2025-10-01")
    assert not any("Ilka" in memory.content for memory in shop.list().items)


def test_the_rest_is_said_by_its_speaker(tmp_path: Path) -> None:
    with Holdfast.open(tmp_path) as memory:
        team = memory.profile("app", "team")
        told = (
            "3.2 is out. Next is 3.3, 24 feb, with SSO and csv import",
            "csv import moves to 3.4, Hedda is full",
            "3.3 out yesterday, SSO works for Veldhuis",
        )
        for n, text in enumerate(told, 1):
            said = {"role": "user", "speaker": "Priya", "content": text, "timestamp": f"2026-02-0{n}T10:00:00Z"}
            team.ingest([said], session_id=f"s{n}", wait=True)
        held = [each.content for each in team.list(limit=50)]
    assert held
    assert not any(each.startswith("The user") for each in held)


def test_the_rest_has_no_day_that_went_with_the_other_part(tmp_path: Path) -> None:
    with Holdfast.open(tmp_path) as memory:
        profile = memory.profile("app", "mel")
        for n, text in enumerate(("electric is with Octopus, 96 dd on the 5th", "octopus put us up to 112"), 1):
            said = {"role": "user", "content": text, "timestamp": f"2026-02-0{n}T10:00:00Z"}
            profile.ingest([said], session_id=f"s{n}", wait=True)
        held = {each.content: each.occurred_at for each in profile.list(limit=50)}
    rest = next(content for content in held if "is with Octopus" in content)
    assert "96" not in rest
    assert "2026" not in rest
    assert held[rest] is None
