"""A profile of a hundred thousand memories: the list scrolls through all of it without a long task."""

from __future__ import annotations

import asyncio
import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from holdfast import AsyncHoldfast
from holdfast.domain.types import Change
from holdfast.testing import HashingEmbedder
from holdfast.testing.conformance.samples import memory
from support.browser.checked_page import CheckedPage
from support.server_process import ADMIN_TOKEN, ServerProcess

if TYPE_CHECKING:
    from playwright.sync_api import Browser

COUNT, BATCH, MEASURED = 100_000, 2000, 20_000
LONGEST_MS = 100
SCROLL = """
async (count) => {
  const rows = document.querySelector('.rows');
  const frame = () => new Promise(requestAnimationFrame);
  const started = performance.now();
  let last = -1;
  while (performance.now() - started < 150_000) {
    rows.scrollTop += 1500;
    await frame();
    if (rows.scrollTop === last && rows.scrollHeight >= count * 72) break;
    if (rows.scrollTop + rows.clientHeight >= count * 72) break;
    last = rows.scrollTop;
  }
  return [rows.scrollHeight / 72, performance.now() - started];
}
"""


async def write(folder: Path) -> None:
    async with await AsyncHoldfast.open(folder, embedder=HashingEmbedder()) as holdfast:
        ana = holdfast.profile("studio", "ana")
        await ana.remember("The first of many", embed=False)
        store = await ana.profile_context.store()
        for start in range(0, COUNT, BATCH):
            made = tuple(memory(f"Note {n}: the delivery of part {n * 7 % 9973} came late", n=n, kind="note")
                         for n in range(start, start + BATCH))  # fmt: skip
            await store.apply(Change(memories=made))


@pytest.mark.slow
@pytest.mark.timeout(400)
def test_a_hundred_thousand_memories_scroll_without_a_long_task(browser: Browser, tmp_path: Path) -> None:
    with ThreadPoolExecutor(1) as other:  # this thread has the browser's event loop
        other.submit(asyncio.run, write(tmp_path / "data")).result()
    with (
        ServerProcess(tmp_path / "data") as server,
        CheckedPage(browser, str(server.client.base_url).rstrip("/")) as ui,
    ):
        ui.sign_in(ADMIN_TOKEN)
        page = ui.go("memories")
        page.locator(".row").first.wait_for()
        page.evaluate(SCROLL, COUNT - MEASURED)
        browser.start_tracing(page=page, categories=["toplevel"])
        seen, took = page.evaluate(SCROLL, COUNT)
        tasks = main_thread_tasks(browser.stop_tracing())
        nodes = page.evaluate("document.querySelectorAll('*').length")
        print(f"\n{seen:,.0f} rows, the last {MEASURED:,} in {took / 1000:.0f} s; longest task {max(tasks):.0f} ms")
        assert seen >= COUNT
        assert nodes < 2000
        assert max(tasks) <= LONGEST_MS
        ui.expect_nothing_wrong()


def main_thread_tasks(trace: bytes) -> list[float]:
    """How long each task kept the page's main thread, in ms of its own CPU time: a busy machine changes that little."""
    events = json.loads(trace)["traceEvents"]
    names = {(each["pid"], each["tid"]): each["args"]["name"] for each in events if each["name"] == "thread_name"}
    main = [each for each in events if names.get((each["pid"], each["tid"])) == "CrRendererMain"]
    return [each["tdur"] / 1000 for each in main if each["name"].endswith("RunTask") and "tdur" in each]
