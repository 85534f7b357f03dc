"""The storage contract as a test suite that any backend can run.

class TestMyBackend(StoreContract):
    @pytest.fixture
    async def vault(self, tmp_path):
        ...
"""

from __future__ import annotations

from holdfast.testing.conformance.samples import memory, message, unit, written
from holdfast.testing.conformance.store import StoreContract
from holdfast.testing.conformance.vault import VaultContract

__all__ = ["StoreContract", "VaultContract", "memory", "message", "unit", "written"]
