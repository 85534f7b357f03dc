"""Pure: packs hits, best first, into a block within a token budget.

Each line says whose words it holds: the speaker or role of a message, the kind of a memory, and of a memory that an
agent, a document or a tool brought, that it did. What documents and tools bring says so whatever speaker it names, and
no name can end the brackets that it stands in.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from holdfast.domain.results import Context, Hit
from holdfast.domain.timestamps import iso_text
from holdfast.domain.types import SECOND_HAND_TRUST

BROUGHT_BY = {"agent": "from an agent", "document": "from a document", "tool": "from a tool"}
"""How a line tells the trust of a memory that is not the user's own word."""


def token_count(text: str) -> int:
    """Estimates the token count of a language model: a quarter of the bytes, but at least the number of words."""
    return max(-(-len(text.encode()) // 4), len(text.split()))


def context_block(hits: Sequence[Hit], budget: int, *, asked_at: datetime) -> Context:
    """Builds a paste-ready block of at most `budget` tokens. A hit that does not fit is skipped
    and shorter ones are tried."""
    head = f"# Memory, as of {iso_text(asked_at)[:10]}"
    spent = token_count(head)
    lines: list[str] = []
    taken: list[Hit] = []
    for hit in hits:
        if spent + token_cost(hit) <= budget:
            spent += token_cost(hit)
            lines.append(_line(hit))
            taken.append(hit)
    if not taken:
        return Context("", 0, ())
    text = "\n".join([head, *lines])
    return Context(text, token_count(text), tuple(taken))


def token_cost(hit: Hit) -> int:
    """How many tokens of a block a hit takes."""
    return token_count(_line(hit)) + 1


def _line(hit: Hit) -> str:
    about = _authors(hit)
    named, page = hit.metadata.get("name" if "document" in hit.metadata else "tool"), hit.metadata.get("page")
    if "document" in hit.metadata or hit.trust == "tool":
        about += [*([str(named)] if named else []), *([f"page {page}"] if page else [])]
    if hit.origin is not None:
        about.append(f"of {hit.origin}")
    if hit.timestamp is not None:
        about.append(iso_text(hit.timestamp)[:10])
    content = " ".join(hit.content.split())
    ended = f" ({hit.assessment.ended})" if hit.assessment.ended else ""
    return f"- [{', '.join(map(_bracketed, about))}] {content}{ended}"


def _authors(hit: Hit) -> list[str]:
    """What it is, and whose words it holds."""
    if hit.message_id is None:
        return [hit.kind, *([BROUGHT_BY[hit.trust]] if hit.trust in BROUGHT_BY else [])]
    if hit.trust in SECOND_HAND_TRUST:
        return [hit.role or hit.trust, *([hit.speaker] if hit.speaker else [])]
    return [hit.speaker or hit.role or "message"]


def _bracketed(text: str) -> str:
    """The text on one line and without brackets of its own."""
    return " ".join(text.translate({ord("["): "(", ord("]"): ")"}).split())
