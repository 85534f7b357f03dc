"""Everything that a profile's storage holds, deciphered and decompressed, and the search for words in it."""

from __future__ import annotations

import base64
import json
import shutil
import zlib
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import apsw
import psycopg

from holdfast.domain.errors import StorageError
from holdfast.storage.postgres.encryption import ProfileCipher
from holdfast.storage.postgres.vault import PROFILE_TABLES
from holdfast.storage.sqlite.file import connect, query

ZLIB_HEADERS = (b"\x78\x01", b"\x78\x5e", b"\x78\x9c", b"\x78\xda")


def spellings(word: str) -> Iterator[bytes]:
    """A word as bytes in every encoding that a store might use, in lower case where case is lost."""
    for coding in ("utf-8", "utf-16-le", "utf-16-be"):
        yield word.encode(coding)
    yield word.encode().hex().encode()
    for padding in range(3):  # the letters that do not depend on what stands before and after
        coded = base64.b64encode(b"\0" * padding + word.encode())
        yield coded[(padding * 8 + 5) // 6 : len(word.encode()) * 8 // 6 - 1]


def found_words(words: Iterable[str], stored: bytes) -> list[str]:
    """Those of the words that occur in the bytes, with the place of the first."""
    low = stored.lower()
    found = []
    for word in words:
        plain = [low.find(each.lower()) for each in list(spellings(word.lower()))[:4]]
        coded = [stored.find(each) for each in list(spellings(word))[4:] if len(each) > 5]
        at = [place for place in (*plain, *coded) if place >= 0]
        if at:
            found.append(f"{word}: {stored[max(0, at[0] - 80) : at[0] + 40]!r}")
    return found


def inflated(stored: bytes) -> bytes:
    """What every zlib stream in the bytes says, as far as it is whole: pages cut long ones."""
    out = []
    for header in ZLIB_HEADERS:
        at = stored.find(header)
        while at >= 0:
            stream = zlib.decompressobj()
            try:
                for start in range(at, len(stored), 64):
                    out.append(stream.decompress(stored[start : start + 64]))
                    if stream.eof:
                        break
            except zlib.error:
                pass
            at = stored.find(header, at + 1)
    return b"\n".join(out)


def cell_bytes(cell: Any) -> bytes:
    """A value of a row, with what it says when it is compressed or JSON with escapes."""
    if isinstance(cell, memoryview):
        cell = cell.tobytes()
    data = cell if isinstance(cell, bytes) else str(cell).encode()
    more = [data]
    if isinstance(cell, bytes) and cell[:2] in ZLIB_HEADERS:
        more.append(zlib.decompress(cell))
    for each in list(more):
        if each[:1] in (b"{", b"[", b'"'):
            with suppress(ValueError):
                more.append(json.dumps(json.loads(each), ensure_ascii=False).encode())
    return b"\n".join(more)


def sqlite_pages(file: Path, key: bytes, at: Path) -> bytes:
    """Every page of a copy of the file and its log, deciphered, free ones too.

    They are read through the pager: `PRAGMA rekey` and `VACUUM INTO` write the file anew, without its free pages.
    """
    db = _open_copy(file, key, at)
    pages = db.serialize("main")
    db.close()
    return bytes(pages)


def sqlite_bytes(file: Path, key: bytes, at: Path) -> bytes:
    """The pages of a profile's file, what is compressed in them, and every cell of every table, shadow tables too."""
    pages = sqlite_pages(file, key, at)
    db = _open_copy(file, key, at)
    names = [name for (name,) in query(db, "SELECT name FROM sqlite_schema WHERE type = 'table'")]
    cells = [cell for name in names if name != "word" for row in query(db, f'SELECT * FROM "{name}"') for cell in row]
    db.close()
    return b"\n".join([pages, inflated(pages), *map(cell_bytes, cells)])


def _open_copy(file: Path, key: bytes, at: Path) -> apsw.Connection:
    copy = at / "copy.db"
    for suffix in ("", "-wal"):
        copy.with_name(copy.name + suffix).unlink(missing_ok=True)
        shutil.copy(file.with_name(file.name + suffix), copy.with_name(copy.name + suffix))
    copy.with_name(copy.name + "-shm").unlink(missing_ok=True)
    return connect(copy, key, writing=False, flags=apsw.SQLITE_OPEN_READWRITE)


def postgres_bytes(dsn: str, cipher: ProfileCipher | None) -> bytes:
    """Every cell of every table with a profile's rows, deciphered where it was encrypted."""
    found = []
    with psycopg.connect(dsn) as db:
        for table in PROFILE_TABLES:
            for row in db.execute(f"SELECT * FROM {table}").fetchall():
                for cell in row:
                    found += [cell_bytes(cell), *_deciphered(cell, cipher)]
    return b"\n".join(found)


def _deciphered(cell: Any, cipher: ProfileCipher | None) -> Iterator[bytes]:
    if cipher is None or not isinstance(cell, str | bytes | memoryview):
        return
    try:
        plain = cipher.decrypt_text(cell).encode() if isinstance(cell, str) else cipher.decrypt(bytes(cell))
    except (StorageError, ValueError):
        return
    yield cell_bytes(plain)
