"""Every page, in light and dark, on a phone and on a desk: it shows itself, fits, and axe finds nothing serious."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from support.browser.checked_page import CheckedPage
from support.browser.node_packages import missing_packages
from support.browser.pages import EVERY_PAGE, WIDTHS
from support.server_process import ADMIN_TOKEN, ServerProcess

if TYPE_CHECKING:
    from playwright.sync_api import Browser

OVERFLOW = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
LOOKS = [
    pytest.param("desktop", "light", id="desktop-light"),
    pytest.param("phone", "dark", id="phone-dark"),
    pytest.param("tablet", "light", id="tablet-light", marks=pytest.mark.slow),
]


@pytest.mark.parametrize(("width", "theme"), LOOKS)
def test_every_page_fits_and_is_accessible(browser: Browser, server: ServerProcess, width: str, theme: str) -> None:
    missing = missing_packages()
    wide, high = WIDTHS[width]
    look = {"viewport": {"width": wide, "height": high}, "color_scheme": theme}
    with CheckedPage(browser, str(server.client.base_url).rstrip("/"), **look) as ui:
        ui.sign_in(ADMIN_TOKEN)
        for fragment, ready in EVERY_PAGE.items():
            page = ui.open(fragment)
            page.locator("main h1:visible").wait_for()
            page.locator("main :visible", has_text=ready).last.wait_for()
            assert page.evaluate(OVERFLOW) <= 0, f"{fragment} is wider than a {width}"
            assert page.locator("h1:visible").count() == 1, fragment
            if missing is None:
                ui.expect_accessible()
            ui.expect_nothing_wrong()
    if missing is not None:
        pytest.skip(f"axe was not run: {missing}")


def test_dialogs_and_the_palette_are_accessible(ui: CheckedPage) -> None:
    page = ui.go("memories?key=home-city")
    page.get_by_text("The user lives in Lisbon").click()
    page.locator("blockquote.cited").wait_for()
    ui.expect_accessible()
    for keys, ready in (("e", "Text"), ("#", "will be removed"), ("?", "Everywhere"), ("Control+k", "Go to")):
        page.keyboard.press(keys)
        page.locator("dialog", has_text=ready).wait_for()
        page.wait_for_timeout(100)
        ui.expect_accessible()
        page.keyboard.press("Escape")
        page.locator("dialog").wait_for(state="detached")


@pytest.mark.slow
def test_the_first_page_is_usable_within_a_second(ui: CheckedPage) -> None:
    """The best of three: the machine may be busy with other tests."""
    took = []
    for _ in range(3):
        page = ui.page
        page.goto("about:blank")
        page.goto(f"{ui.base}/#/p/studio/ana/home")
        page.get_by_role("heading", name="What is known").wait_for()
        took.append(page.evaluate("performance.now()"))
    assert min(took) <= 1000, took


def test_light_and_dark_follow_the_system_until_chosen(browser: Browser, server: ServerProcess) -> None:
    with CheckedPage(browser, str(server.client.base_url).rstrip("/"), color_scheme="dark") as ui:
        ui.sign_in(ADMIN_TOKEN)
        page = ui.go("home")
        page.get_by_role("heading", name="What is known").wait_for()
        dark, light = (page.locator(f"html[data-theme={theme}]") for theme in ("dark", "light"))
        dark.wait_for()
        page.emulate_media(color_scheme="light")
        light.wait_for()
        page.get_by_role("button", name="Light or dark").click()
        dark.wait_for()
        page.reload()
        dark.wait_for()
        ui.expect_nothing_wrong()
