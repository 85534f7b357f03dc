"""What the disk, the keys and other processes can do to a data folder, and what must hold then."""

from __future__ import annotations

import ctypes
import json
import os
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest

from holdfast import (
    Busy,
    Damaged,
    Holdfast,
    InvalidInput,
    KeyMissing,
    Profile,
    ReadOnly,
    StorageError,
    StorageFull,
    TooNew,
)
from holdfast.domain.types import Draft
from holdfast.storage.sqlite.connection import connect
from holdfast.storage.sqlite.health import ProfileFile, list_profiles, load_master_key
from holdfast.testing import HashingEmbedder, ScriptedExtractor

SECRET = "xylophonist"
"""A word that neither code, keys nor SQLite contain by chance; as bytes it is its own stem."""


def open_memory(path: Path, **settings: Any) -> Holdfast:
    settings = {"embedder": HashingEmbedder(), "extractor": ScriptedExtractor()} | settings
    return Holdfast.open(path, **settings)


def messages_of(content: str) -> list[dict[str, str]]:
    return [{"role": "user", "content": content}]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A closed folder with two profiles, alice's large enough to have a middle."""
    path = tmp_path / "data"
    with open_memory(path) as memory:
        for name in ("alice", "bob"):
            profile = memory.profile("app", name)
            lines = [f"{name} says {n}: " + f"word{n} " * 60 for n in range(100)]
            profile.ingest([{"role": "user", "content": line} for line in lines], session_id="s1")
            profile.settle()
    return path


def file_of(data: Path, profile: str) -> ProfileFile:
    return next(each for each in list_profiles(data, load_master_key(data / "keyring")) if each.profile == profile)


def in_file(data: Path, profile: str, *statements: str) -> None:
    at = file_of(data, profile)
    db = connect(at.path, at.key, writing=True)
    for statement in statements:
        db.execute(statement).fetchall()
    db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    db.close()


def goes_on(profile: Profile) -> None:
    """It reads what it had, takes a write and finds it."""
    assert profile.search("word7", limit=1)[0].content.startswith(f"{profile.name} says 7:")
    profile.ingest(messages_of("still a lighthouse"), session_id="later")
    assert profile.search("lighthouse", limit=1)[0].content == "still a lighthouse"


def fill_until_full(profile: Profile, kept: list[str]) -> None:
    """Write until something gives, noting what was acknowledged."""
    for n in range(400):
        kept.append(profile.ingest(messages_of(f"tale{n} " + f"filler{n} " * 1500), session_id="s1").messages[0].id)


def assert_settled(data: Path) -> None:
    """Write to new profiles, in every folder they may go to."""
    with open_memory(data) as memory:
        for n in range(50):
            memory.profile("app", f"new {n}").remember("x")


# Keys


def test_the_keyring_is_for_its_owner_only(data: Path) -> None:
    assert stat.S_IMODE((data / "keyring").stat().st_mode) == 0o600


def test_a_keyring_may_live_elsewhere(tmp_path: Path) -> None:
    with open_memory(tmp_path / "data", keyring=tmp_path / "keys" / "ring") as memory:
        memory.profile("app", "alice").remember("hello")
    assert not (tmp_path / "data" / "keyring").exists()
    assert stat.S_IMODE((tmp_path / "keys" / "ring").stat().st_mode) == 0o600
    with open_memory(tmp_path / "data", keyring=tmp_path / "keys" / "ring") as memory:
        assert memory.profile("app", "alice").stats().memories == 1


def test_another_folders_keyring_is_refused_and_its_own_works_again(data: Path, tmp_path: Path) -> None:
    own = (data / "keyring").read_bytes()
    open_memory(tmp_path / "other").close()
    (data / "keyring").write_bytes((tmp_path / "other" / "keyring").read_bytes())
    with pytest.raises(KeyMissing, match="another folder's keyring"):
        open_memory(data)
    (data / "keyring").write_bytes(own)
    with open_memory(data) as memory:
        goes_on(memory.profile("app", "alice"))


def test_a_missing_keyring_is_refused_and_no_new_one_is_made(data: Path) -> None:
    (data / "keyring").rename(data / "away")
    with pytest.raises(KeyMissing, match=r"missing.*HOLDFAST_KEYRING"):
        open_memory(data)
    assert not (data / "keyring").exists()
    with open_memory(data, keyring=data / "away") as memory:
        goes_on(memory.profile("app", "bob"))


@pytest.mark.parametrize(
    "garbage", [b"", b"\xff\xfe\x00", b"{}", b"[]", b'{"master_key": "xyz"}', b'{"master_key": "abcd"}', b"null"]
)
def test_a_garbled_keyring_is_refused_and_left_alone(data: Path, garbage: bytes) -> None:
    (data / "keyring").write_bytes(garbage)
    with pytest.raises(KeyMissing, match="keyring"):
        open_memory(data)
    assert (data / "keyring").read_bytes() == garbage


def test_a_crash_while_the_first_key_is_made_is_survived(tmp_path: Path) -> None:
    (tmp_path / "keyring").touch()
    with open_memory(tmp_path) as memory:
        memory.profile("app", "alice").remember("hello")


# Damage


def flip_bytes(path: Path) -> None:
    """One bit in every page of the middle half."""
    content = bytearray(path.read_bytes())
    for at in range(len(content) // 4, 3 * len(content) // 4, 4096):
        content[at] ^= 1
    path.write_bytes(content)


def halve_file(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def overwrite_file(path: Path) -> None:
    path.write_text("This is not the file you are looking for.\n" * 100)


def head_flipped(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[100] ^= 1
    path.write_bytes(content)


def empty_file(path: Path) -> None:
    path.write_bytes(b"")


@pytest.mark.parametrize(
    "spoil",
    [
        flip_bytes,
        halve_file,
        overwrite_file,
        head_flipped,
        Path.unlink,
        pytest.param(empty_file),
    ],
    ids=lambda spoil: spoil.__name__,
)
def test_a_damaged_profile_refuses_with_instructions_and_the_others_go_on(
    data: Path, spoil: Callable[[Path], None]
) -> None:
    in_file(data, "alice", "SELECT 1")
    path = file_of(data, "alice").path
    spoil(path)
    left = path.read_bytes() if path.exists() else None
    with open_memory(data) as memory:
        alice = memory.profile("app", "alice")
        for act in (alice.messages, lambda: alice.search("word50"), lambda: alice.summary(session_id="s1")):
            with pytest.raises(Damaged, match=r"(?i)restore .* from a backup") as caught:
                act()
            assert str(path) in str(caught.value)
            assert "Profile app/alice" in str(caught.value)
        goes_on(memory.profile("app", "bob"))
        assert [each.name for each in memory.profiles("app")] == ["alice", "bob"]
    assert (path.read_bytes() if path.exists() else None) == left


@pytest.mark.parametrize(
    "spoil",
    [flip_bytes, pytest.param(overwrite_file)],
    ids=lambda spoil: spoil.__name__,
)
def test_making_room_among_open_files_does_not_stumble_over_a_damaged_one(
    data: Path, spoil: Callable[[Path], None]
) -> None:
    with open_memory(data, open_files=1) as memory:
        memory.profile("app", "alice").ingest(messages_of("before the damage"), session_id="s2")
        spoil(file_of(data, "alice").path)
        goes_on(memory.profile("app", "bob"))
        with pytest.raises(Damaged):
            fill_until_full(memory.profile("app", "alice"), [])
        goes_on(memory.profile("app", "bob"))


def test_a_damaged_profile_takes_no_write(data: Path) -> None:
    in_file(data, "alice", "SELECT 1")
    flip_bytes(file_of(data, "alice").path)
    with open_memory(data) as memory, pytest.raises(Damaged):
        fill_until_full(memory.profile("app", "alice"), [])


def test_a_damaged_profile_can_be_deleted(data: Path) -> None:
    in_file(data, "alice", "SELECT 1")
    overwrite_file(file_of(data, "alice").path)
    with open_memory(data) as memory:
        assert memory.delete_profile("app", "alice") is True
        memory.profile("app", "alice").ingest(messages_of("a fresh start"))
        assert memory.profile("app", "alice").stats().messages == 1


def test_a_newer_profile_is_refused_and_the_others_go_on(data: Path) -> None:
    in_file(data, "alice", "INSERT INTO migration VALUES (9001, '9001_future.sql', 'x', 0)")
    with open_memory(data) as memory:
        for act in (memory.profile("app", "alice").stats, lambda: memory.profile("app", "alice").remember("x")):
            with pytest.raises(TooNew, match=r"version 9001 .*Upgrade Holdfast: .*pip install \.$"):
                act()
        goes_on(memory.profile("app", "bob"))


def test_a_newer_catalogue_is_refused_and_the_folder_let_go(data: Path) -> None:
    db = connect(data / "catalogue.db", load_master_key(data / "keyring"), writing=True)
    db.execute("INSERT INTO migration VALUES (9001, '9001_future.sql', 'x', 0)")
    db.close()
    for _ in range(2):
        with pytest.raises(TooNew, match="9001"):
            open_memory(data)


def test_a_file_built_by_other_migrations_is_refused(data: Path) -> None:
    in_file(data, "alice", "UPDATE migration SET sha256 = 'other' WHERE number = 1")
    with open_memory(data) as memory:
        with pytest.raises(StorageError, match=r"migration 1 .* not the one"):
            memory.profile("app", "alice").stats()
        goes_on(memory.profile("app", "bob"))


# Space and permissions


def cap_pages(memory: Holdfast, profile: Profile, pages: int | None) -> None:
    """Let the profile's file grow by so many pages only; None takes the cap away."""

    async def cap() -> None:
        store = await memory._inner.runtime.vault.open(profile.namespace, profile.name, create=False)

        def limit(db: apsw.Connection) -> None:
            ((now,),) = db.execute("PRAGMA page_count").fetchall()
            db.execute(f"PRAGMA max_page_count = {2**31 if pages is None else now + pages}").fetchall()

        await store._file._run(limit, writing=True)

    memory._loop.run(cap())


def test_a_file_that_cannot_grow_takes_nothing_by_halves_and_works_again_later(data: Path) -> None:
    batch = [{"role": "user", "content": f"big {n} " + f"filler{n} " * 2000} for n in range(20)]
    with open_memory(data) as memory:
        alice = memory.profile("app", "alice")
        alice.settle()
        cap_pages(memory, alice, 2)
        before = alice.stats()
        with pytest.raises(StorageFull, match="nothing was written") as caught:
            alice.ingest(batch, session_id="s2")
        assert caught.value.retryable
        assert alice.stats() == before
        assert not alice.messages("s2")
        assert alice.search("word7", limit=1)[0].content.startswith("alice says 7:")
        goes_on(memory.profile("app", "bob"))
        cap_pages(memory, alice, None)
        assert all(message.new for message in alice.ingest(batch, session_id="s2").messages)
        assert alice.search("filler13", limit=1)[0].content.startswith("big 13")
    with open_memory(data) as memory:
        assert memory.profile("app", "alice").stats().messages == before.messages + 20


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of its own, eight megabytes large."""
    if not hasattr(os, "geteuid") or os.geteuid() != 0:
        pytest.skip("mounting a small file system needs root")
    path = tmp_path / "disk"
    path.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", path], capture_output=True).returncode:
        pytest.skip("this container may not mount a tmpfs")
    yield path
    subprocess.run(["umount", "-l", path], check=True)


def test_a_full_disk_loses_nothing_acknowledged_and_works_again_when_there_is_space(disk: Path) -> None:
    ballast = disk / "ballast"
    ballast.write_bytes(bytes(5_000_000))
    with open_memory(disk / "data") as memory:
        alice = memory.profile("app", "alice")
        kept: list[str] = []
        with pytest.raises(StorageFull):
            fill_until_full(alice, kept)
        assert [message.id for message in alice.messages("s1")] == kept
        assert alice.search("tale0", limit=1)[0].id == kept[0]
        with pytest.raises(StorageFull):
            memory.profile("app", "newcomer").ingest(messages_of("x " * 10_000))
        ballast.unlink()
        kept.append(alice.ingest(messages_of("room again"), session_id="s1").messages[0].id)
        assert alice.search("room again", limit=1)[0].id == kept[-1]
    with open_memory(disk / "data") as memory:
        assert [message.id for message in memory.profile("app", "alice").messages("s1")] == kept


def test_on_a_full_disk_something_can_be_forgotten(disk: Path) -> None:
    with open_memory(disk / "data") as memory:
        alice, bob = memory.profile("app", "alice"), memory.profile("app", "bob")
        bob.remember("Bob was here")
        kept: list[str] = []
        with pytest.raises(StorageFull):
            fill_until_full(alice, kept)
        assert (disk / "data" / "reserve").stat().st_size > 0
        assert kept[0] in alice.forget(kept[0]).messages
        assert kept[0] not in [message.id for message in alice.messages("s1")]
    with open_memory(disk / "data") as memory:
        assert [message.id for message in memory.profile("app", "alice").messages("s1")] == kept[1:]
        assert memory.delete_profile("app", "bob")


def test_a_new_data_folder_is_its_owners_alone(tmp_path: Path) -> None:
    before = os.umask(0o022)
    try:
        with open_memory(tmp_path / "new" / "data") as memory:
            memory.profile("app", "alice").remember("x")
    finally:
        os.umask(before)
    assert (tmp_path / "new" / "data").stat().st_mode & 0o777 == 0o700


def test_closing_on_a_full_disk_lets_the_folder_go(disk: Path) -> None:
    ballast = disk / "ballast"
    ballast.write_bytes(bytes(5_000_000))
    kept: list[str] = []
    with open_memory(disk / "data") as memory, pytest.raises(StorageFull):
        fill_until_full(memory.profile("app", "alice"), kept)
    ballast.unlink()
    with open_memory(disk / "data") as memory:
        assert memory.profile("app", "alice").stats().messages == len(kept)


def test_a_read_only_file_system_is_named(disk: Path) -> None:
    with open_memory(disk / "data") as memory:
        memory.profile("app", "alice").ingest(messages_of("hello"))
    subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
    with pytest.raises(ReadOnly, match=str(disk / "data")):
        open_memory(disk / "data")
    with pytest.raises(ReadOnly, match=str(disk / "new")):
        open_memory(disk / "new")
    subprocess.run(["mount", "-o", "remount,rw", disk], check=True)
    with open_memory(disk / "data") as memory:
        assert memory.profile("app", "alice").stats().messages == 1


def test_a_read_only_place_for_new_profiles_is_named(disk: Path) -> None:
    with open_memory(disk / "data") as memory:
        memory.profile("app", "alice").remember("hello")
        place = disk / "data" / "profiles"
        subprocess.run(["mount", "-t", "tmpfs", "-o", "ro", "tmpfs", place], check=True)
        try:
            with pytest.raises(ReadOnly):
                memory.profile("app", "newcomer").remember("x")
            assert memory.profile("app", "alice").stats().memories == 1
        finally:
            subprocess.run(["umount", place], check=True)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="permissions don't bind root")
@pytest.mark.parametrize(("shut", "used"), [(".", "new"), pytest.param("profiles", ".")])
def test_a_folder_without_permission_is_named(data: Path, shut: str, used: str) -> None:
    (data / shut).chmod(0o500)
    try:
        with pytest.raises(ReadOnly, match=str(data)):
            assert_settled(data / used)
    finally:
        (data / shut).chmod(0o700)


def test_a_path_that_is_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(InvalidInput, match="is a file, not a data folder"):
        open_memory(tmp_path / "file")


# Other processes


HOLDER = """
import sys
from holdfast import Holdfast
from holdfast.testing import HashingEmbedder, ScriptedExtractor
with Holdfast.open(sys.argv[1], embedder=HashingEmbedder(), extractor=ScriptedExtractor()):
    print("open", flush=True)
    sys.stdin.read()
"""


def test_a_second_process_is_refused_with_the_first_ones_pid(data: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(data)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "open\n"
        with pytest.raises(Busy, match=rf"process {holder.pid}\b") as caught:
            open_memory(data)
        assert caught.value.retryable
        holder.communicate("")
    with open_memory(data) as memory:
        goes_on(memory.profile("app", "alice"))


def test_a_second_holdfast_in_one_process_is_refused_too(data: Path) -> None:
    with open_memory(data), pytest.raises(Busy, match="already open in this process"):
        open_memory(data)


# Secrecy


def everything_under(data: Path) -> bytes:
    return b"\n".join(path.read_bytes() for path in sorted(data.rglob("*")) if path.is_file())


def decrypted_bytes(path: Path, key: bytes) -> bytes:
    """Every page of the file as SQLite sees it, free pages and slack included.

    VACUUM INTO and PRAGMA rekey both rebuild the file and so would hide a deleted row's remains. This asks the
    decrypting file underneath the connection for each page instead.
    """
    reader = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int, ctypes.c_int64)

    class Methods(ctypes.Structure):
        _fields_ = (("version", ctypes.c_int), ("close", ctypes.c_void_p), ("read", reader))

    db = connect(path, key, writing=False)
    ((size,),) = db.execute("PRAGMA page_size").fetchall()
    file = ctypes.c_void_p()
    db.file_control("main", apsw.SQLITE_FCNTL_FILE_POINTER, ctypes.addressof(file))
    methods = ctypes.cast(ctypes.cast(file, ctypes.POINTER(ctypes.c_void_p))[0] or 0, ctypes.POINTER(Methods)).contents
    pages = []
    for at in range(0, path.stat().st_size, size):
        page = ctypes.create_string_buffer(size)
        assert methods.read(file, ctypes.addressof(page), size, at) == 0
        pages.append(page.raw)
    db.close()
    return b"".join(pages)


def test_names_and_text_are_nowhere_in_the_bytes(tmp_path: Path) -> None:
    with open_memory(tmp_path) as memory:
        profile = memory.profile("app", f"{SECRET}-profile")
        profile.ingest([{"role": "user", "content": f"A {SECRET} said {SECRET}", "speaker": SECRET}], session_id=SECRET)
        profile.remember(f"Loves the {SECRET}", key=SECRET, metadata={SECRET: SECRET})
        profile.search(SECRET)
        profile.settle()
        assert SECRET.encode() not in everything_under(tmp_path)
    assert SECRET.encode() not in everything_under(tmp_path)
    assert not [path for path in tmp_path.rglob("*") if SECRET in path.name]
    assert b"SQLite format" not in everything_under(tmp_path)


def test_each_profile_has_a_key_of_its_own(data: Path) -> None:
    alice, bob = file_of(data, "alice"), file_of(data, "bob")
    assert len({alice.key, bob.key, load_master_key(data / "keyring")}) == 3
    with pytest.raises(apsw.NotADBError):
        connect(alice.path, bob.key, writing=False)


def remembering_secrets(path: Path) -> Holdfast:
    """Alice's profile full of secrets: messages, a distilled memory in two versions, a written one, a task."""
    first, second = f"My teacher is a {SECRET}.", f"My teacher was a {SECRET}, now a pianist."
    script: dict[str, list[Draft] | Exception] = {
        text: [Draft("fact", text, (), key="teacher", keywords=(SECRET,), queries=(f"Who is a {SECRET}?",))]
        for text in (first, second)
    }
    memory = open_memory(path, extractor=ScriptedExtractor(script))
    alice = memory.profile("app", "alice")
    for n in range(60):
        alice.ingest(messages_of(f"harmless line {n} " + "and more " * 50), session_id="plain")
    alice.ingest([{"role": "user", "content": first, "metadata": {"a": SECRET}}], session_id="s1", wait=True)
    alice.ingest(messages_of(second), session_id="s1", wait=True)
    alice.ingest(messages_of(f"A very long story about the {SECRET}. " * 500), session_id="s1", wait=True)
    alice.remember(f"Ask the {SECRET}", kind="task", session_id="s1", value={"who": SECRET})
    alice.settle()
    alice.search(SECRET)
    return memory


def test_forgotten_text_is_nowhere_even_when_decrypted(tmp_path: Path) -> None:
    with remembering_secrets(tmp_path) as memory:
        memory.profile("app", "alice").forget_session("s1")
        wal = [path for path in tmp_path.rglob("*.db-wal") if path.parent != tmp_path]
        assert [path.stat().st_size for path in wal] == [0]
        assert memory.profile("app", "alice").search(SECRET) == [] or all(
            SECRET not in hit.content for hit in memory.profile("app", "alice").search(SECRET)
        )
    at = file_of(tmp_path, "alice")
    pages = decrypted_bytes(at.path, at.key)
    assert pages.count(b"harmless line") >= 60
    assert SECRET.encode() not in pages


def test_one_forgotten_memory_and_its_history_are_nowhere_even_when_decrypted(tmp_path: Path) -> None:
    with remembering_secrets(tmp_path) as memory:
        alice = memory.profile("app", "alice")
        taken = alice.forget(alice.list(key="teacher")[0].id)
        assert (len(taken.memories), len(taken.messages)) == (1, 2)
    at = file_of(tmp_path, "alice")
    pages = decrypted_bytes(at.path, at.key)
    assert b"teacher" not in pages
    assert b"pianist" not in pages
    assert b"very long story" in pages


def test_the_search_for_remains_would_see_an_ordinary_delete(tmp_path: Path) -> None:
    remembering_secrets(tmp_path).close()
    in_file(tmp_path, "alice", "PRAGMA secure_delete = OFF", "DELETE FROM message", "DELETE FROM memory")
    at = file_of(tmp_path, "alice")
    assert decrypted_bytes(at.path, at.key).count(SECRET.encode()) > 400


def test_deleting_a_profile_removes_its_files_and_its_key(data: Path) -> None:
    alice = file_of(data, "alice")
    copy = alice.path.read_bytes()
    with open_memory(data) as memory:
        memory.profile("app", "alice").search("word7")
        assert memory.delete_profile("app", "alice") is True
        assert list(alice.path.parent.glob(f"{alice.path.stem}*")) == []
        assert (data / "catalogue.db-wal").stat().st_size == 0
        assert memory.profile("app", "alice").search("word7") == []
        assert memory.profile("app", "alice").stats().messages == 0
        goes_on(memory.profile("app", "bob"))
    catalogue = decrypted_bytes(data / "catalogue.db", load_master_key(data / "keyring"))
    assert file_of(data, "bob").key in catalogue
    for trace in (alice.key, alice.path.stem.encode(), b"alice"):
        assert trace not in catalogue
    assert copy.startswith(b"SQLite") is False


def test_deleting_a_namespace_removes_every_profile_in_it(data: Path) -> None:
    with open_memory(data) as memory:
        memory.delete_namespace("app")
        assert memory.namespaces() == []
    assert [path for path in (data / "profiles").rglob("*") if path.is_file()] == []
    assert json.loads((data / "keyring").read_text())["version"] == 1
