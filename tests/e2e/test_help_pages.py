"""The built documentation in a real browser: it is searched on this server alone, and breaks no policy."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from holdfast.api.web.documentation import ARCHIVE
from support.browser.checked_page import CheckedPage
from support.browser.chromium import SKIP_REASONS
from support.server_process import ServerProcess

NARROW = {"width": 390, "height": 844}


@pytest.fixture
def reader(request: pytest.FixtureRequest, server: ServerProcess) -> Iterator[CheckedPage]:
    """A browser that is not signed in."""
    if not ARCHIVE.exists():
        SKIP_REASONS.append("the documentation is not built; `make docs` builds it")
        pytest.skip(SKIP_REASONS[-1])
    browser = request.getfixturevalue("browser")
    with CheckedPage(browser, str(server.client.base_url).rstrip("/"), viewport=NARROW) as watched:
        yield watched
        watched.expect_nothing_wrong()


def test_the_search_finds_a_page_and_marks_the_word(reader: CheckedPage) -> None:
    page = reader.open("help/search.html?q=peanuts")
    hit = page.locator("#search-results li a", has_text="Quickstart: a Python program").first
    reader.expect(hit).to_be_visible()
    hit.click()
    reader.expect(page.locator("h1")).to_contain_text("Quickstart: a Python program")


@pytest.mark.parametrize(
    "name", ["", "start/tutorial.html", "reference/rest.html", "results/retrieval.html", "ui.html"]
)
def test_pages_load_whole_and_fit_a_phone(reader: CheckedPage, name: str) -> None:
    page = reader.open(f"help/{name}")
    reader.expect(page.locator("h1")).to_be_visible()
    pictures = "[...document.images].filter((each) => !each.complete || !each.naturalWidth).map((each) => each.src)"
    assert page.evaluate(pictures) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
