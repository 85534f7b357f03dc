"""A BlobStore in a local folder, or in a bucket of S3 or any server with the S3 protocol."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import obstore
from obstore.exceptions import BaseError, NotFoundError, PermissionDeniedError, UnauthenticatedError
from obstore.store import LocalStore, S3Store

from holdfast.domain.errors import Damaged, NotFound, ReadOnly, StorageError, Unreachable

# Retries and timeouts were chosen by hand; not measured.
RETRY_CONFIG: Any = {"max_retries": 3, "retry_timeout": timedelta(seconds=30)}
CLIENT_OPTIONS: Any = {"connect_timeout": timedelta(seconds=5), "timeout": timedelta(seconds=60)}


class Bucket:
    def __init__(self, address: str, url: str | None = None) -> None:
        """`address` is a folder, or s3://bucket/prefix with the `url` of its server unless that is AWS."""
        self._address = address
        self._folder: Path | None = None
        scheme, _, rest = address.partition("://")
        if scheme == "s3" and rest:
            bucket, _, prefix = rest.strip("/").partition("/")
            server: Any = {"endpoint": url} if url else {}
            client: Any = {**CLIENT_OPTIONS, "allow_http": bool(url and url.startswith("http://"))}
            self._store: Any = S3Store(
                bucket, prefix=prefix or None, client_options=client, retry_config=RETRY_CONFIG, **server
            )
        else:
            self._folder = Path(address)
            with self._translate_errors():
                self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._store = LocalStore(self._folder)

    async def put(self, name: str, file: Path) -> None:
        try:
            with self._translate_errors():
                await obstore.put_async(self._store, name, file)
                if self._folder is not None:
                    await asyncio.to_thread(_sync_to_disk, self._folder / name)
        except NotFound as absent:
            raise StorageError(str(absent)) from absent

    async def get(self, name: str, start: int, stop: int) -> bytes:
        try:
            with self._translate_errors():
                return bytes(await obstore.get_range_async(self._store, name, start=start, end=stop))
        except NotFound:
            raise Damaged(
                f"The place for originals, {self._address}, does not have the file {name}.",
                fix="Was it written with another setting originals? Put the file back, or add the document again.",
            ) from None

    async def delete(self, names: Sequence[str]) -> None:
        for name in names:  # one by one: not every S3-compatible server supports bulk deletion
            try:
                with self._translate_errors():
                    await obstore.delete_async(self._store, name)
            except NotFound:
                continue

    @contextmanager
    def _translate_errors(self) -> Iterator[None]:
        """Raise obstore's errors as ours, with their first line only: their texts are long and may quote requests."""
        where = f"The place for originals, {self._address},"
        try:
            yield
        except (NotFoundError, FileNotFoundError) as absent:
            raise NotFound(
                f"{where} does not exist.", fix="Create the bucket, or correct the setting originals."
            ) from absent
        except (PermissionDeniedError, UnauthenticatedError) as refused:
            raise ReadOnly(
                f"{where} refuses access: {_first_line(refused)}.",
                fix="Check AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and their permissions.",
            ) from refused
        except BaseError as failure:
            if self._folder is not None:
                raise StorageError(f"{where} cannot be used: {_first_line(failure)}.") from failure
            raise Unreachable(
                f"{where} does not respond correctly: {_first_line(failure)}.",
                fix="Check the settings originals and originals_url, AWS_REGION, and whether the server is up.",
            ) from failure
        except OSError as failure:
            raise StorageError(f"{where} cannot be used: {failure.strerror}.") from failure


def _first_line(failure: Exception) -> str:
    text = str(failure).strip() or type(failure).__name__
    return text.splitlines()[0][:300].rstrip(".")


def _sync_to_disk(path: Path) -> None:
    """Sync a file and its folders, so that its bytes and its name survive a loss of power."""
    for each in (path, path.parent, path.parent.parent):
        if os.name == "nt" and each.is_dir():
            continue
        handle = os.open(each, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
