"""Everyday questions over small conversations: `python -m evals.measure.everyday`. Writes docs/results/everyday.md.

Some are answered by what was said, some by what replaced it, some only about somebody else, some not at all. The
conversations of one half were looked at while answering was improved, those of the other were not.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from holdfast import Answer, LocalProfile
from holdfast.models.local import ArcticEmbedder

from ..paths import DATA, RESULTS
from ..profiles import cached_embedder, open_memory

SET = DATA / "everyday.json"
OUT = RESULTS / "everyday.md"
KINDS = {
    "answerable": "told once",
    "stale": "told, and later changed",
    "past": "how it was before",
    "agenda": "what is coming up",
    "other-person": "told of someone else only",
    "unanswerable": "never told",
}


@dataclass(frozen=True, slots=True)
class AnsweredQuestion:
    half: str
    kind: str
    question: str
    answer: str
    right: bool
    in_order: bool | None
    """Of something that changed: whether the new statement stands before the old one among the hits."""


def right(asked: dict[str, Any], answer: str) -> bool:
    """Whether it says what it should before anything it should not, or nothing where nothing is known."""
    if not asked["says"]:
        return not answer
    where = first(asked["says"], answer)
    return where >= 0 and not 0 <= first(asked.get("not", ()), answer) < where


def first(pieces: Sequence[str], text: str) -> int:
    """Where the first of the pieces stands in a text; -1 for nowhere."""
    found = [text.casefold().find(piece.casefold()) for piece in pieces]
    return min((each for each in found if each >= 0), default=-1)


def in_order(asked: dict[str, Any], answer: Answer) -> bool | None:
    hits = [hit.content for hit in answer.hits]
    new = next((n for n, text in enumerate(hits) if first(asked["says"], text) >= 0), None)
    old = next((n for n, text in enumerate(hits) if first(asked.get("not", ()), text) >= 0), None)
    return None if asked["kind"] != "stale" or old is None else new is not None and new <= old


async def ask_questions(profile: LocalProfile, held: dict[str, Any]) -> list[AnsweredQuestion]:
    for session in held["sessions"]:
        messages = [{"timestamp": session["date"], **message} for message in session["messages"]]
        await profile.ingest(messages, session_id=session["id"])
    await profile.settle()
    found = []
    for asked in held["questions"]:
        answer = await profile.recall(asked["question"], reference_date=held["asked_at"])
        good = right(asked, answer.answer)
        order = in_order(asked, answer)
        found.append(AnsweredQuestion(held["half"], asked["kind"], asked["question"], answer.answer, good, order))
        if "--show" in sys.argv and held["half"] == "tune" and (not good or order is False):
            print(f"{held['id']:10} {asked['kind']:12} {asked['question']} {asked['says']}")
            print(f"{'':10} {good} order={order} {answer.confidence:.2f} {answer.answer!r}")
            print(*(f"{'':12}{hit.kind} {hit.key} {hit.content[:90]!r}" for hit in answer.hits[:3]), sep="\n")
    return found


def table(found: list[AnsweredQuestion]) -> list[str]:
    lines = ["| what the question is about | tuned on: right | not looked at: right |", "|---|---|---|"]
    for kind, words in KINDS.items():
        shares = [_share([each.right for each in found if (each.half, each.kind) == (half, kind)]) for half in HALVES]
        lines.append(f"| {words} | {' | '.join(shares)} |")
    shares = [_share([each.right for each in found if each.half == half]) for half in HALVES]
    lines.append(f"| **all** | {' | '.join(shares)} |")
    orders = [
        _share([each.in_order for each in found if each.half == half and each.in_order is not None]) for half in HALVES
    ]
    lines.append(f"| the new statement before the old one among the hits | {' | '.join(orders)} |")
    return lines


HALVES = ("tune", "held")


def _share(good: Sequence[bool | None]) -> str:
    return f"{sum(map(bool, good))} of {len(good)}"


async def main() -> None:
    conversations = json.loads(SET.read_text("utf-8"))["conversations"]
    found: list[AnsweredQuestion] = []
    async with open_memory(cached_embedder(ArcticEmbedder())) as memory:
        for held in conversations:
            found += await ask_questions(memory.profile("everyday", held["id"]), held)
    wrong: dict[str, int] = defaultdict(int)
    for each in found:
        wrong[each.half] += bool(each.answer) and not each.right
    text = f"""# Everyday questions

Written by `python -m evals.measure.everyday`: {len(found)} questions over {len(conversations)} small conversations,
without a language model. An answer is right when it says what it should, and what has changed since only after
it; where nothing was told, when it is empty. Of the half "not looked at" totals were seen while answering was
improved, single answers were not. The rest is wrong or missing: of the questions of the half tuned on {wrong["tune"]}
got a wrong answer, of the other half {wrong["held"]}.

{chr(10).join(table(found))}

Before a statement had to fit what is asked for, and before the newer of two was preferred, 37 of 63 and 37 of 67 were
right, and 25 and 29 got a wrong answer.
"""
    if "--show" not in sys.argv:
        OUT.write_text(text)
    print(text)


if __name__ == "__main__":
    asyncio.run(main())
