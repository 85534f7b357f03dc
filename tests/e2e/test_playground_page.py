"""The playground in a real browser: a cited answer, a context with its tokens, a conversation that is digested."""

from __future__ import annotations

import re

import pytest

from support.browser.checked_page import CheckedPage
from support.server_process import ServerProcess


@pytest.fixture
def own(server: ServerProcess, request: pytest.FixtureRequest) -> str:
    name = f"g{abs(hash(request.node.name))}"
    server.call_json(
        "POST", f"/v1/namespaces/studio/profiles/{name}/remember", json={"content": "Coffee without sugar"}
    )
    return name


def test_an_answer_has_its_citation_marked_in_its_source_and_leads_to_its_trace(ui: CheckedPage) -> None:
    page = ui.go("playground")
    page.get_by_label("Question").fill("Who signs the invoices?")
    page.keyboard.press("Enter")
    page.locator(".playground-answer mark", has_text="Hugo").wait_for()
    page.locator(".playground-source mark", has_text="Hugo").wait_for()
    assert "q=Who+signs" in page.url
    ui.expect_accessible()
    page.reload()
    page.locator(".playground-answer mark", has_text="Hugo").wait_for()
    ui.expect_to_fit_a_phone()
    page.get_by_role("link", name="Why this?").click()
    page.get_by_role("heading", name="Read for the answer").wait_for()


def test_the_answer_comes_as_a_stream(ui: CheckedPage) -> None:
    page = ui.go("playground")
    with page.expect_response(re.compile("/recall/stream$")) as got:
        page.get_by_label("Question").fill("Where do I live?")
        page.keyboard.press("Enter")
    assert got.value.headers["content-type"].startswith("text/event-stream")
    page.locator(".playground-answer", has_text="Lisbon").wait_for()
    page.locator(".playground-source blockquote mark", has_text="Lisbon").wait_for()


def test_a_question_that_nothing_answers_says_so(ui: CheckedPage, own: str) -> None:
    page = ui.go("playground?q=Which+bank+holds+my+mortgage%3F", own)
    page.get_by_role("heading", name="No answer found").wait_for()


def test_a_context_is_shown_with_its_tokens_within_the_budget(ui: CheckedPage) -> None:
    page = ui.go("playground/context")
    page.get_by_label("Question").fill("Where do I live?")
    page.get_by_role("slider").press("Home")
    page.get_by_role("button", name="Build context").click()
    told = page.get_by_role("heading", name=re.compile("of 100 tokens")).inner_text()
    assert 0 < int(told.split()[0]) <= 100
    page.locator(".snippet", has_text="# Memory, as of").wait_for()
    ui.expect_accessible()
    ui.expect_to_fit_a_phone()


def test_a_conversation_becomes_memories_while_one_watches(ui: CheckedPage, own: str) -> None:
    page = ui.go("playground/tell", own)
    page.get_by_label("Conversation").fill("User: I live in Porto and I prefer window seats.\nAssistant: Noted.")
    page.get_by_role("button", name="Ingest 2 messages").click()
    page.locator(".playground-drawn li", has_text="lives in Porto").wait_for()
    page.get_by_role("heading", name="All messages are digested").wait_for()
    page.get_by_label("Conversation").fill("We moved to Lisbon last week.")
    page.get_by_role("button", name="Ingest 1 message").click()
    page.locator(".playground-drawn del", has_text="Porto").wait_for()
    page.locator(".playground-summary ins", has_text="Lisbon").first.wait_for()
    ui.expect_accessible()
    ui.expect_to_fit_a_phone()


def test_a_server_that_is_away_says_what_to_do(ui: CheckedPage) -> None:
    page = ui.go("playground")
    page.get_by_label("Question").fill("Where do I live?")
    ui.context.set_offline(True)
    page.keyboard.press("Enter")
    page.get_by_text("The server does not answer.").wait_for()
    ui.context.set_offline(False)
    page.get_by_role("button", name="Try again").click()
    page.locator(".playground-answer", has_text="Lisbon").wait_for()
    ui.expects("ERR_INTERNET_DISCONNECTED")
