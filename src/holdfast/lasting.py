"""Pure: which links hold, and which are over.

That something is over, a memory may say without saying when ("I used to live in Rome"), or only deny it ("I don't work
at Acme"): no date is made up for it. What is newer counts, so the same link of an older memory is over as well.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime

from .graphs import LONG_AGO, Link, Tie

Same = tuple[str, str, str]


def linked(tie: Tie, subject: str, object: str) -> Link:
    """A tie between two entities as a link; `until` where that is known."""
    since, until = (None if at == LONG_AGO else at for at in (tie.since, tie.until))
    return Link(subject, tie.relation, object, tie.memory, since, until, ended=tie.until is not None)


def denied(tie: Tie) -> bool:
    """Whether it says only that something is not so."""
    return tie.since == tie.until == LONG_AGO


def lasting(links: Sequence[tuple[Link, bool]], at: datetime, *, past: bool) -> list[Link]:
    """The links that hold at a moment, or with `past` all; given newest first, each with whether it is denied."""
    newest: dict[Same, Link] = {}
    found = []
    for link, no in links:
        same = (link.subject, link.relation, link.object)
        last = newest.setdefault(same, link)
        if last.ended and not link.ended and not _later(link, last):
            link = replace(link, ended=True, until=last.until)
        if not no:
            found.append(replace(link, ended=_over(link, at)))
    return [link for link in found if past or not link.ended]


def _later(link: Link, end: Link) -> bool:
    return link.since is not None and end.until is not None and link.since >= end.until


def _over(link: Link, at: datetime) -> bool:
    return link.ended and (link.until is None or link.until <= at)


def titled(said: Iterable[tuple[str, str]], titles: Sequence[str]) -> dict[tuple[str, str], str]:
    """Of names that are said to be one, those that differ by a title alone, with the name that has none."""
    found = {}
    for one, other in said:
        for long, short in ((one, other), (other, one)):
            if any(long == f"{title.casefold()} {short}" for title in titles):
                found[one, other] = short
    return found
