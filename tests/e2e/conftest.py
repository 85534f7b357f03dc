"""What the browser tests share: Chromium, a server with a life in it, and a page that notices everything wrong."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "service"))

import seed
from chromium import FLAGS, NoBrowser, chromium
from server import ADMIN, Server
from watched import Watched

if TYPE_CHECKING:
    from playwright.sync_api import Browser

SKIPPED: list[str] = []
"""Why tests could not run, said once at the end."""


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    for reason in dict.fromkeys(SKIPPED):
        terminalreporter.write_line(f"THE WEB UI WAS NOT TESTED IN A BROWSER: {reason}", yellow=True)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Of one file only: while it runs, this thread has an event loop, and tests of other files have their own."""
    try:
        path = chromium()
    except NoBrowser as missing:
        SKIPPED.append(str(missing))
        pytest.skip(str(missing))
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield running
        running.close()


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """One for all: tests write to profiles of their own, and only read ana's."""
    with Server(tmp_path_factory.mktemp("ui") / "data") as running:
        seed.settle(running)
        yield running


@pytest.fixture
def ui(browser: Browser, server: Server) -> Iterator[Watched]:
    """A signed-in browser of an administrator. What it noticed must be nothing."""
    with Watched(browser, str(server.client.base_url).rstrip("/")) as watched:
        watched.sign_in(ADMIN)
        yield watched
        watched.expect_nothing_wrong()
