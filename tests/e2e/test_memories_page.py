"""The list of memories, one in detail, and what can be done with it; live from a second client."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from support.browser.checked_page import CheckedPage
from support.server_process import ServerProcess

if TYPE_CHECKING:
    from playwright.sync_api import Route


class Own:
    """A profile of one test's own."""

    def __init__(self, server: ServerProcess, name: str) -> None:
        self.server, self.name = server, name
        self.place = f"/v1/namespaces/studio/profiles/{name}"

    def remember(self, content: str, **more: object) -> str:
        return str(self.server.call_json("POST", f"{self.place}/remember", json={"content": content, **more})["id"])

    def contents(self) -> list[str]:
        listed = self.server.call_json("POST", f"{self.place}/memories/list", json={"limit": 100})
        return sorted(each["content"] for each in listed["memories"])


@pytest.fixture
def own(server: ServerProcess, request: pytest.FixtureRequest) -> Own:
    return Own(server, f"p{abs(hash(request.node.name))}")


def test_search_finds_as_one_types_and_filters_narrow(ui: CheckedPage) -> None:
    page = ui.go("memories")
    page.get_by_text("Coffee without sugar").wait_for()
    page.keyboard.press("/")
    page.keyboard.type("where do I live")
    page.wait_for_url("**q=where*")
    page.locator(".memory-row", has_text="The user lives in Lisbon").get_by_text("meaning").wait_for()
    page.get_by_label("Search memories").fill("")
    page.get_by_role("button", name="Filters").click()
    page.get_by_label("Kind", exact=True).select_option("preference")
    page.get_by_text("Coffee without sugar").wait_for()
    page.get_by_text("The user lives in Lisbon").wait_for(state="detached")
    assert "kind=preference" in page.url
    page.reload()
    page.get_by_role("button", name="Remove filter: Kind").click()
    page.get_by_text("The user lives in Lisbon").wait_for()


def test_superseded_memories_are_shown_when_asked_for(ui: CheckedPage) -> None:
    page = ui.go("memories?key=seat-&superseded=yes")
    page.get_by_text("Prefers window seats on every flight").wait_for()
    page.get_by_text("Prefers aisle seats on flights over four hours").wait_for()


def test_a_memory_shows_its_source_in_the_conversation_and_what_it_said_before(ui: CheckedPage) -> None:
    page = ui.go("memories?key=home-city")
    page.get_by_text("The user lives in Lisbon").click()
    page.locator("blockquote.cited", has_text="We moved to Lisbon last week.").wait_for()
    page.locator("blockquote", has_text="Congratulations!").wait_for()
    page.locator(".versions del", has_text="Porto").wait_for()
    page.locator(".versions ins", has_text="Lisbon").wait_for()
    page.reload()
    page.locator("blockquote.cited").wait_for()


def test_a_memory_is_linked_to_whom_it_names_and_what_is_near(ui: CheckedPage) -> None:
    page = ui.go("memories?key=sister-marta.home-city")
    page.get_by_text("The user's sister Marta").first.click()
    page.get_by_role("link", name="Berlin", exact=True).wait_for()
    page.locator(".memory .lines li").first.wait_for()
    page.get_by_role("link", name="Berlin", exact=True).click()
    page.wait_for_url("**/graph/*")


def test_the_keyboard_alone_walks_the_list(ui: CheckedPage) -> None:
    page = ui.go("memories")
    page.get_by_text("Coffee without sugar").wait_for()
    current = page.locator(".row[aria-current] .memory-row-text")
    page.keyboard.press("j")
    first = current.inner_text()
    page.keyboard.press("j")
    ui.expect(current).not_to_have_text(first, use_inner_text=True)
    page.keyboard.press("k")
    ui.expect(current).to_have_text(first, use_inner_text=True)
    page.keyboard.press("Escape")
    page.get_by_text("Choose a memory").wait_for()
    page.keyboard.press("Control+k")
    page.get_by_role("combobox").wait_for()
    page.keyboard.type("hugo")
    page.get_by_role("option", name="Hugo").first.wait_for()
    page.keyboard.press("Escape")
    page.get_by_role("combobox").wait_for(state="hidden")
    page.keyboard.press("?")
    page.get_by_role("heading", name="Keyboard shortcuts").wait_for()


def test_editing_makes_a_version_and_refuses_to_overwrite_anothers(ui: CheckedPage, own: Own) -> None:
    id = own.remember("Tea with milk", key="tea")
    page = ui.go(f"memories/{id}", own.name)
    page.get_by_role("button", name="Edit", exact=True).click()
    page.get_by_label("Text", exact=True).fill("Tea without milk")
    page.get_by_role("button", name="Save").click()
    page.locator(".versions ins", has_text="without").wait_for()
    assert own.contents() == ["Tea without milk"]
    page.get_by_role("button", name="Edit", exact=True).click()
    page.get_by_label("Text", exact=True).fill("Tea with lemon")
    page.get_by_role("button", name="Save").and_(page.locator(":enabled")).wait_for()
    own.remember("No tea at all", key="tea")
    page.get_by_role("button", name="Save").click()
    page.get_by_text("Someone else changed this memory").wait_for()
    assert own.contents() == ["No tea at all"]
    ui.expects("412", "409")


def test_an_edit_is_taken_back(ui: CheckedPage, own: Own) -> None:
    id = own.remember("Tea with milk", key="tea")
    page = ui.go(f"memories/{id}", own.name)
    page.get_by_role("button", name="Edit", exact=True).click()
    page.get_by_label("Text", exact=True).fill("Tea without milk")
    page.get_by_role("button", name="Save").click()
    page.get_by_role("button", name="Undo").click()
    page.get_by_text("Undone.").wait_for()
    page.locator(".memory-text", has_text="Tea with milk").wait_for()
    assert own.contents() == ["Tea with milk"]


def test_two_are_merged_and_come_apart_again(ui: CheckedPage, own: Own) -> None:
    for text in ("Drinks green tea", "Likes green tea, no sugar"):
        own.remember(text)
    page = ui.go("memories", own.name)
    for text in ("Drinks green tea", "Likes green tea, no sugar"):
        page.get_by_label(f"Select: {text}").check(force=True)
    page.get_by_role("toolbar").get_by_role("button", name="Merge").click()
    page.get_by_label("Text of the merged memory").fill("Drinks green tea without sugar")
    page.locator("dialog").get_by_role("button", name="Merge").click()
    page.locator(".memory-text", has_text="Drinks green tea without sugar").wait_for()
    assert own.contents() == ["Drinks green tea without sugar"]
    page.get_by_role("button", name="Undo").click()
    page.get_by_text("Undone.").wait_for()
    assert own.contents() == ["Drinks green tea", "Likes green tea, no sugar"]
    ui.expects("404")


def test_what_is_marked_wrong_waits_in_review_until_it_is_set_right(ui: CheckedPage, own: Own) -> None:
    id = own.remember("The flight leaves at 9:00")
    page = ui.go(f"memories/{id}", own.name)
    page.get_by_role("button", name="This is wrong").click()
    page.get_by_text("appears in Review").wait_for()
    page.get_by_text("was marked wrong and is no longer used").wait_for()
    assert own.contents() == []
    page.get_by_role("link", name="Review").first.click()
    page.get_by_text("marked wrong", exact=True).wait_for()
    page.get_by_role("button", name="Edit", exact=True).click()
    page.get_by_label("Text", exact=True).fill("The flight leaves at 10:30")
    page.get_by_role("button", name="Save").click()
    page.get_by_text("Nothing to review.").wait_for()
    assert own.contents() == ["The flight leaves at 10:30"]
    page.locator("li", has_text="Marked").get_by_role("button", name="Undo").wait_for()


def test_the_past_is_listed_as_it_was(ui: CheckedPage) -> None:
    page = ui.go("memories?as_of=2020-01-01")
    page.get_by_text("No memory matches the filters").wait_for()
    page.get_by_role("button", name="Remove filter: As of").click()
    page.get_by_text("Coffee without sugar").wait_for()


def test_forgetting_shows_what_goes_and_what_is_shortened_first(ui: CheckedPage, own: Own) -> None:
    said = [{"role": "user", "content": "I live in Porto and I work as an architect."}]
    own.server.call_json("POST", f"{own.place}/ingest", json={"messages": said, "wait": True})
    assert len(own.contents()) > 1
    page = ui.go("memories", own.name)
    page.get_by_text("The user lives in Porto").click()
    page.get_by_role("button", name="Forget", exact=True).click()
    page.get_by_text("1 message is shortened").wait_for()
    page.get_by_role("button", name="Cancel").click()
    assert len(own.contents()) > 1
    page.get_by_role("button", name="Forget", exact=True).click()
    page.get_by_role("button", name="Forget for good").click()
    page.get_by_text("Forgotten for good.").wait_for()
    assert not any("Porto" in text for text in own.contents())
    assert any("architect" in text for text in own.contents())


def test_several_are_forgotten_at_once(ui: CheckedPage, own: Own) -> None:
    for n in range(4):
        own.remember(f"Number {n}")
    page = ui.go("memories", own.name)
    for n in (1, 2):
        page.get_by_label(f"Select: Number {n}").check(force=True)
    page.get_by_text("2 memories selected").wait_for()
    page.get_by_role("toolbar").get_by_role("button", name="Forget", exact=True).click()
    page.get_by_role("button", name="Forget for good").click()
    page.get_by_text("2 memories forgotten for good.").wait_for()
    assert own.contents() == ["Number 0", "Number 3"]


def test_pinning_keeps_and_remembering_adds(ui: CheckedPage, own: Own) -> None:
    own.remember("Blood type 0+")
    page = ui.go("memories", own.name)
    page.get_by_text("Blood type 0+").click()
    page.get_by_role("button", name="Pin", exact=True).click()
    page.get_by_text("Pinned. Retention rules skip this memory.").wait_for()
    page.keyboard.press("n")
    page.get_by_label("Text", exact=True).fill("Allergic to cats")
    page.get_by_role("button", name="Remember", exact=True).click()
    page.locator(".memory-text", has_text="Allergic to cats").wait_for()
    listed = own.server.call_json("POST", f"{own.place}/memories/list", json={"filter": {"metadata.pinned": True}})
    assert [each["content"] for each in listed["memories"]] == ["Blood type 0+"]


def test_what_another_client_writes_and_forgets_is_seen_at_once(ui: CheckedPage, own: Own) -> None:
    own.remember("Here before")
    page = ui.go_and_listen("memories", own.name)
    page.get_by_text("Here before").wait_for()
    ui.expect(page.locator(".row")).to_have_count(1)
    id = own.remember("Written by somebody else")
    page.get_by_text("Written by somebody else").wait_for()
    own.server.call_json("DELETE", f"{own.place}/memories/{id}")
    page.get_by_text("Written by somebody else").wait_for(state="detached")
    home = ui.go("home", own.name)
    home.locator(".live-dot.on").wait_for()
    own.remember("Seen from home")
    home.get_by_text("Memory added").first.wait_for()
    home.get_by_text("Seen from home").first.wait_for()


def test_an_empty_profile_teaches(ui: CheckedPage, own: Own) -> None:
    own.server.call_json("DELETE", f"{own.place}/memories/{own.remember('gone')}")
    page = ui.go("home", own.name)
    page.get_by_role("heading", name="This memory is empty").wait_for()
    assert f"/profiles/{own.name}/ingest" in page.locator(".snippet").inner_text()
    ui.go("memories", own.name).get_by_text("/remember").wait_for()


def test_a_list_tells_when_something_happened_or_else_when_it_was_written(ui: CheckedPage) -> None:
    page = ui.go("memories")
    row = page.locator(".memory-row", has_text="met Hugo")
    row.wait_for()
    assert "20 Oct" in row.locator(".memory-row-when").inner_text()
    written = page.locator(".memory-row", has_text="Coffee without sugar").locator(".memory-row-when").inner_text()
    assert written.startswith("written ")


def test_what_is_wrong_with_a_profile_is_told_once(ui: CheckedPage) -> None:
    error = {"code": "not_found", "message": "There is no profile 'ana' here.", "fix": None, "field": "profile"}
    for route in ("stats", "summary", "sessions"):
        ui.page.route(f"**/profiles/ana/{route}", lambda asked: asked.fulfill(status=404, json={"error": error}))
    page = ui.go("home")
    page.get_by_text("There is no profile 'ana' here.").wait_for()
    ui.expect(page.get_by_role("alert")).to_have_count(1)
    ui.expect(page.locator(".live-dot")).to_have_count(0)
    ui.expects("404")


def test_a_memory_that_is_not_there_says_so(ui: CheckedPage) -> None:
    page = ui.go("memories/01M7FF9Y9Y6WFGGM584Z3DN4XF")
    page.get_by_text("There is no memory or message").wait_for()
    ui.expects("404")


def test_a_server_that_is_away_says_what_to_do(ui: CheckedPage) -> None:
    # Without a stream of events: one that comes back lets the list read again by itself, before the button is pressed.
    ui.page.route("**/profiles/ana/events*", lambda route: route.abort("internetdisconnected"))
    ui.page.route("**/profiles/ana/search", lambda route: route.abort("internetdisconnected"))
    page = ui.go("memories")
    page.get_by_text("Coffee without sugar").wait_for()
    page.get_by_label("Search memories").fill("seats")
    page.get_by_text("The server does not answer.").wait_for()
    ui.page.unroute("**/profiles/ana/search")
    page.get_by_role("button", name="Try again").first.click()
    page.get_by_text("Prefers window seats on every flight").wait_for()
    ui.expects("ERR_INTERNET_DISCONNECTED")


def test_what_is_written_before_the_page_listens_is_shown(ui: CheckedPage, own: Own) -> None:
    own.remember("Tea without milk")
    held: list[Route] = []
    events = f"**/profiles/{own.name}/events*"
    ui.page.route(events, lambda route: held.append(route))
    page = ui.go("memories", own.name)
    page.get_by_text("Tea without milk").wait_for()
    while not held:
        page.wait_for_timeout(20)
    own.remember("Bread without butter")  # no event tells of it: the stream begins later
    held.pop().continue_()
    page.get_by_text("Bread without butter").wait_for()
    ui.page.unroute(events)
