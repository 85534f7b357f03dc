"""Administration in the browser."""

from __future__ import annotations

import re

from support.browser.checked_page import CheckedPage
from support.server_process import ServerProcess


def test_a_secret_url_is_issued_shown_once_and_revoked(ui: CheckedPage, server: ServerProcess) -> None:
    page = ui.open("#/admin/credentials")
    page.get_by_role("button", name="New credential").click()
    page.get_by_label("Name", exact=True).fill("Test phone")
    page.get_by_label("Namespace").select_option("studio")
    page.get_by_label("Profile", exact=True).fill("ana")
    page.get_by_role("button", name="Issue").click()
    page.get_by_role("img", name="The same as a QR code").wait_for()
    url = page.locator(".shown-once pre").inner_text().strip()
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/s/hf_\w+", url)
    assert server.client.get(f"{url}/api/search?q=coffee").is_success
    assert f"{url}/mcp" in page.locator("dialog").inner_text()
    page.get_by_role("button", name="Close").click()
    page.locator("dialog").wait_for(state="detached")
    assert url not in page.content()
    page.get_by_role("button", name="Revoke Test phone").click()
    page.get_by_role("button", name="Revoke", exact=True).click()
    page.get_by_text("Revoked Test phone.").wait_for()
    page.get_by_role("row", name="Test phone").get_by_text("revoked", exact=True).wait_for()
    assert server.client.get(f"{url}/api/search?q=coffee").status_code == 404
    page.get_by_role("link", name="Audit").click()
    page.get_by_text("Credential revoked").first.wait_for()


def test_a_namespace_is_made_and_deleted_only_by_its_name(ui: CheckedPage, server: ServerProcess) -> None:
    page = ui.open("#/admin/places")
    page.get_by_role("button", name="New namespace").click()
    page.get_by_label("Name", exact=True).fill("brief")
    page.get_by_role("button", name="Create").click()
    page.get_by_role("heading", name="brief").wait_for()
    page.get_by_role("button", name="Delete namespace brief").click()
    button = page.get_by_role("button", name="Delete for good")
    assert button.is_disabled()
    page.get_by_label("Type brief to delete it").fill("brief")
    button.click()
    page.get_by_text("Deleted brief.").wait_for()
    assert server.ask("GET", "/v1/namespaces/brief").status_code == 404


def test_retention_rules_are_laid_down_and_tried(ui: CheckedPage, server: ServerProcess) -> None:
    server.call_json("POST", "/v1/namespaces/studio/profiles/kept/remember", json={"content": "x", "kind": "note"})
    page = ui.open("#/admin/retention?in=studio&of=kept")
    page.get_by_role("button", name="Add a rule").click()
    page.get_by_label("Kind", exact=True).fill("note")
    page.get_by_label("Rule", exact=True).select_option("beyond")
    page.get_by_label("How long or how many").fill("0")
    page.get_by_role("button", name="Save for this profile").click()
    page.get_by_text("Saved.").wait_for()
    page.get_by_role("button", name="What would be forgotten now?").click()
    page.get_by_text("1 memory, 0 messages").wait_for()
    held = server.call_json("GET", "/v1/namespaces/studio/profiles/kept/retention")["retention"]
    assert held == {"forget": [{"kind": "note", "beyond": 0}]}


def test_a_rule_that_is_wrong_says_what_to_do(ui: CheckedPage) -> None:
    page = ui.open("#/admin/retention?in=studio&of=ana")
    page.get_by_role("button", name="Add a rule").click()
    page.get_by_label("Kind", exact=True).fill("note")
    page.get_by_label("How long or how many").fill("soon")
    page.get_by_role("button", name="Save for this profile").click()
    page.get_by_role("alert").wait_for()
    ui.expects("400")


def test_a_kind_is_held_to_a_schema(ui: CheckedPage, server: ServerProcess) -> None:
    server.call_json("POST", "/v1/namespaces/studio/profiles/typed/remember", json={"content": "x"})
    page = ui.open("#/admin/kinds?in=studio&of=typed")
    page.get_by_role("button", name="Register a schema").click()
    page.get_by_label("Kind", exact=True).fill("setting")
    page.get_by_role("button", name="Register", exact=True).click()
    page.get_by_role("heading", name="setting version 1").wait_for()
    assert server.call_json("GET", "/v1/namespaces/studio/profiles/typed/kinds/setting")["current"] == 1


def test_usage_health_and_audit_are_shown(ui: CheckedPage) -> None:
    ui.open("#/admin/usage?in=studio&of=ana").get_by_text("No calls of language models yet").wait_for()
    page = ui.open("#/admin/health")
    page.get_by_text("/v1/namespaces/{namespace}/profiles/{profile}/remember").wait_for()
    ui.open("#/admin/audit").get_by_text("Namespace created").first.wait_for()
