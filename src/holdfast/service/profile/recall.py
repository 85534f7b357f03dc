"""Questions to one profile: search, recall, context."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import aclosing
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Unpack

from holdfast.domain import filters, identifiers, limits
from holdfast.domain.arguments import (
    Moment,
    QueryScope,
    ResponseLength,
    ThinkingLevel,
    validate_limit,
    validate_search_order,
    validate_share,
    validate_tokens,
)
from holdfast.domain.ports.profile.recall import ProfileRecall
from holdfast.domain.ports.storage import Store
from holdfast.domain.results import (
    Answer,
    Context,
    Hit,
)
from holdfast.domain.tracing import note, stage, traced_operation
from holdfast.domain.types import Message, SearchOrder
from holdfast.service.profile.context import ProfileVerbs
from holdfast.service.recorder import traced
from holdfast.service.streams import run_in_one_task

if TYPE_CHECKING:
    from holdfast.recall.answer.synthesis import AnswerOptions
    from holdfast.recall.search import Searcher
    from holdfast.storage.views.past import TimeReference

MAX_CONTEXT_HITS = 60
"""How many hits a context block is built from. Chosen by hand: more than fit into any usual token budget."""


class RecallVerbs(ProfileVerbs, ProfileRecall):
    """Ranked hits, cited answers and context blocks."""

    @traced
    async def search(
        self,
        query: str,
        *,
        limit: int = 10,
        min_relevance: float = 0.0,
        reference_date: Moment | None = None,
        as_of: Moment | None = None,
        order: SearchOrder = "relevance",
        **narrowed: Unpack[QueryScope],
    ) -> list[Hit]:
        from holdfast.recall.ranking.relevance import relevant_hits
        from holdfast.recall.search import question_of
        from holdfast.recall.search_trace import trace_arguments

        order = validate_search_order(order)
        least = validate_share(min_relevance, "min_relevance")
        trace_arguments(narrowed, limit=limit, min_relevance=least or None, reference_date=reference_date, as_of=as_of)
        most, when = validate_limit(limit), self._context.when(reference_date, as_of)
        searcher, _ = await self._searcher(narrowed, when)
        question = question_of(_validate_query(query), when.asked_at)
        return _in_order(relevant_hits(question.text, await searcher.search(question, most), least), order)

    @traced
    async def recall(
        self,
        query: str,
        *,
        limit: int | None = None,
        thinking_level: ThinkingLevel = "low",
        response_length: ResponseLength = "medium",
        reference_date: Moment | None = None,
        as_of: Moment | None = None,
        **narrowed: Unpack[QueryScope],
    ) -> Answer:
        when = self._context.when(reference_date, as_of)
        text, options = _validate_query(query), _options(limit, thinking_level, response_length)
        pieces = [piece async for piece in self._pieces(text, options, narrowed, when)]
        return next(piece for piece in reversed(pieces) if isinstance(piece, Answer))

    async def recall_stream(
        self,
        query: str,
        *,
        limit: int | None = None,
        thinking_level: ThinkingLevel = "low",
        response_length: ResponseLength = "medium",
        reference_date: Moment | None = None,
        as_of: Moment | None = None,
        **narrowed: Unpack[QueryScope],
    ) -> AsyncIterator[str | Answer]:
        when = self._context.when(reference_date, as_of)
        text, options = _validate_query(query), _options(limit, thinking_level, response_length)

        async def run() -> AsyncIterator[str | Answer]:
            with traced_operation("recall") as done:
                async for piece in self._pieces(text, options, narrowed, when):
                    yield piece
            self._context.record(done)

        async with aclosing(run_in_one_task(run())) as pieces:
            async for piece in pieces:
                yield piece

    async def _pieces(
        self, query: str, options: AnswerOptions, narrowed: QueryScope, when: TimeReference
    ) -> AsyncIterator[str | Answer]:
        """Yield the answer's text in pieces, and the whole Answer last."""
        from holdfast.recall.answer.offline import offline_answer
        from holdfast.recall.search import question_of
        from holdfast.recall.search_trace import trace_arguments

        trace_arguments(
            narrowed, limit=options.limit, thinking_level=options.level, response_length=options.length,
            as_of=when.as_of,
        )  # fmt: skip
        searcher, ready = await self._searcher(narrowed, when)
        llm, question = await self._context.llm(), question_of(query, when.asked_at)
        if llm is None:
            answer = await offline_answer(searcher, question, options.hits)
            if answer.answer:
                yield answer.answer
            yield _finished(answer, ready)
            return
        from holdfast.recall.answer.synthesis import answer_pieces

        with self._context.charging(searcher.store):
            async for piece in answer_pieces(searcher, question, options, llm):
                if isinstance(piece, Answer):
                    piece = _finished(piece, ready and not await _rests_on_pending(searcher.store, piece))
                yield piece

    async def _searcher(self, scope: QueryScope, when: TimeReference) -> tuple[Searcher, bool]:
        """A searcher of the current store, or of its state at `as_of`, and whether all recent writes are digested."""
        from holdfast.recall.search import Searcher

        conditions: dict[str, Any] = dict(scope)
        excluded = conditions.pop("exclude_session", None)
        where = filters.parse_filter(**conditions)
        excluded = None if excluded is None else identifiers.validate_session(excluded, "exclude_session")
        with stage("wait"):
            ready = await self._context.caught_up()
        store = await self._context.store_at(when.as_of, excluded)
        now = when.as_of or self._context.now()
        return Searcher(store, self._context.runtime.search_models, where, now), ready

    @traced
    async def context(
        self,
        query: str,
        *,
        tokens: int = 1000,
        summaries: bool = False,
        min_relevance: float = 0.0,
        reference_date: Moment | None = None,
        as_of: Moment | None = None,
        **narrowed: Unpack[QueryScope],
    ) -> Context:
        from holdfast.recall.context import context_block
        from holdfast.recall.ended import with_ended_marks
        from holdfast.recall.hits import rolled_up_hits, verbatim_hits
        from holdfast.recall.parts import hits_of_parts
        from holdfast.recall.ranking.relevance import relevant_hits
        from holdfast.recall.search import question_of
        from holdfast.recall.search_trace import trace_arguments, trace_context

        tokens, least = validate_tokens(tokens), validate_share(min_relevance, "min_relevance")
        when = self._context.when(reference_date, as_of)
        searcher, _ = await self._searcher(narrowed, when)
        question = question_of(_validate_query(query), when.asked_at)
        found = await hits_of_parts(searcher, question, MAX_CONTEXT_HITS)
        hits = relevant_hits(question.text, found, least)
        worded = await with_ended_marks(searcher.store, await verbatim_hits(searcher.store, hits, question.text))
        worded = self._context.with_origins(await rolled_up_hits(searcher.store, worded) if summaries else worded)
        block = context_block(worded, tokens, asked_at=when.asked_at)
        trace_arguments(
            narrowed, tokens=tokens, summaries=summaries, min_relevance=least or None, reference_date=reference_date,
            as_of=as_of,
        )  # fmt: skip
        trace_context(hits, worded, block, tokens)
        return block


def _in_order(hits: list[Hit], order: SearchOrder) -> list[Hit]:
    if order == "relevance":
        return hits
    said = order.startswith("occurred")
    return sorted(
        hits,
        key=lambda hit: (hit.timestamp or hit.created_at) if said else hit.created_at,
        reverse=not order.endswith("_asc"),
    )


async def _rests_on_pending(store: Store, answer: Answer) -> bool:
    """Whether the answer rests on messages that wait for the language model: while it was down, makeshift memories were
    drawn from them by rules, and they will be digested again."""
    cited = {citation.hit for citation in answer.citations}
    hits = [hit for hit in answer.hits if hit.id in cited] or answer.hits
    sources = list(dict.fromkeys(source for hit in hits for source in hit.sources))
    read = await store.get(sources) if sources else []
    return any(hit.pending for hit in hits) or any(isinstance(item, Message) and item.pending for item in read)


def _finished(answer: Answer, ready: bool) -> Answer:
    note(confidence=round(answer.confidence, 3), cited=[citation.hit for citation in answer.citations])
    return replace(answer, pending=not ready)


def _validate_query(query: object) -> str:
    return identifiers.validate_text(query, "query", limit=limits.MAX_QUERY_BYTES)


def _options(limit: int | None, level: str, length: str) -> AnswerOptions:
    from holdfast.recall.answer.synthesis import AnswerOptions

    return AnswerOptions(None if limit is None else validate_limit(limit), level, length)
