"""The traces page in a real browser: turns, what became of every candidate, replay, comparison."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

from support.browser.checked_page import CheckedPage
from support.server_process import ADMIN_TOKEN, ServerProcess
from support.waiting import block_until


class Desk:
    """An agent with a profile of its own, which says in which session and turn it asks."""

    def __init__(self, server: ServerProcess, name: str) -> None:
        self.server, self.name = server, name
        self.place = f"/v1/namespaces/studio/profiles/{name}"
        for content in ("Lives in Porto", "Prefers window seats", "Allergic to peanuts", "Flies to Berlin on Friday"):
            self.ask("remember", {"content": content})

    def ask(self, verb: str, body: dict[str, Any], turn: str | None = None) -> None:
        headers = {"authorization": f"Bearer {ADMIN_TOKEN}", "holdfast-agent": "concierge"}
        if turn is not None:
            headers |= {"holdfast-session": "desk", "holdfast-turn": turn}
        self.server.client.post(f"{self.place}/{verb}", json=body, headers=headers).raise_for_status()

    def take(self, turn: str) -> None:
        self.ask("context", {"query": "Which seat on the flight?", "tokens": 30}, turn)
        self.ask("recall", {"query": "Where do I live?"}, turn)
        said = [{"role": "user", "content": f"I work as architect number {turn} in Braga."}]
        self.ask("ingest", {"messages": said, "session_id": "desk", "wait": True}, turn)


@pytest.fixture
def desk(server: ServerProcess, request: pytest.FixtureRequest) -> Iterator[Desk]:
    made = Desk(server, f"t{abs(hash(request.node.name))}")
    yield made
    server.ask("DELETE", made.place)


def test_a_session_is_shown_turn_by_turn_with_what_each_read_and_wrote(ui: CheckedPage, desk: Desk) -> None:
    desk.take("1")
    desk.take("2")
    page = ui.go("traces?session=desk", desk.name)
    page.get_by_role("heading", name="Turn 1").wait_for()
    ui.expect(page.locator(".traces-turn h2")).to_have_text(["Turn 2", "Turn 1"])
    first = page.locator(".traces-turn").first
    assert first.locator(".traces-said p").inner_text() == "I work as architect number 2 in Braga."
    ui.expect(first.locator("svg.traces-strip")).to_have_count(4)
    assert {*first.locator(".verb").all_inner_texts()} == {"Context", "Recall", "Ingest", "Digest"}
    ui.expect_accessible()
    page.get_by_label("Show").select_option("read")
    page.get_by_text("Ingest").first.wait_for(state="detached")
    ui.expect_to_fit_a_phone()


def test_a_context_tells_what_went_in_what_did_not_and_why(ui: CheckedPage, desk: Desk) -> None:
    desk.take("1")
    page = ui.go("traces?session=desk", desk.name)
    page.get_by_role("link", name=re.compile("^Context")).click()
    page.get_by_role("heading", name=re.compile("^In the context")).wait_for()
    page.get_by_text("Prefers window seats").first.wait_for()
    page.get_by_text(re.compile("It needs \\d+ tokens, and the budget of 30 was used up")).first.wait_for()
    bars = page.locator(".traces-bar").all_inner_texts()
    assert any(each.startswith("Propose") for each in bars)
    assert any(each.startswith("Meaning") for each in bars)
    page.locator(".traces-candidates summary").first.focus()
    page.keyboard.press("Enter")
    page.locator(".traces-reasons").first.wait_for()
    meaning = page.locator(".traces-chip", has_text="Meaning")
    count = int(meaning.locator(".numbers").inner_text())
    meaning.click()
    ui.expect(page.locator(".traces-candidates .place")).to_have_text([str(n + 1) for n in range(count)])
    ui.expect_accessible()
    ui.expect_to_fit_a_phone()


def test_a_recall_is_asked_again_and_both_are_compared(ui: CheckedPage, desk: Desk) -> None:
    desk.take("1")
    page = ui.go("traces?session=desk", desk.name)
    page.get_by_role("link", name=re.compile("^Recall")).click()
    page.get_by_role("heading", name=re.compile("^Read for the answer")).wait_for()
    desk.ask("remember", {"content": "Where I live: Évora, since today"})
    page.keyboard.press("y")
    row = page.locator(".traces-table tbody tr", has_text="Évora")
    row.get_by_text("No channel found it.").wait_for()
    row.locator(".tag", has_text="new").wait_for()
    ui.expect_accessible()
    page.get_by_role("button", name="Compare…").click()
    page.get_by_role("dialog").get_by_role("link").first.click()
    page.get_by_role("dialog").wait_for(state="detached")
    ui.expect(page.locator(".traces-two .card")).to_have_count(2)
    ui.expect_to_fit_a_phone()


def test_what_was_forgotten_since_is_not_told_by_a_trace(ui: CheckedPage, desk: Desk) -> None:
    desk.ask("remember", {"content": "Secret: the key is under the mat"})
    desk.ask("search", {"query": "where is the key?"}, "1")
    found = desk.server.call_json("POST", f"{desk.place}/search", json={"query": "key under the mat", "limit": 1})
    desk.server.call_json("DELETE", f"{desk.place}/memories/{found['hits'][0]['id']}")
    page = ui.go("traces?session=desk", desk.name)
    with page.expect_response(re.compile(r"/traces/\w+/items$")):
        page.get_by_role("link", name=re.compile("^Search")).click()
    page.locator(".traces-fall").wait_for()
    for gone in ("under the mat", "where is the key"):
        assert page.get_by_text(gone).count() == 0


def test_what_only_looks_is_left_out_unless_asked_for(ui: CheckedPage, desk: Desk) -> None:
    desk.take("1")
    for place in ("graph", "documents", "memories"):
        with ui.page.expect_response(re.compile(f"{desk.place}/{place}")):
            ui.go(place, desk.name)
    page = ui.go("traces", desk.name)
    page.get_by_role("heading", name="Turn 1").wait_for()
    told = {"Context", "Recall", "Ingest", "Digest", "Remember"}
    block_until(lambda: {*page.locator(".verb").all_inner_texts()} == told)
    page.get_by_label("Show").select_option("all")
    page.locator(".verb", has_text="Graph").first.wait_for()


def test_no_traces_is_a_page_that_teaches(ui: CheckedPage) -> None:
    page = ui.go("traces?session=never-heard-of")
    page.get_by_text("holdfast-session: never-heard-of").wait_for()
    ui.expect_accessible()


def test_a_trace_that_is_not_there_says_so(ui: CheckedPage) -> None:
    page = ui.go("traces/01ARZ3NDEKTSV4RRFFQ69G5FAV")
    page.get_by_text("There is no trace").first.wait_for()
    ui.expects("404")
