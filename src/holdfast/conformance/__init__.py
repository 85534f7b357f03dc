"""The storage contract as a test suite that any backend can run.

class TestMyBackend(StoreContract):
    @pytest.fixture
    async def vault(self, tmp_path):
        ...
"""

from __future__ import annotations

from .made import memory, message, unit, written
from .store import StoreContract
from .vault import VaultContract

__all__ = ["StoreContract", "VaultContract", "memory", "message", "unit", "written"]
