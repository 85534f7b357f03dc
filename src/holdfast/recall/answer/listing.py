"""Answers "What is still to do?", "Which of the jobs are done?" and "How should you answer me?" with the tasks or the
instructions that were told. What was on a list once is quoted from its message, like other answers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from holdfast.domain.identifiers import referenced_id
from holdfast.domain.ports.storage import Store
from holdfast.domain.results import Answer, Citation, Hit
from holdfast.domain.timestamps import now
from holdfast.domain.types import SECOND_HAND_TRUST, All, Memory, Test, Where
from holdfast.recall.hits import hit_of
from holdfast.recall.question.analysis import Question
from holdfast.text import tokens
from holdfast.text.lexicon.patterns import TICKET

MAX_LISTED, MAX_READ = 10, 200
CONFIDENCE = 0.8
"""Confidence of an answer that lists memories of a kind. Chosen by hand."""
State = Literal["open", "done"]

_TASK = r"(?:tasks|jobs|chores|errands|to-?dos?|list)"
_POINT = r"(?:bugs|features|issues|tickets|questions|items|points|things|work)"
_OF_LIST = rf"(?:(?:what|which)\b.*\b(?:{_TASK}|{_POINT})\b)"
_OPEN = re.compile(
    r"\b(?:what|which|anything|something)\b.*\b(?:(?:still|left|yet|else) (?:to|open|undone|missing|need|have|must|has|"
    r"needs|on)|(?:is|are|remains?|left) (?:still )?(?:to do|to be done|outstanding|undone|(?:open|pending)(?=\W*$)))\b"
    r"|\bwhat (?:do|must|should) (?:i|we) (?:still |yet )?(?:have|need) to do\b"
    r"|\bwhat(?:'s| is) (?:still )?left to do\b"
    r"|\b(?:what|which)(?: jobs| chores| errands| tasks| things)? (?:have|do) (?:i|we) (?:still )?(?:got|have|need) "
    r"(?:left )?to (?:do|buy|get|pack|bring|book|order|arrange|sort)\b"
    rf"|\b(?:what|which) {_TASK} (?:are|is|do (?:i|we) have) (?:still )?left\b"
    rf"|\b(?:what|which|how many) (?:\w+ )?(?:{_TASK}|{_POINT}) (?:are|is|remains?|do (?:i|we) have) (?:still )?"
    r"(?:left|open|missing|outstanding|pending|undone|to do)\b"
    r"|\bwhat(?:'s| is) (?:still )?(?:missing|open) (?:for|on|from|of|in|before)\b"
    rf"|\bwhat(?:'s| is)? (?:now )?on (?:my|our|the|\w+'s) (?:[\w-]+ ){{0,2}}{_TASK}\b"
    r"|\b(?:my|our|the|open|outstanding|pending) (?:to[- ]?dos?|to[- ]?do list|tasks?|task list|open tasks)\b",
    re.I,
)
_DONE = re.compile(
    rf"{_OF_LIST}.*\b(?:done|finished|ticked|crossed|completed|sorted|behind (?:me|us))\b"
    r"|\bwhat (?:have|had|did) (?:i|we) (?:already )?(?:done|finish(?:ed)?|tick(?:ed)?|cross(?:ed)?|completed)"
    rf"\b.*\b{_TASK}\b",
    re.I,
)
_PAST = re.compile(r"\b(?:was|were|did|had)\b", re.I)
_ASKS_ELSE = re.compile(
    rf"\W*(?:who|when|where|why|which (?!(?:\w+ )?(?:is|are|were|was|do|did|have|of|{_TASK}|{_POINT})\b))", re.I
)
"""Such questions ask for one thing that a task is about: "Which release brought the alert from the to-do list?"."""
_SUBJECT = re.compile(r"\b(?:which|how many) (?:(?:of )?(?:my|our|the|open|new) )*(?P<word>[\w-]+)", re.I)
_COUNTS = re.compile(r"\W*how many\b", re.I)
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
        "assistant want like arrange organise organize sort finish handle done list got jobs job chores errands things "
        "missing items points features many finished ticked off crossed completed sorted was were did had put wrote "
        "on down first last now two three four five six new user start beginning end middle mid early late since"
    )
)
_BUYING = frozenset(tokens.tokens("buy shopping shop groceries grocery"))
_TICKETS = frozenset(tokens.tokens("bug ticket issue"))
"""Words for a task that has the name of a ticket, whatever its message calls it."""
_FRAME = re.compile(r"^.{1,60}? (?:needs to|needs|has open|wants to be reminded (?:to|of)):? ")


@dataclass(frozen=True, slots=True)
class WantedList:
    """Which memories a question asks to be listed."""

    kind: str
    topic: frozenset[str] = frozenset()
    """Stems of which a memory must have one; empty for all of the kind."""
    subject: str = ""
    """The stem of the topic that counts alone where a memory has it: "Which bugs are open for 1.9?"."""
    state: State = "open"
    counts: bool = False


def wanted_list(question: Question) -> WantedList | None:
    """Recognises a question after tasks or instructions, of all or about a topic ("… for the move?")."""
    text = question.text.replace("’", "'")
    if _INSTRUCTIONS.search(text) and not _OPEN.search(text):
        return WantedList("instruction", frozenset(question.words) - _FORM_WORDS)
    state = _state(text)
    if state is None or _ASKS_ELSE.match(text):
        return None
    named = set(tokens.tokens(question.time.text)) if question.time else set()
    topic = frozenset(question.words) - _FORM_WORDS - named
    if topic & _BUYING:
        topic |= _BUYING
    found = _SUBJECT.search(text)
    subject = next((word for word in tokens.tokens(found["word"]) if word in topic), "") if found else ""
    return WantedList("task", topic, subject, state, _COUNTS.match(text) is not None)


def _state(text: str) -> State | None:
    if _DONE.search(text):
        return "done"
    return "open" if _OPEN.search(text) and not _PAST.search(text) else None


async def listed_answer(store: Store, asked: WantedList, where: Where | None, hits: tuple[Hit, ...]) -> Answer | None:
    """The memories that are asked for, oldest first; None when there are none."""
    own = await _of_state(store, asked, where)
    found = await _about_topic(store, own, asked)
    as_told = found[::-1]  # the store has the last first
    listed = sorted(as_told, key=lambda memory: memory.updated_at)[-MAX_LISTED:]
    if not listed:
        return None
    cited = tuple(Citation(memory.id, memory.content) for memory in listed)
    mine = [next((hit for hit in hits if hit.id == memory.id), hit_of(memory)) for memory in listed]
    ids = {memory.id for memory in listed}
    others = (hit for hit in hits if hit.id not in ids)
    return Answer(_written(asked, listed, len(found)), cited, (*mine, *others), CONFIDENCE)


def _written(asked: WantedList, listed: Sequence[Memory], count: int) -> str:
    if asked.state == "open":
        text = " ".join(
            each.content if each.content.endswith((".", "!", "?")) else f"{each.content}." for each in listed
        )
        return f"{count}: {text}" if asked.counts else text
    tasks = "; ".join(_FRAME.sub("", each.content).strip(" .") for each in listed)
    return f"{count}: {tasks}." if asked.counts else f"No longer open: {tasks}."


async def _of_state(store: Store, asked: WantedList, where: Where | None) -> list[Memory]:
    """The memories of the kind that people told, in the state that is asked for; of each the last version."""
    wanted: Where = Test("kind", "eq", asked.kind)
    page = await store.scan(
        wanted if where is None else All((wanted, where)),
        now=now(), limit=MAX_READ, superseded=asked.state != "open",
    )  # fmt: skip
    last: dict[str, Memory] = {}
    for memory in page.items:
        if memory.id not in last or memory.version > last[memory.id].version:
            last[memory.id] = memory
    own = [each for each in last.values() if each.trust not in SECOND_HAND_TRUST and not each.marked_wrong]
    if asked.state == "open":
        return own
    reworded = {each.id for each in own if each.superseded_by is not None and _next(each) in last.keys() - {each.id}}
    return [each for each in own if each.id not in reworded and not each.current]


def _next(memory: Memory) -> str:
    return referenced_id(memory.superseded_by or "")


async def _about_topic(store: Store, memories: list[Memory], asked: WantedList) -> list[Memory]:
    """Those that have a word of the topic; else those drawn from a message that has one: of "todo before the move:
    return the books", the move is not in the memory. What to buy, and tickets, are told in both ways."""
    if not asked.topic:
        return memories
    told = await store.get([source for memory in memories for source in memory.sources])
    said = {each.id: set(tokens.tokens(each.content)) for each in told}
    own = {
        each.id: {*tokens.tokens(each.content), *tokens.tokens((each.key or "").replace("-", " "))} for each in memories
    }
    around = {each.id: set[str]().union(*(said.get(source, set()) for source in each.sources)) for each in memories}
    if asked.topic & (_BUYING | _TICKETS):
        own = {id: words | around[id] for id, words in own.items()}
    for memory in memories:
        own[memory.id] |= _TICKETS if TICKET.search(memory.content) else set()
    wanted = [frozenset({asked.subject}), asked.topic] if asked.subject else [asked.topic]
    choices = ([m for m in memories if words[m.id] & topic] for topic in wanted for words in (own, around))
    return next((found for found in choices if found), [])
