"""A draft with the message that tells it, and what a search for memories near it says of its words and meaning."""

from __future__ import annotations

from typing import NamedTuple

from holdfast.domain.ports.search import Proposals
from holdfast.domain.types import Draft, Floats, Message
from holdfast.text import supersession, tokens

MAX_RARE_TEXTS = 6
"""A word in at most this many texts, or in one of fifty, may identify a thing. Chosen by hand; not measured."""


class DraftContext(NamedTuple):
    """A draft, what it means, and the message that tells it."""

    draft: Draft
    vector: Floats | None
    said: Message
    saying: supersession.StatementSource

    @property
    def words(self) -> tuple[str, ...]:
        """The words that a search for memories near it looks for."""
        return tokens.question_words(self.draft.content)

    def rare_words(self, found: Proposals) -> set[str]:
        """Those of its words that may identify a thing."""
        most = max(MAX_RARE_TEXTS, found.parts // 50)
        rare = {word for word, count in zip(self.words, found.frequency, strict=True) if count <= most}
        return rare - set(tokens.tokens(self.said.speaker or ""))


def best_cosines(found: Proposals) -> dict[str, float]:
    """Item id → the cosine of its nearest part, for items with a vector."""
    near: dict[str, float] = {}
    for of, cosine in zip(found.of.tolist(), found.cosine.tolist(), strict=True):
        if cosine == cosine:
            id = found.items[of].id
            near[id] = max(near.get(id, -1.0), cosine)
    return near
