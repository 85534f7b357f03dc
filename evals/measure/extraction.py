"""What the built-in extractor understands: conversations through the product, against the memories a person expects.

`python -m evals.measure.extraction` measures the tuning parts; `--unread` adds the part nobody looked at while tuning
and writes docs/results/extraction.md. A memory is right when it is based on a message of an expected item and says
every word that item asks for; one memory may be right for several items.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from itertools import groupby
from typing import Any

from holdfast import AsyncHoldfast
from holdfast.domain.ports.storage import TopicKeyLoader, load_no_topic_keys
from holdfast.domain.types import Draft, Memory, Message
from holdfast.models.local import ArcticEmbedder
from holdfast.models.rules import RuleExtractor, drafts

from ..paths import EXTRACTION, RESULTS
from ..profiles import CachedReader, open_memory
from . import dates

RESULT = RESULTS / "extraction.md"
TUNING, UNREAD = ("tuning-a", "tuning-b"), ("unread", "unread-b")
DAY = timedelta(1)
LENIENT = ({"fact", "instruction"}, {"fact", "task"})
INTRODUCTION = """Written by `python -m evals.measure.extraction --unread`, default offline settings. What judges and
reads is trained on `evals/data/extraction` without the unread part; nobody read that while rules were written.

Aimed at on the unread part: precision 0.80, recall 0.65, kind 0.85, superseding 0.85, and two memories in a hundred
messages of chit-chat. Precision and recall are met; twice as much chit-chat is kept.
Kinds are short: a sentence that tells two things of
different kinds is one memory, and whether something is a fact or an event is often a matter of taste. Superseding is
short: most changes are told in quite other words than the first value, and what reads the two together recognises about
two of three; what it leaves, recall orders by age, see [everyday.md](everyday.md). What was tried, and how much more
there is to learn from, is told in [decisions/0008](../decisions/0008-rules-propose-a-judge-disposes.md).

CPU by words is what rules and the judge of words take. Reading is what the embedder's network takes besides, for
judging sentences and comparing statements: a pass for each, like an embedding, but not one."""


class TimedRules(RuleExtractor):
    """The built-in extractor with a stopwatch for what it does by words alone, and for what is read besides."""

    def __init__(self, embedder: CachedReader) -> None:
        super().__init__(embedder)
        self.cpu, self.read, self._embedder = 0.0, 0, embedder

    @property
    def reading(self) -> float:
        return self._embedder.cpu

    async def extract(
        self, messages: Sequence[Message], before: Sequence[Message], keys: TopicKeyLoader = load_no_topic_keys
    ) -> list[Draft]:
        start = time.thread_time()
        drafts(messages, before)
        self.cpu += time.thread_time() - start
        self.read += len(messages)
        return await super().extract(messages, before, keys)


@dataclass(slots=True)
class Share:
    """So many of so many."""

    right: int = 0
    of: int = 0

    def count(self, right: bool) -> None:
        self.right += right
        self.of += 1

    def add(self, other: Share) -> None:
        self.right += other.right
        self.of += other.of

    def __str__(self) -> str:
        return f"{self.right / self.of:.2f} ({self.right}/{self.of})" if self.of else "–"


NAMES = ("precision", "recall", "kind", "lenient", "superseded", "pairs", "when", "secrets", "chatter")


@dataclass(slots=True)
class Score:
    cases: int = 0
    precision: Share = field(default_factory=Share)
    recall: Share = field(default_factory=Share)
    kind: Share = field(default_factory=Share)
    lenient: Share = field(default_factory=Share)
    superseded: Share = field(default_factory=Share)
    """Of pairs whose new value was found, those where only it is current; a needless supersession counts as wrong."""
    pairs: Share = field(default_factory=Share)
    """The same of all pairs, found or not."""
    when: Share = field(default_factory=Share)
    secrets: Share = field(default_factory=Share)
    chatter: Share = field(default_factory=Share)
    """Memories of messages, in conversations where nothing is expected."""

    def add(self, other: Score) -> None:
        self.cases += other.cases
        for name in NAMES:
            getattr(self, name).add(getattr(other, name))


@dataclass(frozen=True, slots=True)
class ExtractedCase:
    """A case and what the product made of it; `sources` are the set's message ids by memory id."""

    case: dict[str, Any]
    memories: list[Memory]
    sources: dict[str, set[str]]

    def matches(self, item: dict[str, Any], memory: Memory) -> bool:
        content = memory.content.casefold()
        said = all(any(word.casefold() in content for word in each.split("|")) for each in item["says"])
        return said and not self.sources[memory.id].isdisjoint(item["from"])

    def matching(self, item: dict[str, Any]) -> list[Memory]:
        return [memory for memory in self.memories if self.matches(item, memory)]


async def extract_case(memory: AsyncHoldfast, case: dict[str, Any]) -> ExtractedCase:
    """The case's sessions through the product, and every memory that is left, superseded ones included."""
    profile, names = memory.profile("understanding", case["id"]), dict[str, set[str]]()
    for session, group in groupby(case["messages"], key=lambda message: message["session"]):
        said = list(group)
        asked = [{k: v for k, v in m.items() if k in ("role", "content", "timestamp", "speaker")} for m in said]
        receipt = await profile.ingest(asked, session_id=session, wait=True)
        for written, message in zip(receipt.messages, said, strict=True):
            names.setdefault(written.id, set()).add(message["id"])
    found: dict[str, Memory] = {}
    for head in (await profile.list(limit=1000)).items:
        found |= {version.id: version for version in await profile.history(head.id)}
    sources = {m.id: set[str]().union(*(names.get(s, set()) for s in m.sources)) for m in found.values()}
    return ExtractedCase(case, list(found.values()), sources)


def score_of(t: ExtractedCase) -> Score:
    expected, score = t.case["expected"], Score(cases=1)
    for memory in t.memories:
        score.precision.count(any(t.matches(item, memory) for item in expected))
    for item in expected:
        found = t.matching(item)
        score.recall.count(bool(found))
        if found:
            kinds = {memory.kind for memory in found}
            score.kind.count(item["kind"] in kinds)
            score.lenient.count(any(kind == item["kind"] or {kind, item["kind"]} in LENIENT for kind in kinds))
        if found and item["when"]:
            score.when.count(
                any(_window(memory) == tuple(date.fromisoformat(day[:10]) for day in item["when"]) for memory in found)
            )
    _superseding(t, score)
    for secret in t.case.get("never", ()):
        score.secrets.count(not any(secret in m.content + m.summary + str(m.key) for m in t.memories))
    if not expected:
        score.chatter.add(Share(len(t.memories), len(t.case["messages"])))
    return score


def _superseding(t: ExtractedCase, score: Score) -> None:
    expected = t.case["expected"]
    for item in expected:
        found = t.matching(item)
        if item["supersedes"] is not None:
            old = expected[item["supersedes"]]
            kept = [m for m in t.matching(old) if m.current and not t.matches(item, m)]
            right = not kept and any(m.current for m in found) == item["current"] and bool(found)
            score.pairs.count(right)
            if found:
                score.superseded.count(right)
        elif item["current"] and found and not any(m.current for m in found):
            score.superseded.count(False)


def _window(memory: Memory) -> tuple[date | None, date | None]:
    """In whole days, as the set has it: "this morning" is that day."""
    stop = memory.occurred_until
    return _day(memory.occurred_at), _day(stop + DAY - timedelta(microseconds=1) if stop else None)


def _day(moment: datetime | None) -> date | None:
    return moment.astimezone(UTC).date() if moment else None


async def measure(parts: Iterable[str]) -> tuple[list[ExtractedCase], TimedRules]:
    embedder = CachedReader(ArcticEmbedder())
    rules, heard = TimedRules(embedder), []
    for part in parts:
        held = json.loads((EXTRACTION / f"{part}.json").read_text("utf-8"))
        async with open_memory(embedder, extractor=rules) as memory:
            heard += [await extract_case(memory, case) for case in held["cases"]]
    return heard, rules


def table(heard: Sequence[ExtractedCase]) -> str:
    """One line per feature, the commonest first."""
    features: dict[str, Score] = {}
    for each in heard:
        for feature in each.case["features"]:
            features.setdefault(feature, Score()).add(score_of(each))
    shown = ("precision", "recall", "kind", "superseded", "when")
    lines = ["| feature | cases | " + " | ".join(shown) + " |", "|---" * 7 + "|"]
    for feature, score in sorted(features.items(), key=lambda pair: (-pair[1].cases, pair[0])):
        lines.append(f"| {feature} | {score.cases} | " + " | ".join(str(getattr(score, n)) for n in shown) + " |")
    return "\n".join(lines)


def totals(columns: dict[str, tuple[list[ExtractedCase], TimedRules]]) -> str:
    lines = ["| in total | " + " | ".join(columns) + " |", "|---" * (len(columns) + 1) + "|"]
    scores = {name: Score() for name in columns}
    for name, (heard, _) in columns.items():
        for each in heard:
            scores[name].add(score_of(each))
    lines.append("| cases | " + " | ".join(str(score.cases) for score in scores.values()) + " |")
    titles = dict(zip(NAMES, (
        "precision", "recall", "kind", "kind, fact ~ instruction and fact ~ task", "superseding, new value found",
        "superseding, all pairs", "window, item found", "secrets kept out", "memories per chit-chat message",
    ), strict=True))  # fmt: skip
    for name, title in titles.items():
        lines.append(f"| {title} | " + " | ".join(str(getattr(score, name)) for score in scores.values()) + " |")
    for title, cost in (("by words", "cpu"), ("reading", "reading")):
        cpu = (f"{1000 * getattr(rules, cost) / max(rules.read, 1):.2f} ms" for _, rules in columns.values())
        lines.append(f"| CPU per message, {title} | " + " | ".join(cpu) + " |")
    return "\n".join(lines)


def report(columns: dict[str, tuple[list[ExtractedCase], TimedRules]]) -> str:
    said = ["# Extraction without a language model", "", INTRODUCTION, "", totals(columns), "", dates.measure(), ""]
    for name, (heard, _) in columns.items():
        said += [f"## By feature: {name}", "", table(heard), ""]
    said += ["## What was measured", "", (__doc__ or "").split("\n\n")[1].replace("\n", " ").strip(), ""]
    return "\n".join(said)


def misses(heard: Iterable[ExtractedCase]) -> str:
    """What was missed and what was made up, for whoever tunes."""
    lines: list[str] = []
    for t in heard:
        expected = t.case["expected"]
        wrong = (m for m in t.memories if not any(t.matches(item, m) for item in expected))
        lines += [f"{t.case['id']} wrong  {m.kind} {m.extractor} {m.content}" for m in wrong]
        lines += [f"{t.case['id']} missed {i['kind']} {i['from']} {i['says']}" for i in expected if not t.matching(i)]
    return "\n".join(lines)


def main() -> None:
    asked = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    asked.add_argument("--unread", action="store_true", help="measure the unread part too and write the result")
    asked.add_argument("--misses", action="store_true", help="list what was missed and made up in the tuning parts")
    given = asked.parse_args()
    columns = {"tuning": asyncio.run(measure(TUNING))}
    if given.misses:
        print(misses(columns["tuning"][0]))
    if given.unread:
        columns["unread"] = asyncio.run(measure(UNREAD))
        RESULT.write_text(report(columns), "utf-8")
    print(table(columns["tuning"][0]), totals(columns), sep="\n\n")


if __name__ == "__main__":
    main()
