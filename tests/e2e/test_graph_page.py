"""The graph in a real browser: the picture, one entity, expanding, a path, the past, five thousand entities."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest

from support.browser.checked_page import CheckedPage
from support.browser.chromium import chromium
from support.server_process import ADMIN_TOKEN, ServerProcess
from support.waiting import block_until

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

SAID = (
    "Marta works at Acme Robotics.", "Acme Robotics uses Kafka.", "Marta is married to Jonas.", "Jonas works at Bolt.",
    "Bolt uses Kafka.", "Hugo manages Ines.",
)  # fmt: skip
LONGEST_TASK_MS = 100
SETTLED_MS = 9000
DRAWING = ["--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--ignore-gpu-blocklist"]
WATCH = """
window.__long = [];
new PerformanceObserver((list) => window.__long.push(...list.getEntries().map((each) => each.duration)))
  .observe({type: 'longtask', buffered: false});
"""


class Own:
    def __init__(self, server: ServerProcess, name: str) -> None:
        self.server, self.name = server, name
        self.place = f"/v1/namespaces/studio/profiles/{name}"

    def remember(self, content: str, **more: object) -> str:
        return str(self.server.call_json("POST", f"{self.place}/remember", json={"content": content, **more})["id"])


@pytest.fixture
def own(server: ServerProcess, request: pytest.FixtureRequest) -> Own:
    made = Own(server, f"r{abs(hash(request.node.name))}")
    for content in SAID:
        made.remember(content)
    return made


def test_entities_are_drawn_and_one_opens_with_its_links_and_memories(ui: CheckedPage, own: Own) -> None:
    page = ui.go("graph", own.name)
    page.locator(".graph-canvas canvas").first.wait_for()
    page.locator(".graph-list a", has_text="Marta").wait_for()
    ui.expect_accessible()
    page.keyboard.press("/")
    page.keyboard.type("acme")
    page.locator(".graph-list a", has_text="Marta").wait_for(state="detached")
    page.locator(".graph-list a", has_text="Acme Robotics").click()
    page.get_by_role("heading", name="Acme Robotics").wait_for()
    page.locator(".graph-links li", has_text="Marta works at Acme Robotics").wait_for()
    ui.expect_accessible()
    page.locator(".graph-memories a", has_text="Acme Robotics uses Kafka.").click()
    page.locator(".memory-text", has_text="Acme Robotics uses Kafka.").wait_for()
    page.go_back()
    page.get_by_role("heading", name="Acme Robotics").wait_for()
    ui.expect_to_fit_a_phone()


def test_a_click_on_the_picture_chooses_what_lies_there(ui: CheckedPage, own: Own) -> None:
    def chosen() -> bool:
        page = ui.go("graph/marta", own.name)
        page.get_by_role("heading", name="Marta").wait_for()
        page.wait_for_timeout(1000)  # the picture moves until she is in the middle
        page.keyboard.press("Escape")
        page.get_by_role("heading", name="Graph").wait_for()
        box: Any = page.locator(".graph-canvas").bounding_box()
        page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        page.wait_for_timeout(500)
        return page.get_by_role("heading", name="Marta").count() == 1

    block_until(chosen)  # on a busy machine it moves for longer


def test_the_way_between_two_is_told_and_can_be_cleared(ui: CheckedPage, own: Own) -> None:
    page = ui.go("graph/marta", own.name)
    page.get_by_role("button", name="Path to…").click()
    page.get_by_role("dialog").get_by_label("Find an entity").fill("bolt")
    page.get_by_role("dialog").get_by_role("link", name="Bolt").click()
    way = page.locator(".graph-way")
    way.get_by_text("From Marta to Bolt").wait_for()
    ui.expect(way.locator("li")).to_have_count(2)
    page.reload()
    way.get_by_text("From Marta to Bolt").wait_for()
    ui.expect_accessible()
    page.get_by_role("button", name="Clear the path").click()
    way.wait_for(state="detached")
    ui.go("graph/marta?to=hugo", own.name)
    page.get_by_text("There is no path.").wait_for()


def test_an_entity_that_is_not_among_the_first_is_brought_and_expanded(ui: CheckedPage, own: Own) -> None:
    for n in range(160):
        own.remember(f"Berta{n} visited Rome.")
        own.remember(f"Berta{n} visited Paris.")
    page = ui.go("graph/ines?limit=150", own.name)
    page.get_by_role("heading", name="Ines").wait_for()
    page.locator(".graph-links li", has_text="Hugo manages Ines").wait_for()
    page.keyboard.press("e")
    page.get_by_role("button", name="Expanded").wait_for()


def test_the_slider_shows_what_was_known_then(ui: CheckedPage, own: Own) -> None:
    before = datetime.now(UTC).isoformat()
    own.remember("Jonas works at Siemens.")
    page = ui.go(f"graph?as_of={before.replace('+', '%2B')}", own.name)
    page.locator(".graph-list a", has_text="Jonas").wait_for()
    ui.expect(page.locator(".graph-list a", has_text="Siemens")).to_have_count(0)
    page.get_by_role("button", name="Now").click()
    page.locator(".graph-list a", has_text="Siemens").wait_for()
    page.get_by_role("slider", name="As of").press("Home")
    page.get_by_text("0 entities, 0 links").wait_for()
    assert "as_of=" in page.url
    page.get_by_role("slider", name="As of").press("End")
    page.locator(".graph-list a", has_text="Siemens").wait_for()


def test_what_another_client_writes_appears(ui: CheckedPage, own: Own) -> None:
    page = ui.go_and_listen("graph", own.name)
    page.locator(".graph-list a", has_text="Marta").wait_for()
    own.remember("Jonas works at Philips.")
    page.locator(".graph-list a", has_text="Philips").wait_for()


def test_an_empty_graph_teaches(ui: CheckedPage, server: ServerProcess) -> None:
    Own(server, "nobody").remember("coffee without sugar")
    page = ui.go("graph", "nobody")
    page.get_by_role("heading", name="No entities yet").wait_for()
    page.get_by_text("/profiles/nobody/remember").wait_for()
    ui.expect_accessible()


def test_without_webgl_the_list_still_serves(browser: Browser, server: ServerProcess, own: Own) -> None:
    with CheckedPage(browser, str(server.client.base_url).rstrip("/")) as ui:
        ui.sign_in(ADMIN_TOKEN)
        ui.context.add_init_script("HTMLCanvasElement.prototype.getContext = () => null")
        page = ui.go("graph", own.name)
        page.get_by_text("This browser does not support WebGL").wait_for()
        page.locator(".graph-list a", has_text="Marta").click()
        page.locator(".graph-links li", has_text="Marta works at Acme Robotics").wait_for()
        ui.expect_nothing_wrong()


@pytest.mark.slow
def test_five_thousand_entities_stay_fluid(browser: Browser, server: ServerProcess, own: Own) -> None:
    """With the drawing in a process of its own, as on any machine with a graphics card."""
    drawing = browser.browser_type.launch(executable_path=chromium(), args=DRAWING)
    with CheckedPage(drawing, str(server.client.base_url).rstrip("/")) as ui:
        ui.sign_in(ADMIN_TOKEN)
        ui.context.route(re.compile("/graph[?]"), lambda route: route.fulfill(json=five_thousand()))
        ui.context.add_init_script(WATCH)
        page = ui.go("graph?limit=5000", own.name)
        page.get_by_text("5,000 entities, 9,000 links").wait_for()
        page.wait_for_timeout(SETTLED_MS)
        page.evaluate("window.__long = []")
        wait_until_moved(page)
        long = page.evaluate("window.__long")
        assert max(long, default=0) <= LONGEST_TASK_MS, long
    drawing.close()


def wait_until_moved(page: Page) -> None:
    """Drag, hover and zoom."""
    box: Any = page.locator(".graph-canvas").bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    for step in range(20):
        page.mouse.move(x + 8 * step, y + 4 * step)
    page.mouse.up()
    for step in range(20):
        page.mouse.move(x + 8 * step, y - 4 * step)
    for _ in range(5):
        page.mouse.wheel(0, -120)
        page.wait_for_timeout(100)


def five_thousand() -> dict[str, Any]:
    names = [f"entity {n}" for n in range(5000)]
    types = ("person", "place", "thing")
    entities = [
        {"id": name, "name": name.title(), "type": types[n % 3], "memories": 1 + 400 // (n + 1), "names": []}
        for n, name in enumerate(names)
    ]
    pairs = [(n, n // 5) for n in range(1, 5000)] + [(n, (n * 7) % 4999) for n in range(4001)]
    links = [
        {"from": names[a], "to": names[b], "relation": "with", "memory": f"{a}-{b}-{n}", "since": None, "until": None}
        for n, (a, b) in enumerate(pairs)
    ]
    return {"entities": entities, "links": links, "truncated": False}
