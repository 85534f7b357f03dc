"""The same payloads on the pages of traces, documents, the graph and the playground."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import pytest

from support.browser.checked_page import CheckedPage
from support.browser.xss_payloads import PAYLOADS
from support.server_process import ADMIN_TOKEN, ServerProcess

NAME = "smuggler"
PLACE = f"/v1/namespaces/studio/profiles/{NAME}"


@pytest.fixture(scope="module")
def filled(server: ServerProcess) -> Iterator[dict[str, Any]]:
    """Questions, sessions, turns, agents, files' names, headings and words, and names of entities."""
    documents, entities = [], []
    server.call_json("POST", f"{PLACE}/remember", json={"content": "Marta works at Acme Robotics."})
    for n, payload in enumerate(PAYLOADS):
        told = {"session": f"{payload[:40]} {n % 7}", "turn": f"{payload[:40]} {n}", "agent": payload[:60]}
        headers = {f"holdfast-{name}": quote(value, safe="") for name, value in told.items()}
        asked = server.client.post(
            f"{PLACE}/search", json={"query": payload}, headers={"authorization": f"Bearer {ADMIN_TOKEN}", **headers}
        )
        assert asked.is_success or asked.status_code == 422, asked.text
        if n % 8 == 0:
            text = f"# {payload}\n\n## {payload}\n\nThe gauge says: {payload}\n"
            file = (f"{n}-{payload[:40]}.md", text.encode())
            documents.append(server.call_json("POST", f"{PLACE}/documents", files={"file": file})["id"])
    for payload in PAYLOADS[:12]:
        merged = server.ask(
            "POST", f"{PLACE}/entities/merge", json={"into": "Marta", "others": [payload[:60]], "name": payload[:60]}
        )
        entities.append(merged.is_success)
    server.settle(PLACE)
    assert any(entities)
    yield {"documents": documents}
    server.ask("DELETE", PLACE)


def test_traces_stay_text(ui: CheckedPage, server: ServerProcess, filled: dict[str, Any]) -> None:
    page = ui.go("traces?show=all", NAME)
    page.locator(".traces-op").first.wait_for()
    traces = server.call_json("GET", f"{PLACE}/traces", params={"limit": 200})["traces"]
    for trace in [each for each in traces if each["operation"] == "search"][::8]:
        ui.go(f"traces/{trace['id']}", NAME).locator(".traces-fall").wait_for()
    session = quote(traces[-5]["caller"]["session_id"] or "x", safe="")
    ui.go(f"traces?session={session}", NAME).locator(".traces-turn").first.wait_for()
    assert page.title() != "owned"


def test_documents_stay_text(ui: CheckedPage, filled: dict[str, Any]) -> None:
    page = ui.go("documents", NAME)
    page.locator(".documents-list li").first.wait_for()
    for id in filled["documents"]:
        ui.go(f"documents/{id}?q=gauge", NAME).locator(".documents-passages article").first.wait_for()
    ui.go("documents?q=gauge", NAME).locator(".documents-hits li").first.wait_for()
    assert set(page.evaluate("[...document.links].map((link) => link.protocol)")) <= {"http:", "https:"}


def test_the_graph_and_the_playground_stay_text(ui: CheckedPage, filled: dict[str, Any]) -> None:
    page = ui.go("graph", NAME)
    page.locator(".graph-list a").first.click()
    page.locator(".graph-links").wait_for()
    for payload in PAYLOADS[:8]:
        asked = quote(payload, safe="")
        ui.go(f"playground/ask?q={asked}", NAME).locator(".playground-answer, .playground-none").first.wait_for()
    ui.go(f"playground/context?q={quote(PAYLOADS[0], safe='')}", NAME).locator(".playground-spent").wait_for()
    ui.go("playground/tell", NAME).get_by_label("Conversation").fill(f"User: {PAYLOADS[0]}\nUser: I live in Porto.")
    page.get_by_role("button", name="Ingest 2 messages").click()
    page.get_by_role("heading", name="All messages are digested").wait_for()
    assert page.title() != "owned"
