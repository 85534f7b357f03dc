"""Finds specific statements that match no table, and keeps them in the author's own words.

A clause must contain something specific (see patterns/salience.py) and must not be chatter, a question or a request.
Its kind follows from its form: a standing order, a task, a dated event, else a fact. A statement that gives a thing a
single value (see patterns/single_values.py) gets a key, so that the next value supersedes this one.
"""

from __future__ import annotations

import re
from dataclasses import replace

from holdfast.models.rules.findings.finding import RuleFinding, as_sentence, with_absolute_dates
from holdfast.models.rules.patterns.salience import (
    has_subject_and_verb,
    is_denial,
    is_noise,
    names_something,
    points_back,
    specific_signs,
    without_fillers,
)
from holdfast.models.rules.patterns.single_values import amount_topic, participation_topic, topic_and_value
from holdfast.models.rules.patterns.standing_orders import is_imperative, standing_order
from holdfast.models.rules.patterns.vocabulary import split_words
from holdfast.models.rules.people.participants import Participants
from holdfast.models.rules.people.third_person import (
    USER_NAME,
    Subject,
    is_past,
    main_predicate,
    third_person_predicate,
    third_person_text,
)
from holdfast.models.rules.sentences.clauses import is_question, is_reported, is_unreal
from holdfast.text.dates import Window, meant_window
from holdfast.text.tokens import tokens

_TO_DO = re.compile(
    r"^(?:.{0,120}?\b(?:put (?:that|it) on the list|(?:do not|don't|dont) let me forget)\b|"
    r"(?:.{3,40}: |on the \d+\w\w |\w+day )?(?:please |pls )?(?:(?:remind|nudge|ping) me\b|(?:i|we) (?:need to|have "
    r"to|must|should|gotta)\b|(?:i|we) (?:will|shall) "
    r"(?:send|have|do|write|get|prepare|call|make sure|finish|bring|take|review|book|order|fix|handle|update|share)\b|"
    r"you will get\b|someone (?:needs|has) to\b))",
    re.I,
)
_STATE = re.compile(
    r"\b(?:due|deadline|expires?|runs out|valid|since|until now|on-?call|goes up|goes down|starting|as of|used to|"
    r"pager|"
    r"belongs|owns?|called|named|based|lives?|works?|always|usually|every|born|birthday is|is now|are now|pays?|"
    r"paid)\b",
    re.I,
)
_MISHAP = re.compile(
    r"(?:[\w'-]+ ){1,4}(?:ran out|went down(?! to)|was down|crashed|broke|"
    r"left(?=$| (?:the|our|us|in|on|last|for|yesterday|today|this))|arrived|failed|died|swapped|stopped|charged)\b",
    re.I,
)
_REQUEST_FOR_HELP = re.compile(
    r"(?:i(?:'m| am|m)?|we(?:'re| are)?) (?:also |just |still |currently )?(?:looking for|looking to|"
    r"trying to (?:find|figure|decide|understand|get)|wondering|curious|"
    r"interested in (?:learning|finding|getting|hearing|exploring)|"
    r"need (?:some |a bit of |your )?(?:help|advice|tips|recommendations|suggestions|ideas|information)|"
    r"want (?:some |your )?(?:help|advice|tips|recommendations|suggestions|ideas))\b",
    re.I,
)
"""Requests for the listener's immediate help."""
_HEADER = re.compile(r"^[^:`]{3,60}: (?=\S+ \S)")
_WORDS = re.compile(r"[^\W\d_]{3}")
_PERSON_CLAUSE = re.compile(r"(?:she|he)\b \w+ \w+", re.I)
_REMINDER = re.compile(r"(?:please |pls )?(?:remind|nudge|ping) me\b", re.I)
_BARE_REMINDER = re.compile(
    r"(?:please |pls )?(?:remind|nudge|ping) me (?!to\b|about\b|on\b|that\b|every\b)|[A-Z][\w ]{2,30}: ", re.I
)
_IMPERSONAL_THEY = re.compile(
    r"they(?:'ve)? (?:(?:have|just|finally|now) )?\w+(?:ed|ave|old|ent|ook|ut) "
    r"(?:my|our|me|us|the (?:rent|price|fee)s?)\b",
    re.I,
)
"""They who: the surgery, the landlord, the firm. What they did to the author stands alone."""
_IT_PRONOUN = re.compile(r"\b(?:it|them|that)\b", re.I)
_OWN_THING = re.compile(r"(?:my|our) ", re.I)
_FIRST_PERSON_START = re.compile(r"(?:i|we|my|our)\b", re.I)
_FIRST_PERSON = re.compile(r"\b(?:i|me|my|we|us|our|mine|ours)\b", re.I)
_DIARY_CLAUSE = re.compile(r"(?:just |finally |also |already |recently )*(?P<verb>[a-z]+) ", re.I)

_SUBJECT = re.compile(r"(?:(?:my|our|his|her|their|the|an?|this|that) )*\S+", re.I)
_IF, _DIGIT = re.compile(r"\bif\b", re.I), re.compile(r"\d")
_RETRACTION = re.compile(r"(?:oops|whoops|sorry|wait)\b", re.I)
_THING_VERBS = frozenset(
    split_words(
        "came cost took turned ended fell broke worked lasted arrived failed happened looked seemed needed felt "
        "tasted was were had got stopped crashed died"
    )
)
"""Past verbs that, without a subject, may equally be about a thing as about the author: "Came to 19.2k in the end"."""


def clause_findings(
    clause: str, participants: Participants, dates: list[Window], before: str = ""
) -> list[RuleFinding]:
    """The findings in a clause; `before` is the preceding sentence, for a clause that refers back to it."""
    clause = without_fillers(clause)
    if order := standing_order(clause, participants.author, before):
        return [order]
    if (
        (header := _HEADER.match(clause))
        and not specific_signs(header[0][:-2], False)
        and not _IT_PRONOUN.search(clause)
        and not (header[0].count(" ") > 1 and _is_fragment(clause[header.end() :], participants))
        and _WORDS.search(clause, header.end())
    ):
        clause = clause[header.end() :]
    when = meant_window([w for w in dates if w.text in clause])
    if len(clause.split()) < 2 or is_noise(clause, bool(when)) or is_imperative(clause):
        return []
    fragment = _is_fragment(clause, participants)
    if fragment and len(clause.split()) <= 3 and specific_signs(clause, False) < 2 and not names_something(clause):
        return []
    resolved = bool(_PERSON_CLAUSE.match(clause) and participants.parse(clause))
    if not (specific_signs(clause, bool(when) and not fragment) or resolved or _REMINDER.match(clause)):
        return []
    content, subject = _statement(clause, participants, before)
    if not content:
        return []
    finding = RuleFinding(
        "fact", "told", subject, as_sentence(with_absolute_dates(content, dates)), 0.6, None, "", (), when
    )
    if _TO_DO.match(clause):
        return [replace(finding, kind="task", rule="told-task", confidence=0.65)]
    if (when or _MISHAP.match(clause)) and not _STATE.search(clause):
        return [
            replace(
                finding,
                kind="event",
                rule="told-event",
                topic=participation_topic(clause),
                value=when.text if when else "",
                confidence=0.65,
            )
        ]
    return _keyed_facts(finding, clause, participants.author)


def _keyed_facts(finding: RuleFinding, clause: str, author: Subject) -> list[RuleFinding]:
    """The fact with its topic. An amount next to other news becomes a separate fact, so that only
    the amount is superseded."""
    key, value = topic_and_value(clause)
    subject = finding.subject if _FIRST_PERSON_START.match(clause) else replace(finding.subject, prefix="")
    keyed = replace(finding, topic=key, value=value, subject=subject)
    pieces = clause.split(", ")
    if not key or len(pieces) < 2:
        return [keyed]
    main_piece = next((p for p in pieces if amount_topic(p)), "") or pieces[0]
    rest = ", ".join(p for p in pieces if p is not main_piece)
    if not specific_signs(rest, False) and not _FIRST_PERSON_START.match(rest):
        return [keyed]
    subject_words = _SUBJECT.match(clause)
    of_it = f"{author.name} said of {third_person_text(subject_words[0]) if subject_words else 'it'}: {rest}"
    parallel = not set(tokens(main_piece)).isdisjoint(tokens(rest))  # "prod logs are in Grafana, staging logs in Loki"
    besides = as_sentence(of_it) if main_piece is pieces[0] and not parallel else _quotation(author, rest)
    return [
        replace(keyed, content=_quotation(author, main_piece), value=""),
        replace(finding, content=besides, window=None),
    ]


def sentence_findings(sentence_: str, participants: Participants, dates: list[Window]) -> list[RuleFinding]:
    """A sentence that matches no rule, in its author's words; the judge decides whether it is worth keeping."""
    text = without_fillers(sentence_)
    if len(text) < 3 or is_question(sentence_) or _REQUEST_FOR_HELP.match(text):
        return []
    content, subject = "", participants.author
    if not _needs_company(text, participants):
        content, subject = _statement(text, participants, participants.previous_sentence)
    elif is_unreal(_IF.sub("", text)) or is_reported(text) or not (dates or _DIGIT.search(text)):
        return []
    content = content or f'{participants.author.name} said: "{text}"'
    when = meant_window(dates)
    return [
        RuleFinding(
            "fact", "spoken", subject, as_sentence(with_absolute_dates(content, dates)), 0.0, None, "", (), when
        )
    ]


def _needs_company(text: str, participants: Participants) -> bool:
    """Whether a sentence says little by itself: a supposition, a denial, a request, or one about somebody unnamed. With
    a figure or a day in it, it is quoted: "she wants a guitar for her birthday, 14th of july"."""
    unnamed = points_back(text) and not participants.previous_sentence and not participants.parse(text)
    unnamed = unnamed and not _RETRACTION.match(text)
    return is_unreal(text) or is_denial(text) or is_imperative(text) or unnamed


def is_promise(clause: str) -> bool:
    """Whether the author promises to do something, or asks for something to be done."""
    return bool(_TO_DO.match(clause))


def amount_findings(clause: str, author: Subject) -> list[RuleFinding]:
    """The amount in a clause about an event: "we moved up to Business yesterday, 60 seats now"."""
    for piece in without_fillers(clause).split(", "):
        if key := amount_topic(piece):
            return [RuleFinding("fact", "told", author, _quotation(author, piece), 0.6, key, piece)]
    return []


def _quotation(author: Subject, text: str) -> str:
    return as_sentence(f'{author.name} said: "{text}"')


def _is_fragment(clause: str, participants: Participants) -> bool:
    """Whether the clause lacks a subject or a verb, so that a date alone does not make it specific."""
    m = _DIARY_CLAUSE.match(clause)
    return not (has_subject_and_verb(clause) or participants.parse(clause) or (m and is_past(m["verb"].lower())))


def _statement(clause: str, participants: Participants, before: str) -> tuple[str, Subject]:
    """The statement in the third person where possible, else as a quotation; and its subject."""
    author = participants.author
    parsed = participants.parse(clause)
    if parsed and not (points_back(clause) and not parsed[0].first and parsed[0] is not participants.last_subject):
        subject, rest = parsed
        predicate = (
            third_person_predicate(main_predicate(rest), subject, author)
            if not re.search(r"\byour?\b", rest, re.I)
            else ""
        )
        if predicate:
            return f"{subject.name} {predicate}", subject
        return f'{author.name} said: "{clause}"', subject
    if _BARE_REMINDER.match(clause) and before:
        return f'{author.name} said: "{before} {clause}"', author
    if not before and _IMPERSONAL_THEY.match(clause):
        return f'{author.name} said: "{clause}"', author
    if points_back(clause):
        return (f'{author.name} said: "{before} {clause}"', author) if before else ("", author)
    if (m := _DIARY_CLAUSE.match(clause)) and is_past(m["verb"].lower()):
        if m["verb"].lower() in _THING_VERBS:
            return f'{author.name} said: "{before} {clause}"', author
        return f"{author.name} {clause[:1].lower()}{third_person_text(clause[1:])}", author
    if _OWN_THING.match(clause) and not _FIRST_PERSON.search(clause, 3):
        return f"{author.owner}{clause[2 if clause[:2].lower() == 'my' else 3 :]}", author
    if has_subject_and_verb(clause) and author.name == USER_NAME and not _FIRST_PERSON.search(clause):
        return clause, author
    return f'{author.name} said: "{clause}"', author
