"""Pure: turns a question into what to look for: its words, its time window, the keys it may name, and what would answer
it.

It uses no model and does not guess: a window is computed from the words and the time of asking, or is None.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property
from itertools import pairwise

from holdfast.domain.limits import MAX_QUESTION_BYTES
from holdfast.recall.question.computation import Computation, computation_in
from holdfast.recall.question.period import PastState, agenda_period, past_state
from holdfast.recall.question.target import KIN, Target, target_of
from holdfast.recall.question.traits import own_trait_keys
from holdfast.text import tokens
from holdfast.text.dates import Window, window
from holdfast.text.lexicon.patterns import NAME_IN_QUESTION
from holdfast.text.lexicon.sentences import ENDS, QUESTION_MARKS, WIDE_ENDS

_PUNCTUATION = "?!.,;:\"'()[]“”‘’…"
_INTENTS = (
    ("count", r"\bhow (?:many|often|much)\b|\bnumber of\b|\btotal\b"),
    ("time", r"\bwhen\b|\bhow (?:long|old|recent)|\b(?:what|which) (?:date|day|month|year|time|week)\b|\bsince when\b"),
    ("preference", r"\b(?:suggest|recommend|advice|ideas?|tips?|should i|would (?:i|\w+) (?:like|enjoy))\b"),
    ("comparison", r"\b(?:compare|difference|versus|vs|rather|better|first|earlier|later|more than|less than)\b"),
    ("list", r"\b(?:list|which|what (?:are|were|all|kinds?|types?)|everything|all (?:the|of))\b"),
    ("how", r"\bhow (?:do|did|does|to|can|should)\b"),
)
_FIRST_PERSON = re.compile(r"\b(?:i|my|me|mine|i'm|i've|i'd|we|our|us)\b", re.I)
_OF_USER = re.compile(
    r"\b(?:i|my|me|mine|myself|we|our|ours|us|i'm|i've|i'd|i'll|we're|we've|we'd|we'll)\b"
    r"|\bthe user\b|\buser's\b|^user\b"
    r"|\b(?:ich|mir|mich|meine?[mnrs]?|wir|unsere?[mnrs]?|je|moi|nous|notre|yo|conmigo|nosotr[oa]s|nuestr[oa]s?|meus?|"
    r"minhas?|comigo|nós|noss[oa]s?|miei|noi|nostr[oaie]|mijn|wij|onze)\b|\bj'"
    r"|\b(?:vivo|moro|abito|trabajo|trabalho|lavoro|tengo|tenho|soy|sou|sono|chamo|llamo|chiamo|nací|nasci)\b",
    re.I,
)
"""Words by which a question is about whoever asks, or an agent's about the user, in some common languages."""
_OF_USER_ABROAD = re.compile(r"\b(?:mon|ma|mes|nos|mis?|eu|io|mi[oae]|ik|ons|uns)\b", re.I)
"""Such words that mean something else in English."""
_A_DOCUMENT = (
    r"(?:documents?|docs?|pages?|websites?|site|articles?|posts?|blogs?|files?|pdfs?|papers?|handbooks?|manuals?|guides?|"
    r"readme|wiki|notes?|contracts?|leases?|agreements?|terms|polic(?:y|ies)|e-?mails?|letters?|reports?|invoices?|"
    r"receipts?|statements?|tickets?|slides?|spreadsheets?|tables?|transcripts?|books?|tools?|output|results?)"
)
_ASKS_DOCUMENT = re.compile(
    rf"\b(?:(?:the|this|that|my|our|your|which|what|a|an|any|\w+'s) )(?:[\w.'-]+ ){{0,3}}?{_A_DOCUMENT} "
    r"(?:\w+ )?(?:say|says|said|state|states|stated|tell|tells|told|mention|mentions|mentioned|claim|claims|claimed|"
    r"write|writes|describe|describes|explain|explains|contain|contains|return|returned|list|lists)\b"
    rf"|\baccording to (?!me\b|you\b)|\b(?:say|said|stated?|written|mentioned|described|listed|stands?) (?:in|on) "
    rf"(?:the|this|that|my|our|your) (?:[\w.'-]+ ){{0,3}}?{_A_DOCUMENT}\b"
    r"|\b[\w-]+\.(?:txt|md|pdf|docx?|html?|csv|xlsx?|pptx?|json|eml|epub)\b|https?://",
    re.I,
)
"""How a question asks for the words of a document or a tool: "What does my lease say about pets?"."""
_MAX_KEYS = 50
_SENTENCE_BORDER = re.compile(rf"\s*\n\s*|(?<=[{ENDS}{WIDE_ENDS}])\s+|(?<=[{WIDE_ENDS}])")
_WORD_BORDER = re.compile(r"\s+")


@dataclass(frozen=True)
class Question:
    """What a question asks, as far as its words show. Properties that few callers need are computed on first access."""

    text: str
    asked_at: datetime
    """The moment that "yesterday" is relative to."""
    words: tuple[str, ...]
    """The stems to search for."""
    plain: tuple[tuple[str, str], ...]
    """(word as written in lower case, its stem), for words that carry meaning."""
    keys: tuple[str, ...]
    window: tuple[datetime, datetime] | None
    intent: str
    first_person: bool
    time: Window | None = None
    """The words that name the window, and where they stand."""
    of_user: bool = False
    """Whether the question that it is a part of asks about the user."""

    @cached_property
    def asks_about_user(self) -> bool:
        """Whether it says that it is about whoever asks, or about "the user"."""
        text = self.text.replace("’", "'")
        abroad = not self.target.readable and _OF_USER_ABROAD.search(text) is not None
        return self.of_user or abroad or _OF_USER.search(text) is not None

    @cached_property
    def asks_document(self) -> bool:
        """Whether it asks what a document or a tool says."""
        return _ASKS_DOCUMENT.search(self.text) is not None

    @cached_property
    def target(self) -> Target:
        return target_of(self.text, self.plain)

    @cached_property
    def computation(self) -> Computation | None:
        return computation_in(self.text)

    @cached_property
    def agenda_period(self) -> tuple[datetime, datetime] | None:
        return agenda_period(self.text, self.asked_at, self.time)

    @cached_property
    def past_state(self) -> PastState | None:
        return past_state(self.text, self.asked_at, self.time)

    def about(self, text: str) -> Question:
        """Another question, asked at the same moment, about the user if this one is."""
        return replace(analysed_question(text, self.asked_at), of_user=self.asks_about_user)


def analysed_question(text: str, asked_at: datetime) -> Question:
    """Analyses a text of any length; of a long one only its beginning and its end, which `text` then has."""
    text = shortened_question(text)
    low = text.lower()
    plain = tuple((word, stems[0]) for word in _content_words(text) if len(stems := tokens.tokens(word)) == 1)
    found, of_asker = window(text, asked_at), _FIRST_PERSON.search(text) is not None
    return Question(
        text=text,
        asked_at=asked_at,
        words=tokens.question_words(text),
        plain=plain,
        keys=_keys(text, [word for word, _ in plain], of_asker),
        window=None if found is None else (found.start, found.stop),
        intent=next((name for name, pattern in _INTENTS if re.search(pattern, low)), "fact"),
        first_person=of_asker,
        time=found,
    )


def shortened_question(text: str) -> str:
    """The text itself, or the beginning and the end of one that is longer than MAX_QUESTION_BYTES, in whole sentences:
    whoever pastes a letter asks about it before or after it. Sentences that ask come first, because models give the
    beginning of a text the most weight."""
    if len(text.encode()) > MAX_QUESTION_BYTES:
        text = text.strip()
    encoded, half = text.encode(), (MAX_QUESTION_BYTES - 1) // 2
    if len(encoded) <= MAX_QUESTION_BYTES:
        return text
    beginning, end = (part.decode(errors="ignore") for part in (encoded[:half], encoded[-half:]))
    sentences = _sentences(beginning[: _last_border(beginning)]) + _sentences(end[_first_border(end) :])
    asking_first = "\n".join(sorted(sentences, key=lambda sentence: not sentence.endswith(QUESTION_MARKS)))
    return asking_first.encode()[:MAX_QUESTION_BYTES].decode(errors="ignore")


def _sentences(text: str) -> list[str]:
    return [sentence for sentence in _SENTENCE_BORDER.split(text) if sentence]


def _last_border(text: str) -> int:
    """Where the last whole sentence of a text ends, or else its last whole word; in its second half, so that a long
    sentence is not lost."""
    for border in (_SENTENCE_BORDER, _WORD_BORDER):
        if found := list(border.finditer(text, len(text) // 2)):
            return found[-1].start()
    return len(text)


def _first_border(text: str) -> int:
    """Where the first whole sentence of a text begins, or else its first whole word; in its first half."""
    for border in (_SENTENCE_BORDER, _WORD_BORDER):
        if found := border.search(text, 0, len(text) // 2):
            return found.end()
    return 0


def _content_words(text: str) -> list[str]:
    stripped = (word.strip(_PUNCTUATION).removesuffix("'s").removesuffix("’s") for word in text.lower().split())
    kept = [word for word in stripped if word]
    return list(dict.fromkeys(word for word in kept if word not in tokens.STOP_WORDS)) or kept


def _keys(text: str, plain: list[str], of_asker: bool) -> tuple[str, ...]:
    """Keys that a question may name directly: its whole text, its words, and adjacent words joined by a hyphen; and
    those of the asker's own traits."""
    pairs = [f"{first}-{second}" for first, second in pairwise(plain)]
    own = own_trait_keys(text) if of_asker and not NAME_IN_QUESTION.search(text) and KIN.isdisjoint(plain) else []
    return tuple(dict.fromkeys([text.strip(), *plain, *pairs, "-".join(plain), *own]))[:_MAX_KEYS]
