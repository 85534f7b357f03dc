"""Answers "What is still to do?" and "How should you answer me?" with the list of open tasks or of instructions."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from holdfast.domain.ports.storage import Store
from holdfast.domain.results import Answer, Citation, Hit
from holdfast.domain.timestamps import now
from holdfast.domain.types import SECOND_HAND_TRUST, All, Memory, Test, Where
from holdfast.recall.hits import hit_of
from holdfast.recall.question.analysis import Question
from holdfast.text import tokens

MAX_LISTED, MAX_READ = 10, 100
CONFIDENCE = 0.8
"""Confidence of an answer that lists memories of a kind. Chosen by hand."""
_TASKS = re.compile(
    r"\b(?:what|which|anything|something)\b.*\b(?:(?:still|left|yet|else) (?:to|open|undone|need|have|must|has|needs)|"
    r"(?:is|are|remains?|left) (?:still )?(?:to do|to be done|outstanding|undone|(?:open|pending)(?=\W*$)))\b"
    r"|\bwhat (?:do|must|should) (?:i|we) (?:still |yet )?(?:have|need) to do\b|\bwhat(?:'s| is) left to do\b"
    r"|\b(?:what|which)(?: jobs| chores| errands| tasks| things)? (?:have|do) (?:i|we) (?:still )?(?:got|have|need) "
    r"(?:left )?to do\b|\b(?:what|which) (?:jobs|chores|errands|tasks) (?:are|do (?:i|we) have) (?:still )?left\b"
    r"|\b(?:my|our|the|open|outstanding|pending) (?:to[- ]?dos?|to[- ]?do list|tasks?|task list|open tasks)\b",
    re.I,
)
_ASKS_ELSE = re.compile(r"\W*(?:who|when|where|why|which (?!(?:\w+ )?(?:is|are|do|of|tasks?|jobs?|things?)\b))", re.I)
"""Such questions ask for one thing that a task is about: "Which release brought the alert from the to-do list?"."""
_INSTRUCTIONS = re.compile(
    r"\bhow (?:should|must|do|would|shall) (?:you|i want you to|i like you to|the (?:agent|assistant))"
    r" (?:answer|reply|respond|write|talk|speak|address|act|behave)\b"
    r"|\b(?:what|which) (?:are|were) (?:my|our|your|the) (?:standing |current )?(?:instructions|rules)(?: for you)?\b"
    r"|\bwhat (?:did|have) (?:i|we) (?:tell|told|ask|asked|instruct|instructed) you to do\b",
    re.I,
)
_FORM_WORDS = frozenset(
    tokens.tokens(
        "what which anything something still left yet else open undone need have must has needs is are remain remains "
        "to do be done outstanding pending should todo todos list task tasks my our how you answer reply respond write "
        "talk speak address act behave me us standing current instructions rules tell told ask asked instruct agent "
        "assistant want like arrange organise organize sort finish handle done list got jobs chores errands things"
    )
)


@dataclass(frozen=True, slots=True)
class WantedList:
    """Which memories a question asks to be listed."""

    kind: str
    topic: frozenset[str]
    """Stems of which a memory must have one; empty for all of the kind."""


def wanted_list(question: Question) -> WantedList | None:
    """Recognises a question after open tasks or instructions, of all or about a topic ("… for the move?")."""
    kind = (
        "task"
        if _TASKS.search(question.text) and not _ASKS_ELSE.match(question.text)
        else "instruction"
        if _INSTRUCTIONS.search(question.text)
        else ""
    )
    return WantedList(kind, frozenset(question.words) - _FORM_WORDS) if kind else None


async def listed_answer(store: Store, asked: WantedList, where: Where | None, hits: tuple[Hit, ...]) -> Answer | None:
    """The current memories that are asked for, oldest first; None when there are none."""
    wanted: Where = Test("kind", "eq", asked.kind)
    page = await store.scan(wanted if where is None else All((wanted, where)), now=now(), limit=MAX_READ)
    own = [memory for memory in page.items if memory.trust not in SECOND_HAND_TRUST]
    found = [memory for memory in own if _is_about(memory, asked.topic)] or await _told_about(store, own, asked.topic)
    as_told = found[::-1]  # the store has the last first
    listed = sorted(as_told, key=lambda memory: memory.updated_at)[-MAX_LISTED:]
    if not listed:
        return None
    text = " ".join(
        memory.content if memory.content.endswith((".", "!", "?")) else f"{memory.content}." for memory in listed
    )
    cited = tuple(Citation(memory.id, memory.content) for memory in listed)
    mine = [next((hit for hit in hits if hit.id == memory.id), hit_of(memory)) for memory in listed]
    ids = {memory.id for memory in listed}
    return Answer(text, cited, (*mine, *(hit for hit in hits if hit.id not in ids)), CONFIDENCE)


async def _told_about(store: Store, memories: Sequence[Memory], topic: frozenset[str]) -> list[Memory]:
    """The memories drawn from messages about the topic: of "todo before the move: return the books", the move is not in
    the memory."""
    told = await store.get([source for memory in memories for source in memory.sources])
    about = {each.id for each in told if topic & set(tokens.tokens(each.content))}
    return [memory for memory in memories if not about.isdisjoint(memory.sources)]


def _is_about(memory: Memory, topic: frozenset[str]) -> bool:
    return not topic or bool(
        topic & {*tokens.tokens(memory.content), *tokens.tokens((memory.key or "").replace("-", " "))}
    )
