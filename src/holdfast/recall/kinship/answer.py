"""Answers questions about a relative whom nobody called so: by the name that other statements lead to.

"What is Kofi's niece called?" follows from "Kofi's sister Ama" and "Ama had her baby, a girl called Esi". Where more
than the name is asked, the question is asked again with the name.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from holdfast.domain.results import Answer, Citation, Hit
from holdfast.recall.answer.computed import FoundSpan
from holdfast.recall.answer.quotations import quoted_together
from holdfast.recall.hits import verbatim_hits
from holdfast.recall.kinship.network import AskedKin, KinNetwork, Meant, asked_kin, frontier, path_steps
from holdfast.recall.kinship.statements import USER, relations_in
from holdfast.recall.kinship.words import A_KIN_WORD, STEP_WORDS
from holdfast.recall.question.analysis import Question
from holdfast.recall.ranking.clauses import People, people_in
from holdfast.recall.ranking.recency import said_at
from holdfast.recall.ranking.trust import SECOND_HAND, standing
from holdfast.recall.search import Searcher

MAX_FOUND, MAX_ROUNDS = 40, 2
"""How many statements about relatives are read, and how often others are looked for, by the names found. Chosen by
hand."""
CONFIDENCE = 0.8
"""Confidence of an answer that follows from who is whose relative. Chosen by hand."""
_ASKS_NAME = re.compile(
    r"\W*(?:and )?(?:who(?:'s| is| are| was)? (?:going to be |the )?(?P<a>.*)|what(?:'s| is| are|s)? (?P<b>.*?)"
    r"(?:'s name|s' names?| called| named)|(?:what(?:'s| is) )?the name of (?P<c>.*))\W*$",
    re.I,
)
_COUNTS = re.compile(
    rf"\W*how many (?P<kin>{A_KIN_WORD})s? (?:do i have|have i(?: got)?|do we have|have we(?: got)?)\W*$", re.I
)


async def kin_of_question(
    searcher: Searcher, question: Question, hits: Sequence[Hit]
) -> tuple[AskedKin, list[Meant]] | None:
    """The relative that is asked about, and the people it may be; None when no relative is asked about."""
    known = people_in(hits).names
    counted = _COUNTS.match(question.text)
    asked = asked_kin(f"my {counted['kin']}" if counted else question.text, known)
    if asked is None:
        return None
    found = {hit.id: hit for hit in hits if standing(hit) != SECOND_HAND}
    looked_for = [asked.owner] if asked.owner != USER else []
    names: list[str] = []
    meant: list[Meant] = []
    for _ in range(MAX_ROUNDS):
        found |= {hit.id: hit for hit in await _statements(searcher, question, asked, [*looked_for, *names])}
        network = _network(list(found.values()))
        meant = network.meant(asked)
        more = [name for name in frontier(network, asked) if name not in names]
        if meant or not more:
            break
        names += more
    return asked, meant


def asks_name(asked: AskedKin) -> bool:
    """Whether it asks who the relative is, and nothing else."""
    m = _ASKS_NAME.match(asked.text)
    return m is not None and (m["a"] or m["b"] or m["c"] or "").strip(" ?").endswith(
        asked.text[slice(*asked.span)].removesuffix("'s")
    )


async def named_answer(
    searcher: Searcher, meant: Sequence[Meant], hits: tuple[Hit, ...], counted: bool = False
) -> Answer:
    """The names, and the statements from which they follow."""
    told = list({hit.id: hit for each in meant for hit in each.told_in}.values())
    times = await said_at(searcher.store, told)
    spans = [FoundSpan(hit, at, *_place(hit, meant)) for hit, at in zip(told, times, strict=True)]
    names = ", ".join(each.name.title() for each in meant)
    shown = f"{len(meant)}: {names}" if counted else names
    known = {hit.id for hit in hits}
    more = tuple(hit for hit in told if hit.id not in known)
    cited = tuple(Citation(hit.id, hit.content) for hit in told)
    return Answer(f"{shown}: {quoted_together(spans)}", cited, (*hits, *more), CONFIDENCE)


def _place(hit: Hit, meant: Sequence[Meant]) -> tuple[int, int]:
    """Where a statement names one of them, or all of it."""
    said = hit.content.casefold()
    return next(
        ((said.index(m.name), said.index(m.name) + len(m.name)) for m in meant if m.name in said), (0, len(said))
    )


def asks_count(question: Question) -> bool:
    return _COUNTS.match(question.text) is not None


def with_name(asked: AskedKin, meant: Meant) -> str:
    """The question with the name in place of the relative."""
    start, stop = asked.span
    return f"{asked.text[:start]}{meant.name.title()}{asked.text[stop:]}"


async def _statements(searcher: Searcher, question: Question, asked: AskedKin, names: Sequence[str]) -> list[Hit]:
    words = " ".join(STEP_WORDS[step] for step in path_steps(asked.words))
    wanted = question.about(" ".join([*(name.title() for name in names), words]))
    found = [hit for hit in await searcher.search(wanted, MAX_FOUND) if standing(hit) != SECOND_HAND]
    return [*found, *await verbatim_hits(searcher.store, found, question.text)]


def _network(hits: Sequence[Hit]) -> KinNetwork:
    """Messages come first: their words are quoted."""
    said = sorted(hits, key=lambda hit: hit.message_id is None)
    sound = [hit for hit in said if not hit.assessment.superseded and hit.role != "assistant"]
    people = people_in(sound)
    return KinNetwork.of(
        (relation._replace(owner=_speaker(hit, people)) if relation.owner == USER else relation, hit)
        for hit in sound
        for relation in relations_in(hit.content, people.names)
    )


def _speaker(hit: Hit, people: People) -> str:
    """Who says "my": the user, or one of several speakers."""
    said_by = (hit.speaker or "").casefold()
    return USER if not said_by or said_by == people.alone else said_by
