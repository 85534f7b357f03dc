"""Recognises that a person, an animal or a thing is gone: died, was sold, left, was given up. Pure.

What rested on it ends with it: "sold the quad" ends "has a quad bike", "lost Digger" ends every present fact about him.
What happened before stays true, so past events are left alone. In case of doubt nothing ends.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime

from holdfast.domain.types import SECOND_HAND_TRUST, Draft, Memory
from holdfast.text import tokens
from holdfast.text.cache import cached_by_text
from holdfast.text.lexicon.calendar import A_FULL_WEEKDAY
from holdfast.text.lexicon.patterns import ASIDE

DEATH, SALE, PARTING, RESIGNATION, STOP = "death", "sale", "parting", "resignation", "stop"
CANCELLATION = "cancellation"
_NAME = r"(?-i:(?:(?:Mr|Mrs|Ms|Dr|Sir|Ma'am|Aunt|Uncle)\.? )?[A-ZÀ-Þ][\w'-]*[a-zà-ÿ](?: [A-ZÀ-Þ][\w-]+)?)"
_OWN = r"(?:my|our|the|their|his|her|user's)"
_THING = rf"{_OWN} (?:old |new |other )?(?P<x>[\w-]+(?: [\w-]+){{0,2}}?)"
_AFTER = r"(?=$|[\s,.;!?\")])"
_THING_END = (
    r"(?=$|[,.;!?\")]| (?:on|in|for|at|to|last|this|yesterday|today|and|but|so|because|after|before|with|by|is|was|has|"
    rf"from|{A_FULL_WEEKDAY})\b)"
)
_A_RELATIVE = r"(?:(?:my|our|their|the user's) (?:[a-z]+ ){1,2})?"
_PET = "dog|cat|rabbit|hamster|horse|parrot|budgie|tortoise|guinea pig"
_NO_EXAM = r"(?! (?:the|her|his|their|my|on|first|second|it|\d))"
_PLACE_LEFT = (
    r"(?: (?:the|our|us|my)\b(?: (?:company|team|firm|project|group|band|practice|shop|office|department))?)?"
    r"(?: (?:last|this|on|in|at|since|today|yesterday|for good)\b[^,.;]*)?(?=$|[,.;!\")])"
)
_CANCELLED_THING = rf"(?:^|[\s\"(])(?:{_OWN} )?(?P<x>(?:[\w'’-]+ ){{0,3}}?[\w'’-]+?)"
_PATTERNS = tuple(
    (sort, re.compile(pattern, re.I))
    for sort, pattern in (
        (
            DEATH,
            rf"{_A_RELATIVE}(?P<x>{_NAME})(?: has| sadly| has sadly)? "
            rf"(?:died|passed(?: away| on)?{_NO_EXAM}|is dead)\b",
        ),
        (DEATH, rf"\b(?:lost|buried) (?:(?:my|our|their) (?:[a-z]+ )?)?(?P<x>{_NAME}){_AFTER}(?! (?:the|his|her) )"),
        (
            DEATH,
            rf"\b(?:put|had|have) (?:(?:my|our|their|poor|old) (?:[a-z]+ )?)?(?P<x>{_NAME}) (?:put )?"
            r"(?:to sleep|down\b)",
        ),
        (DEATH, rf"\b(?P<x>{_NAME}) was put (?:to sleep|down)\b"),
        (DEATH, rf"(?P<x>{_NAME}),? (?:rip|r\.i\.p)\b"),
        (DEATH, rf"{_OWN} (?P<x>{_PET}) (?:has )?(?:died|passed away)\b"),
        (SALE, rf"\b(?:sold|got rid of|gave away|scrapped|traded in|wrote off) {_THING}{_THING_END}"),
        (
            SALE,
            rf"(?:^|[\s\"(]){_THING}(?:'s| has| is| was| got)(?: finally)?(?: been)? "
            r"(?:sold|stolen|scrapped|written off)\b",
        ),
        (SALE, r"(?:^|[\"(] ?|\. )(?P<x>[a-z-]{3,20})(?:'s| has| is)(?: finally)?(?: been)? sold\b"),
        (
            CANCELLATION,
            rf"{_CANCELLED_THING}(?:'s| is| was| got| has been| had to be)(?: now| sadly)? "
            r"(?:cancelled|canceled|called off|not happening)\b",
        ),
        (CANCELLATION, rf"{_CANCELLED_THING} (?:has |have )?(?:fell|fallen) through\b"),
        (
            CANCELLATION,
            rf"(?:^|[\s\"(])(?:{_OWN} )?(?P<x>(?:[\w'’-]+ ){{0,2}}?(?:trip|move|visit|match|game|dinner|party|wedding|"
            rf"meeting|holiday|concert|deal|sale|race))(?: (?:to|with|of) (?P<y>{_NAME}))?(?:'s| is| was) off"
            r"(?=$|[,.;!\"])",
        ),
        (
            STOP,
            rf"\b(?:cancel|cancelled|canceled|called off|call off) (?:{_OWN} )?(?P<x>[\w'’-]+(?: [\w'’-]+){{0,2}}?)"
            rf"(?: (?:to|with|for|of) (?P<y>(?-i:{_NAME})))?{_THING_END}",
        ),
        (
            PARTING,
            rf"\b(?:me (?:n|and|&) )?(?P<x>{_NAME})(?: and (?:i|me))? (?:have |has )?(?:broke|broken|split) up\b",
        ),
        (PARTING, rf"\b(?:broke|broken|split) up with (?:(?:my|their) (?:[a-z]+ )?)?(?P<x>{_NAME}){_AFTER}"),
        (
            RESIGNATION,
            rf"{_A_RELATIVE}(?P<x>{_NAME})(?:'s| has| is)?(?: just| now)? (?:left|quit|resigned|leaving)(?: from)?"
            + _PLACE_LEFT,
        ),
        (RESIGNATION, rf"(?P<x>{_NAME}) no longer works (?:here|with us|for us|at|for)\b"),
        (
            STOP,
            r"\b(?:handed in (?:my|their|his|her) notice (?:at|to|with)|quit|resigned from|let go (?:from|by)|"
            rf"fired (?:from|by)|laid off (?:from|by)|last day at) (?:the |my |their )?(?:job at )?"
            rf"(?P<x>{_NAME}|[a-z]+ place){_AFTER}",
        ),
        (
            STOP,
            r"\b(?:come|came|taken?|took|put|moved|shifted|weaned) (?:me |her |him |them |us |the user )?off (?:of )?"
            rf"(?:the |my |his |her |their )?(?P<x>[\w.-]{{3,}}(?: [a-z]{{4,}})?){_THING_END}",
        ),
        (
            STOP,
            r"\b(?:packed in|jacked in|gave up|given up|stopped taking|dropped out of|finished|"
            rf"completed) {_THING}{_THING_END}",
        ),
    )
)
_PLAN_VERBS: dict[str, frozenset[str]] = {
    noun: frozenset(tokens.tokens(verbs))
    for noun, verbs in {
        "wedding": "marry married marrying", "move": "moving relocating", "purchase": "buy buying",
        "sale": "sell selling", "hire": "hire hiring", "visit": "visit visiting come coming stay staying",
        "trip": "go going visit visiting fly flying travelling", "holiday": "go going", "vacation": "go going",
        "flight": "fly flying", "meeting": "meet meeting", "race": "run running",
    }.items()
}  # fmt: skip
"""What is cancelled → verbs with which the plan may have been told."""
_NAMELESS_PLANS = frozenset({"wedding", "purchase"})
"""Those of which people have one at a time."""
_PLANNED = re.compile(r"\b(?:will|plans?|booked|\w+ing)\b", re.I)
_GENERIC = frozenset(
    tokens.tokens("one two day days week weeks time thing things work job lot bit stuff first last all it them")
)
"""Words that do not name a thing."""
_PERSONAL = re.compile(
    r"\b(?:birthday|born|allerg\w+|intoleran\w+|diabetic|asthma\w*|coeliac|celiac|vegan|vegetarian|veggie|deaf|sister|"
    r"brother|mother|father|mum|mom|dad|likes?|loves?|lives?|eats?|eat)\b",
    re.I,
)
_OVER = re.compile(
    r"\b(?:sold|died|passed away|used to|was|were|broke up|split up|buried|lost|left|quit|no longer)\b", re.I
)
_NEGATED = re.compile(
    r"\b(?:not|never|almost|nearly|n't|might|may|if|would|could|thinking|want|wants|should)\b|n't\b", re.I
)


HOME_KEYS = ("home-city", "address", "dwelling")
ARRIVED = re.compile(
    r"\b(?:settled in(?:to)?\b|(?:the )?move(?:'s| is| was) (?:done|over|finished|complete|behind us)|"
    r"(?:the )?move went|"
    r"moved in(?:to)? (?:the|our|my) new|(?:first|second) (?:night|day|week|weekend|month) in (?:the|our|my) new|"
    r"(?:living|live|sleeping|unpack\w*|unpacking boxes) in (?:the|our|my) new) ?"
    r"(?:(?:house|home|flat|apartment|place|city|town)\b)?",
    re.I,
)
"""Words of somebody who has moved, without where to."""
_HAS_MOVED = (
    r"(?:have |has )?(?:finally |just )?moved(?: house| in| flat)?"
    r"(?: (?:yesterday|today|on \w+|last \w+|this \w+|at last|finally))*"
)
_MOVED = re.compile(rf"(?P<who>.+?)(?: and others)? {_HAS_MOVED}(?: \([^()]*\))?[.!]?")
_SAID_MOVED = re.compile(
    rf'(?P<who>The user) said: "(?:(?:and|so|ok|yay|finally),? )*(?:(?:we|i)(?:[\'’]ve)? )?{_HAS_MOVED}[.!]*"'
    r"(?: \([^()]*\))?\.?",
    re.I,
)


def mover(content: str) -> str:
    """Who has moved, where a memory tells of a move without where to, so that the old home is over; otherwise empty."""
    moved = _MOVED.fullmatch(content) or _SAID_MOVED.fullmatch(content)
    return moved["who"] if moved else ""


@dataclass(frozen=True, slots=True)
class Ending:
    """Something that is gone, and how."""

    sort: str
    thing: str


@cached_by_text
def ending(text: str) -> Ending | None:
    """What the text says is gone; None when it says nothing of the kind, or only as a possibility."""
    text = ASIDE.sub("", text)
    for sort, pattern in _PATTERNS:
        for m in pattern.finditer(text):
            clause = re.split(r"[,.;!?\"]", text[: m.start("x")])[-1] + text[m.start("x") : m.end()]
            thing = " ".join(filter(None, (m["x"].strip(), m.groupdict().get("y"))))
            if _NEGATED.search(clause) or thing.lower() in ("the user", "user", "they", "we", "i", "it"):
                continue
            if set(tokens.question_words(thing)) - _GENERIC:
                return Ending(sort, thing)
    return None


_REPLACED_TOOL = re.compile(
    r"\buse [\w.@/-]+,? (?:and )?(?:not|instead of|rather than|over) (?P<tool>[\w.@/-]*\w)", re.I
)
"""An order that names what it replaces: "use pnpm, not npm"."""


def ends(draft: Draft, said_at: datetime, memory: Memory) -> bool:
    """Whether the draft says that something is gone on which the memory rests."""
    if memory.kind not in ("fact", "task", "instruction", "event") or draft.sources[-1:] == memory.sources[-1:]:
        return False
    if {draft.trust, memory.trust} & set(SECOND_HAND_TRUST) or not memory.sources:
        return False
    over = memory.occurred_until or memory.occurred_at
    if memory.kind == "event" and (over <= said_at if over is not None else not _PLANNED.search(memory.content)):
        return False
    if memory.key in HOME_KEYS and (who := mover(draft.content)):
        return memory.content.startswith(who)
    if draft.kind == memory.kind == "instruction":
        replaced = _REPLACED_TOOL.search(draft.content)
        return replaced is not None and memory.key == f"use-{replaced['tool'].casefold()}"
    gone = ending(draft.content)
    return gone is not None and _rests_on(ASIDE.sub("", memory.content), gone)


def _rests_on(text: str, gone: Ending) -> bool:
    words = set(tokens.question_words(gone.thing)) - _GENERIC
    if gone.sort in (CANCELLATION, STOP) and _is_plan_for(text, gone.thing):
        return True
    if not words <= set(tokens.tokens(text)) or ending(text) is not None:
        return False
    if gone.sort == RESIGNATION:
        name = re.escape(gone.thing)
        subject = re.search(rf"(?:^|\"|[,;:] |(?:is|are|by|with|to) )(?:The user's [\w-]+ )?{name}\b", text)
        return subject is not None and not _PERSONAL.search(text)
    if gone.sort == DEATH and re.search(r"\b(?:was|were|used to|born|birthday)\b", text, re.I):
        return False
    return not _OVER.search(text)


def _is_plan_for(text: str, thing: str) -> bool:
    """Whether the text tells of the plan that a noun names: "going to Lisbon" of "the Lisbon trip"."""
    noun = next((word for word in thing.lower().split() if word in _PLAN_VERBS), "")
    said, others = set(tokens.tokens(text)), set(tokens.question_words(thing)) - set(tokens.tokens(noun))
    if not noun or not _PLANNED.search(text) or not (others or noun in _NAMELESS_PLANS):
        return False
    return others <= said and not said.isdisjoint(_PLAN_VERBS[noun])
