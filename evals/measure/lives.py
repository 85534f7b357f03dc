"""Answers and memories over whole lives: `python -m evals.measure.lives [file …] [--show] [--limit N] [--out]`, or with
`--calibration` over the lives of the other files that no network learned from (train/life_split.py).

Every life of evals/data/lives is ingested session by session into a profile of its own, with the default offline
install; its questions are asked, its list of memories is compared with its statements. `held`, `held2` and `held3` only
measure.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import time
from collections import Counter, defaultdict
from dataclasses import dataclass
from datetime import UTC, date, datetime
from datetime import time as clock
from pathlib import Path
from typing import Any

from holdfast import LocalProfile, Memory
from holdfast.models.local import ArcticEmbedder

from ..data.life import FOLDER, Life, Question, Said, parse_lives
from ..paths import CACHE, RESULTS
from ..profiles import cached_embedder, open_memory
from ..train.life_split import MEASURES, is_held

OUT = RESULTS / "lives.md"
NUMBERS = {
    word: n
    for n, word in enumerate(
        ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
    )
}
VERDICTS = ("right", "rightly empty", "wrong", "wrongly empty")


@dataclass(frozen=True, slots=True)
class Asked:
    life: str
    question: Question
    answer: str
    confidence: float
    verdict: str


@dataclass(frozen=True, slots=True)
class Listed:
    """What the list of memories says of a life's statements."""

    known: int
    current: int
    """Statements that still hold."""
    stale: int
    ended: int
    memories: int


def words(text: str) -> str:
    """The words of a text, for comparing: no case, no punctuation, no possessive, small numbers as figures."""
    plain = re.sub(r"(?<=\d),(?=\d{3})|'s\b", "", text.lower().replace("’", "'"))
    found = re.findall(r"[^\W_]+(?:[.:/@_'-][^\W_]+)*", plain)
    return f" {' '.join(str(NUMBERS.get(word, word)) for word in found)} "


def judge(question: Question, answer: str) -> str:
    if not answer:
        return "rightly empty" if question.category == "never" else "wrongly empty"
    if question.category == "never":
        return "wrong"
    newest = words(re.split(r" \| (?=\d{1,2} \w+ \d{4}: )", answer)[0])
    if question.category == "yesno":
        if (said := newest.split()[:1]) in (["yes"], ["no"]):
            return "right" if said == [question.answer.lower()] else "wrong"
        return "right" if all(words(span) in newest for span in question.spans) else "wrong"
    several = len(question.spans) > 1 and question.category != "count"
    told = question.answer.split("; ") if several else [question.answer]
    return "right" if all(contains(newest, each) for each in told) else "wrong"


def contains(text: str, wanted: str) -> bool:
    """Whether the words are in the text; a day however it is written."""
    if words(wanted) in text:
        return True
    try:
        day = datetime.strptime(wanted, "%d %B %Y")
    except ValueError:
        return False
    forms = (f"{day.day} {day:%B}", f"{day:%B} {day.day}", f"{day.day} {day:%b}", f"{day:%Y-%m-%d}")
    return any(words(form)[:-1] in text for form in forms)


def listed(life: Life, memories: list[Memory], ids: dict[str, int]) -> Listed:
    """A statement is known when a current memory that rests on its message has its value."""
    said = [({ids.get(source, 0) for source in memory.sources}, words(memory.content)) for memory in memories]

    def is_told(message: int, value: str) -> bool:
        return any(message in sources and words(value) in text for sources, text in said)

    current = [each for each in life.statements if each.ended_by is None]
    ended = [each for each in life.statements if each.ended_by is not None]
    known = sum(any(words(each.value) in text for _, text in said) for each in current)
    stale = sum(is_told(each.message, each.value) for each in ended)
    return Listed(known, len(current), stale, len(ended), len(memories))


async def live(profile: LocalProfile, life: Life, name: str) -> tuple[list[Asked], Listed, list[Memory]]:
    ids = await ingest_life(profile, life)
    found = await ask_life(profile, life, name)
    memories = [memory for memory in (await profile.list(limit=500)).items if memory.kind != "summary"]
    return found, listed(life, memories, ids), memories


async def ingest_life(profile: LocalProfile, life: Life) -> dict[str, int]:
    """Session by session; returns the number of each message by its id."""
    ids: dict[str, int] = {}
    for session in sorted({said.session for said in life.messages}):
        mine = [said for said in life.messages if said.session == session]
        await profile.ingest([message_body(said) for said in mine], session_id=f"s{session}", wait=True)
        ids |= {m.id: said.number for m, said in zip(await profile.messages(f"s{session}"), mine, strict=True)}
    return ids


async def ask_life(profile: LocalProfile, life: Life, name: str) -> list[Asked]:
    found = []
    for question in life.questions:
        answer = await profile.recall(question.text, reference_date=noon(question.asked))
        found.append(Asked(name, question, answer.answer, answer.confidence, judge(question, answer.answer)))
    return found


def message_body(said: Said) -> dict[str, Any]:
    name = {} if said.speaker in ("U", "A") else {"speaker": said.speaker}
    role = "assistant" if said.speaker == "A" else "user"
    return {"role": role, "content": said.text, "timestamp": noon(said.day).isoformat()} | name


def noon(day: date) -> datetime:
    return datetime.combine(day, clock(12), UTC)


def table(asked: list[Asked]) -> list[str]:
    rows = ["| category | questions | right | rightly empty | wrong | wrongly empty |", "|---|---|---|---|---|---|"]
    by: dict[str, Counter[str]] = defaultdict(Counter)
    for each in asked:
        by[each.question.category][each.verdict] += 1
        by["**all**"][each.verdict] += 1
    for category, count in sorted(by.items(), key=lambda pair: (pair[0] == "**all**", pair[0])):
        total = count.total()
        shares = " | ".join(f"{100 * count[verdict] / total:.1f} %" for verdict in VERDICTS)
        rows.append(f"| {category} | {total} | {shares} |")
    return rows


def reliability(asked: list[Asked]) -> list[str]:
    """How many of the answers with about the same confidence are right."""
    rows = ["| confidence | answers | right |", "|---|---|---|"]
    for low in (0.5, 0.6, 0.7, 0.8, 0.9):
        some = [each for each in asked if each.answer and low <= each.confidence < low + 0.1]
        if some:
            right = sum(each.verdict == "right" for each in some)
            rows.append(f"| {low:.1f} to {low + 0.1:.1f} | {len(some)} | {100 * right / len(some):.0f} % |")
    return rows


def interval(right: int, total: int) -> str:
    """A share with its 95 % interval (Wilson)."""
    share, z = right / total, 1.96
    middle = (share + z * z / (2 * total)) / (1 + z * z / total)
    half = z * (share * (1 - share) / total + z * z / (4 * total * total)) ** 0.5 / (1 + z * z / total)
    return f"{100 * share:.1f} % ({100 * (middle - half):.1f} to {100 * (middle + half):.1f})"


def page(asked: list[Asked], list_: Listed, files: list[Path]) -> str:
    count = Counter(each.verdict for each in asked)
    never = [each for each in asked if each.question.category == "never"]
    sound = count["right"] + count["rightly empty"]
    lines = [
        "# Lives",
        "",
        f"Written by `python -m evals.measure.lives --out`: {len(asked)} questions over {len({a.life for a in asked})} "
        f"lives of {' and '.join(path.name for path in files)}, with the default offline install and no language "
        "model. Nothing was learned from these lives, and only totals were looked at. An answer is right when it has "
        f"the words that its author wanted; a quotation of them counts. {len(never)} of the questions ask for what was "
        "never told.",
        "",
        f"- Right or rightly empty: {interval(sound, len(asked))}.",
        f"- Wrong: {interval(count['wrong'], len(asked))}.",
        f"- Answered though never told: {interval(sum(bool(a.answer) for a in never), len(never))} of {len(never)}.",
        f"- Statements that hold and are known: {interval(list_.known, list_.current)} of {list_.current}.",
        f"- Statements that ended and are still current: {interval(list_.stale, list_.ended)} of {list_.ended}.",
        "",
        *table(asked),
        "",
        *reliability(asked),
    ]
    return "\n".join(lines) + "\n"


async def measure(
    files: list[Path], limit: int, show: bool, unlearned: bool = False
) -> tuple[list[Asked], Listed, list[dict[str, Any]]]:
    asked: list[Asked] = []
    totals = Counter[str]()
    kept = []
    began = time.process_time()
    async with open_memory(cached_embedder(ArcticEmbedder())) as memory:
        for path in files:
            lives, _ = parse_lives(path.read_text("utf-8"), path.name)
            for n, life in enumerate(lives[: limit or None]):
                name = f"{path.stem}-{n}"
                if unlearned and not is_held(name):
                    continue
                found, list_, memories = await live(memory.profile("lives", name), life, name)
                asked += found
                for field in Listed.__slots__:
                    totals[field] += getattr(list_, field)
                kept += [{"life": name, "kind": m.kind, "key": m.key, "content": m.content} for m in memories]
                if show:
                    for each in found:
                        if each.verdict in ("wrong", "wrongly empty"):
                            wanted = each.question.answer or "-"
                            print(f"{name} {each.question.category}: {each.question.text} [{wanted}] {each.verdict}: "
                                  f"{each.answer!r} {each.confidence:.2f}")  # fmt: skip
    print(f"{time.process_time() - began:.0f} s of CPU")
    return asked, Listed(**{field: totals[field] for field in Listed.__slots__}), kept


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*", help="files; by default held and held2")
    parser.add_argument("--calibration", action="store_true", help="the lives of the others that nothing learned from")
    parser.add_argument("--limit", type=int, default=0, help="lives of each file")
    parser.add_argument("--show", action="store_true")
    parser.add_argument("--out", action="store_true", help=f"write {OUT.name}")
    given = parser.parse_args()
    others = sorted(path.stem for path in FOLDER.glob("*.txt") if path.stem not in MEASURES)
    names = given.names or (others if given.calibration else list(MEASURES))
    files = [FOLDER / f"{name}.txt" for name in names]
    asked, list_, kept = asyncio.run(measure(files, given.limit, given.show, given.calibration))
    lines = table(asked)
    lines += [
        "",
        f"Statements that hold and are known: {list_.known} of {list_.current}. Statements that ended and are still "
        f"current: {list_.stale} of {list_.ended}. {list_.memories} memories.",
    ]
    print("\n".join(lines))
    (CACHE / "lives-memories.json").write_text(json.dumps(kept, indent=1, ensure_ascii=False))
    if given.out:
        OUT.write_text(page(asked, list_, files))


if __name__ == "__main__":
    main()
