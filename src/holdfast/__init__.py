"""Holdfast: memory for AI agents.

from holdfast import Holdfast
memory = Holdfast.open("./data")
alice = memory.profile("support", "alice")
alice.ingest([{"role": "user", "content": "I moved to Lisbon last week."}])
alice.recall("Where does Alice live?").answer
"""

from __future__ import annotations

import typing as _typing
from importlib import import_module as _module

from .errors import (
    AlreadyExists,
    Busy,
    CannotUndo,
    Closed,
    Conflict,
    Damaged,
    Forbidden,
    HoldfastError,
    InvalidInput,
    KeyMissing,
    KeyReused,
    ModelError,
    ModelUnavailable,
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

if _typing.TYPE_CHECKING:
    from .across import AsyncAcross
    from .agent_memory import AsyncAgentMemory, Item
    from .graphs import Entity, EntityChange, Graph, Link
    from .kinds import KindInfo
    from .migrate import Migrated
    from .notes import AsyncNotes, Briefing, Note
    from .profile import LocalProfile
    from .records import Edit, Event, JobStatus, Trace, TracePage
    from .results import (
        Answer,
        Audit,
        Citation,
        Context,
        Document,
        Edited,
        Finding,
        Hit,
        Namespace,
        Origin,
        Page,
        ProfileInfo,
        Receipt,
        Review,
        Session,
        Stats,
        Undone,
    )
    from .service import AsyncHoldfast
    from .sync import Across, AgentMemory, Holdfast, Notes, Profile
    from .trail import acting
    from .types import Forgotten, Memory, Message
else:
    # Loaded when first asked for: `holdfast hook` starts with every prompt of a coding agent and needs none of them.
    _HOMES = {
        "across": ("AsyncAcross",),
        "agent_memory": ("AsyncAgentMemory", "Item"),
        "graphs": ("Entity", "EntityChange", "Graph", "Link"),
        "kinds": ("KindInfo",),
        "migrate": ("Migrated",),
        "notes": ("AsyncNotes", "Briefing", "Note"),
        "profile": ("LocalProfile",),
        "records": ("Edit", "Event", "JobStatus", "Trace", "TracePage"),
        "results": (
            "Answer", "Audit", "Citation", "Context", "Document", "Edited", "Finding", "Hit", "Namespace", "Origin",
            "Page", "ProfileInfo", "Receipt", "Review", "Session", "Stats", "Undone",
        ),
        "service": ("AsyncHoldfast",),
        "sync": ("Across", "AgentMemory", "Holdfast", "Notes", "Profile"),
        "trail": ("acting",),
        "types": ("Forgotten", "Memory", "Message"),
    }  # fmt: skip
    _HOME = {name: home for home, names in _HOMES.items() for name in names}

    def __getattr__(name):
        if name not in _HOME:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        globals()[name] = found = getattr(_module(f".{_HOME[name]}", __name__), name)
        return found

    def __dir__():
        return sorted({*globals(), *__all__})


__version__ = "0.1.0"

__all__ = [
    "Holdfast",
    "Profile",
    "AsyncHoldfast",
    "LocalProfile",
    "Across",
    "AsyncAcross",
    "AgentMemory",
    "AsyncAgentMemory",
    "Notes",
    "AsyncNotes",
    "acting",
    "Answer",
    "Audit",
    "Briefing",
    "Citation",
    "Context",
    "Document",
    "Edit",
    "Edited",
    "Entity",
    "EntityChange",
    "Event",
    "Finding",
    "Forgotten",
    "Graph",
    "Hit",
    "Item",
    "JobStatus",
    "KindInfo",
    "Link",
    "Memory",
    "Message",
    "Migrated",
    "Namespace",
    "Note",
    "Origin",
    "Page",
    "ProfileInfo",
    "Receipt",
    "Review",
    "Session",
    "Stats",
    "Trace",
    "TracePage",
    "Undone",
    "HoldfastError",
    "InvalidInput",
    "KeyReused",
    "NotFound",
    "AlreadyExists",
    "Conflict",
    "Stale",
    "CannotUndo",
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
    "ModelUnavailable",
    "Closed",
]
