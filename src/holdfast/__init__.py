"""Holdfast: memory for AI agents.

from holdfast import Holdfast
memory = Holdfast.open("./data")
alice = memory.profile("support", "alice")
alice.ingest([{"role": "user", "content": "I moved to Lisbon last week."}])
alice.recall("Where does Alice live?").answer
"""

from __future__ import annotations

from .errors import (
    AlreadyExists,
    Busy,
    Closed,
    Conflict,
    Damaged,
    HoldfastError,
    InvalidInput,
    KeyMissing,
    KeyReused,
    ModelError,
    NotFound,
    ReadOnly,
    Stale,
    StorageError,
    StorageFull,
    TooNew,
)
from .profile import LocalProfile
from .records import Event, JobStatus, Trace, TracePage
from .results import Answer, Citation, Context, Hit, Namespace, Page, ProfileInfo, Receipt, Stats
from .service import AsyncHoldfast
from .sync import Holdfast, Profile
from .trail import acting
from .types import Forgotten, Memory, Message

__version__ = "0.1.0"

__all__ = [
    "Holdfast",
    "Profile",
    "AsyncHoldfast",
    "LocalProfile",
    "acting",
    "Answer",
    "Citation",
    "Context",
    "Event",
    "Forgotten",
    "Hit",
    "JobStatus",
    "Memory",
    "Message",
    "Namespace",
    "Page",
    "ProfileInfo",
    "Receipt",
    "Stats",
    "Trace",
    "TracePage",
    "HoldfastError",
    "InvalidInput",
    "KeyReused",
    "NotFound",
    "AlreadyExists",
    "Conflict",
    "Stale",
    "Busy",
    "StorageError",
    "StorageFull",
    "ReadOnly",
    "Damaged",
    "KeyMissing",
    "TooNew",
    "ModelError",
    "Closed",
]
