"""Whether the answer is in what is cited: LongMemEval-dev's questions through `recall`, by category."""

from __future__ import annotations

import re
import sys
from collections import defaultdict

from holdfast.domain.ports.models import Embedder

from ..data import benchmarks
from ..profiles import cached_embedder, filled_profile, open_memory

_NUMBERS = "zero one two three four five six seven eight nine ten eleven twelve"
_AS_DIGITS = {word: str(n) for n, word in enumerate(_NUMBERS.split())}
SHORT = 14
"""A gold answer of more words is only found as a whole, not by its number."""


async def table(embedder: Embedder) -> list[str]:
    """Per category: how many were answered, and in how many the gold answer, or its number or date, is cited."""
    found: dict[str, list[bool]] = defaultdict(list)
    given: dict[str, list[bool]] = defaultdict(list)
    async with open_memory(cached_embedder(embedder)) as memory:
        for n, case in enumerate(benchmarks.longmemeval_s48()):
            print(f"\rcited {n + 1} {case.id:40}", end="", file=sys.stderr, flush=True)
            profile, _ = await filled_profile(memory, case)
            for question in (q for q in case.questions if q.scored):
                answer = await profile.recall(question.text, reference_date=question.asked_at)
                cited = " ".join([answer.answer, *(citation.quote for citation in answer.citations)])
                found[question.category].append(holds(cited, str(question.answer)))
                given[question.category].append(bool(answer.answer))
            await memory.delete_profile(case.set, case.id)
    print(file=sys.stderr)
    lines = ["| LongMemEval-dev s48 | questions | answered | gold answer in the cited text |", "|---|---|---|---|"]
    for name in sorted(found):
        n = len(found[name])
        lines.append(f"| {name} | {n} | {sum(given[name])} | {sum(found[name])} ({100 * sum(found[name]) / n:.0f} %) |")
    return lines


def holds(cited: str, gold: str) -> bool:
    """Whether a text holds the gold answer, its first number, or all the words of a short one."""
    told, wanted = _plain(cited), _plain(gold)
    numbers = re.findall(r"\d+", wanted)
    if f" {wanted} " in f" {told} ":
        return bool(wanted)
    if numbers and len(wanted.split()) <= SHORT:
        return f" {numbers[0]} " in f" {told} "
    long = [word for word in wanted.split() if len(word) > 3]
    return bool(long) and len(wanted.split()) <= 6 and all(word in told.split() for word in long)


def _plain(text: str) -> str:
    return " ".join(_AS_DIGITS.get(word, word) for word in re.findall(r"[a-z0-9]+", text.lower().replace(",", "")))
