"""A browser page that notices what must not happen: errors, dialogs, requests to elsewhere, breaches of the policy."""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import quote

import pytest

from support.waiting import block_until

from .node_packages import UI, missing_packages

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator, LocatorAssertions, Page

AXE = UI / "node_modules" / "axe-core" / "axe.min.js"
COLLECT_BREACHES = """
window.__breaches = [];
document.addEventListener('securitypolicyviolation', (event) =>
  window.__breaches.push(event.violatedDirective + ' ' + event.blockedURI));
"""
WAIT_FOR_ANIMATIONS = """
() => Promise.all(document.getAnimations()
  .filter((each) => each.effect.getComputedTiming().endTime !== Infinity)
  .map((each) => each.finished.catch(() => null))).then(() => null)
"""
LENGTHEN_TOASTS = """
const shorter = window.setTimeout;
window.setTimeout = (act, after, ...given) => shorter(act, after >= 4000 ? 10 * after : after, ...given);
"""
"""A word on what just happened goes after seconds; a busy machine may look at it later."""
TIMEOUT_MS = 120_000
DESK = {"width": 1280, "height": 860}
PHONE = {"width": 390, "height": 844}


class CheckedPage:
    def __init__(self, browser: Browser, base: str, **context: Any) -> None:
        self.base = base
        self.context = browser.new_context(**{"viewport": DESK, **context})
        self.context.set_default_timeout(TIMEOUT_MS)
        self.context.add_init_script(COLLECT_BREACHES)
        self.context.add_init_script(LENGTHEN_TOASTS)
        self.wrong: list[str] = []
        self._expected: tuple[str, ...] = ()
        self.page: Page = self.context.new_page()
        self._watch(self.page)

    def _watch(self, page: Page) -> None:
        page.on("console", lambda said: self._heard(said.type, f"{said.text} {said.location.get('url', '')}"))
        page.on("pageerror", lambda error: self.wrong.append(f"error: {error}"))
        page.on("request", lambda request: self._asked(request.url))
        page.on("dialog", lambda dialog: (self.wrong.append(f"a script ran: {dialog.message}"), dialog.dismiss()))
        page.on("popup", lambda opened: self.wrong.append(f"opened {opened.url}"))

    def _heard(self, type: str, text: str) -> None:
        if type == "error":
            self.wrong.append(f"console: {text}")

    def _asked(self, url: str) -> None:
        if not url.startswith((self.base + "/", "data:", "blob:")):
            self.wrong.append(f"asked elsewhere: {url}")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _: type[BaseException] | None, __: BaseException | None, ___: TracebackType | None) -> None:
        self.context.close()

    def begin_anew(self) -> None:
        """Leave what the last test opened, changed, kept and noticed."""
        self.context.set_offline(False)
        self.page.unroute_all()
        self.page.goto(f"{self.base}/healthz")
        self.page.evaluate("localStorage.clear(), sessionStorage.clear()")
        self.page.set_viewport_size(DESK)  # type: ignore[arg-type]
        self.wrong.clear()
        self._expected = ()

    def sign_in(self, token: str) -> None:
        got = self.context.request.post(f"{self.base}/ui/session", data={"token": token}, headers={"origin": self.base})
        assert got.ok, got.text()

    def go(self, place: str = "", profile: str = "ana", space: str = "studio") -> Page:
        """Open a page of a profile by its address, such as `memories?kind=fact`."""
        self.page.goto(f"{self.base}/#/p/{space}/{quote(profile, safe='')}/{place}")
        return self.page

    def go_and_listen(self, place: str, profile: str) -> Page:
        """The same for a profile that was not shown, and wait until the page is told of every change from then on.

        The server says so on the stream of events, in a comment that no script sees.
        """
        streams: set[str] = set()
        begun: set[str] = set()
        network = self.context.new_cdp_session(self.page)
        network.send("Network.enable")
        network.on(
            "Network.requestWillBeSent", lambda sent: sent["type"] == "EventSource" and streams.add(sent["requestId"])
        )
        network.on("Network.dataReceived", lambda received: begun.add(received["requestId"]))
        page = self.go(place, profile)
        while not streams & begun:
            page.wait_for_timeout(10)
        network.detach()
        return page

    def open(self, fragment: str) -> Page:
        self.page.goto(f"{self.base}/{fragment}")
        return self.page

    def expects(self, *signs: str) -> None:
        """What contains one of these is not wrong here, whenever the browser tells of it."""
        self._expected += signs

    def expect(self, locator: Locator) -> LocatorAssertions:
        """What becomes true of it, as long as a busy machine takes for that."""
        from playwright.sync_api import expect

        expect.set_options(timeout=TIMEOUT_MS)
        return expect(locator)

    def expect_nothing_wrong(self) -> None:
        noticed = self.wrong + [f"policy: {each}" for each in self.page.evaluate("window.__breaches")]
        kept = [each for each in noticed if not any(sign in each for sign in self._expected)]
        assert not kept, "\n".join(kept)

    def expect_to_fit_a_phone(self) -> None:
        self.page.set_viewport_size(PHONE)  # type: ignore[arg-type]
        block_until(lambda: self.page.evaluate("document.documentElement.scrollWidth <= innerWidth"))

    def expect_accessible(self) -> None:
        """axe finds nothing serious or critical on the page at rest: half faded in, contrast is low."""
        if missing := missing_packages():
            pytest.skip(f"axe was not run: {missing}")
        self.page.evaluate(WAIT_FOR_ANIMATIONS)
        self.page.evaluate(AXE.read_text("utf-8"))
        found = self.page.evaluate("axe.run(document, {resultTypes: ['violations']})")
        grave = [each for each in found["violations"] if each["impact"] in ("serious", "critical")]
        told = [
            f"{each['id']}: {each['nodes'][0]['html'][:200]} {each['nodes'][0]['failureSummary']}" for each in grave
        ]
        assert not told, "\n".join(told)
