"""Determines whether a statement reports a task as done: "I called the chimney sweep" after "remind me to call …".
Pure.

In case of doubt the task is not done: the statement must have the same person, the same verb and every word of the
task's object. A recurring task, and one for a future day, stays open; one that is due "by" a day may be done before it.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

from holdfast.domain.types import SECOND_HAND_TRUST, Draft, Memory
from holdfast.text import tokens
from holdfast.text.dates import windows
from holdfast.text.lexicon.negation import NEGATIONS, SHORT_NOT
from holdfast.text.lexicon.patterns import ASIDE, TICKET
from holdfast.text.statement_topics import names_ticket

RECENT = timedelta(days=7)
"""An event longer ago than this was another occasion. Chosen by hand; not measured."""
ONE_DAY = timedelta(days=1)
_TASK = re.compile(
    r"(?P<who>[^\"]+?)(?: and others)? (?:wants? to be reminded to|needs? to|ha(?:s|ve) to|must) "
    r"(?P<verb>[a-z]+) (?P<what>[^\"]+?)\.?$"
)
_DONE = re.compile(
    r"(?: and others)?(?: said: \"(?:(?:ok|okay|so|and|done)[,.:]? )*(?:I|we)(?:['’]ve| have)?\b| has| have)?"
    r"(?: just| finally| already| also)* (?P<verb>[A-Za-z]+) (?P<what>.+)$",
    re.I,
)
_RECURRING = re.compile(r"\b(?:every|each|daily|weekly|monthly|yearly|always|regularly|whenever)\b", re.I)
_DUE = re.compile(r"\b(?:by|before|until|till|due)\b", re.I)
_DENIED = re.compile(rf"\b(?:{NEGATIONS}|almost|nearly|tried|forgot)\b|{SHORT_NOT}", re.I)
_IRREGULAR = {
    "bought": "buy", "sent": "send", "paid": "pay", "wrote": "write", "made": "make", "got": "get", "took": "take",
    "gave": "give", "told": "tell", "brought": "bring", "found": "find", "sold": "sell", "read": "read", "did": "do",
    "met": "meet", "saw": "see", "built": "build", "set": "set", "put": "put", "left": "leave", "fed": "feed",
    "chose": "choose", "drove": "drive", "spoke": "speak", "hung": "hang", "cut": "cut", "swept": "sweep",
    "rang": "ring", "lent": "lend", "spent": "spend", "kept": "keep", "ran": "run", "began": "begin",
    "threw": "throw", "shut": "shut",
}  # fmt: skip
_UNDONE = re.compile(
    r"\b(?:is|are|['’]?s|['’]re|only|just) (?:still )?(?:left|open|missing|outstanding|to do|undone|pending)\b"
    r"|\bonly\b.*\b(?:left|open|missing|to do)\b|\bstill (?:to|have to|has to|need|needs|open|missing|not|waiting)\b"
    r"|\b(?:not|(?:is|are|was|were|has|have|had|did|does|do)n['’]?t) (?:\w+ ){0,2}?(?:yet|done|finished|ready|here|"
    r"there|sorted|fixed|mended|merged|paid|sent|back|arrived|come|got|started|happened?)\b|\bnot yet\b"
    r"|\b(?:can|could|will|wo)(?:not| not|n['’]?t) be (?:done|finished|ready|sorted|fixed|mended|merged)\b"
    r"|\b(?:is|are) (?:me|mine|yours)\b|\b(?:does|takes|takes over|is doing) the\b|\bi(?:['’]ll| will) (?:do|take)\b",
    re.I,
)
"""What says of a task that it is not done, or who does it."""
_CLOSED = re.compile(
    r"\b(?:is |are |was |got |both |now )*(?:fixed|done|closed|merged|resolved|solved|sorted|shipped|finished|live)\b",
    re.I,
)
_CLAUSE_BORDER = re.compile(r"[.,;!?] |\b(?:but|and)\b")
_SENTENCE_BORDER = re.compile(r"[.;!?] |\bbut\b|\bnew\b")
_ANY_DAY = datetime(2000, 1, 1, tzinfo=UTC)


def finishes(draft: Draft, said_at: datetime, task: Memory | Draft) -> bool:
    """Whether the statement, made at `said_at`, reports that the task was done."""
    if task.kind != "task" or draft.kind not in ("event", "fact") or {draft.trust, task.trust} & set(SECOND_HAND_TRUST):
        return False
    if closes_ticket(draft.content, task.content):
        return True
    if draft.occurred_at is not None and not said_at - RECENT <= draft.occurred_at <= said_at + ONE_DAY:
        return _has_only_a_later_date(draft, said_at) and _reports_task_done(draft.content, task.content)
    return not _is_due_later(task, said_at) and _reports_task_done(draft.content, task.content)


def leaves_open(draft: Draft, said_at: datetime, task: Memory | Draft) -> bool:
    """Whether the task is to be done again, or on a future day, even though the event happened before."""
    happened = draft.kind == "event" and draft.occurred_at is not None and draft.occurred_at <= said_at
    return happened and task.kind == "task" and bool(_is_due_later(task, said_at) or _RECURRING.search(task.content))


def leaves_undone(statement: str, task: str) -> bool:
    """Whether the statement says that the task, of which it has a word, is not done: "only the GP is left", "refunds
    aren't done"."""
    words = set(tokens.question_words(task))
    return any(
        _UNDONE.search(clause) and not words.isdisjoint(tokens.question_words(clause))
        for clause in _CLAUSE_BORDER.split(statement)
    )


def closes_ticket(statement: str, task: str) -> bool:
    """Whether the statement says that the ticket of the task is closed: "TRN-91 fixed in 3.2", "137 is done"."""
    ticket = TICKET.search(task)
    return ticket is not None and any(
        names_ticket(clause, ticket[0])
        and _CLOSED.search(clause)
        and not _DENIED.search(clause)
        and not _UNDONE.search(clause)
        for clause in _SENTENCE_BORDER.split(statement)
    )


def _is_due_later(task: Memory | Draft, said_at: datetime) -> bool:
    return task.occurred_at is not None and task.occurred_at > said_at and not _DUE.search(task.content)


def _has_only_a_later_date(draft: Draft, said_at: datetime) -> bool:
    """Whether its date belongs to a consequence: "I called the chimney sweep, he comes on 2 October"; "booked the
    dentist for Friday". What is told in the past has happened."""
    return draft.occurred_at is not None and draft.occurred_at > said_at


def _reports_task_done(statement: str, task: str) -> bool:
    statement, task = ASIDE.sub("", statement), ASIDE.sub("", task)
    asked = _TASK.match(task)
    if not asked or _RECURRING.search(task) or not statement.startswith(f"{asked['who']} "):
        return False
    told = _DONE.match(statement, len(asked["who"]))
    if not told or _DENIED.search(statement) or asked["verb"] not in _verb_bases(told["verb"].lower()):
        return False
    wanted = asked["what"]
    for w in reversed(windows(wanted, _ANY_DAY)):
        wanted = wanted[: w.span[0]] + wanted[w.span[1] :]
    stems = set(tokens.question_words(wanted))
    return bool(stems) and stems <= set(tokens.tokens(told["what"]))


def _verb_bases(verb: str) -> set[str]:
    """The verbs that this may be the past tense of: called → call, moved → move, planned → plan, tidied → tidy."""
    if verb in _IRREGULAR:
        return {_IRREGULAR[verb]}
    if not verb.endswith("ed"):
        return set()
    return {verb[:-2], verb[:-1], verb[:-3], f"{verb[:-3]}y" if verb.endswith("ied") else verb[:-2]}
