"""Pure: how found words are quoted: in their sentence, as a list, or the messages that have the answer between them."""

from __future__ import annotations

import re
from collections.abc import Sequence

from holdfast.domain.types import Memory
from holdfast.recall.answer.computed import FoundSpan
from holdfast.recall.question.analysis import Question
from holdfast.text import tokens

SHORT_MESSAGE = 160
"""Up to how many characters a message is quoted whole where several are quoted together. Chosen by hand."""
MAX_QUOTED = 3
"""How many messages are quoted together. Chosen by hand: a person reads three short ones at a glance."""


_ITEM = re.compile(r"(?!(?:I|I['’]m|Mrs?|Ms|Dr)$)[A-ZÀ-Þ\d$£€][^.!?;]*")
"""A name or a figure, which can stand in a list: "Theo", but not "is me"."""


def quotation(question: Question, spans: Sequence[FoundSpan], drawn: Sequence[Memory]) -> str:
    """The sentence with the answer, or a memory drawn from its message that says the same and can stand alone. Words in
    several sentences: these, after the words if all are names or figures; of many messages the words alone."""
    sentences = {(span.hit.id, span.sentence) for span in spans}
    if len(sentences) > 1:
        distinct: dict[str, str] = {}
        for span in spans:
            distinct.setdefault(span.text.casefold(), span.text)
        words = "; ".join(distinct.values())
        if len({span.hit.id for span in spans}) > MAX_QUOTED:
            return words
        listed = f"{words}: " if all(map(_ITEM.fullmatch, distinct.values())) else ""
        return f"{listed}{quoted_together(spans)}"
    wanted = [span.text.casefold() for span in spans]
    said_by, sentence = spans[0].hit.speaker, spans[0].sentence
    asked = set(question.words).intersection(tokens.tokens(sentence))
    fitting = [
        m.content
        for m in drawn
        if all(words in m.content.casefold() for words in wanted)
        and asked <= set(tokens.tokens(m.content))
        and _is_drawn_from(m.content, spans[0])
    ]
    return min(fitting, key=len, default=f"{said_by}: {sentence}" if said_by else sentence)


def _is_drawn_from(memory: str, span: FoundSpan) -> bool:
    """Whether a memory says what the sentence with the words says, rather than what the others of the message say."""
    stated, rest = set(tokens.tokens(memory)), span.hit.content.replace(span.sentence, " ")
    return len(stated & set(tokens.tokens(span.sentence))) >= len(stated & set(tokens.tokens(rest)))


def quoted_together(spans: Sequence[FoundSpan]) -> str:
    """The messages with the words, or their sentences with them, in order of time, each with its day."""
    messages = {span.hit.id: span for span in sorted(spans, key=lambda span: span.at)}
    return "; ".join(_quoted_message([span for span in spans if span.hit.id == id]) for id in messages)


def _quoted_message(spans: Sequence[FoundSpan]) -> str:
    hit, at = spans[0].hit, spans[0].at
    sentences = dict.fromkeys(span.sentence for span in sorted(spans, key=lambda span: span.start))
    said = hit.content if len(hit.content) <= SHORT_MESSAGE else " … ".join(sentences)
    said_by = hit.speaker or ("the assistant" if hit.role == "assistant" else "")
    return f'{said_by}{": " if said_by else ""}"{said}" ({at.day} {at:%B %Y})'
