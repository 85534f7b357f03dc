"""Tells which messages of a batch the session has already, and where the new ones belong. Pure.

A message with a timestamp is known when the session has the same role, speaker and words at the same time. A message
without one is judged by the sequence: it is known when the batch as a whole, or two of its messages or more, stand in
the session as a run, or when the batch begins with the session's last messages (then what follows is new). A lone
message is known only when it repeats the session's last one: whoever sends turn by turn may say the same again later.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace

from holdfast.domain.identifiers import repeated_id, unrepeated_id
from holdfast.domain.types import Message

Label = tuple[str, str | None]
MIN_RUN = 2
"""So many messages in a row are a resend wherever in the session they stand."""


@dataclass(frozen=True, slots=True)
class Alignment:
    """The batch with the ids under which the session has its messages or gets them."""

    messages: tuple[Message, ...]
    new: tuple[str, ...] = ()
    inserted: tuple[tuple[str, int], ...] = ()
    """(id, position) of the new ones that do not come after all others, by position."""
    end: int = 0
    """The position of the session's last message."""
    last: Message | None = None
    """The session's last message."""
    absent: tuple[str, ...] = ()
    """Ids that were not looked up and must not be stored."""


def align(
    session: Sequence[Message], batch: Sequence[Message], *, resends: bool = True, used: Set[str] = frozenset()
) -> Alignment:
    """Align a batch with its session, in order, or for a lone message with the session's last one.

    Without `resends`, every message without a timestamp is new. `used` are further ids that the session has.
    """
    known = (_known_by_sequence(session, batch) if resends else {}) | _known_by_time(session, batch)
    used = {*used, *(message.id for message in session)}
    messages = []
    for n, message in enumerate(batch):
        id = session[known[n]].id if n in known else unused_id(message.id, used)
        used.add(id)
        messages.append(replace(message, id=id))
    places = sorted(_places(session, batch, known).items(), key=lambda place: place[1])
    inserted = tuple(
        (messages[n].id, session[index].position + moved)
        for moved, (n, index) in enumerate(places)
        if index < len(session)
    )
    new = tuple(messages[n].id for n in range(len(batch)) if n not in known)
    last = session[-1] if session else None
    return Alignment(tuple(messages), new, inserted, last.position if last else 0, last)


def unused_id(id: str, used: Set[str]) -> str:
    """The id of the next repetition of this message."""
    number = 0
    while repeated_id(id, number) in used:
        number += 1
    return repeated_id(id, number)


def _known_by_time(session: Sequence[Message], batch: Sequence[Message]) -> dict[int, int]:
    """Index in the batch → index in the session, for messages with a timestamp; each stored one is used once."""
    stored: dict[Label, list[int]] = {}
    for index, message in enumerate(session):
        stored.setdefault(_label(message), []).append(index)
    found = {}
    for n, message in enumerate(batch):
        for index in stored.get(_label(message), ()) if message.timestamp is not None else ():
            if session[index].timestamp == message.timestamp:
                stored[_label(message)].remove(index)
                found[n] = index
                break
    return found


def _known_by_sequence(session: Sequence[Message], batch: Sequence[Message]) -> dict[int, int]:
    """Index in the batch → index in the session, for the longest part of the batch that is a resend."""
    stored, given = [_label(message) for message in session], [_label(message) for message in batch]
    best: range | None = None
    for start in range(1 - len(given), len(stored)):  # where the batch would begin in the session
        overlap = range(max(start, 0), min(start + len(given), len(stored)))
        if not overlap or stored[overlap.start] != given[overlap.start - start]:  # nothing is copied where most differ
            continue
        if stored[overlap.start : overlap.stop] != given[overlap.start - start : overlap.stop - start]:
            continue
        if any(batch[at - start].timestamp not in (None, session[at].timestamp) for at in overlap):
            continue
        repeats_end = overlap.stop == len(stored) and start >= 0
        if (repeats_end or len(overlap) >= MIN_RUN) and (best is None or len(overlap) >= len(best)):
            best, shift = overlap, start
    return {} if best is None else {at - shift: at for at in best}


def _places(session: Sequence[Message], batch: Sequence[Message], known: Mapping[int, int]) -> dict[int, int]:
    """Index in the batch → index in the session before which a new message belongs.

    A message with a timestamp comes before the first one with a later timestamp. One without follows the message before
    it in the batch; at the start of the batch, it comes before the next one that is known.
    """
    places = {}
    index = known[min(known)] if known else len(session)
    for n, message in enumerate(batch):
        if n in known:
            index = known[n] + 1
            continue
        at = message.timestamp
        if at is not None:
            later = (i for i, other in enumerate(session) if other.timestamp is not None and other.timestamp > at)
            index = next(later, len(session))
        places[n] = index
    return places


def _label(message: Message) -> Label:
    return unrepeated_id(message.id), message.speaker
