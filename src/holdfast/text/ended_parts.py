"""Finds which parts of a statement about several things a newer statement makes untrue."""

from __future__ import annotations

import logging
from dataclasses import replace

from holdfast.text import statement_parts
from holdfast.text.statement_parts import Span
from holdfast.text.supersession import (
    PART_COSINE,
    ComparedStatement,
    PairReader,
    StatementPair,
    StatementSource,
    features,
)

log = logging.getLogger("holdfast")
MIN_PART_LOG_ODDS, MAX_PART_LOG_ODDS_GAP = 0.5, 1.2
"""Minimum log-odds for a part of a statement to have ended, and how far they may be below those of the most likely
part. Chosen by hand; not measured."""


async def find_ended_parts(
    new: ComparedStatement,
    said: StatementSource,
    old: ComparedStatement,
    reader: PairReader,
) -> tuple[Span, ...]:
    """The parts of an old statement that the new one, which supersedes it, makes untrue: the most likely part and every
    other likely one. Empty when all parts are untrue."""
    spans = statement_parts.part_spans(old.text)
    if not spans:
        return ()
    row = features(new, [old], [PART_COSINE])[0]
    asked = [
        StatementPair(replace(old, text=statement_parts.with_part_marked(old.text, span)), new, said, row)
        for span in spans
    ]
    try:
        read = await reader.odds(asked)
    except Exception as failure:
        log.warning("superseding a statement as a whole, the reader failed: %s", failure)
        return ()
    least = min(max(MIN_PART_LOG_ODDS, max(read) - MAX_PART_LOG_ODDS_GAP), max(read))
    gone = tuple(span for span, odds in zip(spans, read, strict=True) if odds >= least)
    return gone if len(gone) < len(spans) else ()
