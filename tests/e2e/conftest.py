"""What the browser tests share: Chromium, a server with a life in it, and a page that notices everything wrong."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from support.browser import sample_profile
from support.browser.checked_page import CheckedPage
from support.browser.chromium import FLAGS, SKIP_REASONS, NoBrowser, chromium
from support.server_process import ADMIN_TOKEN, ServerProcess

if TYPE_CHECKING:
    from playwright.sync_api import Browser


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    for reason in dict.fromkeys(SKIP_REASONS):
        terminalreporter.write_line(f"THE WEB UI WAS NOT TESTED IN A BROWSER: {reason}", yellow=True)


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """Of this folder only: while it runs, this thread has an event loop, and tests elsewhere have their own."""
    try:
        path = chromium()
    except NoBrowser as missing:
        SKIP_REASONS.append(str(missing))
        pytest.skip(str(missing))
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield running
        running.close()


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    """One for all: tests write to profiles of their own, and only read ana's."""
    with ServerProcess(tmp_path_factory.mktemp("ui") / "data") as running:
        sample_profile.fill_profile(running)
        yield running


@pytest.fixture(scope="module")
def signed_in(browser: Browser, server: ServerProcess) -> Iterator[CheckedPage]:
    """A signed-in browser of an administrator: a new one for every test would take twice as long."""
    with CheckedPage(browser, str(server.client.base_url).rstrip("/")) as watched:
        watched.sign_in(ADMIN_TOKEN)
        yield watched


@pytest.fixture
def ui(signed_in: CheckedPage) -> Iterator[CheckedPage]:
    """The same as if it was new. What it noticed must be nothing."""
    signed_in.begin_anew()
    yield signed_in
    signed_in.expect_nothing_wrong()
