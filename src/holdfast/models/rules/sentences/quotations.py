"""Restores quotations to the words that the author wrote.

Invariant: quotation marks contain the author's words as written, and nobody else's. The rules work on clauses that are
cut, expanded ("it's" to "it is") and reordered. Before such a clause is quoted, its place in the message is looked up,
and the original words there are quoted. Words of somebody else that explain it are attributed to them.
"""

from __future__ import annotations

import re
from difflib import SequenceMatcher

from holdfast.text.lexicon.sentences import AFTER_SENTENCE, QUESTION_MARKS
from holdfast.text.wording.well_formed import LOOSE_END

_QUOTE = re.compile(r'(?P<who>.{1,80}?) said: "(?P<said>.*)"(?P<dates>(?: \([^()]*\))*)\.?', re.S)
_QUOTED_REPLY = re.compile(
    r'(?P<asked>(?:Asked|Told) ".*", )(?P<who>.{1,80}?) answered: "(?P<said>.*)"(?P<dates>(?: \([^()]*\))*)\.?', re.S
)
MAX_SEARCHED_CHARACTERS = 4000
"""How many characters of a message are searched for a sentence that is not in it word for word. Chosen by hand, to
bound the time; not measured."""
_WORD = re.compile(r"[^\W_]+")
_SUBJECT_WORDS = frozenset(("i", "we", "my", "our"))
_CONTRACTION_WORDS = frozenset(
    ("am", "is", "are", "have", "has", "will", "i", "not", "m", "s", "re", "ve", "ll", "d", "t")
)
"""Words that expanding a contraction adds or removes."""


def quotation_with_dates(content: str, dates: list[str]) -> str | None:
    """A quotation with its dates after the quotation marks, because nothing may be added inside them; None when the
    content is not a quotation."""
    if not (m := _QUOTE.fullmatch(content)):
        return None
    return f'{m["who"]} said: "{m["said"]}"{m["dates"]}' + (f" ({'; '.join(dates)})" if dates else "")


def reported_speech(content: str) -> str:
    """A quotation as reported speech, so that a part of it may be corrected."""
    if m := _QUOTE.fullmatch(content):
        who = "the" + m["who"][3:] if m["who"].startswith("The user") else m["who"]
        return f"According to {who}: {m['said']}"
    if m := _QUOTED_REPLY.fullmatch(content):
        return f"{m['asked']}{m['who']} answered: {m['said']}"
    return content


def verbatim_quotation(content: str, sentence: str, before: str, heard: str, message: str) -> str:
    """The content with its quotation restored to the original wording.

    `sentence` is what it was made from, `before` the author's sentence before it, `heard` somebody else's message
    before, `message` the author's whole message.
    """
    m = _QUOTE.fullmatch(content)
    if not m:
        return content
    question, said = _others_sentence(m["said"], f"{before} {sentence}", heard)
    own = _original_words(said, sentence)
    if own is None and before:
        own = _original_words(said, f"{before} {sentence}")
    own = own if own is not None else sentence
    own = (
        (own if own in message else _original_words(own, message[:MAX_SEARCHED_CHARACTERS]) or own)
        .strip(" ,;:")
        .rstrip(".")
        .replace('"', "'")
    )
    own = LOOSE_END.sub("", own)
    end = "." if m["dates"] else ""
    if not question:
        return f'{m["who"]} said: "{own}"{m["dates"]}{end}'
    who = "the" + m["who"][3:] if m["who"].startswith("The user") else m["who"]
    verb = "Asked" if question.endswith(QUESTION_MARKS) else "Told"
    return f'{verb} "{question}", {who} answered: "{own}"{m["dates"]}{end}'


def _others_sentence(said: str, own: str, heard: str) -> tuple[str, str]:
    """Somebody else's last sentence, when the words begin with it, and the remaining words. A
    mere "Done." is left out."""
    last = AFTER_SENTENCE.split(heard.strip()[-400:])[-1]
    if not last or not said.startswith(last) or own.strip().startswith(last):
        return "", said
    telling = last.endswith(QUESTION_MARKS) or len(last.split()) > 2
    return (last if telling else ""), said[len(last) :].strip()


def _original_words(said: str, text: str) -> str | None:
    """The part of a text that these words were made from; None when some of them are not in it."""
    if said and said in text and not _lacks_subject(said, text):
        return said
    wanted = [m[0].lower() for m in _WORD.finditer(said)]
    places = list(_WORD.finditer(text))
    there = [m[0].lower() for m in places]
    blocks = [b for b in SequenceMatcher(None, wanted, there, autojunk=False).get_matching_blocks() if b.size]
    if not blocks:
        return None
    first, last = blocks[0].b, blocks[-1].b + blocks[-1].size - 1
    if first and there[first - 1] in _SUBJECT_WORDS:
        first -= 1
    if set(wanted) - set(there[first : last + 1]) - _CONTRACTION_WORDS:
        return None
    end = places[last].end()
    closing = re.match(r"[)\]%€$'\"`*]+", text[end:])
    opening = re.search(r"[(\[$€£#'\"`*]+$", text[: places[first].start()])
    return text[places[first].start() - (len(opening[0]) if opening else 0) : end + (len(closing[0]) if closing else 0)]


def _lacks_subject(said: str, text: str) -> bool:
    """Whether the words lack the subject that directly precedes them in the text."""
    before = _WORD.findall(text[: text.index(said)])
    return bool(before) and before[-1].lower() in _SUBJECT_WORDS
