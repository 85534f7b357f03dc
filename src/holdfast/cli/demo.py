"""The demo: three short conversations become memories. Everything it shows really happens."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

from holdfast.cli.output.render import CommandResult, one_line
from holdfast.domain.results import Context
from holdfast.domain.types import Memory
from holdfast.service.sync import Holdfast, Profile

if TYPE_CHECKING:
    from rich.table import Table

DEMO_SESSIONS = (
    ("2025-01-13", ("I live in Berlin and work as a nurse.", "Please always keep your answers short.")),
    ("2025-03-04", ("We moved to Lisbon last weekend!", "I'm allergic to peanuts.")),
    ("2025-03-20", ("Remind me to renew my passport before June.",)),
)
DEMO_QUESTIONS = ("Where does Mara live?", "What is Mara allergic to?", "What is her blood type?")
REFERENCE_DATE = "2025-03-21T09:00:00Z"
CONTEXT_QUERY, MAX_CONTEXT_TOKENS = "plan a dinner for Mara", 70
TRY_COMMANDS = (
    'holdfast remember "I like tea" -p demo',
    'holdfast recall "What do I like?" -p demo',
    "holdfast forget --profile-data -p demo",
)
"""In a profile of their own, which the last one deletes: the user's memories are left alone."""
MAX_WIDTH_CHARS = 92


@dataclass(frozen=True, slots=True)
class DemoSession:
    """One session: its messages, its memories, and what each new memory superseded."""

    day: str
    said: tuple[str, ...]
    memories: tuple[Memory, ...]
    superseded: dict[str, str]
    ms: float


@dataclass(frozen=True, slots=True)
class DemoQuestion:
    question: str
    answer: str
    source: str
    """The message that the answer cites."""
    ms: float


@dataclass(frozen=True, slots=True)
class DemoRun:
    folder: str
    opening_ms: float
    sessions: tuple[DemoSession, ...]
    questions: tuple[DemoQuestion, ...]
    context: Context
    context_ms: float


def run_demo(data: Path | None, *, quiet: bool) -> CommandResult:
    with _demo_folder(data) as folder:
        keyring = folder / "keyring" if data is None else None  # a temporary folder must not use HOLDFAST_KEYRING
        clock = _Stopwatch()
        with Holdfast.open(folder, keyring=keyring) as holdfast:
            opening = clock.ms()
            mara = holdfast.profile("demo", "mara")
            sessions = tuple(_ingest_session(mara, n) for n in range(len(DEMO_SESSIONS)))
            questions = tuple(_ask_question(mara, question) for question in DEMO_QUESTIONS)
            clock = _Stopwatch()
            context = mara.context(CONTEXT_QUERY, tokens=MAX_CONTEXT_TOKENS, reference_date=REFERENCE_DATE)
            where = "a temporary folder" if data is None else str(data)
            play = DemoRun(where, opening, sessions, questions, context, clock.ms())
    if not quiet:
        _print_demo(play)
    return CommandResult(play)


@contextmanager
def _demo_folder(data: Path | None) -> Iterator[Path]:
    if data is not None:
        yield data
        return
    with tempfile.TemporaryDirectory(prefix="holdfast-demo-") as folder:
        yield Path(folder)


class _Stopwatch:
    def __init__(self) -> None:
        self._start = perf_counter()

    def ms(self) -> float:
        return round((perf_counter() - self._start) * 1000, 1)


def _ingest_session(mara: Profile, n: int) -> DemoSession:
    day, said = DEMO_SESSIONS[n]
    messages = [
        {"role": "user", "speaker": "Mara", "content": text, "timestamp": f"{day}T10:{minute:02}:00Z"}
        for minute, text in enumerate(said)
    ]
    clock = _Stopwatch()
    receipt = mara.ingest(messages, session_id=f"session-{n + 1}", wait=True)
    ms = clock.ms()
    before = {memory.id: mara.history(memory.id)[1:2] for memory in receipt.memories}
    return DemoSession(day, said, receipt.memories, {id: older[0].content for id, older in before.items() if older}, ms)


def _ask_question(mara: Profile, question: str) -> DemoQuestion:
    clock = _Stopwatch()
    found = mara.recall(question, reference_date=REFERENCE_DATE)
    ms = clock.ms()
    source = ""
    for citation in found.citations:
        hit = next(hit for hit in found.hits if hit.id == citation.hit)
        source = mara.get(hit.sources[0]).content if hit.sources else hit.content
    return DemoQuestion(question, found.answer, source, ms)


def _print_demo(play: DemoRun) -> None:
    from rich.console import Console

    console = Console(highlight=False, markup=False, emoji=False)
    console.width = min(console.width, MAX_WIDTH_CHARS) if console.is_terminal else MAX_WIDTH_CHARS
    page = _demo_table()
    _add_row(page, "Holdfast", f"an encrypted, offline memory in {play.folder}", "bold", play.opening_ms)
    for session in play.sessions:
        _draw_session(page, session)
    for question in play.questions:
        _draw_question(page, question)
    page.add_row()
    title = f"“{CONTEXT_QUERY}”, {play.context.tokens} of {MAX_CONTEXT_TOKENS} tokens"
    _add_row(page, "context", title, "bold", play.context_ms)
    for line in play.context.text.splitlines():
        _add_row(page, "", line, "dim" if line.startswith("#") else "")
    page.add_row()
    for lead, command in zip(("try it", "", "then"), TRY_COMMANDS, strict=True):
        _add_row(page, lead, command, "bold")
    with console.capture() as drawn:
        console.print(page)
    print("\n".join(line.rstrip() for line in drawn.get().splitlines()))


def _demo_table() -> Table:
    from rich.table import Table

    page = Table.grid(expand=True, padding=(0, 2))
    page.add_column(justify="right", style="dim", no_wrap=True)
    page.add_column(ratio=1)
    page.add_column(justify="right", style="dim", no_wrap=True)
    return page


def _draw_session(page: Table, session: DemoSession) -> None:
    page.add_row()
    for n, text in enumerate(session.said):
        _add_row(page, session.day if n == 0 else "", f"“{text}”", "bold", session.ms if n == 0 else None)
    for memory in session.memories:
        older = session.superseded.get(memory.id)
        _add_row(page, memory.kind, memory.content, "green", remark=f"  supersedes “{older}”" if older else "")


def _draw_question(page: Table, question: DemoQuestion) -> None:
    page.add_row()
    _add_row(page, "recall", question.question, "bold", question.ms)
    if question.answer:
        _add_row(page, "answer", question.answer, "green", remark=f"  ← “{one_line(question.source)}”")
    else:
        _add_row(page, "no answer", "Nothing known about that.", "yellow")


def _add_row(page: Table, lead: str, text: str, style: str, ms: float | None = None, *, remark: str = "") -> None:
    from rich.text import Text

    page.add_row(lead, Text(one_line(text), style).append(remark, "yellow"), "" if ms is None else f"{ms:.0f} ms")
