"""The query of recall to a store, and what the store proposes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from holdfast.domain.types import Floats, Ints, Where

MAX_AGENTS = 200
"""How many of a profile's agents are reported at most."""


@dataclass(frozen=True, slots=True)
class Probe:
    """The query of recall to a store, once per question."""

    now: datetime
    words: tuple[str, ...] = ()
    vector: Floats | None = None
    model: str = ""
    keys: tuple[str, ...] = ()
    window: tuple[datetime, datetime] | None = None
    where: Where | None = None
    limit: int = 100
    """How many messages each channel may propose."""
    memories: int = 100
    """How many memories each channel may propose; separate, so that neither crowds out the other."""
    agents: bool = False
    """Whether to report which agents wrote something in this profile."""
    with_neighbours: int = 30
    """For how many of each channel's best messages their neighbours are returned too."""
    as_of: datetime | None = None
    """Search what was known at this time, including what has been superseded since."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """An item that a channel proposed, or a neighbour of one."""

    id: str
    memory: bool
    session_id: str | None
    position: int
    role: str | None
    speaker: str | None
    asks: bool
    at: int
    """When it was said, or when its event happened: microseconds since 1970."""


@dataclass(frozen=True, slots=True, eq=False)
class CandidateColumns:
    """Candidates as arrays, one row for each."""

    memory: NDArray[np.bool_]
    session: Ints
    """A number for each session; -1 for none."""
    position: Ints
    from_user: NDArray[np.bool_]
    speaker: Ints
    """The place of the speaker in `speakers`; -1 for none."""
    asks: NDArray[np.bool_]
    at: Ints
    speakers: tuple[str, ...]
    """More than these candidates have, perhaps."""

    @classmethod
    def of(cls, items: Sequence[Candidate]) -> CandidateColumns:
        import numpy as np

        sessions: dict[str, int] = {}
        speakers: dict[str, int] = {}

        def numbers(names: Sequence[str | None], known: dict[str, int]) -> Ints:
            return np.array([-1 if name is None else known.setdefault(name, len(known)) for name in names], np.int64)

        return cls(
            memory=np.array([item.memory for item in items], bool),
            session=numbers([item.session_id for item in items], sessions),
            position=np.array([item.position for item in items], np.int64),
            from_user=np.array([item.role == "user" for item in items], bool),
            speaker=numbers([item.speaker for item in items], speakers),
            asks=np.array([item.asks for item in items], bool),
            at=np.array([item.at for item in items], np.int64),
            speakers=tuple(speakers),
        )


@dataclass(frozen=True, slots=True, eq=False)
class Proposals:
    """The candidates of all channels and their neighbours, with the raw numbers that the ranker needs.

    Arrays have one row per part; `of` is the index of the item that the part belongs to.
    """

    items: tuple[Candidate, ...]
    channels: tuple[dict[str, int], ...]
    """For each item: channel → rank (1 is best). Empty for an item that is included only as context."""
    of: Ints
    number: Ints
    length: NDArray[np.float64]
    counts: NDArray[np.float64]
    """Occurrences of each of the probe's words, by part."""
    cosine: NDArray[np.float64]
    """NaN for a part without a vector."""
    tokens: tuple[bytes, ...]
    parts: int
    """The number of parts in the profile; then their mean length, and the number of parts that contain each word."""
    mean_length: float
    frequency: tuple[int, ...]
    agents: tuple[str, ...] = ()
    """If requested: names of agents that wrote something, in order, at most MAX_AGENTS."""
    known_columns: CandidateColumns | None = None
    """The items as arrays, where the store has them."""

    def columns(self) -> CandidateColumns:
        """The items as arrays."""
        return CandidateColumns.of(self.items) if self.known_columns is None else self.known_columns
