"""Finds short replies to plain questions, and keeps each with its question: "Which phone do you use?" "Pixel 7"."""

from __future__ import annotations

import re

from holdfast.models.rules.findings.finding import RuleFinding, with_absolute_dates
from holdfast.models.rules.findings.instructions import order_key
from holdfast.models.rules.patterns.other_languages import ORDER_PATTERN
from holdfast.models.rules.patterns.salience import specific_signs
from holdfast.models.rules.patterns.standing_orders import standing_order
from holdfast.models.rules.people.third_person import Subject
from holdfast.models.rules.sentences.clauses import is_hypothetical
from holdfast.text.dates import Window, meant_window
from holdfast.text.lexicon.sentences import AFTER_SENTENCE

_OFFER = re.compile(
    r"\b(?:can i (?:help|do)|how can i|what can i|help you|what's up|what is up|how are you|anything else|shall i|"
    r"want me to|"
    r"do you want|would you like|should i (?:look|also|book|plan|add|update|put|push)|what's going on|rough night|"
    r"ready|"
    r"for today|is it (?:bad|stable)|what is this about|want (?:a|some)|want to|is that|sounds? good|ok\b|does that|"
    r"where should i start|could you|can you)",
    re.I,
)
_PLAIN_QUESTION = re.compile(
    r"^(?:.{0,60}[,:;] )?(?:and |so |then |but )?(?:which|what|where|who|whom|whose|when|how (?:many|much|old|long|"
    r"often|do you)|any\b|should (?:i|we) (?:include|use|avoid)|are "
    r"you|do you|does|is \w+|does anyone|maximum|firmware|\w+ or \w+)|.*\b(?:correct|right)\?$",
    re.I,
)
_FOREIGN_QUESTION = re.compile(
    r"(?:^|\s)¿?(?:cuál|cuáles|dónde|quién|cuándo|qué|welche[sr]?|wo|wer|wann|was|wie (?:heißt|viele)|quel(?:le)?s?|"
    r"où|qui|quand|qual|"
    r"quando|onde|quem|dove|chi|préférez-vous|gibt es|avez-vous|ci sono)\b|还是|か。$|什么|哪",
    re.I,
)
_ORDER_QUESTION = re.compile(r"\bshould (?:i|we) (?:use|write|send|answer|reply|include|add|avoid|keep)\b", re.I)
_EVASION = re.compile(
    r"(?:dunno|idk|not sure|no idea|maybe|perhaps|later|why|what|how|thanks|thank|ok|okay|hm+|well|let me|ask me|"
    r"i'd rather|i don't know|it depends|same|go|sure|please|nothing|be my guest|the \w+ one|uf)\b",
    re.I,
)
_BARE_ANSWER = re.compile(r"(?:no|nope|nah|yes|yep|yeah|yup|correct|right|exactly)\b[\s,.!]*", re.I)
_CLOSED_QUESTION = re.compile(
    r"(?:are|do|does|is|should|have|did) (?:i|you|we|it|your)\b|.*, (?:correct|right)\?$", re.I
)
_ACCEPTS_TASK = re.compile(r"(?:i will|i'll|i can|me|i do|i'll do it|mine)\b", re.I)
_BACK_REFERENCE = re.compile(r"\b(?:it|that|them|those|they|he|she|her|him)\b", re.I)
_RETRACTION = re.compile(r"\b(?:wait|scratch that|oops|sorry|my mistake|correction)\b", re.I)
_FULL_SENTENCE = re.compile(r"(?:she|he|they|i|we|my|our)(?:'\w+)? \w+", re.I)
_NOUN_QUESTION = re.compile(r"(?:and |also )?\w+ [\w ]{3,40}\?$", re.I)
_ACCEPTANCE = re.compile(r"(?:yes|yep|yeah|sure|please do|correct|ok)\b", re.I)
_PROPOSAL = re.compile(r"(?:shall|should) i (?:change|set|switch|move|update|rename|use|book|put)\b", re.I)
_STATE = re.compile(r"\b(?:moved|since|due|from|live|at)\b", re.I)
MAX_REPLY_WORDS = 22
"""Maximum words of a reply. Chosen by hand; not measured."""


def short_reply_finding(
    question: str, said: str, author: Subject, dates: list[Window], by_assistant: bool
) -> RuleFinding | None:
    """The finding of a reply with its question; None when one of them is not plain."""
    parts = AFTER_SENTENCE.split(question.strip()[-400:])
    asked = parts[-1]
    answer = re.sub(r"\b(?:lol|ha(?:ha)+|btw)\b|[\U0001F300-\U0001FAFF]+", "", said).strip(" .!,")
    if (
        not asked.endswith(("?", "？", "か。"))
        or len(asked) > 160
        or not 0 < len(answer.split()) <= MAX_REPLY_WORDS
        or "?" in answer
    ):
        return None
    if _ACCEPTANCE.match(answer) and _PROPOSAL.match(asked) and specific_signs(asked, False):
        offer = " ".join(parts[-2:])[-200:]
        return RuleFinding("fact", "agreed", author, f'Asked "{offer}", {author.inline} agreed: {answer}.', 0.6)
    if (
        is_hypothetical(answer)
        or (len(answer.split()) > 6 and (_RETRACTION.search(answer) or _FULL_SENTENCE.match(answer)))
        or _OFFER.search(asked)
        or not (
            _PLAIN_QUESTION.search(asked)
            or (by_assistant and _NOUN_QUESTION.match(asked))
            or _FOREIGN_QUESTION.search(asked)
        )
        or _EVASION.match(answer)
    ):
        return None
    if not _BARE_ANSWER.sub("", answer, count=1).strip() and not _CLOSED_QUESTION.match(asked):
        return None
    if len(parts) > 1 and _BACK_REFERENCE.search(asked):
        asked = f"{parts[-2]} {asked}"
    content = f'Asked "{asked}", {author.inline} answered: {answer}.'
    first = re.split(r"(?<=[.!])\s+", answer)[0]
    kind = "instruction" if _ORDER_QUESTION.search(asked) else "fact"
    kind = "task" if _ACCEPTS_TASK.match(answer) and re.match(r"(?:.*[.!?] )?who\b", asked, re.I) else kind
    window = meant_window(dates, bounded=False)
    if kind == "fact" and (ORDER_PATTERN.search(first) or standing_order(first, author)):
        kind = "instruction"
    if kind == "fact" and window and not _STATE.search(answer):
        kind = "event"
    key = order_key(asked) if kind == "instruction" else None
    return RuleFinding(kind, "reply", author, with_absolute_dates(content, dates), 0.62, key, answer, (), window)
