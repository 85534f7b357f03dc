"""Every backend keeps the one storage contract."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

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


class Outside:
    """Originals of documents lie in a folder of their own."""

    @pytest.fixture
    async def vault(self, tmp_path: Path) -> AsyncIterator[Any]:
        from holdfast.objects.bucket import Bucket
        from holdfast.objects.vault import OutsideVault

        vault = SqliteVault(tmp_path / "data")
        yield OutsideVault(vault, Bucket(str(tmp_path / "originals")))
        await vault.close()


class TestOutsideVault(Outside, VaultContract): ...


class TestOutsideStore(Outside, StoreContract):
    test_what_lies_elsewhere_is_told_in_place_of_pieces = None  # type: ignore[assignment]


class TestMemoryVault(InMemory, VaultContract): ...


class TestMemoryStore(InMemory, StoreContract): ...


class TestSqliteVault(InFiles, VaultContract): ...


class TestSqliteStore(InFiles, StoreContract): ...


class TestPostgresVault(InDatabase, VaultContract): ...


class TestPostgresStore(InDatabase, StoreContract): ...
