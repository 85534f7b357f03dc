"""The way in and out, as a browser sees it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from support.browser import sample_profile
from support.browser.checked_page import CheckedPage
from support.server_process import ADMIN_TOKEN, ServerProcess

if TYPE_CHECKING:
    from playwright.sync_api import Browser


def issue_token(server: ServerProcess, **more: object) -> str:
    body = {
        "kind": "url",
        "name": "phone",
        "namespace": sample_profile.SPACE,
        "profile": sample_profile.PROFILE,
        **more,
    }
    return str(server.call_json("POST", "/v1/credentials", json=body)["token"])


def test_a_pasted_token_signs_in_and_a_sign_out_ends_it(browser: Browser, server: ServerProcess) -> None:
    with CheckedPage(browser, str(server.client.base_url).rstrip("/")) as ui:
        page = ui.open("")
        page.get_by_label("Token").fill(ADMIN_TOKEN)
        page.get_by_role("button", name="Sign in").click()
        page.get_by_role("heading", name="Choose a profile").wait_for()
        assert ADMIN_TOKEN not in page.url
        assert page.evaluate("document.cookie") == ""
        page.get_by_role("link", name="ana").click()
        page.get_by_role("heading", name="ana").wait_for()
        page.reload()
        page.get_by_role("heading", name="ana").wait_for()
        page.get_by_role("button", name="Sign out").click()
        page.get_by_role("heading", name="Sign in to Holdfast").wait_for()
        page.reload()
        page.get_by_role("heading", name="Sign in to Holdfast").wait_for()
        ui.expect_nothing_wrong()


def test_a_wrong_token_says_what_to_do(browser: Browser, server: ServerProcess) -> None:
    with CheckedPage(browser, str(server.client.base_url).rstrip("/")) as ui:
        page = ui.open("")
        page.get_by_label("Token").fill("hf_wrong")
        page.get_by_role("button", name="Sign in").click()
        page.get_by_text("Paste the admin token", exact=False).wait_for()
        ui.expects("401")
        ui.expect_nothing_wrong()


def test_a_secret_url_opens_its_profile_and_leaves_the_address(browser: Browser, server: ServerProcess) -> None:
    secret = issue_token(server)
    with CheckedPage(browser, str(server.client.base_url).rstrip("/")) as ui:
        page = ui.open(f"s/{secret}")
        page.get_by_role("heading", name="Open this memory").wait_for()
        assert secret not in page.url
        page.get_by_role("button", name="Open").click()
        page.get_by_role("heading", name="ana").wait_for()
        assert page.url.endswith("/#/p/studio/ana/home")
        assert secret not in page.content()
        assert page.get_by_role("link", name="Admin").count() == 0
        ui.expect_nothing_wrong()


def test_a_revoked_secret_url_is_said_to_lead_nowhere(browser: Browser, server: ServerProcess) -> None:
    with CheckedPage(browser, str(server.client.base_url).rstrip("/")) as ui:
        page = ui.open("s/hf_nothing")
        page.get_by_role("button", name="Open").click()
        page.get_by_text("unknown, mistyped, expired or revoked").wait_for()
        ui.expects("status of 40")
        ui.expect_nothing_wrong()


def test_who_may_only_read_is_offered_nothing_else(browser: Browser, server: ServerProcess) -> None:
    with CheckedPage(browser, str(server.client.base_url).rstrip("/")) as ui:
        ui.sign_in(issue_token(server, rights=["read"]))
        page = ui.go("memories")
        page.get_by_text("Coffee without sugar").click()
        page.get_by_text("written directly").wait_for()
        for name in ("Edit", "Forget", "Pin", "Remember something"):
            assert page.get_by_role("button", name=name, exact=True).count() == 0
        ui.expect_nothing_wrong()


def test_a_credential_that_ends_sends_its_browser_to_the_sign_in(browser: Browser, server: ServerProcess) -> None:
    made = server.call_json("POST", "/v1/credentials", json={"name": "brief"})
    with CheckedPage(browser, str(server.client.base_url).rstrip("/")) as ui:
        ui.sign_in(made["token"])
        page = ui.go("memories")
        page.get_by_text("Coffee without sugar").wait_for()
        server.call_json("DELETE", f"/v1/credentials/{made['credential']['id']}")
        page.get_by_label("Search memories").fill("coffee")
        page.get_by_role("heading", name="Sign in to Holdfast").wait_for()
        ui.expects("401")
        ui.expect_nothing_wrong()
