"""The messages and questions that every memory gets, as one JSON file that any environment can read.

The first messages belong to conversations with questions whose evidence is known; when a size asks for more, other
people's messages from evals/data/lives follow, and after those, pairs of such messages joined into one.
"""

from __future__ import annotations

import json
import math
import random
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import chain, count, groupby, islice
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from evals.data.benchmarks import Case

SETS = {"conversations": "our own conversations", "locomo": "LoCoMo-dev"}
MAX_QUESTIONS = 300
SINGLE_STORES, PROBES = 50, 10
MIN_PROBE_CHARS = 60
"""A shorter message, such as "ok, thanks", is not worth looking for."""


@dataclass(frozen=True, slots=True)
class Message:
    id: str
    session: str
    role: str
    speaker: str | None
    """Whose name it is said under, if it has one."""
    content: str
    date: str

    @property
    def text(self) -> str:
        """The content after its speaker's name, for memories that have no field for it."""
        return f"{self.speaker or self.role}: {self.content}"


@dataclass(frozen=True, slots=True)
class Question:
    text: str
    evidence: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Workload:
    set: str
    messages: tuple[Message, ...]
    singles: tuple[Message, ...]
    """Stored one by one, once the others are in."""
    probes: tuple[Message, ...]
    """Stored one by one, each then searched for with its own words until it is found."""
    questions: tuple[Question, ...]

    def sessions(self) -> Iterator[list[Message]]:
        for _, said in groupby(self.messages, key=lambda message: message.session):
            yield list(said)

    def write(self, path: Path) -> None:
        path.write_text(json.dumps(asdict(self)), "utf-8")


def read_workload(path: Path) -> Workload:
    given = json.loads(path.read_text("utf-8"))
    messages = {name: tuple(Message(**each) for each in given[name]) for name in ("messages", "singles", "probes")}
    questions = tuple(Question(each["text"], tuple(each["evidence"])) for each in given["questions"])
    return Workload(given["set"], **messages, questions=questions)


def make_workload(name: str, size: int) -> Workload:
    from evals.data import benchmarks

    cases = {"conversations": benchmarks.own, "locomo": benchmarks.locomo}[name]()
    random.Random(1).shuffle(cases)
    asked = [message for case in cases for message in _case_messages(case)]
    apart, others = _life_messages()
    messages = tuple(islice(chain(asked, others, _joined_messages(others)), size))
    ids = {message.id for message in messages}
    questions = [
        Question(question.text, evidence)
        for case in cases
        for question in case.questions
        if question.scored and ids.issuperset(evidence := tuple(f"{case.id}/{id}" for id in question.evidence))
    ]
    step = max(1, math.ceil(len(questions) / MAX_QUESTIONS))
    return Workload(name, messages, apart[:SINGLE_STORES], apart[SINGLE_STORES:], tuple(questions[::step]))


def _case_messages(case: Case) -> Iterator[Message]:
    for session in case.sessions:
        for said in session["messages"]:
            id, place = f"{case.id}/{said['id']}", f"{case.id}/{session['id']}"
            yield Message(id, place, said["role"], said.get("speaker"), said["content"], session["date"])


def _life_messages() -> tuple[tuple[Message, ...], list[Message]]:
    """The messages of everybody's lives but the held-back ones: those to be stored singly, and the others."""
    from evals.data.life import load_lives

    apart: list[Message] = []
    others: list[Message] = []
    for n, life in enumerate(load_lives("[!h]*.txt")):
        for said in life.messages:
            role = "assistant" if said.speaker == "A" else "user"
            speaker = None if said.speaker in ("A", "U") else said.speaker
            day = f"{said.day}T12:00:00+00:00"
            message = Message(f"life{n}/{said.number}", f"life{n}/{said.session}", role, speaker, said.text, day)
            wanted = len(apart) < SINGLE_STORES + PROBES and len(said.text) >= MIN_PROBE_CHARS
            (apart if wanted else others).append(message)
    return tuple(apart), others


def _joined_messages(messages: list[Message]) -> Iterator[Message]:
    choice = random.Random(2)
    for n in count():
        one, other = choice.sample(messages, 2)
        text = f"{one.content} {other.content}"
        yield Message(f"joined/{n}", f"joined/{n // 20}", one.role, one.speaker, text, one.date)
