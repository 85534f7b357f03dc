"""Three short conversations become memory: what a newcomer sees first. Everything shown is really happening."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

from ..results import Context
from ..sync import Holdfast, Profile
from ..types import Memory
from .output import Reply, one_line

if TYPE_CHECKING:
    from rich.table import Table

SESSIONS = (
    ("2025-01-13", ("I live in Berlin and work as a nurse.", "Please always keep your answers short.")),
    ("2025-03-04", ("We moved to Lisbon last weekend!", "I'm allergic to peanuts.")),
    ("2025-03-20", ("Remind me to renew my passport before June.",)),
)
QUESTIONS = ("Where does Mara live?", "What is Mara allergic to?", "What is her blood type?")
TODAY = "2025-03-21T09:00:00Z"
TASK, TOKENS = "plan a dinner for Mara", 70
WIDTH = 92


@dataclass(frozen=True, slots=True)
class Told:
    """One session: what was said, what was learnt, and what each new memory superseded."""

    day: str
    said: tuple[str, ...]
    memories: tuple[Memory, ...]
    superseded: dict[str, str]
    ms: float


@dataclass(frozen=True, slots=True)
class Asked:
    question: str
    answer: str
    source: str
    """The message that the answer rests on."""
    ms: float


@dataclass(frozen=True, slots=True)
class Play:
    folder: str
    opening_ms: float
    sessions: tuple[Told, ...]
    questions: tuple[Asked, ...]
    context: Context
    context_ms: float


def played(data: Path | None, *, quiet: bool) -> Reply:
    with _stage(data) as folder:
        keyring = folder / "keyring" if data is None else None  # a temporary folder must not touch HOLDFAST_KEYRING
        clock = _Clock()
        with Holdfast.open(folder, keyring=keyring) as holdfast:
            opening = clock.ms()
            mara = holdfast.profile("demo", "mara")
            sessions = tuple(_told(mara, n) for n in range(len(SESSIONS)))
            questions = tuple(_asked(mara, question) for question in QUESTIONS)
            clock = _Clock()
            context = mara.context(TASK, tokens=TOKENS, reference_date=TODAY)
            where = "a temporary folder" if data is None else str(data)
            play = Play(where, opening, sessions, questions, context, clock.ms())
    if not quiet:
        _draw(play)
    return Reply(play)


@contextmanager
def _stage(data: Path | None) -> Iterator[Path]:
    if data is not None:
        yield data
        return
    with tempfile.TemporaryDirectory(prefix="holdfast-demo-") as folder:
        yield Path(folder)


class _Clock:
    def __init__(self) -> None:
        self._start = perf_counter()

    def ms(self) -> float:
        return round((perf_counter() - self._start) * 1000, 1)


def _told(mara: Profile, n: int) -> Told:
    day, said = SESSIONS[n]
    messages = [
        {"role": "user", "speaker": "Mara", "content": text, "timestamp": f"{day}T10:{minute:02}:00Z"}
        for minute, text in enumerate(said)
    ]
    clock = _Clock()
    receipt = mara.ingest(messages, session_id=f"session-{n + 1}", wait=True)
    took = clock.ms()
    before = {memory.id: mara.history(memory.id)[1:2] for memory in receipt.memories}
    return Told(day, said, receipt.memories, {id: older[0].content for id, older in before.items() if older}, took)


def _asked(mara: Profile, question: str) -> Asked:
    clock = _Clock()
    found = mara.recall(question, reference_date=TODAY)
    took = clock.ms()
    source = ""
    for citation in found.citations:
        hit = next(hit for hit in found.hits if hit.id == citation.hit)
        source = mara.get(hit.sources[0]).content if hit.sources else hit.content
    return Asked(question, found.answer, source, took)


def _draw(play: Play) -> None:
    from rich.console import Console

    console = Console(highlight=False, markup=False, emoji=False)
    console.width = min(console.width, WIDTH) if console.is_terminal else WIDTH
    page = _page()
    _row(page, "Holdfast", f"an encrypted, offline memory in {play.folder}", "bold", play.opening_ms)
    for told in play.sessions:
        _draw_session(page, told)
    for asked in play.questions:
        _draw_question(page, asked)
    page.add_row()
    about = f"“{TASK}”, {play.context.tokens} of {TOKENS} tokens"
    _row(page, "context", about, "bold", play.context_ms)
    for line in play.context.text.splitlines():
        _row(page, "", line, "dim" if line.startswith("#") else "")
    page.add_row()
    _row(page, "your turn", 'holdfast remember "I like tea" && holdfast recall "What do I like?"', "bold")
    with console.capture() as drawn:
        console.print(page)
    print("\n".join(line.rstrip() for line in drawn.get().splitlines()))


def _page() -> Table:
    from rich.table import Table

    page = Table.grid(expand=True, padding=(0, 2))
    page.add_column(justify="right", style="dim", no_wrap=True)
    page.add_column(ratio=1)
    page.add_column(justify="right", style="dim", no_wrap=True)
    return page


def _draw_session(page: Table, told: Told) -> None:
    page.add_row()
    for n, text in enumerate(told.said):
        _row(page, told.day if n == 0 else "", f"“{text}”", "bold", told.ms if n == 0 else None)
    for memory in told.memories:
        older = told.superseded.get(memory.id)
        _row(page, memory.kind, memory.content, "green", remark=f"  supersedes “{older}”" if older else "")


def _draw_question(page: Table, asked: Asked) -> None:
    page.add_row()
    _row(page, "recall", asked.question, "bold", asked.ms)
    if asked.answer:
        _row(page, "answer", asked.answer, "green", remark=f"  ← “{one_line(asked.source)}”")
    else:
        _row(page, "no answer", "Nothing known about that.", "yellow")


def _row(page: Table, lead: str, text: str, style: str, ms: float | None = None, *, remark: str = "") -> None:
    from rich.text import Text

    page.add_row(lead, Text(one_line(text), style).append(remark, "yellow"), "" if ms is None else f"{ms:.0f} ms")
