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

from holdfast.domain.errors import (
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
    from holdfast.domain.arguments import MessageInput
    from holdfast.domain.credentials import Grant
    from holdfast.domain.graph import Entity, EntityChange, Graph, Link
    from holdfast.domain.records import Edit, Event, JobStatus, Trace, TracePage
    from holdfast.domain.reports import Audit, Finding, KindInfo, Migrated
    from holdfast.domain.results import (
        Answer,
        Citation,
        Context,
        Document,
        Edited,
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
    from holdfast.domain.tracing import acting
    from holdfast.domain.types import Draft, Forgotten, Memory, Message
    from holdfast.service.across import AsyncAcross
    from holdfast.service.facades.agent_memory import AsyncAgentMemory, Item
    from holdfast.service.facades.notes import AsyncNotes, Briefing, Note
    from holdfast.service.holdfast import AsyncHoldfast
    from holdfast.service.profile.local import LocalProfile
    from holdfast.service.sync import Across, AgentMemory, Holdfast, Notes, Profile
else:
    # Loaded when first asked for: `holdfast hook` starts with every prompt of a coding agent and needs none of them.
    _HOMES = {
        "service.across": ("AsyncAcross",),
        "service.facades.agent_memory": ("AsyncAgentMemory", "Item"),
        "domain.graph": ("Entity", "EntityChange", "Graph", "Link"),
        "service.facades.notes": ("AsyncNotes", "Briefing", "Note"),
        "service.profile.local": ("LocalProfile",),
        "domain.records": ("Edit", "Event", "JobStatus", "Trace", "TracePage"),
        "domain.reports": ("Audit", "Finding", "KindInfo", "Migrated"),
        "domain.results": (
            "Answer", "Citation", "Context", "Document", "Edited", "Hit",
            "Namespace", "Origin", "Page", "ProfileInfo", "Receipt", "Review", "Session", "Stats", "Undone",
        ),
        "service.holdfast": ("AsyncHoldfast",),
        "service.sync": ("Across", "AgentMemory", "Holdfast", "Notes", "Profile"),
        "domain.tracing": ("acting",),
        "domain.arguments": ("MessageInput",),
        "domain.credentials": ("Grant",),
        "domain.types": ("Draft", "Forgotten", "Memory", "Message"),
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
    "Draft",
    "Edit",
    "Edited",
    "Entity",
    "EntityChange",
    "Event",
    "Finding",
    "Forgotten",
    "Grant",
    "Graph",
    "Hit",
    "Item",
    "JobStatus",
    "KindInfo",
    "Link",
    "Memory",
    "Message",
    "MessageInput",
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
