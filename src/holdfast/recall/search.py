"""Turns a question into ranked hits: all channels are searched at once, then one ranker and a list of steps apply."""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from holdfast.domain.ports.search import Probe, Proposals
from holdfast.domain.ports.storage import Store
from holdfast.domain.results import Hit
from holdfast.domain.tracing import append_note, is_traced, note, stage
from holdfast.domain.types import SECOND_HAND_TRUST, All, Either, Floats, Item, Message, Not, Test, Where
from holdfast.recall import search_trace
from holdfast.recall.hits import redacted_hits
from holdfast.recall.question.agents import AgentMention, agents_mentioned, may_mention_agent
from holdfast.recall.question.analysis import Question, analysed_question
from holdfast.recall.ranking.features import best_cosines
from holdfast.recall.ranking.ranker import RankedItem
from holdfast.recall.ranking.relevance import lead
from holdfast.recall.ranking.steps import Ranking, SearchModels, ranked_hits, scored_items
from holdfast.recall.ranking.trust import may_be_about_user

log = logging.getLogger("holdfast")
MIN_PROPOSALS = 80
"""How many candidates each channel proposes at least. Chosen by hand; not measured."""
CROWDED_SHARE, MIN_CROWD = 0.3, 4
"""From which share and number of hits on documents and tools bring so many that what people said is looked for apart.
Chosen by hand: a page or two does not cost a second look."""
OWN_WORDS = Not(Either((Test("role", "in", SECOND_HAND_TRUST), Test("trust", "in", SECOND_HAND_TRUST))))
"""All but what documents and tools brought."""
EVER = (datetime(1900, 1, 1, tzinfo=UTC), datetime(2200, 1, 1, tzinfo=UTC))


@dataclass(frozen=True, slots=True)
class Searcher:
    """Searches one store with these models, under one filter."""

    store: Store
    models: SearchModels
    where: Where | None
    now: datetime
    """The time against which expiry is checked."""

    async def search(self, question: Question, limit: int) -> list[Hit]:
        probe = await self._probe(question, limit)
        with stage("propose"):
            found = await self.store.propose(probe)
            question, found, about = await self._by_agents(probe, question, found)
        with stage("rank"):
            apart = lead(best_cosines(found), self.models.embedder.model)
            ranking = Ranking(self.store, self.models, question, self.where, self.now, limit, apart)
            order = scored_items(ranking, found)
        with stage("read"):
            await self._read(ranking, order)
            if _is_crowded(question, order, ranking):
                order = [*order, *await self._own_words(probe, ranking, order)]
            ranked = await ranked_hits(ranking, [each for each in order if each.item.id in ranking.items], found)
            hits = await redacted_hits(self.store, ranked.hits, question.text)
        if about is not None and about.anything:
            hits = [_by_agent(hit) for hit in hits]
        if is_traced():
            append_note("searches", search_trace.trace_of_search(question, found, ranked, hits, limit))
        return hits

    async def _read(self, ranking: Ranking, order: list[RankedItem]) -> None:
        ranking.items.update((item.id, item) for item in await self.store.get([each.item.id for each in order]))

    async def _own_words(self, probe: Probe, ranking: Ranking, order: list[RankedItem]) -> list[RankedItem]:
        """What else is found where documents and tools are left out, in order."""
        where = OWN_WORDS if probe.where is None else All((probe.where, OWN_WORDS))
        found = scored_items(ranking, await self.store.propose(replace(probe, where=where)))
        known = {each.item.id for each in order}
        more = [each for each in found if each.item.id not in known]
        await self._read(ranking, more)
        return more

    async def proposals(self, question: Question, limit: int = MIN_PROPOSALS) -> Proposals:
        """Returns what every channel finds, before ranking."""
        return await self.store.propose(await self._probe(question, limit))

    async def _probe(self, question: Question, limit: int) -> Probe:
        embedder = self.models.embedder
        with stage("embed"):
            vector = await _question_vector(self.models, question.text)
        return Probe(
            now=self.now,
            words=question.words,
            vector=vector,
            model=embedder.model,
            keys=question.keys,
            window=question.window,
            where=self.where,
            limit=max(MIN_PROPOSALS, limit),
            memories=max(MIN_PROPOSALS // 2, limit),
            agents=may_mention_agent(question.text),
        )

    async def _by_agents(
        self, probe: Probe, question: Question, found: Proposals
    ) -> tuple[Question, Proposals, AgentMention | None]:
        """Restricts the search to what an agent wrote when the question names the agent; no
        restriction when nothing is found."""
        about = agents_mentioned(question.text, found.agents) if found.agents else None
        if about is None:
            return question, found, None
        less = replace(question.about(about.rest), text=question.text)
        theirs = Test("agent", "in", about.agents)
        where = theirs if probe.where is None else All((probe.where, theirs))
        when = EVER if about.anything and less.window is None else less.window  # then the newest are wanted
        other = await self.store.propose(
            replace(probe, words=less.words, keys=less.keys, window=when, where=where, agents=False)
        )
        if not any(other.channels):
            return question, found, None
        note(agents=list(about.agents))
        return less, other, about


def _is_crowded(question: Question, order: list[RankedItem], ranking: Ranking) -> bool:
    """Whether documents and tools may have kept out what people said, where a question may be about the user."""
    brought = sum(_is_brought(ranking.items[each.item.id]) for each in order if each.item.id in ranking.items)
    crowded = brought > len(order) * CROWDED_SHARE and brought >= MIN_CROWD
    return crowded and not question.asks_document and may_be_about_user(question)


def _is_brought(item: Item) -> bool:
    return (item.role if isinstance(item, Message) else item.trust) in SECOND_HAND_TRUST


def question_of(text: str, asked_at: datetime) -> Question:
    """Analyses a question once; everything downstream takes the resulting value."""
    with stage("analyse"):
        return analysed_question(text, asked_at)


def _by_agent(hit: Hit) -> Hit:
    """Marks a hit as written by the agent asked about, unless the user said it or it is outside the window."""
    return hit.assessed(by_agent=True) if hit.features.get("in_window", 0.0) >= 0 and hit.role != "user" else hit


async def _question_vector(models: SearchModels, text: str) -> Floats | None:
    """Embeds the question, unless it was asked lately; None when the model fails, so that words and keys still find
    hits."""
    embedder = models.embedder
    known = models.question_vectors.get(embedder.model, text)
    if known is not None:
        return known
    append_note("models", {"model": embedder.model, "task": "embed_query", "characters": len(text)})
    try:
        vector = await embedder.embed_query(text)
    except Exception as failure:
        log.warning("searching by words alone, the embedder failed: %s", failure)
        return None
    models.question_vectors.put(vector, embedder.model, text)
    return vector
