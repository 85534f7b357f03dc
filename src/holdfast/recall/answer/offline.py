"""Builds a cited answer from hits without a language model: a quotation, a computed value, a list, or an empty answer.

Nothing is said that a hit does not say. Where the embedder brings a reader of answers, it decides what is quoted and
whether anything is (reading.py); otherwise the hit that fits best is quoted when its support is strong enough
(best_statement.py, support.py). What documents, tools and assistants say about the user does not answer where the
user's own statements do (ranking/trust.py), and what a document or a tool says is told as theirs (attribution.py).
"""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence
from dataclasses import replace

from holdfast.domain.ports.models import AnswerReader
from holdfast.domain.results import Answer, Citation, Hit
from holdfast.domain.types import Memory
from holdfast.recall.answer.agenda import agenda_answer
from holdfast.recall.answer.attribution import attributed
from holdfast.recall.answer.best_statement import best_statement_answer
from holdfast.recall.answer.comparison import compared_answer
from holdfast.recall.answer.denial import is_affirmed, is_denied, is_of_another_person, is_off_topic
from holdfast.recall.answer.history import Earlier, earlier_statement
from holdfast.recall.answer.hit_reading import ReaderFailed
from holdfast.recall.answer.listing import listed_answer, wanted_list
from holdfast.recall.answer.reading import read_answer
from holdfast.recall.answer.statements import written_day
from holdfast.recall.answer.support import MAX_JUDGED, MIN_SUPPORT, answering_hits, support
from holdfast.recall.hits import hit_of
from holdfast.recall.kinship.answer import asks_count, asks_name, kin_of_question, named_answer, with_name
from holdfast.recall.question.analysis import Question
from holdfast.recall.ranking.clauses import people_in
from holdfast.recall.ranking.fit import best_fits
from holdfast.recall.search import Searcher
from holdfast.text import tokens

log = logging.getLogger("holdfast")
EARLIER_CONFIDENCE = 0.7
"""Confidence of an answer that states how something was before. Chosen by hand."""
TOPIC_CONFIDENCE = 0.8
"""Confidence of a statement of exactly what is asked, where the reader finds nothing in its message. Chosen by hand:
in the lives that calibrate the reader there is none."""
MAX_STATED = 3
"""How far down such a statement may be. Chosen by hand."""
MAX_TOLD, TOLD_CONFIDENCE = 3, 0.5
"""When the question asks for anything an agent said: how many of its hits are quoted, and the confidence of
that answer. Chosen by hand."""


async def offline_answer(searcher: Searcher, question: Question, limit: int) -> Answer:
    """Answers with what the best hits state, cited; empty when nothing supports an answer."""
    model = searcher.models.embedder.model
    found = await searcher.search(question, max(limit, MAX_JUDGED))
    hits, seen = tuple(found[:limit]), answering_hits(question, found, model)
    period, wanted = question.agenda_period, question.computation
    if period is not None and (plans := await agenda_answer(searcher.store, period, searcher.where, hits)):
        return plans
    asked = wanted_list(question)
    listed = await listed_answer(searcher.store, asked, searcher.where, hits) if asked is not None else None
    if asked is not None and listed is not None and (asked.kind == "task" or not asked.topic):
        return listed
    if not hits:
        return Answer("", (), ())
    if (undone := await _open_task(searcher, question, hits[:MAX_STATED])) is not None:
        task = undone if isinstance(undone, Hit) else hit_of(undone)
        others = (hit for hit in hits if hit.id != task.id)
        return Answer(f"No: {task.content}", (Citation(task.id, task.content),), (task, *others), TOPIC_CONFIDENCE)
    if wanted is not None and wanted.b and (both := await compared_answer(searcher, question, wanted, hits)):
        return both
    read = await _read(searcher, question, seen, hits)
    if read is not None and read.answer:
        return read
    if listed is not None:
        return listed
    past = question.past_state
    if read is not None and past is None:
        holding = await _holding_hits(searcher, question, seen[:MAX_STATED])
        if stated := [hit for hit in holding if _states_what_is_asked(question, hit)][:1]:
            plain = await best_statement_answer(searcher, question, stated, hits, TOPIC_CONFIDENCE)
            return replace(plain, answer=f"Yes: {plain.answer}") if is_affirmed(question, plain.answer) else plain
    if kin := await _kin_answer(searcher, question, hits, limit):
        return kin
    if past is not None and (earlier := await earlier_statement(searcher, question, past)):
        return await _earlier_answer(searcher, earlier, hits)
    confidence = support(question, seen, model) if seen else 0.0
    if confidence < MIN_SUPPORT and (told := [hit for hit in hits if hit.assessment.by_agent][:MAX_TOLD]):
        return await _told_answer(searcher, told, hits)
    if read is not None:
        return read
    if confidence < MIN_SUPPORT:
        return Answer("", (), hits, confidence)
    return await best_statement_answer(searcher, question, seen[:limit], hits, confidence)


_ASKS_IF_DONE = re.compile(r"\W*(?:(?:have|did) (?:i|we)|has (?:the user|anybody|anyone|somebody|someone))\b", re.I)


async def _open_task(searcher: Searcher, question: Question, hits: Sequence[Hit]) -> Memory | Hit | None:
    """The open task that has all words of a question whether something was done: "Have I booked the dentist?"."""
    if not _ASKS_IF_DONE.match(question.text):
        return None
    asked = set(tokens.question_words(_ASKS_IF_DONE.sub("", question.text)))
    drawn = await searcher.store.resting_on([hit.message_id for hit in hits if hit.message_id is not None])
    tasks: list[Memory | Hit] = [
        *(hit for hit in hits if hit.kind == "task" and hit.assessment.sound),
        *(memory for memory in drawn if memory.kind == "task" and memory.current),
    ]
    return next((each for each in tasks if asked and asked <= set(tokens.question_words(each.content))), None)


async def _kin_answer(searcher: Searcher, question: Question, hits: tuple[Hit, ...], limit: int) -> Answer | None:
    """Who a relative is, or what is told of them under their name; None where no relative is asked about, or it does
    not follow who that is."""
    found = await kin_of_question(searcher, question, hits) if question.target.readable else None
    if found is None or not found[1]:
        return None
    asked, meant = found
    counted = asks_count(question)
    if asks_name(asked) or (counted and len(meant) > 1):
        return await named_answer(searcher, meant, hits, counted)
    if counted or len(meant) > 1:
        return None
    again = await offline_answer(searcher, question.about(with_name(asked, meant[0])), limit)
    return again if again.answer else None


async def _holding_hits(searcher: Searcher, question: Question, hits: Sequence[Hit]) -> list[Hit]:
    """The hits; before each message, the memories drawn from it that still hold."""
    messages = [hit.message_id for hit in hits if hit.message_id is not None]
    drawn = [memory for memory in await searcher.store.resting_on(messages) if memory.current] if messages else []
    holding: list[Hit] = []
    for hit in hits:
        mine = [hit_of(memory, hit) for memory in drawn if hit.message_id in memory.sources]
        fits = best_fits(question.target, mine, people_in(hits))
        older = hit.assessment.older and not hit.assessment.outdated  # only the part that ended is older
        holding += [
            each.assessed(outdated=False, older=older, fit=fit.worth) for each, fit in zip(mine, fits, strict=True)
        ]
        holding.append(hit)
    return holding


def _states_what_is_asked(question: Question, hit: Hit) -> bool:
    """Whether a rule that knows the topic drew the statement, it holds, and it is about what and whom is asked. Its key
    or its words must share a word with the question: a red Skoda has a name, too, but is no answer to "What is my
    name?"."""
    state, asked = hit.assessment, set(question.words) - {"user"}
    if hit.key is None or (state.fit or 0.0) < 1.0 or state.superseded or state.outdated:
        return False
    if is_denied(question, hit.content) or is_off_topic(question, hit.content):
        return False
    if hit.speaker is None and is_of_another_person(question.text, hit.content):
        return False
    if not asked.isdisjoint(tokens.tokens(hit.key)):
        return True  # of one key only one statement is current
    return not state.older and not asked.isdisjoint(tokens.tokens(hit.content))


async def _read(searcher: Searcher, question: Question, seen: Sequence[Hit], hits: tuple[Hit, ...]) -> Answer | None:
    """What the reader of answers says; None when there is none for the question's language, or when it fails. It does
    not compare two things."""
    reader, wanted = searcher.models.embedder, question.computation
    if not isinstance(reader, AnswerReader) or not question.target.readable:
        return None
    if wanted is not None and wanted.b:
        return Answer("", (), hits)
    try:
        return await read_answer(searcher, reader, question, seen, hits)
    except ReaderFailed as failure:
        log.warning("answering with the statement that fits best, the reader failed: %s", failure)
        return None


async def _told_answer(searcher: Searcher, told: Sequence[Hit], hits: tuple[Hit, ...]) -> Answer:
    """What the agent that the question is about said."""
    text = " ".join([await attributed(searcher.store, hit, hit.content) for hit in told])
    return Answer(text, tuple(Citation(hit.id, hit.content) for hit in told), hits, TOLD_CONFIDENCE)


async def _earlier_answer(searcher: Searcher, found: Earlier, hits: tuple[Hit, ...]) -> Answer:
    """What held then, with when it was said and when something else was."""
    was, next = found.stated, found.next
    until = f", until {written_day(next.at)}" if next is not None else ""
    cited = tuple(Citation(each.hit.id, each.hit.content) for each in (was, next) if each is not None)
    known = {hit.id for hit in hits}
    more = tuple(each.hit for each in (was, next) if each is not None and each.hit.id not in known)
    told = await attributed(searcher.store, was.hit, was.hit.content)
    return Answer(f"Said on {written_day(was.at)}{until}: {told}", cited, (*more, *hits), EARLIER_CONFIDENCE)
