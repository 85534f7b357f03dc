"""Finds standing orders in informal forms: "don't touch X", "no emojis", "replies short please", "always X"."""

from __future__ import annotations

import re

from holdfast.models.rules.findings.finding import RuleFinding
from holdfast.models.rules.findings.instructions import object_key, order_key, order_text
from holdfast.models.rules.patterns.vocabulary import IMPERATIVES, split_words
from holdfast.models.rules.people.third_person import Subject

_POLITE_OPENING = (
    r"(?:(?:and|but|also|so|then|ok|oh|just|do|always|from now on|please|kindly|pls|can you|could you|can we|could "
    r"we|would you|can u)"
    r"[\s,]+)*"
)
_PROHIBITION = re.compile(
    _POLITE_OPENING + r"(?:do not|don't|dont|never|avoid|no more|stop)\s+(?:ever |please |you |go )?"
    r"(?!(?:worry|mind|know|think|have|get|care|want|like|see|need|forget|let|been|even|really|remember|stood|hesitate|"
    r"bother|be|heard|it|that|a|an|the|had|seen|knew|ask why|use .*anymore|use .*any more)\b)\w+",
    re.I,
)
_LASTING_WORD = re.compile(
    r"\b(?:from now on|always|never|only ever|going forward|every time|each time|whenever|by default|instead of "
    r"(?:me|us)|"
    r"in future|until further notice|every \w+|only)\b",
    re.I,
)
_REPLY_MANNER = re.compile(
    r"\b(?:answers?|repl(?:y|ies)|responses?|summar(?:y|ies)|words|comments?|messages?|commits?|prs?|pull requests?|"
    r"invoices?|everything|units|amounts|language|english|german|french|spanish|short|brief|concise|paragraph|bullets?|"
    r"emojis?|stories|explanations?|full suite|diagrams?|e-?mails?|calls?|phone)\b",
    re.I,
)
_BAN = re.compile(r"(?:and |oh |also |but )*(?:no (?:[\w-]+ ){0,2}[\w-]+|nothing with \w+)(?: please| for me)?$", re.I)
_BANNED_THING = re.compile(r"\b(?:leather|watch mode|sugar|smoking|spam|calls|meat|dairy|nuts)\b|\bplease$", re.I)
_CLOSING_NOT = re.compile(r"\bnot (?:(?:my|his|her|the|by|at|to|in)\b[^,]*|[a-z]+)$", re.I)
_PERMISSION_RULE = re.compile(
    r"\b(?:nothing|nobody|no one)\b.{3,60}\bwithout\b|\bonly (?:ever )?(?:run|use|send|write)\b", re.I
)
_STANDING_CONDITION = re.compile(
    r"(?:and |but )?(?:always \w+$|(?:whenever|when|every time|each time) (?:i|you|we)\b.{3,60}\b(?:give|use|quiz|"
    r"ask|write|answer|don't|dont|always|never|show|make|send|keep|tell)\b|"
    r"when(?:ever)? (?:i|we) (?:say|write|type) .{2,40}?,? (?:then )?(?:open|run|create|add|do|start|stop|commit)\b)",
    re.I,
)
_NAMED_MANNER = re.compile(
    r"(?:summaries|prs|pull requests|commits|commit messages|branch names|docstrings|error messages|comments|answers|"
    r"replies|invoices|diagrams|messages) (?:against|to|into|as|in|on|with|only)\b",
    re.I,
)
_TOLD_END = re.compile(
    r"^(?:\w+ )?no more\b.*\b(?:took|taken|told|said|says|since|finally|at last|thank|yay|done|finished|ended|quit|"
    r"stopped|gave up|broke|sold|left|for (?:me|him|her|us|them|now))\b",
    re.I,
)
"""What has ended, not what is asked for: "no more statins, the doctor took me off them"."""
_BACK_REFERENCE = re.compile(r"\b(?:that|it|them|those|this|in here|there)\b", re.I)
_PLEASE = re.compile(r"\b(?:please|pls|kindly)\b", re.I)
_PERSONAL_SUBJECT = re.compile(r"(?:i|we|my|our|i'm|we're|he|she|they|you)\b", re.I)
_VERBS = IMPERATIVES | frozenset(
    split_words("find fix look help draft plan compare recommend page flip switch have bring come borrow")
)
_STATEMENT_VERBS = frozenset(split_words("is are was were has had will moved went run runs go goes out"))
_NAMED_BY_VERB = re.compile(
    r"\w+ (?:days?|times?|dates?|slots?|windows?|rates?|limits?|costs?|prices?) (?:is|are)\b", re.I
)
"""A noun that begins with a verb: "deploy day is Wednesday"."""
_LASTING_QUESTION = re.compile(
    r"(?:can|could|would) (?:you|we|u) .*\b(?:from now on|always|never|in future|going forward)\b", re.I
)


_PROJECT_PLACE = re.compile(
    r"\b(?:in|for|across|inside|within) (?:this|our|the|all|every|each) (?:[\w-]+ )?(?:repo(?:sitory)?|project|"
    r"codebase|monorepo|workspace|package|app|service|frontend|backend|folder|module|code)s?\b",
    re.I,
)
_PROJECT_OCCASION = re.compile(
    r"\b(?:before|after|when|while|on|without|with) (?:(?:you|we) )?(?:every |each |any )?(?:commit|push|merg|deploy|"
    r"releas|rebas|tagg|(?:open|creat|rais)\w* (?:a |the )?(?:pr|pull request|mr)|pr|pull request|edit|chang|"
    r"refactor)\w*\b",
    re.I,
)
_PROJECT_THING = re.compile(
    r"\b(?:commits?(?: messages?)?|branch(?:es)?|prs?|pull requests?|imports?|type hints?|types|tests?|docstrings?|"
    r"comments?|lines|functions|files|folder|directory|migrations?|lockfile|legacy|dependenc(?:y|ies)|packages?|snapshots?|"
    r"fixtures?|generated|vendor(?:ed)?|main|master|config|schema|linter|formatter|changelog)\b",
    re.I,
)
_KEPT_STATE = re.compile(
    r"(?:keep|make|leave|limit)\b.{2,40}\b(?:to \d+|small|short|atomic|clean|green|sorted|alphabetical|under \d+|"
    r"below \d+|simple|flat|minimal|alone|untouched|up to date|strict|pinned)\b",
    re.I,
)
_WAY_OF_WORKING = re.compile(
    r"(?:use|prefer|avoid|write|follow|stick|format|indent|name|keep|put|import|target|pin|sign|prefix)\b", re.I
)
_NOT_OTHER = re.compile(r",? not (?!(?:now|yet|sure|yours|me|this|that|it|today)\b)[`\w./-]+", re.I)
_GENERAL_WAY = re.compile(
    r"(?:run (?:the |all |unit )?(?:tests?|linters?|checks|formatter|suite|type checks?|migrations) (?:with|via|using) "
    r"|prefer [^,.]{2,40} (?:over|to) \w|use (?:[a-z-]+ )?(?!this\b)[a-z-]{2,}s$"
    r"|put (?:all|new|every) [^,.]{2,40} (?:in|into|under) "
    r"|write (?:docstrings|comments|changelog entries|commit messages|type hints|migrations) "
    r"|(?:ask|check with|warn|tell)(?: me| us)? before \w+ing\b"
    r"|(?:write|answer|reply|respond|talk|speak)(?: to me| me)? (?:only |just )?(?:in|with|without|using) (?:\w+ ){0,3}"
    r"(?:sentences?|words?|lists?|bullets?|bullet points|paragraphs?|emojis?|tables|jargon|language|english|capitals)\b"
    r"|(?:answer|reply|respond|explain)(?: me| us)? (?:briefly|concisely|shortly|formally|informally|directly)$)",
    re.I,
)
"""A way of doing something at any time, of things in general: "use tabs", "run tests with pytest -q"."""
_INDEFINITE_TASK = re.compile(
    r"\b(?:this (?:file|function|test|error|bug|line|class|one|query|script)|it\b|that\b|them\b|these|for me|me an?|"
    r"now\b|first\b|again\b|today\b|tomorrow\b|real quick|for a (?:sec|moment|minute))",
    re.I,
)


def project_order(clause: str) -> bool:
    """Whether an imperative says how to work in a project at any time, rather than what to do now: "use pnpm, not npm,
    in this repo", "run the linter before committing", "keep commits small", "don't touch the legacy folder"."""
    imperative = is_imperative(clause) or _PROHIBITION.match(clause) or _GENERAL_WAY.match(_without_manners(clause))
    if not imperative or _INDEFINITE_TASK.search(clause) or len(clause.split()) > MAX_ORDER_WORDS:
        return False
    bare, thing = _without_manners(clause), _PROJECT_THING.search(clause)
    forbids = _PROHIBITION.match(clause) and thing
    return bool(
        forbids
        or _GENERAL_WAY.match(bare)
        or (_PROJECT_PLACE.search(clause) and _WAY_OF_WORKING.match(bare))
        or _PROJECT_OCCASION.search(clause)
        or (_KEPT_STATE.match(bare) and (thing or _REPLY_MANNER.search(clause)))
        or (_NOT_OTHER.search(clause) and _WAY_OF_WORKING.match(bare))
    )


MAX_ORDER_WORDS = 24
"""A longer imperative describes a task. Chosen by hand; not measured."""


def _without_manners(clause: str) -> str:
    return re.sub(_POLITE_OPENING, "", clause, count=1, flags=re.I)


def standing_order(clause: str, author: Subject, before: str = "") -> RuleFinding | None:
    """The order in a clause, or None; `before` is the sentence that a "that" in the clause refers to."""
    asked = is_imperative(clause) and (_LASTING_WORD.search(clause) or _CLOSING_NOT.search(clause))
    polite = _REPLY_MANNER.search(clause) and _PLEASE.search(clause) and not _PERSONAL_SUBJECT.match(clause)
    barred = _BAN.match(clause) and (_REPLY_MANNER.search(clause) or _BANNED_THING.search(clause))
    forbidden = (_PROHIBITION.match(clause) and not tells_end(clause)) or _PERMISSION_RULE.search(clause)
    named = _NAMED_MANNER.match(clause)
    in_project = project_order(clause)
    if (
        not (asked or polite or barred or forbidden or named or in_project or _STANDING_CONDITION.match(clause))
        or len(clause.split()) < 2
    ):
        return None
    whereof = f' (of: "{before}")' if before and _BACK_REFERENCE.search(clause) else ""
    order = order_text(author, clause)
    content = order.removesuffix(".") + whereof + "." if whereof else order
    if in_project:
        return RuleFinding("instruction", "project-order", author, content, 0.85, object_key(clause), clause)
    return RuleFinding("instruction", "told-order", author, content, 0.7, order_key(clause), clause)


def tells_end(clause: str) -> bool:
    """Whether "no more …" tells what has ended, and does not ask for it."""
    return _TOLD_END.search(clause) is not None and not _REPLY_MANNER.search(clause)


def order_in_question(sentence: str) -> str | None:
    """The order in a question such as "Can you keep replies short from now on?"; None when it contains none."""
    if not _LASTING_QUESTION.match(sentence):
        return None
    return re.sub(r"^(?:can|could|would) (?:you|we|u) (?:please )?", "", sentence, flags=re.I).split("?")[0]


def is_imperative(clause: str) -> bool:
    clause = _without_manners(clause)
    first = clause.split(" ")
    return (
        not _NAMED_BY_VERB.match(clause)
        and first[0].lower() in _VERBS
        and not (len(first) > 1 and first[1] in _STATEMENT_VERBS)
    )
