"""Statements that no table knows but that say something specific: kept in the speaker's own words.

Conservative by its gate: a clause needs a sign of substance (see `signs`) and none of chatter, question or request.
Its kind follows from its shape: a standing order, something to be done, a dated happening, else a fact. Where it gives
a plain subject a value of a plain sort (see `values`), it gets a key, so the next value supersedes this one.
"""

from __future__ import annotations

import re
from dataclasses import replace

from ...when import Window, meant
from .cast import Cast
from .clauses import asks, attributed, hypothetical, reported
from .found import Found, dated, sentence
from .signs import noise, plain, pointing, signs, standalone, untrue, whole
from .standing import imperative, standing
from .values import amount, taking_part, valued
from .voice import USER, Subject, is_past, main, theirs, third
from .words import listed

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
_BEFELL = re.compile(
    r"(?:[\w'-]+ ){1,4}(?:ran out|went down(?! to)|was down|crashed|broke|"
    r"left(?=$| (?:the|our|us|in|on|last|for|yesterday|today|this))|arrived|failed|died|swapped|stopped|charged)\b",
    re.I,
)
_SEEKING = re.compile(
    r"(?:i(?:'m| am|m)?|we(?:'re| are)?) (?:also |just |still |currently )?(?:looking for|looking to|"
    r"trying to (?:find|figure|decide|understand|get)|wondering|curious|"
    r"interested in (?:learning|finding|getting|hearing|exploring)|"
    r"need (?:some |a bit of |your )?(?:help|advice|tips|recommendations|suggestions|ideas|information)|"
    r"want (?:some |your )?(?:help|advice|tips|recommendations|suggestions|ideas))\b",
    re.I,
)
"""What is wanted of the listener now."""
_HEADER = re.compile(r"^[^:`]{3,60}: (?=\S+ \S)")
_PERSON = re.compile(r"(?:she|he)\b \w+ \w+", re.I)
_REMIND = re.compile(r"(?:please |pls )?(?:remind|nudge|ping) me\b", re.I)
_BARE_REMINDER = re.compile(
    r"(?:please |pls )?(?:remind|nudge|ping) me (?!to\b|about\b|on\b|that\b|every\b)|[A-Z][\w ]{2,30}: ", re.I
)
_IT = re.compile(r"\b(?:it|them|that)\b", re.I)
_OWNED = re.compile(r"(?:my|our) ", re.I)
_OWN = re.compile(r"(?:i|we|my|our)\b", re.I)
_FIRST_PERSON = re.compile(r"\b(?:i|me|my|we|us|our|mine|ours)\b", re.I)
_DIARY = re.compile(r"(?:just |finally |also |already |recently )*(?P<verb>[a-z]+) ", re.I)

_TAKEN_BACK = re.compile(r"(?:oops|whoops|sorry|wait)\b", re.I)
_OF_ITSELF = frozenset(
    listed(
        "came cost took turned ended fell broke worked lasted arrived failed happened looked seemed needed felt "
        "tasted was were had got stopped crashed died"
    )
)
"""Past verbs that without a subject are as likely said of a thing: "Came to 19.2k in the end"."""


def told(clause: str, cast: Cast, found: list[Window], before: str = "") -> list[Found]:
    """What a clause states. `before` is the sentence before it, for a clause that points back."""
    clause = plain(clause)
    if order := standing(clause, cast.author, before):
        return [order]
    if (header := _HEADER.match(clause)) and not signs(header[0][:-2], False) and not _IT.search(clause):
        clause = clause[header.end() :]
    when = meant([w for w in found if w.text in clause])
    if len(clause.split()) < 2 or noise(clause, bool(when)) or imperative(clause):
        return []
    fragment = _fragment(clause, cast)
    if fragment and len(clause.split()) <= 3 and signs(clause, False) < 2 and not standalone(clause):
        return []
    resolved = bool(_PERSON.match(clause) and cast.parsed(clause))
    if not (signs(clause, bool(when) and not fragment) or resolved or _REMIND.match(clause)):
        return []
    content, subject = _content(clause, cast, before)
    if not content:
        return []
    made = Found("fact", "told", subject, sentence(dated(content, found)), 0.6, None, "", (), when)
    if _TO_DO.match(clause):
        return [replace(made, kind="task", rule="told-task", confidence=0.65)]
    if (when or _BEFELL.match(clause)) and not _STATE.search(clause):
        return [
            replace(
                made,
                kind="event",
                rule="told-event",
                topic=taking_part(clause),
                value=when.text if when else "",
                confidence=0.65,
            )
        ]
    return _fact(made, clause, cast.author)


def _fact(made: Found, clause: str, author: Subject) -> list[Found]:
    """The fact under its topic. An amount beside other news is a fact of its own, so that only it is superseded."""
    key, value = valued(clause)
    subject = made.subject if _OWN.match(clause) else replace(made.subject, prefix="")
    keyed = replace(made, topic=key, value=value, subject=subject)
    pieces = clause.split(", ")
    if not key or len(pieces) < 2:
        return [keyed]
    main_piece = next((p for p in pieces if amount(p)), "") or pieces[0]
    rest = ", ".join(p for p in pieces if p is not main_piece)
    if not signs(rest, False) and not _OWN.match(rest):
        return [keyed]
    of_it = f"{author.name} said of {clause.split()[0]}: {rest}"
    besides = sentence(of_it) if main_piece is pieces[0] else _quoted(author, rest)
    return [
        replace(keyed, content=_quoted(author, main_piece), value=""),
        replace(made, content=besides, window=None),
    ]


def spoken(sentence_: str, cast: Cast, found: list[Window]) -> list[Found]:
    """A whole sentence that no rule knows, in its author's words: whether it is worth keeping is the judge's to say."""
    said = plain(sentence_)
    supposed = hypothetical(said) or (reported(said) and not attributed(said)) or untrue(said)
    if len(said) < 3 or asks(sentence_) or supposed or _SEEKING.match(said) or imperative(said):
        return []
    if pointing(said) and not cast.before and not cast.parsed(said) and not _TAKEN_BACK.match(said):
        return []
    content, subject = _content(said, cast, cast.before)
    content = content or f'{cast.author.name} said: "{said}"'
    when = meant(found)
    return [Found("fact", "spoken", subject, sentence(dated(content, found)), 0.0, None, "", (), when)]


def promises(clause: str) -> bool:
    """Whether the speaker promises or asks for something to be done."""
    return bool(_TO_DO.match(clause))


def counted(clause: str, author: Subject) -> list[Found]:
    """The amount inside a clause that tells of a happening: "we moved up to Business yesterday, 60 seats now"."""
    for piece in plain(clause).split(", "):
        if key := amount(piece):
            return [Found("fact", "told", author, _quoted(author, piece), 0.6, key, piece)]
    return []


def _quoted(author: Subject, text: str) -> str:
    return sentence(f'{author.name} said: "{text}"')


def _fragment(clause: str, cast: Cast) -> bool:
    """Whether it lacks a subject or a verb: a date alone then tells nothing."""
    m = _DIARY.match(clause)
    return not (whole(clause) or cast.parsed(clause) or (m and is_past(m["verb"].lower())))


def _content(clause: str, cast: Cast, before: str) -> tuple[str, Subject]:
    """The statement in the third person where that can be done, else in its author's words."""
    author = cast.author
    parsed = cast.parsed(clause)
    if parsed and not (pointing(clause) and not parsed[0].first and parsed[0] is not cast.last):
        subject, rest = parsed
        predicate = third(main(rest), subject.plural) if not re.search(r"\byour?\b", rest, re.I) else ""
        if predicate:
            return f"{subject.name} {predicate}", subject
        return f'{author.name} said: "{clause}"', subject
    if _BARE_REMINDER.match(clause) and before:
        return f'{author.name} said: "{before} {clause}"', author
    if pointing(clause):
        return (f'{author.name} said: "{before} {clause}"', author) if before else ("", author)
    if (m := _DIARY.match(clause)) and is_past(m["verb"].lower()):
        if m["verb"].lower() in _OF_ITSELF:
            return f'{author.name} said: "{before} {clause}"', author
        return f"{author.name} {clause[:1].lower()}{theirs(clause[1:])}", author
    if _OWNED.match(clause) and not _FIRST_PERSON.search(clause, 3):
        return f"{author.owner}{clause[2 if clause[:2].lower() == 'my' else 3 :]}", author
    if whole(clause) and author.name == USER and not _FIRST_PERSON.search(clause):
        return clause, author
    return f'{author.name} said: "{clause}"', author
