"""What stands in quotation marks: the author's words as they were written, and nobody else's.

The rules read clauses that are cut, unfolded ("it's" to "it is") and turned around. Before such a clause is quoted, its
place in the message is looked up, and what the message has there is what is quoted. Words of somebody else that explain
it are told as theirs.
"""

from __future__ import annotations

import re
from difflib import SequenceMatcher

_QUOTE = re.compile(r'(?P<who>.{1,80}?) said: "(?P<said>.*)"(?P<dates>(?: \([^()]*\))*)\.?', re.S)
_REPLY = re.compile(
    r'(?P<asked>(?:Asked|Told) ".*", )(?P<who>.{1,80}?) answered: "(?P<said>.*)"(?P<dates>(?: \([^()]*\))*)\.?', re.S
)
LONGEST = 4000
"""So much of a message is searched for a sentence that is not in it as it stands."""
_WORD = re.compile(r"[^\W_]+")
_SUBJECT = frozenset(("i", "we", "my", "our"))
_SPOKEN = frozenset(("am", "is", "are", "have", "has", "will", "i", "not", "m", "s", "re", "ve", "ll", "d", "t"))
"""Words that unfolding adds or takes away."""


def bracketed(content: str, dates: list[str]) -> str | None:
    """A quotation with its dates behind it, for nothing is put into its marks; None when it is no quotation."""
    if not (m := _QUOTE.fullmatch(content)):
        return None
    return f'{m["who"]} said: "{m["said"]}"{m["dates"]}' + (f" ({'; '.join(dates)})" if dates else "")


def plainly(content: str) -> str:
    """A quotation as what its author holds, so that a part of it may be put right."""
    if m := _QUOTE.fullmatch(content):
        who = "the" + m["who"][3:] if m["who"].startswith("The user") else m["who"]
        return f"According to {who}: {m['said']}"
    if m := _REPLY.fullmatch(content):
        return f"{m['asked']}{m['who']} answered: {m['said']}"
    return content


def verbatim(content: str, sentence: str, before: str, heard: str, message: str) -> str:
    """The content with its quotation as it was written.

    `sentence` is what it was made of, `before` the author's sentence before that one, `heard` what somebody else had
    said, `message` all that the author wrote.
    """
    m = _QUOTE.fullmatch(content)
    if not m:
        return content
    question, said = _others(m["said"], f"{before} {sentence}", heard)
    own = _place(said, sentence)
    if own is None and before:
        own = _place(said, f"{before} {sentence}")
    own = own if own is not None else sentence
    own = (own if own in message else _place(own, message[:LONGEST]) or own).strip(" ,;:").rstrip(".").replace('"', "'")
    end = "." if m["dates"] else ""
    if not question:
        return f'{m["who"]} said: "{own}"{m["dates"]}{end}'
    who = "the" + m["who"][3:] if m["who"].startswith("The user") else m["who"]
    verb = "Asked" if question.endswith(("?", "？")) else "Told"
    return f'{verb} "{question}", {who} answered: "{own}"{m["dates"]}{end}'


def _others(said: str, own: str, heard: str) -> tuple[str, str]:
    """What somebody else had said, where the words open with it, and the rest. A mere "Done." explains nothing."""
    last = re.split(r"(?<=[.!?])\s+", heard.strip()[-400:])[-1]
    if not last or not said.startswith(last) or own.strip().startswith(last):
        return "", said
    telling = last.endswith(("?", "？")) or len(last.split()) > 2
    return (last if telling else ""), said[len(last) :].strip()


def _place(said: str, text: str) -> str | None:
    """The part of a text that these words were made of; None when some of them are not in it."""
    if said and said in text and not _cut(said, text):
        return said
    wanted = [m[0].lower() for m in _WORD.finditer(said)]
    places = list(_WORD.finditer(text))
    there = [m[0].lower() for m in places]
    blocks = [b for b in SequenceMatcher(None, wanted, there, autojunk=False).get_matching_blocks() if b.size]
    if not blocks:
        return None
    first, last = blocks[0].b, blocks[-1].b + blocks[-1].size - 1
    if first and there[first - 1] in _SUBJECT:
        first -= 1
    if set(wanted) - set(there[first : last + 1]) - _SPOKEN:
        return None
    end = places[last].end()
    closing = re.match(r"[)\]%€$'\"`*]+", text[end:])
    opening = re.search(r"[(\[$€£#'\"`*]+$", text[: places[first].start()])
    return text[places[first].start() - (len(opening[0]) if opening else 0) : end + (len(closing[0]) if closing else 0)]


def _cut(said: str, text: str) -> bool:
    """Whether the words lack the subject that stands right before them."""
    before = _WORD.findall(text[: text.index(said)])
    return bool(before) and before[-1].lower() in _SUBJECT
