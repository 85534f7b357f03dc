"""Public fakes for tests of code that uses Holdfast: plain, deterministic, fast."""

from holdfast.storage.in_memory import MemoryVault
from holdfast.testing.fakes import FrozenClock, HashingEmbedder, ScriptedExtractor
from holdfast.testing.llm_faults import Fault
from holdfast.testing.model_server import Asked, ModelServer, Seen

__all__ = [
    "HashingEmbedder", "ScriptedExtractor", "FrozenClock", "MemoryVault", "ModelServer", "Asked", "Seen", "Fault",
]  # fmt: skip
