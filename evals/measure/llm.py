"""Extraction with a real language model beside the built-in extractor.

    python -m evals.measure.llm [--cases N] [--out FILE]

The model is small enough for one thread of one core (tests/support/llama_server.py), and so are its abilities: the
figures prove that the pipeline works with a real model and what it costs, not what a capable model finds. The cases are
spread evenly over the tuning part of `evals/data/extraction`, and scored as in `evals.measure.extraction`.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from tests.support.llama_server import QWEN, SMOL, LlamaServer

from holdfast.domain.errors import ModelError
from holdfast.domain.ports.models import Embedder
from holdfast.domain.ports.storage import TopicKeyLoader, load_no_topic_keys
from holdfast.domain.types import Draft, Message
from holdfast.models.llm import openai
from holdfast.models.llm.chat import ChatReply, ChatRequest
from holdfast.models.llm.tasks.answer_schemas import (
    AnswerShape,
    Comparison,
    Filing,
    Items,
    Verdicts,
    answer_parser,
)
from holdfast.models.llm.tasks.parse_answer import parse_json
from holdfast.models.local import ArcticEmbedder
from holdfast.models.rules import RuleExtractor

from ..paths import EXTRACTION
from ..profiles import cached_embedder, open_memory
from .extraction import TUNING, ExtractedCase, Score, extract_case, score_of

MODELS = {"qwen": QWEN, "smol": SMOL}
SHAPES: dict[str, type[AnswerShape]] = {
    "extract": Items, "detail": Items, "verify": Verdicts, "classify": Filing, "compare": Comparison,
}  # fmt: skip
SHOWN = {
    "precision": "precision", "recall": "recall", "kind": "kind", "superseded": "superseding, new value found",
    "when": "window, item found", "secrets": "secrets kept out", "chatter": "memories per chit-chat message",
}  # fmt: skip
OWN = "custom/"
"""How the name of an extractor begins that is a model given by its address."""


@dataclass(slots=True)
class Answers:
    """What the model answered, by task."""

    asked: Counter[str] = field(default_factory=Counter)
    valid: Counter[str] = field(default_factory=Counter)
    """First answers that had the right shape."""
    repaired: Counter[str] = field(default_factory=Counter)
    """Second answers that had it."""
    late: Counter[str] = field(default_factory=Counter)
    """No answer, or none in time."""

    def note(self, ask: ChatRequest, reply: ChatReply) -> None:
        again = "Your last answer to this stands between" in ask.user
        self.asked[ask.task] += not again
        (self.repaired if again else self.valid)[ask.task] += _fits(ask, reply)


def _fits(ask: ChatRequest, reply: ChatReply) -> bool:
    try:
        answer_parser(SHAPES[ask.task])(parse_json(reply.text))
    except ValueError:
        return False
    return True


@contextmanager
def recorded_answers(answers: Answers) -> Iterator[None]:
    """Every answer is noted as it comes, whoever asked."""
    plain = openai.OpenAiChat

    class Watched(plain):  # type: ignore[valid-type, misc]
        async def reply(self, ask: ChatRequest) -> ChatReply:
            try:
                reply = await super().reply(ask)
            except (ModelError, asyncio.CancelledError):
                answers.asked[ask.task] += 1
                answers.late[ask.task] += 1
                raise
            answers.note(ask, reply)
            return reply

    openai.OpenAiChat = Watched  # type: ignore[misc]
    try:
        yield
    finally:
        openai.OpenAiChat = plain  # type: ignore[misc]


@contextmanager
def stepping_in() -> Iterator[list[set[str]]]:
    """The messages, by their ids, that the built-in extractor read because the model had failed."""
    plain, read = RuleExtractor.extract, list[set[str]]()

    async def extract(
        self: RuleExtractor,
        messages: Sequence[Message],
        before: Sequence[Message],
        keys: TopicKeyLoader = load_no_topic_keys,
    ) -> list[Draft]:
        read.append({message.id for message in messages})
        return await plain(self, messages, before, keys)

    RuleExtractor.extract = extract  # type: ignore[method-assign]
    try:
        yield read
    finally:
        RuleExtractor.extract = plain  # type: ignore[method-assign]


@dataclass(slots=True)
class Run:
    """A model's work on some cases."""

    heard: list[ExtractedCase] = field(default_factory=list)
    answers: Answers = field(default_factory=Answers)
    messages: int = 0
    ingests: int = 0
    failed: int = 0
    """Messages that the built-in extractor dealt with for a while because the model failed."""
    calls: list[int] = field(default_factory=list)
    """Of each case."""
    read: int = 0
    written: int = 0
    cpu: float = 0.0
    seconds: float = 0.0


def chosen_cases(count: int) -> list[dict[str, Any]]:
    """So many cases, spread evenly over the tuning parts."""
    parts = [json.loads((EXTRACTION / f"{part}.json").read_text("utf-8")) for part in TUNING]
    cases = [case for part in parts for case in part["cases"]]
    return [cases[n * len(cases) // count] for n in range(min(count, len(cases)))]


async def offline(cases: Sequence[dict[str, Any]], embedder: Embedder) -> list[ExtractedCase]:
    async with open_memory(embedder) as memory:
        return [await extract_case(memory, case) for case in cases]


async def with_model(cases: Sequence[dict[str, Any]], embedder: Embedder, model: LlamaServer, seconds: float) -> Run:
    run = Run()
    with recorded_answers(run.answers):
        for case in cases:
            began, cpu = time.monotonic(), model.cpu
            async with open_memory(embedder, llm=model.llm, llm_seconds=seconds) as memory:
                with stepping_in() as failed:
                    run.heard.append(await extract_case(memory, case))
                run.failed += len({message for each in failed for message in each})
                profile = memory.profile("understanding", case["id"])
                spent = await profile.usage()
            run.calls.append(sum(each.calls for each in spent))
            run.read += sum(each.input for each in spent)
            run.written += sum(each.output for each in spent)
            run.messages += len(case["messages"])
            run.ingests += len({message["session"] for message in case["messages"]})
            run.cpu += model.cpu - cpu
            run.seconds += time.monotonic() - began
            print(f"{case['id']}: {run.calls[-1]} calls, {time.monotonic() - began:.0f} s", flush=True)
    return run


def own(heard: Sequence[ExtractedCase]) -> list[ExtractedCase]:
    """The same without what the built-in extractor stepped in with."""
    return [replace(t, memories=[m for m in t.memories if m.extractor.startswith(OWN)]) for t in heard]


def quality(columns: dict[str, Sequence[ExtractedCase]]) -> str:
    lines = ["| | " + " | ".join(columns) + " |", "|---" * (len(columns) + 1) + "|"]
    scores = {name: Score() for name in columns}
    for name, heard in columns.items():
        for each in heard:
            scores[name].add(score_of(each))
    for name, title in SHOWN.items():
        lines.append(f"| {title} | " + " | ".join(str(getattr(score, name)) for score in scores.values()) + " |")
    return "\n".join(lines)


def answers_table(answers: Answers) -> str:
    lines = ["| task | attempts | valid at once | valid after repair | none in time |", "|---|---|---|---|---|"]
    tasks = [task for task in SHAPES if answers.asked[task]]
    rows = [(t, answers.asked[t], answers.valid[t], answers.repaired[t], answers.late[t]) for t in tasks]
    rows.append(("all", *(sum(row[n] for row in rows) for n in range(1, 5))))  # type: ignore[arg-type, misc]
    for task, asked, *counts in rows:
        shown = " | ".join(f"{count / asked:.2f} ({count})" if asked else "–" for count in counts)
        lines.append(f"| {task} | {asked} | {shown} |")
    return "\n".join(lines)


def cost(run: Run) -> str:
    per = max(run.messages, 1)
    rows = (
        ("messages, ingests", f"{run.messages}, {run.ingests}"),
        (
            "messages that the model failed at, and the built-in extractor took",
            f"{run.failed} ({run.failed / per:.2f})",
        ),
        ("answered calls per ingest", f"{sum(run.calls) / max(run.ingests, 1):.1f}"),
        ("answered calls, most in one case", f"{max(run.calls, default=0)}"),
        ("tokens read per message", f"{run.read / per:,.0f}"),
        ("tokens written per message", f"{run.written / per:,.0f}"),
        ("CPU seconds of the model per message", f"{run.cpu / per:.1f}"),
        ("seconds in all", f"{run.seconds:,.0f}"),
    )
    return "\n".join(["| | |", "|---|---|", *(f"| {name} | {value} |" for name, value in rows)])


def report(name: str, cases: int, seconds: float, rules: Sequence[ExtractedCase], run: Run) -> str:
    columns = {"built-in extractor": rules, "the model alone": own(run.heard), "as the user gets it": run.heard}
    return f"""# Understanding with a very small language model

Written by `python -m evals.measure.llm --cases {cases} --seconds {seconds:.0f}` with {name}
on one thread, JSON schemas enforced by the server, {seconds:.0f} seconds for one call.

A model of this size is poor at this work, and plainly poorer than the built-in extractor: it
finds less, copies whole lines where a fact was asked for, and at times repeats itself until its time is up. What the
run proves is that a real model behind a real server works with every stage unmodified, that nothing malformed is kept,
and what a message costs. It says nothing about what a capable model finds, and so few cases say little in any case.

## What was found

{len(run.heard)} conversations of the tuning part. In the last column the built-in extractor steps in where the model
fails; such messages are digested again, many of them before the case was over.

{quality(columns)}

## Answers in the right shape

{answers_table(run.answers)}

## Cost

{cost(run)}
"""


async def measure(name: str, count: int, seconds: float) -> str:
    cases, embedder = chosen_cases(count), cached_embedder(ArcticEmbedder())
    rules = await offline(cases, embedder)
    with LlamaServer(MODELS[name]) as model:
        run = await with_model(cases, embedder, model, seconds)
        return report(model.path.stem, count, seconds, rules, run)


def main() -> None:
    asked = argparse.ArgumentParser(description=(__doc__ or "").split(":", 1)[0])
    asked.add_argument("--cases", type=int, default=12, help="how many conversations")
    asked.add_argument("--model", choices=sorted(MODELS), default="qwen")
    asked.add_argument("--seconds", type=float, default=60.0, help="for one call")
    asked.add_argument("--out", type=Path, help="where to write the result")
    given = asked.parse_args()
    said = asyncio.run(measure(given.model, given.cases, given.seconds))
    if given.out:
        given.out.write_text(said, "utf-8")
    print(said)


if __name__ == "__main__":
    main()
