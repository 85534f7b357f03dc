"""The in-process reference backend: plain dictionaries, no durability. Its behaviour is what other backends must do."""

from __future__ import annotations

from holdfast.storage.in_memory.store import MemoryStore
from holdfast.storage.in_memory.vault import MemoryVault

__all__ = ["MemoryStore", "MemoryVault"]
