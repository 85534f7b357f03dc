"""Reads and checks the lives of evals/data/lives: conversations with statements and questions.

python -m evals.data.life [file …]
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from dataclasses import dataclass, field
from datetime import date, timedelta
from pathlib import Path

FOLDER = Path(__file__).parent / "lives"
CATEGORIES = frozenset(
    (
        "once",
        "changed",
        "before",
        "when",
        "long",
        "count",
        "list",
        "yesno",
        "whose",
        "plan",
        "instruction",
        "two",
        "never",
    )
)
_MESSAGE = re.compile(r"(\d+) (\S+) (.+)")
_ASKED = re.compile(r"\s+@(\d{4}-\d\d-\d\d)$")


class Fault(Exception):
    """A line that does not follow the format; says which one and why."""


@dataclass(frozen=True, slots=True)
class Said:
    number: int
    speaker: str
    """U for the user, A for the assistant, or a name."""
    text: str
    day: date
    session: int


@dataclass(frozen=True, slots=True)
class Statement:
    subject: str
    attribute: str
    value: str
    message: int
    ended_by: int | None


@dataclass(frozen=True, slots=True)
class Question:
    category: str
    text: str
    answer: str
    """Empty when nothing was told."""
    spans: tuple[str, ...]
    """The words of the messages that the answer consists of or rests on."""
    messages: tuple[int, ...]
    asked: date


@dataclass(slots=True)
class Life:
    title: str
    messages: list[Said] = field(default_factory=list)
    statements: list[Statement] = field(default_factory=list)
    questions: list[Question] = field(default_factory=list)

    def text(self, number: int) -> str:
        if not 1 <= number <= len(self.messages):
            raise Fault(f"there is no message {number}")
        return self.messages[number - 1].text


def load_lives(*patterns: str) -> list[Life]:
    files = sorted(path for pattern in patterns or ("*.txt",) for path in FOLDER.glob(pattern))
    return [life for path in files for life in parse_lives(path.read_text("utf-8"), path.name)[0]]


def parse_lives(text: str, name: str) -> tuple[list[Life], list[str]]:
    """The lives of one file, and what is wrong with its lines."""
    lives: list[Life] = []
    faults: list[str] = []
    day, session = date.min, 0
    for n, line in enumerate(text.splitlines(), 1):
        line = line.strip()
        try:
            if not line or line.startswith("#"):
                continue
            if line.startswith("== "):
                lives.append(Life(line[3:].strip()))
                day, session = date.min, 0
            elif line.startswith("@ "):
                new = date.fromisoformat(line[2:].strip())
                if new < day:
                    raise Fault("sessions must be in order of time")
                day, session = new, session + 1
            elif line.startswith("! "):
                lives[-1].statements.append(_statement(lives[-1], line[2:]))
            elif line.startswith("? "):
                lives[-1].questions.append(_question(lives[-1], line[2:]))
            else:
                lives[-1].messages.append(_said(lives[-1], line, day, session))
        except (Fault, ValueError, IndexError) as fault:
            faults.append(f"{name}:{n}: {fault}: {line[:140]}")
    return lives, faults


def _said(life: Life, line: str, day: date, session: int) -> Said:
    match = _MESSAGE.fullmatch(line)
    if match is None:
        raise Fault("neither a message (number, speaker, text) nor a line that begins with ==, @, ! or ?")
    if int(match[1]) != len(life.messages) + 1:
        raise Fault(f"this should be message {len(life.messages) + 1}")
    if session == 0:
        raise Fault("a session's day (@ 2026-01-04) must come before its messages")
    return Said(int(match[1]), match[2], match[3].strip(), day, session)


def _statement(life: Life, line: str) -> Statement:
    parts = [part.strip() for part in line.split("|")]
    if len(parts) != 4:
        raise Fault("a statement has four parts: subject | attribute | value | message")
    told, _, ended = parts[3].partition(">")
    message, ended_by = int(told), int(ended) if ended.strip() else None
    if parts[2] not in life.text(message):
        raise Fault(f"{parts[2]!r} is not verbatim in message {message}")
    if ended_by is not None:
        life.text(ended_by)
    return Statement(parts[0], parts[1], parts[2], message, ended_by)


def _question(life: Life, line: str) -> Question:
    asked = life.messages[-1].day + timedelta(days=1)
    if (found := _ASKED.search(line)) is not None:
        asked, line = date.fromisoformat(found[1]), line[: found.start()]
    parts = [part.strip() for part in line.split("|")]
    if len(parts) != 4:
        raise Fault("a question has four parts: category | question | answer | messages")
    category, text, answer, numbers = parts
    messages = tuple(int(number) for number in numbers.replace(",", " ").split())
    texts = [life.text(number) for number in messages]
    if category not in CATEGORIES:
        raise Fault(f"{category!r} is no category")
    if answer == "-":
        if category != "never":
            raise Fault("only questions of the category never have no answer")
        return Question(category, text, "", (), messages, asked)
    if category == "never":
        raise Fault("a question of the category never has the answer -")
    if not messages:
        raise Fault("the messages that decide are missing")
    words, computed, rest = answer.partition(" = ")
    spans = tuple(span.strip() for span in (rest if computed else words).split("; "))
    for span in spans:
        if not any(span in each for each in texts):
            raise Fault(f"{span!r} is not verbatim in messages {numbers}")
    if category == "yesno" and words.lower() not in ("yes", "no"):
        raise Fault("the answer must be yes = … or no = …")
    return Question(category, text, words, spans, messages, asked)


def main() -> int:
    paths = [Path(name) for name in sys.argv[1:]] or sorted(FOLDER.glob("*.txt"))
    count: Counter[str] = Counter()
    wrong = 0
    for path in paths:
        lives, faults = parse_lives(path.read_text("utf-8"), path.name)
        print(*faults, sep="\n", end="\n" if faults else "")
        wrong += len(faults)
        count["lives"] += len(lives)
        for life in lives:
            count["messages"] += len(life.messages)
            count["statements"] += len(life.statements)
            count["questions"] += len(life.questions)
            count.update(question.category for question in life.questions)
    print(", ".join(f"{number} {what}" for what, number in count.items()))
    print(f"{wrong} faults")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
