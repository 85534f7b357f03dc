"""Whatever text reaches the page stays text: no script runs, nothing is asked elsewhere, the policy holds."""

from __future__ import annotations

import re

import pytest

from support.browser.checked_page import CheckedPage
from support.browser.pages import ADMIN_PAGES
from support.browser.xss_payloads import PAYLOADS
from support.server_process import ServerProcess

NAME = "<img src=x onerror=alert(1)>/\"'`"
PLACE = "/v1/namespaces/studio/profiles/%3Cimg%20src%3Dx%20onerror%3Dalert(1)%3E%2F%22'%60"


def fill(server: ServerProcess) -> list[str]:
    """Every payload in every field that takes it: ids of the memories."""
    ids, messages = [], []
    for n, payload in enumerate(PAYLOADS):
        memory = {
            "content": f"{n} {payload}",
            "kind": f"kind{n % 3}",
            "key": f"{payload[:80]}-{n}",
            "value": {payload: payload},
            "metadata": {payload.replace(".", "_"): payload, "href": payload},
            "agent": payload[:60],
            "embed": False,
        }
        kept = server.ask("POST", f"{PLACE}/remember", json=memory)
        if not kept.is_success:  # a key has rules of its own
            kept = server.ask("POST", f"{PLACE}/remember", json=memory | {"key": f"k{n}", "agent": f"a{n}"})
        assert kept.is_success, kept.text
        ids.append(kept.json()["id"])
        messages.append({"role": "user", "content": payload, "speaker": payload[:100], "metadata": {"x": payload}})
    for start in range(0, len(messages), 50):
        body = {"messages": messages[start : start + 50], "session_id": f"<svg onload=alert({start})>"[:60]}
        server.call_json("POST", f"{PLACE}/ingest", json=body)
    name = PAYLOADS[0]
    server.call_json("POST", "/v1/credentials", json={"name": name[:100], "namespace": "studio", "profile": NAME})
    server.call_json("POST", f"{PLACE}/recall", json={"query": name})
    return ids


@pytest.mark.parametrize("step", [4, pytest.param(1, marks=pytest.mark.slow)])
def test_a_hundred_payloads_in_every_field_stay_text(ui: CheckedPage, server: ServerProcess, step: int) -> None:
    """All of them are in the lists; every fourth is opened too, and in `make prove` every one."""
    assert len(PAYLOADS) >= 100
    ids = fill(server)
    page = ui.go("memories", NAME)
    page.locator(".row").first.wait_for()
    for id in ids[::step]:
        page.evaluate("id => { location.hash = location.hash.replace(/memories.*/, 'memories/' + id) }", id)
        page.locator(".memory .pairs code", has_text=id).wait_for()
    page.evaluate("document.querySelector('.rows').scrollTop = 4000")
    for payload in PAYLOADS[:6]:
        with page.expect_response(re.compile("/search$")):
            page.get_by_label("Search memories").fill(payload)
    ui.go("home", NAME).get_by_role("heading", name="What is known").wait_for()
    ui.go("memories?superseded=yes&q=script", NAME).locator(".row").first.wait_for()
    for fragment in (
        "",
        "#/admin/places",
        "#/admin/credentials",
        "#/admin/audit",
        "#/admin/retention?in=studio&of=ana",
    ):
        ui.open(fragment).locator("main :visible", has_text=ADMIN_PAGES[fragment]).last.wait_for()
    ui.go("home", NAME).keyboard.press("Control+k")
    page.keyboard.type("script")
    page.get_by_role("option").first.wait_for()
    links = page.evaluate("[...document.links].map((link) => link.protocol)")
    assert set(links) <= {"http:", "https:"}
    assert page.title() != "owned"
    server.ask("DELETE", PLACE)
