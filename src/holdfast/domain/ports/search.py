"""The query of recall to a store, and what the store proposes."""

from __future__ import annotations

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
