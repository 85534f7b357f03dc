"""Standing orders in the shapes people really use: "don't touch X", "no emojis", "replies short please", "always X"."""

from __future__ import annotations

import re

from .found import Found
from .orders import about, ordered
from .voice import Subject
from .words import IMPERATIVES, listed

_POLITE = (
    r"(?:(?:and|but|also|so|then|ok|oh|just|do|always|from now on|please|kindly|pls|can you|could you|can we|could "
    r"we|would you|can u)"
    r"[\s,]+)*"
)
_FORBIDS = re.compile(
    _POLITE + r"(?:do not|don't|dont|never|avoid|no more|stop)\s+(?:ever |please |you |go )?"
    r"(?!(?:worry|mind|know|think|have|get|care|want|like|see|need|forget|let|been|even|really|remember|stood|hesitate|"
    r"bother|be|heard|it|that|a|an|the|had|seen|knew|ask why|use .*anymore|use .*any more)\b)\w+",
    re.I,
)
_STANDING = re.compile(
    r"\b(?:from now on|always|never|only ever|going forward|every time|each time|whenever|by default|instead of "
    r"(?:me|us)|"
    r"in future|until further notice|every \w+|only)\b",
    re.I,
)
_MANNER = re.compile(
    r"\b(?:answers?|repl(?:y|ies)|responses?|summar(?:y|ies)|words|comments?|messages?|commits?|prs?|pull requests?|"
    r"invoices?|everything|units|amounts|language|english|german|french|spanish|short|brief|concise|paragraph|bullets?|"
    r"emojis?|stories|explanations?|full suite|diagrams?|e-?mails?|calls?|phone)\b",
    re.I,
)
_BARRED = re.compile(
    r"(?:and |oh |also |but )*(?:no (?:[\w-]+ ){0,2}[\w-]+|nothing with \w+)(?: please| for me)?$", re.I
)
_BARRED_THING = re.compile(r"\b(?:leather|watch mode|sugar|smoking|spam|calls|meat|dairy|nuts)\b|\bplease$", re.I)
_NOT_THAT = re.compile(r"\bnot (?:(?:my|his|her|the|by|at|to|in)\b[^,]*|[a-z]+)$", re.I)
_WITHOUT_LEAVE = re.compile(
    r"\b(?:nothing|nobody|no one)\b.{3,60}\bwithout\b|\bonly (?:ever )?(?:run|use|send|write)\b", re.I
)
_ALWAYS = re.compile(
    r"(?:and |but )?(?:always \w+$|(?:whenever|when|every time|each time) (?:i|you|we)\b.{3,60}\b(?:give|use|quiz|"
    r"ask|write|"
    r"answer|don't|dont|always|never|show|make|send|keep|tell)\b)",
    re.I,
)
_NAMED_MANNER = re.compile(
    r"(?:summaries|prs|pull requests|commits|comments|answers|replies|invoices|diagrams|messages) (?:against|to|"
    r"into|as|in|on|with|only)\b",
    re.I,
)
_BACK = re.compile(r"\b(?:that|it|them|those|this|in here|there)\b", re.I)
_PLEASE = re.compile(r"\b(?:please|pls|kindly)\b", re.I)
_OWN = re.compile(r"(?:i|we|my|our|i'm|we're|he|she|they|you)\b", re.I)
_VERBS = IMPERATIVES | frozenset(
    listed("find fix look help draft plan compare recommend page flip switch have bring come borrow")
)
_STATING = frozenset(listed("is are was run runs go goes out"))
_FROM_NOW = re.compile(
    r"(?:can|could|would) (?:you|we|u) .*\b(?:from now on|always|never|in future|going forward)\b", re.I
)


def standing(clause: str, author: Subject, before: str = "") -> Found | None:
    """The order in a clause, or None; `before` is the sentence that its "that" points to."""
    asked = imperative(clause) and (_STANDING.search(clause) or _NOT_THAT.search(clause))
    polite = _MANNER.search(clause) and _PLEASE.search(clause) and not _OWN.match(clause)
    barred = _BARRED.match(clause) and (_MANNER.search(clause) or _BARRED_THING.search(clause))
    forbidden = _FORBIDS.match(clause) or _WITHOUT_LEAVE.search(clause)
    named = _NAMED_MANNER.match(clause)
    if not (asked or polite or barred or forbidden or named or _ALWAYS.match(clause)) or len(clause.split()) < 2:
        return None
    whereof = f' (of: "{before}")' if before and _BACK.search(clause) else ""
    order = ordered(author, clause)
    content = order.removesuffix(".") + whereof + "." if whereof else order
    return Found("instruction", "told-order", author, content, 0.7, about(clause), clause)


def lasting_question(sentence: str) -> str | None:
    """ "Can you keep replies short from now on?" as the order it is."""
    if not _FROM_NOW.match(sentence):
        return None
    return re.sub(r"^(?:can|could|would) (?:you|we|u) (?:please )?", "", sentence, flags=re.I).split("?")[0]


def imperative(clause: str) -> bool:
    first = re.sub(_POLITE, "", clause, count=1, flags=re.I).split(" ")
    return first[0].lower() in _VERBS and not (len(first) > 1 and first[1] in _STATING)
