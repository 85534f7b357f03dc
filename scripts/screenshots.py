"""Pictures of the web UI for the documentation: `python -m scripts.screenshots [--out docs/images] [--all]`.

Starts a real server on a profile with a few months of life, opens every page in Chromium, and writes PNG files of 256
colours: the few that the documentation shows, or with `--all` every page at three widths in light and dark.
"""

from __future__ import annotations

import argparse
import asyncio
import io
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser, sync_playwright
from tests.support.browser import sample_profile
from tests.support.browser.checked_page import CheckedPage
from tests.support.browser.chromium import FLAGS, chromium
from tests.support.browser.pages import EVERY_PAGE, WIDTHS, page_address
from tests.support.server_process import ADMIN_TOKEN, ServerProcess

from holdfast import AsyncHoldfast
from holdfast.service.wiring import wire
from holdfast.testing import FrozenClock

ROOT = Path(__file__).parents[1]
SMALL = [
    "Ana likes her coffee from {0}", "The {0} drawings were sent to Hugo", "Marta called about {0}",
    "The supplier of {0} is late by a week", "Ana reviewed the {0} plan", "Decided: {0} stays in the budget",
]  # fmt: skip
THINGS = ["oak", "the stairwell", "glass", "Lisbon", "the reading room", "lighting", "concrete", "the café", "Braga"]
TURNS = [
    ("chat-12", "1", "Book a flight to Berlin. Which seat do I like?"),
    ("chat-12", "2", "Who signs the invoices of the library?"),
    ("chat-12", "3", "Where do I live now?"),
]
SHOWN = {  # name → page, width, theme
    "home": (page_address("home"), "desktop", "light"),
    "memories": (page_address("memories?q=which+city+is+home"), "desktop", "light"),
    "review": (page_address("review"), "desktop", "light"),
    "traces": (page_address("traces"), "desktop", "dark"),
    "playground": (page_address("playground"), "desktop", "light"),
    "phone": (page_address("memories"), "phone", "dark"),
}
MOST_BYTES = 150 * 1024


async def live(folder: Path) -> None:
    """A few months: conversations on the days they were held, and small notes in between."""
    parts, clock = wire(folder, embedder="potion"), FrozenClock()
    async with AsyncHoldfast(parts.vault, parts.embedder, parts.extractor, clock=clock) as memory:
        await memory.create_namespace(sample_profile.SPACE)
        ana = memory.profile(sample_profile.SPACE, sample_profile.PROFILE)
        days = {
            at[:10]: (session, said) for session, said in sample_profile.CONVERSATIONS.items() for _, at, _ in said[:1]
        }
        today = datetime.now(UTC).replace(hour=9, minute=0)
        for back in range(110, -1, -1):
            clock.at = today - timedelta(days=back)
            session, said = days.get(clock.at.date().isoformat(), ("", []))
            if said:
                told = [{"role": role, "timestamp": at, "content": text} for role, at, text in said]
                await ana.ingest(told, session_id=session)
            for n in range(back * 7 % 11 % 4):
                text = SMALL[(back + n) % len(SMALL)].format(THINGS[(back * 3 + n) % len(THINGS)])
                await ana.remember(f"{text} ({clock.at:%d %B})", kind="note")
            await ana.settle(20)
        clock.at = datetime.now(UTC)
        for written in sample_profile.MEMORIES:
            await ana.remember(**written)
        await ana.remember("Prefers window seats on every flight", key="seat-preference", kind="preference")
        for text in ("The dentist is Dr. Braga", "The dentist is Dr Braga."):
            await ana.remember(text, metadata={"said": text})
        wrong = await ana.remember("The opening is at nine in the evening", kind="fact")
        await ana.mark(wrong.id, right=False)


def ask_questions(server: ServerProcess) -> None:
    """An agent's turns, for the traces."""
    for session, turn, question in TURNS:
        headers = {"authorization": f"Bearer {ADMIN_TOKEN}", "holdfast-agent": "travel-agent",
                   "holdfast-session": session, "holdfast-turn": turn}  # fmt: skip
        for verb, body in (("context", {"query": question}), ("recall", {"query": question})):
            server.client.post(f"{sample_profile.PROFILE_PATH}/{verb}", json=body, headers=headers)
        said = [{"role": "user", "content": question}]
        server.client.post(
            f"{sample_profile.PROFILE_PATH}/ingest", json={"messages": said, "session_id": session}, headers=headers
        )
    server.call_json("POST", f"{sample_profile.PROFILE_PATH}/settle?timeout=30")


def picture(browser: Browser, server: ServerProcess, shot: tuple[str, str, str], path: Path) -> None:
    fragment, width, theme = shot
    wide, high = WIDTHS[width]
    base = str(server.client.base_url).rstrip("/")
    with CheckedPage(browser, base, viewport={"width": wide, "height": high}, color_scheme=theme) as ui:
        ui.sign_in(ADMIN_TOKEN)
        page = ui.open(fragment)
        page.locator("main h1:visible").wait_for()
        page.wait_for_timeout(900)
        if "q=which" in fragment:
            page.get_by_text("The user lives in Lisbon", exact=True).click()
            page.locator("blockquote.cited").wait_for()
        if fragment.endswith("playground"):
            page.get_by_label("Question").fill("What is the budget of the library?")
            page.keyboard.press("Enter")
            page.wait_for_timeout(1500)
        taken = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
    taken.quantize(256, dither=Image.Dither.NONE).save(path, optimize=True)
    assert path.stat().st_size <= MOST_BYTES, f"{path} has {path.stat().st_size:,} bytes"


def main() -> None:
    given = argparse.ArgumentParser(description=__doc__)
    given.add_argument("--out", type=Path, default=ROOT / "docs" / "images")
    given.add_argument("--all", action="store_true", help="every page at three widths, in light and dark")
    chosen = given.parse_args()
    chosen.out.mkdir(parents=True, exist_ok=True)
    shots = dict(SHOWN)
    if chosen.all:
        names = {
            fragment: "-".join(part for part in fragment.split("?")[0].split("/") if part not in "#p")
            for fragment in EVERY_PAGE
        }
        shots = {f"{name or 'choose'}-{width}-{theme}": (fragment, width, theme)
                 for fragment, name in names.items() for width in WIDTHS for theme in ("light", "dark")}  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(live(Path(folder) / "data"))
        with ServerProcess(Path(folder) / "data") as server, sync_playwright() as playwright:
            ask_questions(server)
            browser = playwright.chromium.launch(executable_path=chromium(), args=FLAGS)
            for name, shot in shots.items():
                picture(browser, server, shot, chosen.out / f"{name}.png")
                print(f"{name}.png {(chosen.out / f'{name}.png').stat().st_size:,} bytes")
            browser.close()


if __name__ == "__main__":
    main()
