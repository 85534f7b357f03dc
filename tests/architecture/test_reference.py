"""The reference pages are what the code says today; `python scripts/reference.py` writes them again."""

from __future__ import annotations

import runpy

import pytest

from support.paths import ROOT

WRITTEN = runpy.run_path(str(ROOT / "scripts" / "reference.py"))["pages"]()


@pytest.mark.parametrize("name", WRITTEN)
def test_the_reference_is_what_the_code_says(name: str) -> None:
    page = ROOT / "docs" / "reference" / name
    kept = page.read_text("utf-8") if page.exists() else ""
    assert WRITTEN[name].split("\n") == kept.split("\n"), "run `python scripts/reference.py` and commit what it writes"


def test_every_page_of_the_reference_is_written_by_the_script() -> None:
    assert sorted(page.name for page in (ROOT / "docs" / "reference").iterdir()) == sorted(WRITTEN)
