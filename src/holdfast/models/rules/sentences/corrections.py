"""Applies corrections ("no, I meant the 15th") to earlier findings, and turns short answers into statements."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import timedelta

from holdfast.domain.types import Message
from holdfast.models.rules.findings.finding import RuleFinding, as_sentence, with_absolute_dates
from holdfast.models.rules.sentences.quotations import reported_speech
from holdfast.text.content_words import content_words
from holdfast.text.dates import meant_window, windows, written_date
from holdfast.text.lexicon.change import INSTEAD_OF, RESCHEDULING_VERBS, RETRACTIONS
from holdfast.text.lexicon.patterns import ASIDE
from holdfast.text.lexicon.sentences import AFTER_SENTENCE
from holdfast.text.values import AMOUNT, NAME, NUMBER, TIME, value_type, values

_CORRECTION = re.compile(
    rf"(?:(?:{RETRACTIONS}|no(?=[,.;:!–-]| (?:it|its|i|sorry)\b)|my bad|correction|i mean|i meant|whoops)"
    r"[\s,.:;!–-]+){1,4}"
    r"(?:(?:i|we) (?:meant|mean|should have said) |(?:it's|it is|its|it was|that's|that should be|"
    r"make (?:it|that)|that was|it should be) "
    r"(?:actually |really |now |going to be )?)?(?:to say )?(?P<new>[^,;.?!]{1,60}?)(?:,? (?:and "
    r")?not (?P<old>[^,;.?!]{1,60}))?$",
    re.I,
)
_NOT_BUT = re.compile(r"(?:it's |it is )?not (?P<old>[^,;.?!]{1,50}?),? but (?P<new>[^,;.?!]{1,50})$", re.I)
_I_MEANT = re.compile(r"(?:i|we) meant (?P<new>[^,;.?!]{1,60}?)(?:,? not (?P<old>[^,;.?!]{1,60}))?$", re.I)
_I_SAID_BUT_MEANT = re.compile(
    rf"(?:(?:{RETRACTIONS}|no)[\s,.!]*)*(?:i|we) said (?P<old>[^,;.?!]{{1,40}}?)(?: before| earlier| first)?,? "
    r"(?:but )?"
    r"(?:i|we) (?:actually |really )?meant (?P<new>[^,;.?!]{1,60}?)$",
    re.I,
)
_ITS_NOT = re.compile(r"(?:it's|it is|that's) (?P<new>[^,;.?!]{1,40}?),? not (?P<old>[^,;.?!]{1,40})$", re.I)
_SENTENCE_WORD = re.compile(
    r"\b(?:i|we|you|is|are|was|were|have|has|do|don't|can|will|would|about|to|for the|that|it|"
    r"again|late|thanks|problem|"
    r"worries|need|sure|i'm|what|how|if|help|just|please|confused|bother|delay)\b",
    re.I,
)


_RETRACTION = re.compile(rf"(?:(?:{RETRACTIONS}|no)[\s,.!]*)+", re.I)


def joined_corrections(parts: list[str]) -> list[str]:
    """The sentences, with "Wait no." and "Thursday." joined into one, and so "A new record!" and "26:55"."""
    joined: list[str] = []
    for part in parts:
        if joined and joined[-1].endswith("!") and value_type(part) in (TIME, NUMBER, AMOUNT):
            joined[-1] = f"{joined[-1]} {part}"
        elif joined and _RETRACTION.fullmatch(joined[-1]):
            joined[-1] = f"{joined[-1].rstrip(' .!,')}, {part}"
        else:
            joined.append(part)
    return joined


def corrected_finding(text: str, earlier: RuleFinding, message: Message) -> RuleFinding | None:
    """The earlier finding with its value replaced; None when the text does not correct it."""
    text = re.sub(r"^((?:oh |ah )?(?:wait|no|oops|sorry)(?: no)?)\. ", r"\1, ", text).strip(" .!")
    m = (
        _I_SAID_BUT_MEANT.match(text)
        or _NOT_BUT.match(text)
        or _ITS_NOT.match(text)
        or _I_MEANT.match(text)
        or _CORRECTION.match(text)
    )
    if not m:
        return None
    new, old = m["new"].strip(), (m["old"] or "").strip()
    if _SENTENCE_WORD.search(new) or len(new.split()) > 6:
        return None
    content = ASIDE.sub("", earlier.content)
    value = earlier.value or _only_value_like(new, content)
    target = old if old and re.search(rf"\b{re.escape(old)}\b", content) else value
    if not target or target not in content or (old and target != old and (not earlier.topic or earlier.window)):
        return None
    new = re.sub(r"^(?:on|in|at) ", "", new)
    target, new = _exchanged_values(content, target, new)
    if not target:
        return None
    content = reported_speech(content)
    if not _agrees(content, target, new):
        return None
    content = content.replace(target, new, 1)
    when = windows(content.removeprefix("According to "), message.said_at)
    window = meant_window(when, bounded=False) if earlier.window else None
    if earlier.window and not window:
        return None
    return replace(
        earlier,
        rule="correction",
        content=as_sentence(with_absolute_dates(content, when)),
        value=new,
        window=window,
        confidence=0.82,
    )


def _only_value_like(new: str, content: str) -> str:
    """The value of the content that has the type of the new one, where there is one; a name may be anything."""
    found = [each.text for each in values(content) if each.type == value_type(new) != NAME]
    return found[0] if len(found) == 1 else ""


_NUMERIC = {NUMBER, AMOUNT}
_ONE = ("one", "1", "a", "an")


def _agrees(content: str, old: str, new: str) -> bool:
    """Whether the word after a number may stay as it is: "two kittens" does not become "one kittens"."""
    counted = re.match(r" [a-z]{3,}", content[content.find(old) + len(old) :])
    return counted is None or (old.lower() in _ONE) == (new.lower() in _ONE)


def _exchanged_values(content: str, old: str, new: str) -> tuple[str, str]:
    """What is replaced in the content, and by what: the whole value around `old`, by a `new` one of its type only.

    A bare number replaces only the number of an amount: "500" in "400 euros", but "500 euros" replaces it whole.
    """
    at = content.find(old)
    around = next((v for v in values(content) if v.start <= at < v.end or at <= v.start < at + len(old)), None)
    new_type, old_type = value_type(new), value_type(old)
    is_words = new_type == NAME or not values(new)
    if around is None or (around.type == NAME and old_type is None):
        return (old, new) if is_words else ("", "")
    if new_type is None and around.type == NAME:
        return (old, new) if is_words else ("", "")
    if new_type is None or not (new_type == around.type or {new_type, around.type} <= _NUMERIC):
        return _exchanged_phrase(content, new)
    if around.type == AMOUNT and new_type == NUMBER:
        return (m[0], new) if (m := re.search(r"\d[\d.,]*(?<![.,])", around.text)) else ("", "")
    return around.text, new


def _exchanged_phrase(content: str, new: str) -> tuple[str, str]:
    """The value in `new` and the one it replaces, found by the words beside them: "seven of us" for "six of us"."""
    inside = values(new)
    if len(inside) != 1:
        return "", ""
    before, after = new[: inside[0].start].strip(), new[inside[0].end :].strip()
    for old in values(content):
        same = old.type == inside[0].type or {old.type, inside[0].type} <= _NUMERIC
        beside = content[: old.start].rstrip().endswith(before) and content[old.end :].lstrip().startswith(after)
        if same and beside and (before or after):
            return old.text, inside[0].text
    return "", ""


_RESCHEDULING = re.compile(
    rf"\b(?:{RESCHEDULING_VERBS}|delayed|changed|brought forward)(?: (?:it|that|this))?(?: "
    r"back)? to (?P<new>[^,;.?!]{3,40}?)"
    r"(?= because\b| as\b| since\b|$|[,;.!])|^(?:right|no|ok|okay|yes)[,.] (?P<date>[^,;.?!]{3,25})[.!]?$",
    re.I,
)


_DAY_SWAP = re.compile(
    rf"\b(?:the )?(?P<new>\d{{1,2}})(?:st|nd|rd|th),? (?:{INSTEAD_OF}|and not|not)(?: on)? (?:the )?"
    r"(?P<old>\d{1,2})(?:st|nd|rd|th)\b",
    re.I,
)


_OTHER_DAY = re.compile(
    rf"(?:(?:{RETRACTIONS}|whoops|no|my bad|i meant?|it's|its|make (?:it|that))"
    r"[\s,.:;!–-]+)+(?:on )?(?:the )?(?P<new>\d{1,2})(?:st|nd|rd|th)(?:[.!]?|, .+)",
    re.I,
)


def _day_swapped_finding(text: str, earlier: RuleFinding) -> RuleFinding | None:
    """The earlier finding moved to another day of its month: "the 5th instead of the 3rd" or "no wait, the
    5th", after "on 3 April"."""
    m, known = _DAY_SWAP.search(text) or _OTHER_DAY.fullmatch(text), earlier.window
    if not m or not known or known.stop - known.start > timedelta(1) or known.text not in earlier.content:
        return None
    try:
        day = known.start.replace(day=int(m["new"]))
    except ValueError:
        return None
    if "old" in m.groupdict() and known.start.day != int(m["old"]):
        return None
    content = reported_speech(ASIDE.sub("", earlier.content)).replace(known.text, written_date(day), 1)
    now = next((w for w in windows(content, day) if w.start.date() == day.date()), None)
    value = written_date(day)
    return replace(earlier, rule="correction", content=as_sentence(content), value=value, window=now) if now else None


_SMALL_WORDS = re.compile(r"\b(?:on|at|the|by|instead|now)\b|\W+", re.I)


def rescheduled_finding(text: str, earlier: RuleFinding, message: Message) -> RuleFinding | None:
    """The earlier finding on its new date: "they pushed it to 7 November", "Right, April 16"."""
    if moved := _day_swapped_finding(text, earlier):
        return moved
    m = _RESCHEDULING.search(text)
    if not m or not earlier.window or earlier.window.text not in earlier.content:
        return None
    if not _is_of_statement(text[: m.start("new")] if m["new"] else "", earlier.content):
        return None
    new = (m["new"] or m["date"]).strip()
    when = windows(f"will be on {new}", message.said_at)
    if not when or _SMALL_WORDS.sub("", new) != _SMALL_WORDS.sub("", when[0].text):
        return None
    content = reported_speech(ASIDE.sub("", earlier.content)).replace(earlier.window.text, new, 1)
    return replace(
        earlier, rule="correction", content=as_sentence(with_absolute_dates(content, when)), value=new, window=when[0]
    )


def _is_of_statement(text: str, earlier: str) -> bool:
    """Whether the words before a new date speak of the earlier statement: with a word of it, a pronoun, or no word."""
    named = {word.stem for word in content_words(text)} - {word.stem for word in content_words(_MOVES)}
    return not named or bool(_REFERS.search(text)) or not named.isdisjoint(word.stem for word in content_words(earlier))


_MOVES = f"{RESCHEDULING_VERBS.replace('|', ' ')} delayed changed brought forward back right no ok okay yes have had"
_REFERS = re.compile(r"\b(?:it|that|this|they)\b", re.I)
_QUESTION_STATEMENTS = [
    (re.compile(p, re.I), statement)
    for p, statement in (
        (r"where (?:do|are) you (?:live|living|based)\b", "I live in {a}"),
        (r"(?:what|which) (?:city|town) (?:do|are) you (?:live|living|based|in)\b", "I live in {a}"),
        (r"where are you (?:originally )?from\b", "I am from {a}"),
        (r"(?:where|who) do you work\b", "I work at {a}"),
        (r"what(?:'s| is) your name\b|what should i call you\b", "my name is {a}"),
        (
            r"what do you do(?: for (?:a living|work))?\s*\?|what(?:'s| is) your (?:job|profession|occupation)\b",
            "I work as {a}",
        ),
        (r"how old are you\b|what(?:'s| is) your age\b", "I am {a} years old"),
        (r"when(?:'s| is) your birthday\b", "my birthday is {a}"),
        (r"what(?:'s| is) your favou?rite (?P<k>[\w ]{2,30})\?", "my favourite {k} is {a}"),
        (r"(?:what|which) (?:kind of )?car do you (?:drive|have)\b|what do you drive\b", "I drive {a}"),
        (
            r"(?:do you have|any) (?:any )?(?:food )?allergies\b|are you allergic to\b|what are you allergic to\b",
            "I am allergic to {a}",
        ),
        (r"(?:what|which) languages? do you speak\b", "I speak {a}"),
        (r"(?:window or aisle|aisle or window)", "I prefer the {a} seat"),
        (r"when(?:'s| is) the (?P<k>[\w -]{0,30})deadline\b", "the {k}deadline is {a}"),
        (
            r"what(?:'s| is) your (?P<k>budget|shoe size|email(?: address)?|phone number|time ?zone|"
            r"address|height|weight)\b",
            "my {k} is {a}",
        ),
        (r"are you (?P<k>vegan|vegetarian|married|single|retired|lactose intolerant)\s*\?", "I am {k}"),
        (r"do you (?P<k>(?:live in|work at|work for|like|love|speak|drive|own|eat) [\w ]{2,30})\?", "I {k}"),
    )
]
_YES_ANSWER = re.compile(r"(?:yes|yep|yeah|yup|correct|exactly|i do|i am|indeed)\b[\w ,']{0,12}[.!]?$", re.I)
_NO_ANSWER = re.compile(
    r"(?:no|none|nope|nothing|not|maybe|idk|dunno|why|thanks|thank|sure|ok|okay|hm+|well|i|we|my|"
    r"it|that|you|yes|yeah)\b",
    re.I,
)


def answer_statement(question: str, reply: str) -> str | None:
    """The statement that a short reply to a clear question makes: "Where do you live?" "Lisbon" → "I live in …"."""
    reply, question = reply.strip().rstrip(".!"), question.strip()[-300:]
    if not question.endswith("?") or len(reply.split()) > 6 or len(reply) > 60 or "?" in reply or not reply:
        return None
    question = AFTER_SENTENCE.split(question)[-1]
    for pattern, statement in _QUESTION_STATEMENTS:
        if not (m := pattern.search(question)):
            continue
        if "{a}" not in statement:
            return statement.format(**m.groupdict()) if _YES_ANSWER.match(reply) else None
        if _NO_ANSWER.match(reply):
            return None
        answer = re.sub(r"^(?:in|at|on|from|to|as|a|an|the) (?=\S)", "", reply, flags=re.I)
        answer = f"a {answer}" if "work as" in statement or "drive" in statement else answer
        return statement.format(a=answer, **m.groupdict())
    return None
