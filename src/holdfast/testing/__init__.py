"""Public fakes for tests of code that uses Holdfast: plain, deterministic, fast."""

from .fakes import FrozenClock, HashingEmbedder, ScriptedExtractor
from .faults import Fault
from .model_server import Asked, ModelServer, Seen

__all__ = ["HashingEmbedder", "ScriptedExtractor", "FrozenClock", "ModelServer", "Asked", "Seen", "Fault"]
