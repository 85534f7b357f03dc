"""The in-process reference backend: plain dictionaries, no durability. What it does is what a backend must do."""

from __future__ import annotations

from .store import MemoryStore
from .vault import MemoryVault

__all__ = ["MemoryStore", "MemoryVault"]
