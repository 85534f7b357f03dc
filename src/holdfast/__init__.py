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
    ModelError,
    NotFound,
    ReadOnly,
    StorageError,
    StorageFull,
    TooNew,
)
from .profile import LocalProfile
from .results import Answer, Citation, Context, Hit, Namespace, Page, ProfileInfo, Receipt, Stats
from .service import AsyncHoldfast
from .sync import Holdfast, Profile
from .types import Forgotten, Memory, Message

__version__ = "0.1.0"

__all__ = [
    "Holdfast",
    "Profile",
    "AsyncHoldfast",
    "LocalProfile",
    "Answer",
    "Citation",
    "Context",
    "Forgotten",
    "Hit",
    "Memory",
    "Message",
    "Namespace",
    "Page",
    "ProfileInfo",
    "Receipt",
    "Stats",
    "HoldfastError",
    "InvalidInput",
    "NotFound",
    "AlreadyExists",
    "Conflict",
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
