"""The documents page in a real browser: dropped files, addresses, progress, failures, marked passages, forgetting."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from support.browser.checked_page import CheckedPage
from support.server_process import ServerProcess

MANUAL = "# Boiler\n\n## Pressure\n\nRefill the boiler when the gauge is under 1.2 bar.\n\n## Noise\n\nBleed it.\n"
DROP = """
([name, text]) => {
  const data = new DataTransfer();
  data.items.add(new File([text], name));
  dispatchEvent(new DragEvent('drop', {dataTransfer: data, bubbles: true, cancelable: true}));
}
"""


@pytest.fixture
def own(server: ServerProcess, request: pytest.FixtureRequest) -> str:
    name = f"d{abs(hash(request.node.name))}"
    server.call_json(
        "POST", f"/v1/namespaces/studio/profiles/{name}/remember", json={"content": "Coffee without sugar"}
    )
    return name


def add(server: ServerProcess, profile: str, name: str, text: str) -> Any:
    place = f"/v1/namespaces/studio/profiles/{profile}"
    made = server.call_json("POST", place + "/documents", files={"file": (name, text.encode())})
    server.settle(place)
    return made


def test_files_are_chosen_or_dropped_and_read(ui: CheckedPage, own: str, tmp_path: Path) -> None:
    page = ui.go("documents", own)
    page.get_by_role("heading", name="No documents yet").wait_for()
    page.get_by_text("-F file=@handbook.pdf").wait_for()
    ui.expect_accessible()
    (tmp_path / "manual.md").write_text(MANUAL)
    (tmp_path / "minutes.txt").write_text("Hugo wants a second fire door.")
    page.locator("input[type=file]").set_input_files([tmp_path / "manual.md", tmp_path / "minutes.txt"])
    page.get_by_role("link", name="Boiler").wait_for()
    page.get_by_role("link", name="minutes.txt").wait_for()
    page.evaluate(DROP, ["dropped.txt", "The dropped one speaks of herons."])
    page.get_by_role("link", name="dropped.txt").wait_for()
    page.get_by_label("Search in documents").fill("herons")
    page.locator(".documents-hits mark", has_text="herons").wait_for()
    ui.expect_accessible()
    ui.expect_to_fit_a_phone()


def test_a_search_opens_the_document_at_the_passage(ui: CheckedPage, server: ServerProcess, own: str) -> None:
    add(server, own, "manual.md", MANUAL)
    page = ui.go("documents", own)
    page.keyboard.press("/")
    page.get_by_label("Search in documents").fill("refill the boiler gauge")
    page.locator(".documents-hits a", has_text="Pressure").click()
    page.locator("article.best mark", has_text="gauge").wait_for()
    assert page.locator("article.best header").inner_text().startswith("Boiler › Pressure")
    ui.expect_accessible()
    page.reload()
    page.locator("article.best mark", has_text="gauge").wait_for()
    ui.expect_to_fit_a_phone()


def test_one_that_cannot_be_read_says_why_and_is_tried_again(ui: CheckedPage, server: ServerProcess, own: str) -> None:
    add(server, own, "broken.pdf", "%PDF-1.7 and then nothing")
    page = ui.go("documents", own)
    page.get_by_text("Could not be read").wait_for()
    page.get_by_text("The PDF is broken").wait_for()
    assert page.locator(".documents-failed").inner_text().count("save it there again") == 1
    page.get_by_role("button", name="Try again").click()
    page.get_by_text("It is being read again.").wait_for()
    page.get_by_text("Could not be read").wait_for()


def test_an_address_that_may_not_be_fetched_is_an_error_in_sight(ui: CheckedPage, own: str) -> None:
    page = ui.go("documents", own)
    page.get_by_label("Web page").fill("ftp://example.org/handbook")
    page.get_by_role("button", name="Add page").click()
    page.get_by_role("alert").wait_for()
    ui.expects("422", "400")


def test_a_page_that_does_not_answer_says_why_and_when_it_is_tried_again(ui: CheckedPage, own: str) -> None:
    page = ui.go("documents", own)
    page.get_by_label("Web page").fill("http://nowhere.invalid/handbook")
    page.get_by_role("button", name="Add page").click()
    said = page.locator(".documents-failed")
    said.get_by_text("nowhere.invalid").wait_for()
    said.get_by_text("Next attempt").wait_for()
    page.locator(".documents-state", has_text="Waiting").wait_for()
    ui.expect(page.get_by_role("progressbar")).to_have_count(0)
    ui.expect_accessible()


def test_a_document_is_no_session_of_its_profile(ui: CheckedPage, server: ServerProcess, own: str) -> None:
    add(server, own, "manual.md", MANUAL)
    page = ui.go("home", own)
    page.get_by_text("No conversation yet.").wait_for()
    page.get_by_text("1 memory from 0 sessions").wait_for()


def test_a_document_is_forgotten_after_a_look_at_what_goes_along(
    ui: CheckedPage, server: ServerProcess, own: str
) -> None:
    id = add(server, own, "manual.md", MANUAL)["id"]
    page = ui.go(f"documents/{id}", own)
    page.get_by_role("button", name="Forget", exact=True).click()
    page.get_by_text("will be removed for good, together with the original.").wait_for()
    ui.expect_accessible()
    page.get_by_role("button", name="Forget for good").click()
    page.get_by_role("heading", name="No documents yet").wait_for()
    assert server.call_json("GET", f"/v1/namespaces/studio/profiles/{own}/documents")["documents"] == []


def test_an_original_comes_back_byte_for_byte(ui: CheckedPage, server: ServerProcess, own: str) -> None:
    id = add(server, own, "manual.md", MANUAL)["id"]
    page = ui.go(f"documents/{id}", own)
    with page.expect_download() as got:
        page.get_by_role("link", name="Original").click()
    assert Path(got.value.path()).read_text() == MANUAL
    assert got.value.suggested_filename == "manual.md"
