"""Pure: spend a token budget on hits, best first, and say what went in."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from .moments import iso
from .results import Context, Hit


def tokens(text: str) -> int:
    """About how many tokens a language model counts: a quarter of the bytes, but no fewer than its words."""
    return max(-(-len(text.encode()) // 4), len(text.split()))


def packed(hits: Sequence[Hit], budget: int, *, asked_at: datetime) -> Context:
    """A paste-ready block of at most `budget` tokens. A hit that does not fit makes room for a shorter one."""
    head = f"# Memory, as of {iso(asked_at)[:10]}"
    spent = tokens(head)
    lines: list[str] = []
    taken: list[Hit] = []
    for hit in hits:
        if spent + cost(hit) <= budget:
            spent += cost(hit)
            lines.append(_line(hit))
            taken.append(hit)
    if not taken:
        return Context("", 0, ())
    text = "\n".join([head, *lines])
    return Context(text, tokens(text), tuple(taken))


def cost(hit: Hit) -> int:
    """How many tokens a hit takes of a block."""
    return tokens(_line(hit)) + 1


def _line(hit: Hit) -> str:
    about = [hit.kind if hit.message_id is None else (hit.speaker or hit.role or "message")]
    if "document" in hit.metadata:
        named, page = " ".join(str(hit.metadata.get("name", "")).split()), hit.metadata.get("page")
        about += [*([named] if named else []), *([f"page {page}"] if page else [])]
    if hit.origin is not None:
        about.append(f"of {hit.origin}")
    if hit.timestamp is not None:
        about.append(iso(hit.timestamp)[:10])
    content = " ".join(hit.content.split())
    no_longer = " (superseded since)" if "superseded" in hit.features else " (older)" if "older" in hit.features else ""
    return f"- [{', '.join(about)}] {content}{no_longer}"
