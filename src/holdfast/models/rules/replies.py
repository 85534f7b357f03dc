"""A short reply to a plain question, kept with its question: "Which phone do you use?" "Pixel 7"."""

from __future__ import annotations

import re

from ...when import Window, meant
from .clauses import hypothetical
from .foreign import ORDER
from .found import Found, dated
from .orders import about
from .signs import signs
from .standing import standing
from .voice import Subject

_OFFER = re.compile(
    r"\b(?:can i (?:help|do)|how can i|what can i|help you|what's up|what is up|how are you|anything else|shall i|"
    r"want me to|"
    r"do you want|would you like|should i (?:look|also|book|plan|add|update|put|push)|what's going on|rough night|"
    r"ready|"
    r"for today|is it (?:bad|stable)|what is this about|want (?:a|some)|want to|is that|sounds? good|ok\b|does that|"
    r"where should i start|could you|can you)",
    re.I,
)
_PLAIN = re.compile(
    r"^(?:.{0,60}[,:;] )?(?:and |so |then |but )?(?:which|what|where|who|whom|whose|when|how (?:many|much|old|long|"
    r"often|do you)|any\b|should (?:i|we) (?:include|use|avoid)|are "
    r"you|do you|does|is \w+|does anyone|maximum|firmware|\w+ or \w+)|.*\b(?:correct|right)\?$",
    re.I,
)
_ABROAD = re.compile(
    r"(?:^|\s)¿?(?:cuál|cuáles|dónde|quién|cuándo|qué|welche[sr]?|wo|wer|wann|was|wie (?:heißt|viele)|quel(?:le)?s?|"
    r"où|qui|quand|qual|"
    r"quando|onde|quem|dove|chi|préférez-vous|gibt es|avez-vous|ci sono)\b|还是|か。$|什么|哪",
    re.I,
)
_ORDERING = re.compile(r"\bshould (?:i|we) (?:use|write|send|answer|reply|include|add|avoid|keep)\b", re.I)
_EVASIVE = re.compile(
    r"(?:dunno|idk|not sure|no idea|maybe|perhaps|later|why|what|how|thanks|thank|ok|okay|hm+|well|let me|ask me|"
    r"i'd rather|i don't know|it depends|same|go|sure|please|nothing|be my guest|the \w+ one|uf)\b",
    re.I,
)
_BARE = re.compile(r"(?:no|nope|nah|yes|yep|yeah|yup|correct|right|exactly)\b[\s,.!]*", re.I)
_CLOSED = re.compile(r"(?:are|do|does|is|should|have|did) (?:i|you|we|it|your)\b|.*, (?:correct|right)\?$", re.I)
_TAKES_ON = re.compile(r"(?:i will|i'll|i can|me|i do|i'll do it|mine)\b", re.I)
_BACK = re.compile(r"\b(?:it|that|them|those|they|he|she|her|him)\b", re.I)
_TAKEN_BACK = re.compile(r"\b(?:wait|scratch that|oops|sorry|my mistake|correction)\b", re.I)
_SENTENCE = re.compile(r"(?:she|he|they|i|we|my|our)(?:'\w+)? \w+", re.I)
_NOUNS = re.compile(r"(?:and |also )?\w+ [\w ]{3,40}\?$", re.I)
_ACCEPTED = re.compile(r"(?:yes|yep|yeah|sure|please do|correct|ok)\b", re.I)
_PROPOSED = re.compile(r"(?:shall|should) i (?:change|set|switch|move|update|rename|use|book|put)\b", re.I)
_STATE = re.compile(r"\b(?:moved|since|due|from|live|at)\b", re.I)
LONGEST = 22


def reply(question: str, said: str, author: Subject, found: list[Window], by_assistant: bool) -> Found | None:
    """The reply with its question, or None when one of them is not plain."""
    parts = re.split(r"(?<=[.!?])\s+", question.strip()[-400:])
    asked = parts[-1]
    answer = re.sub(r"\b(?:lol|ha(?:ha)+|btw)\b|[\U0001F300-\U0001FAFF]+", "", said).strip(" .!,")
    if (
        not asked.endswith(("?", "？", "か。"))
        or len(asked) > 160
        or not 0 < len(answer.split()) <= LONGEST
        or "?" in answer
    ):
        return None
    if _ACCEPTED.match(answer) and _PROPOSED.match(asked) and signs(asked, False):
        offer = " ".join(parts[-2:])[-200:]
        return Found("fact", "agreed", author, f'Asked "{offer}", {author.inline} agreed: {answer}.', 0.6)
    if (
        hypothetical(answer)
        or (len(answer.split()) > 6 and (_TAKEN_BACK.search(answer) or _SENTENCE.match(answer)))
        or _OFFER.search(asked)
        or not (_PLAIN.search(asked) or (by_assistant and _NOUNS.match(asked)) or _ABROAD.search(asked))
        or _EVASIVE.match(answer)
    ):
        return None
    if not _BARE.sub("", answer, count=1).strip() and not _CLOSED.match(asked):
        return None
    if len(parts) > 1 and _BACK.search(asked):
        asked = f"{parts[-2]} {asked}"
    content = f'Asked "{asked}", {author.inline} answered: {answer}.'
    first = re.split(r"(?<=[.!])\s+", answer)[0]
    kind = "instruction" if _ORDERING.search(asked) else "fact"
    kind = "task" if _TAKES_ON.match(answer) and re.match(r"(?:.*[.!?] )?who\b", asked, re.I) else kind
    window = meant(found, bounded=False)
    if kind == "fact" and (ORDER.search(first) or standing(first, author)):
        kind = "instruction"
    if kind == "fact" and window and not _STATE.search(answer):
        kind = "event"
    key = about(asked) if kind == "instruction" else None
    return Found(kind, "reply", author, dated(content, found), 0.62, key, answer, (), window)
