"""Contexts over whole lives: `python -m evals.measure.contexts [file …] [--limit N] [--show]`.

Counts two things: which of the shown messages are marked as no longer so, beside those that a life says have ended; and
how much of the evidence of a question with two parts stands in a small block. A question of two parts is made of two
questions of a life.
"""

from __future__ import annotations

import argparse
import asyncio
from collections import Counter
from itertools import pairwise

from holdfast import LocalProfile
from holdfast.domain.results import Context
from holdfast.models.local import ArcticEmbedder

from ..data.life import FOLDER, Life, Question, parse_lives
from ..profiles import cached_embedder, open_memory
from .lives import message_body, noon

SMALL_BUDGET = 200
"""Tokens of the block for a question with two parts: too few for a whole life."""


async def filled(profile: LocalProfile, life: Life) -> dict[str, int]:
    """Tells a profile the life; message ids → their numbers."""
    ids: dict[str, int] = {}
    for session in sorted({said.session for said in life.messages}):
        mine = [said for said in life.messages if said.session == session]
        await profile.ingest([message_body(said) for said in mine], session_id=f"s{session}", wait=True)
        ids |= {m.id: said.number for m, said in zip(await profile.messages(f"s{session}"), mine, strict=True)}
    return ids


def shown_lines(block: Context, ids: dict[str, int]) -> dict[int, str]:
    """Number of a message → its line in the block."""
    lines = block.text.splitlines()[1:]
    return {ids[hit.message_id]: line for hit, line in zip(block.hits, lines, strict=True) if hit.message_id in ids}


def is_marked(line: str, text: str) -> bool:
    """Whether the line says more of the message than its words."""
    return not line.endswith(" ".join(text.split()))


def count_marks(life: Life, lines: dict[int, str], count: Counter[str], name: str, show: bool) -> None:
    told = {statement.message for statement in life.statements}
    ended = {each.message for each in life.statements if each.ended_by not in (None, each.message)}
    for number, line in lines.items():
        if number in told and "[redacted]" not in line:
            state = "ended" if number in ended else "current"
            marked = is_marked(line, life.text(number))
            count[f"{state} marked" if marked else f"{state} unmarked"] += 1
            if show and marked != (number in ended):
                print(f"{name} {state}: {line}")


def two_parts(one: Question, two: Question) -> str:
    return f"{one.text.rstrip('?. ')}, and {two.text[:1].lower()}{two.text[1:]}"


async def measure(names: list[str], limit: int, show: bool) -> Counter[str]:
    count = Counter[str]()
    async with open_memory(cached_embedder(ArcticEmbedder())) as memory:
        for file in names:
            lives, _ = parse_lives((FOLDER / f"{file}.txt").read_text("utf-8"), file)
            for n, life in enumerate(lives[: limit or None]):
                profile = memory.profile("lives", f"{file}-{n}")
                ids = await filled(profile, life)
                known = [question for question in life.questions if question.answer]
                for question in known:
                    block = await profile.context(question.text, reference_date=noon(question.asked))
                    count_marks(life, shown_lines(block, ids), count, f"{file}-{n}", show)
                for one, two in list(pairwise(known))[::2]:
                    asked = two_parts(one, two)
                    block = await profile.context(asked, tokens=SMALL_BUDGET, reference_date=noon(one.asked))
                    shown = set(shown_lines(block, ids))
                    has = [set(each.messages) <= shown for each in (one, two)]
                    count["parts"] += 2
                    count["parts with evidence"] += sum(has)
                    count["pairs"] += 1
                    count["pairs with evidence of both"] += all(has)
                    if show and not all(has):
                        print(f"{file}-{n} {asked!r}: {[n for n, it in enumerate(has) if not it]}")
    return count


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*", default=["a"])
    parser.add_argument("--limit", type=int, default=0, help="lives of each file")
    parser.add_argument("--show", action="store_true")
    given = parser.parse_args()
    for what, number in sorted(asyncio.run(measure(given.names, given.limit, given.show)).items()):
        print(f"{what}: {number}")


if __name__ == "__main__":
    main()
