"""Port: Ranked hits, cited answers and context blocks."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Protocol, Unpack

if TYPE_CHECKING:
    from holdfast.domain.arguments import Moment, QueryScope, ResponseLength, ThinkingLevel
    from holdfast.domain.results import Answer, Context, Hit
    from holdfast.domain.types import SearchOrder


class ProfileRecall(Protocol):
    """Ranked hits, cited answers and context blocks."""

    async def search(
        self,
        query: str,
        *,
        limit: int = 10,
        min_relevance: float = 0.0,
        reference_date: Moment | None = None,
        as_of: Moment | None = None,
        order: SearchOrder = "relevance",
        **narrowed: Unpack[QueryScope],
    ) -> list[Hit]:
        """Return ranked hits with their content, without an answer; with `as_of`, from what was known at that time.

        `min_relevance` (0 to 1) drops hits that are less surely about the question; the list may be empty.
        `exclude_session` leaves out a session that the caller has in its window: its messages, and memories based on
        nothing else. With another `order`, the same hits are sorted by time.

        `query` may be a question or a whole message of a user. Of a text of more than 1,024 bytes, the beginning and
        the end are searched for, in whole sentences.
        """
        ...

    async def recall(
        self,
        query: str,
        *,
        limit: int | None = None,
        thinking_level: ThinkingLevel = "low",
        response_length: ResponseLength = "medium",
        reference_date: Moment | None = None,
        as_of: Moment | None = None,
        **narrowed: Unpack[QueryScope],
    ) -> Answer:
        """Return a cited answer and the hits it is based on; the answer is "" when nothing supports one.

        `thinking_level` (low, medium, high) sets how many hits are used (10, 20 or 40, unless `limit` is given), and
        how long and how often a configured language model thinks. `response_length` (short, medium, long) applies to
        the language model only. With `as_of`, the answer comes from what was known at that time. A long `query` is
        shortened as in `search`.
        """
        ...

    def recall_stream(
        self,
        query: str,
        *,
        limit: int | None = None,
        thinking_level: ThinkingLevel = "low",
        response_length: ResponseLength = "medium",
        reference_date: Moment | None = None,
        as_of: Moment | None = None,
        **narrowed: Unpack[QueryScope],
    ) -> AsyncIterator[str | Answer]:
        """Like `recall`, but yield the answer's text in pieces, and last the whole Answer, which is authoritative."""
        ...

    async def context(
        self,
        query: str,
        *,
        tokens: int = 1000,
        summaries: bool = False,
        min_relevance: float = 0.0,
        reference_date: Moment | None = None,
        as_of: Moment | None = None,
        **narrowed: Unpack[QueryScope],
    ) -> Context:
        """Return a block of text for a prompt, of at most `tokens` tokens; `summaries` puts summaries in place of the
        messages and memories that they cover. `min_relevance` and `exclude_session` are as in `search`; the block is
        empty when nothing is left. `query` may be a whole message of a user, shortened as in `search` if it is long;
        a blank one raises InvalidInput."""
        ...
