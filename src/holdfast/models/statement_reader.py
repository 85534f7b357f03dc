"""Reads a message together with known statements (which of them, and which parts, does it end?) and a sentence in its
context (is it worth keeping, and as which kind?).

It runs the embedder's own layers with a small learned difference (reader.npz, trained by `evals/train/reader.py`;
reader_network.py).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.domain.types import Floats
from holdfast.domain.vectors import matrix_product
from holdfast.models.reader_network import ReaderNetwork
from holdfast.models.rules.judge import ReadableSentence
from holdfast.text.statement_parts import Span, framed_span, part_spans
from holdfast.text.supersession import EndingCandidate, ReadEnding
from holdfast.text.wordpiece import WordPiece

_SAID_TOKENS, _EARLIER_TOKENS, _OLD_TOKENS, _LEAD_TOKENS = 96, 40, 40, 14
"""Maximum tokens of a message that may end statements, of the text before it, of a known statement, and of the words
before that in its message. Chosen by hand; the weights are trained with them."""
_SENTENCE_TOKENS, _MESSAGE_TOKENS, _BEFORE_TOKENS, _REPLY_TOKENS = 64, 64, 32, 16
"""Maximum tokens of a sentence, its message, the message before and the answer to it. Chosen by hand; likewise."""
_LEAD_CHARS = 200
"""More characters than the words before a statement have."""
MAX_ENDING_TOKENS = 288
"""What is read of a message and its candidates at once."""
_AUTHOR = re.compile(r"(?!The user\b)([^\"]{1,60}?) said(?: of [^:\"]{1,40})?: \"")
_HEAD_PREFIXES = ("p1.", "p2.", "k1.", "k2.", "mean", "spread")
UNREAD = ReadEnding(-7.0)
"""Of a candidate that did not fit."""


class StatementReader:
    """A reader built from the arctic embedder's file. It reads one text at a time: padding
    costs more than batches save."""

    def endings(self, text: str, before: str, candidates: Sequence[EndingCandidate]) -> list[ReadEnding]:
        """How likely the text ends each candidate, and each of its parts. One that does not fit is left as it is."""
        ids = encoded_message(self._pieces, text, before)
        said, spans = len(ids), list[tuple[Span, list[Span]]]()
        for candidate in candidates:
            one = encoded_candidate(self._pieces, candidate.known.text, candidate.message)
            if len(ids) + len(one.ids) + 1 > MAX_ENDING_TOKENS:
                break
            at = len(ids)
            spans.append((_moved(one.span, at), [_moved(part, at) for part in one.parts]))
            ids += [*one.ids, self._pieces.end]
        state = self._network.output(ids, [0] * said + [1] * (len(ids) - said))
        named = zip(spans, candidates, strict=False)
        asked = [(span, of.features) for (whole, parts), of in named for span in (whole, *parts)]
        odds = iter(self._span_log_odds(state, asked))
        found = [ReadEnding(next(odds)[0], tuple(next(odds)[1] for _ in parts)) for _, parts in spans]
        return found + [UNREAD] * (len(candidates) - len(found))

    def _span_log_odds(self, state: Floats, asked: Sequence[tuple[Span, NDArray[Any]]]) -> list[list[float]]:
        """For each span, with the features of its statement, the log-odds that it ends as a statement, and as a part.
        All spans go through the head at once."""
        if not asked:
            return []
        means = [np.add.reduce(state[start:stop]) / max(stop - start, 1) for (start, stop), _ in asked]
        states = np.array([np.concatenate([mean, state[0]]) for mean in means])
        found: list[list[float]] = _head_output(
            self._heads, "p", states, np.array([features for _, features in asked]), ""
        ).tolist()
        unread = [UNREAD.log_odds] * 2
        return [odds if start < stop else unread for ((start, stop), _), odds in zip(asked, found, strict=True)]

    def classes(self, sentence: ReadableSentence) -> Floats:
        state = self._network.output(
            *encoded_sentence(self._pieces, sentence.content, sentence.before, sentence.message, sentence.reply)
        )
        states = np.concatenate([state[0], state.mean(0)])[None]
        return np.asarray(_head_output(self._heads, "k", states, sentence.words[None], "_said")[0])

    @cached_property
    def _network(self) -> ReaderNetwork:
        return ReaderNetwork("reader")

    @property
    def _pieces(self) -> WordPiece:
        return self._network.pieces

    @cached_property
    def _heads(self) -> dict[str, NDArray[Any]]:
        learned = self._network.learned
        return {name: values for name, values in learned.items() if name.startswith(_HEAD_PREFIXES)}


@dataclass(frozen=True, slots=True)
class EncodedCandidate:
    """The tokens of a known statement, with a few of its message before it."""

    ids: list[int]
    span: tuple[int, int]
    """The tokens of the statement itself."""
    parts: list[tuple[int, int]]
    """The tokens of each of its parts (text/statement_parts.py); empty for a statement of one part."""


def encoded_message(pieces: WordPiece, text: str, before: str) -> list[int]:
    """The text just before a message, and the message."""
    return [
        pieces.start, *pieces.ids(before)[:_EARLIER_TOKENS], pieces.end, *pieces.ids(text)[:_SAID_TOKENS], pieces.end
    ]  # fmt: skip


def encoded_candidate(pieces: WordPiece, statement: str, message: str) -> EncodedCandidate:
    """A known statement without the words around a quotation, after the words that stand before it in its message."""
    start, stop = framed_span(statement)
    lead = pieces.ids(_lead(statement[start:stop], message))[-_LEAD_TOKENS:]
    author = _AUTHOR.match(statement[:start])
    ids = [*lead, *(pieces.ids(f"{author[1]}:") if author else ())]
    first, spans, at = len(ids), [], start
    for part in part_spans(statement) or [(start, stop)]:
        ids += pieces.ids(statement[at : part[0]])
        begins = len(ids)
        ids += pieces.ids(statement[slice(*part)])
        spans.append((begins, len(ids)))
        at = part[1]
    size = first + _OLD_TOKENS
    ids = ids[:size]
    spans = [(min(begin, size), min(end, size)) for begin, end in spans]
    return EncodedCandidate(ids, (first, len(ids)), spans if len(spans) > 1 else [])


def _moved(span: Span, by: int) -> Span:
    return span[0] + by, span[1] + by


def _lead(body: str, message: str) -> str:
    """What stands in the message before the statement; its beginning where the statement is in other words."""
    at = message.casefold().find(body[:16].casefold())
    return message[max(at - _LEAD_CHARS, 0) : at] if at >= 0 else message[:60]


def encoded_sentence(
    pieces: WordPiece, content: str, before: str, message: str, reply: str
) -> tuple[list[int], list[int]]:
    """Token ids and segment ids: of a finding; then of the message before it, its own message and the answer."""
    first = [pieces.start, *pieces.ids(content)[:_SENTENCE_TOKENS], pieces.end]
    around = [
        pieces.ids(before)[-_BEFORE_TOKENS:],
        pieces.ids(message)[:_MESSAGE_TOKENS],
        pieces.ids(reply)[:_REPLY_TOKENS],
    ]
    second = [id for some in around for id in (*some, pieces.end)]
    return first + second, [0] * len(first) + [1] * len(second)


def _head_output(heads: dict[str, NDArray[Any]], name: str, states: Floats, features: NDArray[Any], of: str) -> Floats:
    """What a head makes of each state (a row) and its features."""
    scaled = ((features - heads[f"mean{of}"]) / heads[f"spread{of}"]).clip(-5, 5).astype(np.float32)
    first, last = f"{name}1", f"{name}2"
    inner = matrix_product(np.hstack([states, scaled]), heads[f"{first}.weight"].T) + heads[f"{first}.bias"]
    return np.asarray(matrix_product(np.maximum(inner, 0), heads[f"{last}.weight"].T) + heads[f"{last}.bias"])
