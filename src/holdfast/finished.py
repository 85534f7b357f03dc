"""Pure: whether a statement tells that a task was done: "I called the chimney sweep" after "remind me to call …".

Rather not than wrongly: the same person, the same verb, every word of the task's object. A task that comes back, or
that is for a day still ahead, stays open; one that is due "by" a day may be done before it.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

from . import words
from .types import SECOND_HAND, Draft, Memory
from .when import windows

LATELY = timedelta(days=7)
"""What happened longer ago than this is another time."""
TODAY = timedelta(days=1)
_TASK = re.compile(
    r"(?P<who>[^\"]+?)(?: and others)? (?:wants? to be reminded to|needs? to|ha(?:s|ve) to|must) "
    r"(?P<verb>[a-z]+) (?P<what>[^\"]+?)\.?$"
)
_DID = re.compile(
    r"(?: and others)?(?: said: \"(?:(?:ok|okay|so|and|done)[,.:]? )*(?:I|we)(?:['’]ve| have)?\b| has| have)?"
    r"(?: just| finally| already| also)* (?P<verb>[A-Za-z]+) (?P<what>.+)$",
    re.I,
)
_ASIDE = re.compile(r" \([^()]*\)")
_COMES_BACK = re.compile(r"\b(?:every|each|daily|weekly|monthly|yearly|always|regularly|whenever)\b", re.I)
_DUE = re.compile(r"\b(?:by|before|until|till|due)\b", re.I)
_DENIED = re.compile(r"\b(?:not|never|almost|nearly|tried|forgot|no)\b|n['’]t\b", re.I)
_IRREGULAR = {
    "bought": "buy", "sent": "send", "paid": "pay", "wrote": "write", "made": "make", "got": "get", "took": "take",
    "gave": "give", "told": "tell", "brought": "bring", "found": "find", "sold": "sell", "read": "read", "did": "do",
    "met": "meet", "saw": "see", "built": "build", "set": "set", "put": "put", "left": "leave", "fed": "feed",
    "chose": "choose", "drove": "drive", "spoke": "speak", "hung": "hang", "cut": "cut", "swept": "sweep",
    "rang": "ring", "lent": "lend", "spent": "spend", "kept": "keep", "ran": "run", "began": "begin",
    "threw": "throw", "shut": "shut",
}  # fmt: skip
_ANY_DAY = datetime(2000, 1, 1, tzinfo=UTC)


def finishes(draft: Draft, said_at: datetime, task: Memory | Draft) -> bool:
    """Whether the statement, made at that moment, tells that the task was done."""
    if task.kind != "task" or draft.kind not in ("event", "fact") or {draft.trust, task.trust} & set(SECOND_HAND):
        return False
    if draft.occurred_at is not None and not said_at - LATELY <= draft.occurred_at <= said_at + TODAY:
        return _told_only_later(draft, said_at) and _did(draft.content, task.content)
    return not _ahead(task, said_at) and _did(draft.content, task.content)


def leaves_open(draft: Draft, said_at: datetime, task: Memory | Draft) -> bool:
    """Whether the task is there to be done again, or on a day to come, whatever happened before."""
    happened = draft.kind == "event" and draft.occurred_at is not None and draft.occurred_at <= said_at
    return happened and task.kind == "task" and bool(_ahead(task, said_at) or _COMES_BACK.search(task.content))


def _ahead(task: Memory | Draft, said_at: datetime) -> bool:
    return task.occurred_at is not None and task.occurred_at > said_at and not _DUE.search(task.content)


def _told_only_later(draft: Draft, said_at: datetime) -> bool:
    """Whether its time is of what comes of it: "I called the chimney sweep, he comes on 2 October"."""
    return draft.occurred_at is not None and draft.occurred_at > said_at and draft.content.count('"') == 2


def _did(statement: str, task: str) -> bool:
    statement, task = _ASIDE.sub("", statement), _ASIDE.sub("", task)
    asked = _TASK.match(task)
    if not asked or _COMES_BACK.search(task) or not statement.startswith(f"{asked['who']} "):
        return False
    told = _DID.match(statement, len(asked["who"]))
    if not told or _DENIED.search(statement) or asked["verb"] not in _bases(told["verb"].lower()):
        return False
    wanted = asked["what"]
    for w in reversed(windows(wanted, _ANY_DAY)):
        wanted = wanted[: w.span[0]] + wanted[w.span[1] :]
    stems = set(words.question_words(wanted))
    return bool(stems) and stems <= set(words.tokens(told["what"]))


def _bases(verb: str) -> set[str]:
    """What the past of a verb may be the past of: called → call, moved → move, planned → plan, tidied → tidy."""
    if verb in _IRREGULAR:
        return {_IRREGULAR[verb]}
    if not verb.endswith("ed"):
        return set()
    return {verb[:-2], verb[:-1], verb[:-3], f"{verb[:-3]}y" if verb.endswith("ied") else verb[:-2]}
