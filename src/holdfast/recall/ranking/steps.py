"""Turns proposals into ordered hits. `CANDIDATE_STEPS` and `HIT_STEPS` list every step that changes the order.

The ranker gives each proposed item a score. The candidate steps change scores. Then a memory and the message it was
drawn from become one. Hits are made of those that remain. The hit steps reorder, cut and replace hits.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from holdfast.domain.filters import passes
from holdfast.domain.ports.models import Embedder, Reranker
from holdfast.domain.ports.search import Proposals
from holdfast.domain.ports.storage import Store
from holdfast.domain.results import NOT_ASSESSED, Assessment, Hit
from holdfast.domain.timestamps import to_micros
from holdfast.domain.types import SECOND_HAND_TRUST, Floats, Item, Memory, Message, Where
from holdfast.recall.hits import hit_of, redacted_hits, said_messages, superseded_unseen, without_wrong_words
from holdfast.recall.question.analysis import Question
from holdfast.recall.ranking.fit import NearnessByText
from holdfast.recall.ranking.ranker import RankedItem, ranked_items, reasons
from holdfast.recall.ranking.recency import newest_first
from holdfast.recall.ranking.relevance import relevance_among
from holdfast.recall.ranking.trust import may_have_hearsay, with_hearsay
from holdfast.text import tokens
from holdfast.text.cache import TextCache
from holdfast.text.redaction import redacted_text

log = logging.getLogger("holdfast")
MAX_AGE_LOSS = 1.0
"""How much the score of a very old item loses when a half-life is set. Chosen by hand, see
`python -m evals.measure.decay`."""
MARK_SHARE = 0.02
"""The share of its score by which one mark moves a memory; there are at most five, so a
tenth in all. Chosen by hand."""
MAX_QUESTION_VECTORS = 256
"""How many questions' vectors are held: 400 kB. Chosen by hand."""
ENDED_TASK_LOSS = 3.0
"""How much a task's score loses once its session has ended. Chosen by hand: enough to rank below current items."""


@dataclass(frozen=True, slots=True)
class SearchModels:
    """The models that a search uses."""

    embedder: Embedder
    reranker: Reranker | None = None
    half_life_days: float | None = None
    """Days after which an item has lost half of MAX_AGE_LOSS; None for no loss."""
    question_vectors: TextCache[Floats] = field(default_factory=lambda: TextCache(MAX_QUESTION_VECTORS), compare=False)
    """Model and question → vector. A turn of a conversation often asks for context and for an answer with one text."""


@dataclass(frozen=True, slots=True)
class Ranking:
    """One search whose proposals are being ranked."""

    store: Store
    models: SearchModels
    question: Question
    where: Where | None
    now: datetime
    limit: int
    lead: float | None = None
    """By how much the nearest proposed item stands out from the others."""
    items: dict[str, Item] = field(default_factory=dict)
    """The ranked items, read from the store."""
    drawn: list[Memory] = field(default_factory=list)
    """The memories that rest on the messages among the hits, read by `leave_out_wrong_words`."""
    compared: NearnessByText = field(default_factory=dict)
    """What several steps read is compared with the question once."""


@dataclass(frozen=True, slots=True)
class RankedHits:
    hits: list[Hit]
    order: list[RankedItem]
    """All ranked candidates, including those that did not become a hit."""
    merged: dict[str, str]
    """Id of an item that is not shown → id of the hit that shows the same message."""
    reasons: dict[str, dict[str, float]]
    """Id of a ranked candidate → the features that decided its rank."""


async def ranked_hits(ranking: Ranking, order: list[RankedItem], proposals: Proposals) -> RankedHits:
    """Applies every step to the ranker's order of these proposals."""
    for candidate_step in CANDIDATE_STEPS:
        order = await candidate_step(ranking, order)
    why = dict(zip([found.item.id for found in order], reasons(order), strict=True))
    shown, merged = merge_memory_with_its_message(ranking, order)
    heard = may_have_hearsay(ranking.question, _items_of(ranking, shown), proposals, ranking.compared)
    if ranking.models.reranker is None and not heard:
        shown = shown[: ranking.limit]  # no step before the cut would change their order
    hits = [_hit_of_ranked(ranking, found, why[found.item.id]) for found in shown]
    for hit_step in HIT_STEPS:
        if heard or hit_step is not put_own_words_first:
            hits = await hit_step(ranking, hits)
    return RankedHits(hits, order, merged, why)


def _items_of(ranking: Ranking, order: Sequence[RankedItem]) -> list[Item]:
    return [ranking.items[found.item.id] for found in order]


def _hit_of_ranked(ranking: Ranking, found: RankedItem, why: dict[str, float]) -> Hit:
    features, learned = found.features, NOT_ASSESSED
    if found.marks:
        features, why = {**features, "marks": found.marks}, {**why, "marks": found.marks}
        learned = Assessment(marks=found.marks)
    return hit_of(
        ranking.items[found.item.id],
        score=round(found.score, 4),
        channels=found.channels,
        features=features,
        relevance=relevance_among(features, found.channels, ranking.models.embedder.model, ranking.lead),
        reasons=why,
        assessment=learned,
    )


def scored_items(ranking: Ranking, proposals: Proposals) -> list[RankedItem]:
    """The best proposals by the ranker's score; more than the limit, because some will be merged."""
    return ranked_items(ranking.question, proposals, ranking.limit + ranking.limit // 2 + 10)


async def lower_with_age(ranking: Ranking, order: list[RankedItem]) -> list[RankedItem]:
    """Lowers old items a little when a half-life is set, unless the question names a time."""
    half_life = ranking.models.half_life_days
    if half_life is None or ranking.question.window is not None:
        return order
    asked_at = to_micros(ranking.question.asked_at)

    def aged(found: RankedItem) -> RankedItem:
        days = max(0.0, (asked_at - found.item.at) / 86_400e6)
        return replace(found, score=found.score - MAX_AGE_LOSS * (1 - 0.5 ** (days / half_life)))

    return sorted(map(aged, order), key=lambda found: -found.score)


async def move_by_marks(ranking: Ranking, order: list[RankedItem]) -> list[RankedItem]:
    """Raises items marked right a little, and lowers items marked wrong a little."""
    marks = {id: count for id, item in ranking.items.items() if (count := getattr(item, "marks", 0))}
    if not marks:
        return order

    def moved(found: RankedItem) -> RankedItem:
        count = marks.get(found.item.id)
        if not count:
            return found
        by = round(MARK_SHARE * count * max(abs(found.score), 1.0), 4)
        return replace(found, score=found.score + by, marks=by)

    return sorted(map(moved, order), key=lambda found: -found.score)


async def lower_tasks_of_ended_sessions(ranking: Ranking, order: list[RankedItem]) -> list[RankedItem]:
    """Lowers tasks whose session has ended, which means that another session has the latest message."""
    tasks = {id: item for id, item in ranking.items.items() if isinstance(item, Memory) and item.kind == "task"}
    if not tasks:
        return order
    last = await ranking.store.messages(None, before=2**62, limit=1)
    running = {None, *(message.session_id for message in last)}

    def lowered(found: RankedItem) -> RankedItem:
        task = tasks.get(found.item.id)
        over = task is not None and task.session_id not in running
        return replace(found, score=found.score - ENDED_TASK_LOSS) if over else found

    return sorted(map(lowered, order), key=lambda found: -found.score)


def merge_memory_with_its_message(
    ranking: Ranking, order: Sequence[RankedItem]
) -> tuple[list[RankedItem], dict[str, str]]:
    """Of a memory and the message it was drawn from, keeps the higher ranked of the two. Also returns which item each
    other one is shown by."""
    shown: list[RankedItem] = []
    shown_by: dict[str, str] = {}
    merged: dict[str, str] = {}
    for found, item in zip(order, _items_of(ranking, order), strict=True):
        quotes = {item.id} if isinstance(item, Message) else set(item.sources)
        if quotes and quotes <= shown_by.keys():
            merged[item.id] = shown_by[min(quotes)]
            continue
        shown_by |= dict.fromkeys(quotes - shown_by.keys(), item.id)
        shown.append(found)
    return shown, merged


async def rerank(ranking: Ranking, hits: list[Hit]) -> list[Hit]:
    """Returns the hits in the reranker's order; keeps the given order when there is no reranker or it fails."""
    reranker = ranking.models.reranker
    if reranker is None or not hits:
        return hits
    # The reranker may be a third-party service, so it must not see secrets.
    question = ranking.question.text
    texts = [redacted_text(hit.content) for hit in await redacted_hits(ranking.store, hits, question)]
    try:
        scores = await reranker.rerank(redacted_text(question), texts)
        pairs = list(zip(scores, hits, strict=True))
    except Exception as failure:
        log.warning("keeping the ranker's order, the reranker failed: %s", failure)
        return hits
    read = [(float(score), hit.assessed(rerank=float(score))) for score, hit in pairs]
    return [hit for _, hit in sorted(read, key=lambda each: -each[0])]


async def put_own_words_first(ranking: Ranking, hits: list[Hit]) -> list[Hit]:
    """What the user said themselves before what documents, tools and assistants say about it."""
    return with_hearsay(ranking.question, hits, ranking.models.embedder.model, ranking.compared)


async def cut_to_limit(ranking: Ranking, hits: list[Hit]) -> list[Hit]:
    return hits[: ranking.limit]


async def leave_out_wrong_words(ranking: Ranking, hits: list[Hit]) -> list[Hit]:
    """Leaves out of messages and summaries what only memories state that were marked wrong, or superseded in a session
    that is left out."""
    messages = [hit.message_id for hit in hits if hit.message_id is not None]
    ranking.drawn.extend(await ranking.store.resting_on(messages) if messages else [])
    covered = {id for hit in hits if hit.message_id is None for id in said_messages(hit)}.difference(messages)
    more = await ranking.store.resting_on(sorted(covered)) if covered else []
    drawn = [*ranking.drawn, *more]
    return without_wrong_words(hits, drawn, await superseded_unseen(ranking.store, drawn))


async def put_successors_first(ranking: Ranking, hits: list[Hit]) -> list[Hit]:
    """Puts the memory that superseded a statement before the message that made the statement: nobody lives at their old
    address.

    A message is assessed as superseded when none of its memories is current, and as outdated when only the part about
    the question is not current.
    """
    ended = [memory for memory in ranking.drawn if not memory.current and not memory.retired]
    if not ended:
        return hits
    valid = {source for memory in ranking.drawn if memory.current for source in memory.sources}
    stale = {source for memory in ended for source in memory.sources} - valid
    successors = await _successors(ranking, ended)
    placed: dict[str, Hit] = {}
    for hit in hits:
        newer = successors.get(hit.message_id or "")
        if newer is not None and newer.id not in placed:
            placed[newer.id] = next((h for h in hits if h.id == newer.id), None) or _successor_hit(newer, hit)
        superseded, outdated = hit.message_id in stale, newer is not None
        if superseded or outdated:
            hit = hit.assessed(superseded=superseded, outdated=not superseded)
        placed.setdefault(hit.id, hit)
    return list(placed.values())[: ranking.limit]


async def _successors(ranking: Ranking, ended: list[Memory]) -> dict[str, Memory]:
    """Message id → the current memory that superseded what the message states about the question."""
    found: dict[str, Memory] = {}
    for memory in ended:
        spoken = set(ranking.question.words) & set(tokens.tokens(memory.content))
        if spoken:
            head = (await ranking.store.history(memory.ref))[0]
            over = head.expires_at is not None and head.expires_at <= ranking.now
            sure = head.key == memory.key is not None or spoken <= set(tokens.tokens(head.content))
            if head.current and sure and not over and passes(ranking.where, head):
                found |= dict.fromkeys(memory.sources, head)
    return found


def _successor_hit(memory: Memory, hit: Hit) -> Hit:
    features = {**hit.features, "memory": 1.0, "from_user": 0.0}
    if hit.assessment.hearsay and memory.trust not in SECOND_HAND_TRUST:
        hit, features = hit.assessed(hearsay=False), {name: n for name, n in features.items() if name != "hearsay"}
    why: dict[str, Any] = {"score": hit.score, "relevance": hit.relevance, "assessment": hit.assessment}
    return hit_of(memory, channels={"key": 1}, features=features, **why).assessed(successor=True)


async def put_newer_first(ranking: Ranking, hits: list[Hit]) -> list[Hit]:
    """Puts the newer of two statements about the same thing first."""
    return await newest_first(ranking.store, ranking.question.target, hits, ranking.items, ranking.compared)


CANDIDATE_STEPS = (lower_with_age, move_by_marks, lower_tasks_of_ended_sessions)
HIT_STEPS = (rerank, put_own_words_first, cut_to_limit, leave_out_wrong_words, put_successors_first, put_newer_first)
