"""A profile of a hundred thousand memories: the list scrolls through all of it without a long task."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from server import ADMIN, Server
from watched import Watched

from holdfast import AsyncHoldfast
from holdfast.conformance.made import memory
from holdfast.testing import HashingEmbedder
from holdfast.types import Change

if TYPE_CHECKING:
    from playwright.sync_api import Browser

COUNT, BATCH = 100_000, 2000
LONGEST_MS = 100
LISTEN = """
window.__tasks = [];
new PerformanceObserver((list) => list.getEntries().forEach((task) => window.__tasks.push(task.duration)))
  .observe({ type: 'longtask', buffered: true });
"""
SCROLL = """
async (count) => {
  const rows = document.querySelector('.rows');
  const frame = () => new Promise(requestAnimationFrame);
  const started = performance.now();
  let last = -1;
  while (performance.now() - started < 150_000) {
    rows.scrollTop += 1500;
    await frame();
    const height = rows.scrollHeight;
    if (rows.scrollTop === last && height >= count * 72) break;
    last = rows.scrollTop;
  }
  return [rows.scrollHeight / 72, performance.now() - started];
}
"""


async def write(folder: Path) -> None:
    async with await AsyncHoldfast.open(folder, embedder=HashingEmbedder()) as holdfast:
        ana = holdfast.profile("studio", "ana")
        await ana.remember("The first of many", embed=False)
        store = await ana._store()
        for start in range(0, COUNT, BATCH):
            made = tuple(memory(f"Note {n}: the delivery of part {n * 7 % 9973} came late", n=n, kind="note")
                         for n in range(start, start + BATCH))  # fmt: skip
            await store.apply(Change(memories=made))


@pytest.mark.slow
@pytest.mark.timeout(400)
def test_a_hundred_thousand_memories_scroll_without_a_long_task(browser: Browser, tmp_path: Path) -> None:
    with ThreadPoolExecutor(1) as other:  # this thread has the browser's event loop
        other.submit(asyncio.run, write(tmp_path / "data")).result()
    with Server(tmp_path / "data") as server, Watched(browser, str(server.client.base_url).rstrip("/")) as ui:
        ui.context.add_init_script(LISTEN)
        ui.sign_in(ADMIN)
        page = ui.go("memories")
        page.locator(".row").first.wait_for()
        page.evaluate("window.__tasks.length = 0")  # starting is not scrolling
        seen, took = page.evaluate(SCROLL, COUNT)
        tasks = page.evaluate("window.__tasks")
        nodes = page.evaluate("document.querySelectorAll('*').length")
        longest = max(tasks, default=0)
        print(f"\n{seen:,.0f} rows in {took / 1000:.0f} s, {len(tasks)} tasks over 50 ms, the longest {longest} ms")
        assert seen >= COUNT
        assert nodes < 2000
        assert longest <= LONGEST_MS
        ui.expect_nothing_wrong()
