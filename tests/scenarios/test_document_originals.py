"""Originals outside the profile's own storage: shut before they leave, found again, gone when they are forgotten."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("obstore")
pytest.importorskip("moto")

from holdfast import AsyncHoldfast, InvalidInput
from holdfast.archive.transfer.vault import Transfer
from holdfast.domain.errors import Damaged, NotFound, StorageError, Unreachable
from holdfast.domain.ports.storage import Vault
from holdfast.domain.records import ORIGINAL_SETTING_PREFIX
from holdfast.storage.blobs.bucket import Bucket
from holdfast.storage.blobs.encryption import EncryptedFile, encrypt_file
from holdfast.storage.blobs.vault import BlobBackedVault
from holdfast.storage.in_memory import MemoryVault
from holdfast.storage.postgres.vault import PostgresVault
from holdfast.storage.rows import PIECE_BYTES
from holdfast.storage.sqlite.vault import SqliteVault
from holdfast.testing import HashingEmbedder, ScriptedExtractor
from support import object_storage
from support.object_storage import OriginalsStorage
from support.postgres import database

TEXT = "The zorblax sleeps in the cellar.\n\nThe boiler is refilled below 1.2 bar.\n"


@pytest.fixture(params=["folder", "s3"])
def place(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[OriginalsStorage]:
    with object_storage.originals_storage(request.param, tmp_path / "originals", monkeypatch) as found:
        yield found


@asynccontextmanager
async def open_memory(vault: Any) -> AsyncIterator[AsyncHoldfast]:
    async with AsyncHoldfast(vault, HashingEmbedder(), ScriptedExtractor({})) as memory:
        yield memory


def outside(vault: Vault, place: OriginalsStorage) -> Any:
    return BlobBackedVault(vault, place.bucket)


async def notes(memory: AsyncHoldfast) -> list[str]:
    store = await memory.runtime.vault.open("app", "ana", create=False)
    return [name for name in await store.journal.settings() if name.startswith(ORIGINAL_SETTING_PREFIX)]


async def test_an_original_lies_there_shut_and_goes_with_its_document(tmp_path: Path, place: OriginalsStorage) -> None:
    large = TEXT.encode() * (3 * PIECE_BYTES // len(TEXT))
    async with open_memory(outside(SqliteVault(tmp_path / "data"), place)) as memory:
        ana = memory.profile("app", "ana")
        small = await ana.add(TEXT.encode(), name="a.txt", wait=True)
        great = await ana.add(large, name="b.csv")
        assert [len(each) for each in place.files().values()] != []
        assert len(place.files()) == 2
        assert not [name for name, data in place.files().items() if b"zorblax" in data]
        assert small.original
        assert await ana.original(small.id) == TEXT.encode()
        assert await ana.original(great.id) == large
        assert await notes(memory) == []
        assert (await ana.search("When is the boiler refilled?"))[0].metadata["document"] == small.id
        assert (await ana.forget_document(small.id)).places["original"] == 1
        assert len(place.files()) == 1
        await ana.settle()
        await ana.forget_document(great.id)
        assert place.files() == {}
        assert await notes(memory) == []


async def test_a_forgotten_passage_a_person_and_a_profile_take_the_file_along(
    tmp_path: Path, place: OriginalsStorage
) -> None:
    async with open_memory(outside(SqliteVault(tmp_path / "data"), place)) as memory:
        ana = memory.profile("app", "ana")
        read = await ana.add(TEXT.encode(), wait=True)
        await ana.forget((await ana.messages(read.session_id))[0].id, dry_run=True)
        assert len(place.files()) == 1
        await ana.forget((await ana.messages(read.session_id))[0].id)
        assert place.files() == {}
        with pytest.raises(NotFound):
            await ana.original(read.id)
        await ana.add(b"Marek fixed the boiler on Monday.", wait=True)
        await ana.forget_person("Marek")
        assert place.files() == {}
        await ana.add(b"One more text for this profile.", wait=True)
        await memory.profile("app", "bo").add(b"And one for that profile.", wait=True)
        assert len(place.files()) == 2
        await memory.delete_profile("app", "ana")
        assert len(place.files()) == 1
        await memory.delete_namespace("app")
        assert place.files() == {}


async def test_a_damaged_profile_is_deleted_without_its_files(tmp_path: Path, place: OriginalsStorage) -> None:
    async with open_memory(outside(SqliteVault(tmp_path / "data"), place)) as memory:
        await memory.profile("app", "ana").add(TEXT.encode(), wait=True)
    for file in (tmp_path / "data" / "profiles").rglob("*.db"):
        file.write_bytes(b"no database")
    async with open_memory(outside(SqliteVault(tmp_path / "data"), place)) as memory:
        with pytest.raises(Damaged):
            await memory.profile("app", "ana").stats()
        assert await memory.delete_profile("app", "ana")
        assert len(place.files()) == 1  # its name and its key are lost with the profile
        assert (await memory.profile("app", "ana").stats()).messages == 0


async def test_every_vault_can_have_them_there(tmp_path: Path, place: OriginalsStorage) -> None:
    with database() as dsn:
        sealed = PostgresVault(dsn, connections=4, keyring=tmp_path / "keyring", sealed=True)
        for vault in (MemoryVault(), sealed):
            async with open_memory(outside(vault, place)) as memory:
                ana = memory.profile("app", "ana")
                read = await ana.add(TEXT.encode(), wait=True)
                assert (read.state, await ana.original(read.id)) == ("done", TEXT.encode())
                await ana.forget_document(read.id)
                assert place.files() == {}


async def test_what_a_crash_left_there_is_removed_at_the_next_start(
    tmp_path: Path, place: OriginalsStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before the document is kept, and after it was forgotten."""
    down: dict[str, bool] = {"delete": True}
    delete = Bucket.delete

    async def deleted(self: Bucket, names: Any) -> None:
        if down["delete"]:
            raise Unreachable("It is down.")
        await delete(self, names)

    monkeypatch.setattr(Bucket, "delete", deleted)
    vault = outside(SqliteVault(tmp_path / "data"), place)
    async with open_memory(vault) as memory:
        ana = memory.profile("app", "ana")
        stays = await ana.add(b"This one stays as it is.", wait=True)
        goes = await ana.add(TEXT.encode(), wait=True)
        await ana.forget_document(goes.id)
        store = await vault.open("app", "ana", create=False)
        monkeypatch.setattr(store.documents._documents, "put", _cut_off)
        with pytest.raises(KeyboardInterrupt):
            await store.documents.put(stays, tmp_path / "data" / "lock")
        assert len(place.files()) == 3
        assert len(await notes(memory)) == 3, "one of them of a file that stays"
    down["delete"] = False
    async with open_memory(outside(SqliteVault(tmp_path / "data"), place)) as memory:
        ana = memory.profile("app", "ana")
        assert await ana.original(stays.id) == b"This one stays as it is."
        assert len(place.files()) == 1
        assert await notes(memory) == []


async def _cut_off(*_: object) -> None:
    raise KeyboardInterrupt


async def test_one_in_use_elsewhere_is_left_alone_for_an_hour(place: OriginalsStorage) -> None:
    """A vault that others share may be in the midst of writing what nothing refers to yet."""
    inner = MemoryVault()
    inner.shared = True  # type: ignore[misc]
    await inner.create_namespace("app")
    store = await inner.open("app", "ana", create=True)
    await store.journal.put_setting(ORIGINAL_SETTING_PREFIX + "aa/bb", "2000-01-01T00:00:00+00:00")
    await store.journal.put_setting(ORIGINAL_SETTING_PREFIX + "aa/cc", "2999-01-01T00:00:00+00:00")
    await outside(inner, place).open("app", "ana", create=False)
    assert [*await store.journal.settings()] == [ORIGINAL_SETTING_PREFIX + "aa/cc"]


async def test_what_was_changed_or_taken_away_there_is_told(tmp_path: Path, place: OriginalsStorage) -> None:
    async with open_memory(outside(SqliteVault(tmp_path / "data"), place)) as memory:
        ana = memory.profile("app", "ana")
        read = await ana.add(TEXT.encode(), wait=True)
        place.spoil()
        with pytest.raises(Damaged, match="was changed"):
            await ana.original(read.id)
        await place.bucket.delete([*place.files()])
        with pytest.raises(Damaged, match="does not have the file"):
            await ana.original(read.id)


async def test_without_the_setting_it_says_where_the_original_lies(tmp_path: Path, place: OriginalsStorage) -> None:
    async with open_memory(outside(SqliteVault(tmp_path / "data"), place)) as memory:
        read = await memory.profile("app", "ana").add(TEXT.encode(), wait=True)
    async with open_memory(SqliteVault(tmp_path / "data")) as memory:
        with pytest.raises(NotFound, match="setting originals"):
            await memory.profile("app", "ana").original(read.id)


async def test_what_was_kept_inside_before_is_read_on_and_moves_with_a_transfer(
    tmp_path: Path, place: OriginalsStorage
) -> None:
    async with open_memory(SqliteVault(tmp_path / "data")) as memory:
        read = await memory.profile("app", "ana").add(TEXT.encode(), wait=True)
    source, target = outside(SqliteVault(tmp_path / "data"), place), outside(SqliteVault(tmp_path / "new"), place)
    assert (await Transfer(source, target).run()).checksum
    assert len(place.files()) == 1
    async with open_memory(target) as memory:
        assert await memory.profile("app", "ana").original(read.id) == TEXT.encode()
    async with open_memory(source) as memory:
        assert await memory.profile("app", "ana").original(read.id) == TEXT.encode()
        assert await memory.delete_profile("app", "ana")
    assert len(place.files()) == 1, "the other's file is its own"


async def test_a_place_that_is_not_there_is_told_and_nothing_is_kept(tmp_path: Path, place: OriginalsStorage) -> None:
    (tmp_path / "file").write_text("in the way")
    url = place.settings.get("originals_url")
    if url is None:
        with pytest.raises(StorageError, match="cannot be used"):
            Bucket(str(tmp_path / "file" / "sub"))
        return
    async with open_memory(
        BlobBackedVault(SqliteVault(tmp_path / "data"), Bucket("s3://no-such-bucket", url))
    ) as memory:
        with pytest.raises(StorageError, match="Create the bucket"):
            await memory.profile("app", "ana").add(TEXT.encode())
        assert await memory.profile("app", "ana").documents() == ()


async def test_settings_open_it(tmp_path: Path, place: OriginalsStorage) -> None:
    async with await AsyncHoldfast.open(tmp_path / "data", embedder="potion", **place.settings) as memory:
        ana = memory.profile("app", "ana")
        read = await ana.add(TEXT.encode(), wait=True)
        assert (len(place.files()), await ana.original(read.id)) == (1, TEXT.encode())
    for bad in ({"originals": "ftp://x"}, {"originals": "s3://"}, {"originals_url": "minio"}):
        with pytest.raises(InvalidInput):
            await AsyncHoldfast.open(tmp_path / "data", embedder="potion", **bad)


@pytest.mark.parametrize("size", [1, PIECE_BYTES - 1, PIECE_BYTES, PIECE_BYTES + 1, 3 * PIECE_BYTES])
def test_a_parcel_opens_piece_by_piece(tmp_path: Path, size: int) -> None:
    (tmp_path / "file").write_bytes(data := bytes(range(256)) * (size // 256 + 1))
    (tmp_path / "file").write_bytes(data := data[:size])
    parcel = EncryptedFile.decode(encrypt_file(tmp_path / "file", tmp_path / "shut").encode())
    away, found, number = (tmp_path / "shut").read_bytes(), b"", 0
    while (where := parcel.place(number)) is not None:
        found, number = found + parcel.opened(number, away[slice(*where)]), number + 1
    assert found == data
    with pytest.raises(Damaged):
        parcel.opened(1, away[slice(*(parcel.place(0) or ()))])
