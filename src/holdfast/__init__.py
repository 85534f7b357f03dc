"""Holdfast: memory for AI agents.

from holdfast import Holdfast
memory = Holdfast.open("./data")
alice = memory.profile("support", "alice")
alice.ingest([{"role": "user", "content": "I moved to Lisbon last week."}])
alice.recall("Where does Alice live?").answer
"""

from __future__ import annotations

from .agent_memory import AsyncAgentMemory, Item
from .errors import (
    AlreadyExists,
    Busy,
    Closed,
    Conflict,
    Damaged,
    Forbidden,
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
    TooMany,
    TooNew,
    Unauthorised,
    Unreachable,
)
from .profile import LocalProfile
from .records import Event, JobStatus, Trace, TracePage
from .results import Answer, Citation, Context, Hit, Namespace, Page, ProfileInfo, Receipt, Session, Stats
from .service import AsyncHoldfast
from .sync import AgentMemory, Holdfast, Profile
from .trail import acting
from .types import Forgotten, Memory, Message

__version__ = "0.1.0"

__all__ = [
    "Holdfast",
    "Profile",
    "AsyncHoldfast",
    "LocalProfile",
    "AgentMemory",
    "AsyncAgentMemory",
    "acting",
    "Answer",
    "Citation",
    "Context",
    "Event",
    "Forgotten",
    "Hit",
    "Item",
    "JobStatus",
    "Memory",
    "Message",
    "Namespace",
    "Page",
    "ProfileInfo",
    "Receipt",
    "Session",
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
    "Unauthorised",
    "Forbidden",
    "TooMany",
    "Unreachable",
    "ModelError",
    "Closed",
]
