"""Every backend keeps the one storage contract."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from databases import database
from holdfast.conformance import StoreContract, VaultContract
from holdfast.memory import MemoryVault
from holdfast.ports import Vault
from holdfast.postgres.vault import PostgresVault
from holdfast.sqlite.vault import SqliteVault


class InMemory:
    @pytest.fixture
    async def vault(self) -> Vault:
        return MemoryVault()


class InFiles:
    @pytest.fixture
    async def vault(self, tmp_path: Path) -> AsyncIterator[Vault]:
        vault = SqliteVault(tmp_path)
        yield vault
        await vault.close()


class InDatabase:
    @pytest.fixture
    async def vault(self) -> AsyncIterator[Vault]:
        with database() as dsn:
            vault = PostgresVault(dsn, connections=4)
            yield vault
            await vault.close()


class TestMemoryVault(InMemory, VaultContract): ...


class TestMemoryStore(InMemory, StoreContract): ...


class TestSqliteVault(InFiles, VaultContract): ...


class TestSqliteStore(InFiles, StoreContract): ...


class TestPostgresVault(InDatabase, VaultContract): ...


class TestPostgresStore(InDatabase, StoreContract): ...
