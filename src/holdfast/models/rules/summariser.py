"""Summarises by quoting the sentences that have most in common with the rest, in their original order."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from holdfast.domain.ports.models import Turn

MAX_SENTENCES = 6
"""Maximum sentences of a summary. Chosen by hand; not measured."""
MIN_SENTENCE_WORDS, MAX_SENTENCE_WORDS = 4, 60
"""Minimum and maximum words of a sentence that may be quoted: enough to say something, few enough to read at a glance.
Chosen by hand; not measured."""
MIN_SHARED_STEMS = 0.6
"""Two sentences count as saying the same when they share at least this part of the shorter one's stems.
Chosen by hand; not measured."""
MAX_FIELDS = 6
"""How many fields of a turn's value are quoted. Chosen by hand; not measured."""
FIELD_SEPARATOR = " · "


class QuotingSummariser:
    name = "quotes/1"

    async def summarise(self, turns: Sequence[Turn]) -> str:
        from holdfast.text.redaction import redacted_conversation

        texts = redacted_conversation([turn.text for turn in turns])
        said = list(zip(turns, texts, strict=True))
        constant = _constant_fields([text for turn, text in said if turn.fields])
        candidates = [
            (turn, quote)
            for turn, text in said
            for quote in (_field_quotes(text, constant) if turn.fields else _quotable_sentences(text))
        ]
        stems = [_stems(turn, quote) for turn, quote in candidates]
        counts = Counter(stem for each in stems for stem in each)
        weights = [_weight(each, counts, len(stems)) for each in stems]
        chosen: list[int] = []
        for n in sorted(range(len(candidates)), key=lambda n: (-weights[n], n)):
            if (
                len(chosen) < MAX_SENTENCES
                and weights[n] > 0
                and not any(_is_similar(stems[n], stems[c]) for c in chosen)
            ):
                chosen.append(n)
        return "\n".join(f"- {candidates[n][0].who}: {candidates[n][1]}" for n in sorted(chosen))


def _quotable_sentences(text: str) -> list[str]:
    from holdfast.models.rules.sentences.clauses import sentences
    from holdfast.text.redaction import is_only_redacted

    parts = [" ".join(sentence.split()) for sentence in sentences(text)]
    return [
        each
        for each in parts
        if MIN_SENTENCE_WORDS <= len(each.split()) <= MAX_SENTENCE_WORDS
        and not each.endswith("?")
        and not is_only_redacted(each)
    ]


def _constant_fields(texts: Sequence[str]) -> frozenset[str]:
    """The lines that several turns all have, such as a version: they are not what was said."""
    lines = [frozenset(text.splitlines()) for text in texts]
    return frozenset.intersection(*lines) if len(lines) > 1 else frozenset()


def _field_quotes(text: str, constant: frozenset[str]) -> list[str]:
    """The fields of one turn as one quotation: a question and its short answer say something only together. A long
    field is quoted by its beginning, up to the end of a sentence where one is near."""

    from holdfast.text.redaction import is_only_redacted

    fields = [line for line in text.splitlines() if line.strip() and line not in constant][:MAX_FIELDS]
    quotes = [_beginning(line, MAX_SENTENCE_WORDS // len(fields)) for line in fields if not is_only_redacted(line)]
    return [FIELD_SEPARATOR.join(quotes)] if quotes else []


def _stems(turn: Turn, quote: str) -> frozenset[str]:
    """The stems by which quotations are compared; the names of fields are the same in every turn."""

    from holdfast.text import tokens

    if turn.fields:
        quote = " ".join(field.partition(": ")[2] for field in quote.split(FIELD_SEPARATOR))
    return frozenset(tokens.question_words(quote))


def _beginning(text: str, max_words: int) -> str:
    from holdfast.models.rules.sentences.clauses import sentences

    words = text.split()
    if len(words) <= max_words:
        return " ".join(words)
    whole = ""
    for sentence in sentences(text):
        longer = f"{whole} {sentence}".strip()
        if len(longer.split()) > max_words:
            break
        whole = longer
    return f"{' '.join(whole.split()) or ' '.join(words[:max_words])} …"


def _weight(stems: frozenset[str], counts: Counter[str], total: int) -> float:
    """How much a sentence shares with others and how rare its stems are; normalised, so that
    long sentences do not win."""
    shared = sum(math.log(1 + counts[stem]) for stem in stems)
    rare = sum(math.log(1 + total / counts[stem]) for stem in stems)
    return (shared + 0.5 * rare) / math.sqrt(len(stems) + 3) if stems else 0.0


def _is_similar(one: frozenset[str], other: frozenset[str]) -> bool:
    return len(one & other) >= MIN_SHARED_STEMS * min(len(one), len(other))
