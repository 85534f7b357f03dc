"""Every backend keeps the one storage contract."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from holdfast.domain.ports.storage import Store, Vault
from holdfast.storage.in_memory import MemoryVault
from holdfast.storage.postgres.vault import PostgresVault
from holdfast.storage.sqlite.vault import SqliteVault
from holdfast.testing.conformance import StoreContract, VaultContract
from holdfast.testing.conformance.shortening import ShorteningContract
from support.postgres import database


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
        from holdfast.storage.blobs.bucket import Bucket
        from holdfast.storage.blobs.vault import BlobBackedVault

        vault = SqliteVault(tmp_path / "data")
        yield BlobBackedVault(vault, Bucket(str(tmp_path / "originals")))
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


class TestSealedStore(ShorteningContract):
    """Texts are encrypted before they reach the database."""

    @pytest.fixture
    async def store(self, tmp_path: Path) -> AsyncIterator[Store]:
        with database() as dsn:
            vault = PostgresVault(dsn, connections=4, keyring=tmp_path / "keyring", sealed=True)
            await vault.create_namespace("contract")
            yield await vault.open("contract", "store", create=True)
            await vault.close()
