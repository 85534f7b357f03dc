"""Places for originals in tests: a folder, and a bucket of a server that speaks S3's protocol."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import obstore
import pytest
from obstore.store import LocalStore, S3Store

from holdfast.storage.blobs.bucket import Bucket


class OriginalsStorage:
    """What a test gives as settings, and what lies there."""

    def __init__(self, settings: dict[str, str], store: S3Store | LocalStore) -> None:
        self.settings = settings
        self._store = store

    @property
    def bucket(self) -> Bucket:
        return Bucket(self.settings["originals"], self.settings.get("originals_url"))

    def files(self) -> dict[str, bytes]:
        names = [str(each["path"]) for each in obstore.list(self._store).collect()]
        return {name: bytes(obstore.get(self._store, name).bytes()) for name in sorted(names)}

    def spoil(self) -> None:
        """One byte of everything changes."""
        for name, data in self.files().items():
            obstore.put(self._store, name, data[:-1] + bytes([data[-1] ^ 1]))


@contextmanager
def originals_storage(kind: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[OriginalsStorage]:
    if kind == "folder":
        yield OriginalsStorage({"originals": str(folder)}, LocalStore(folder, mkdir=True))
        return
    url = s3_server()
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
    monkeypatch.setenv("AWS_REGION", "us-east-1")
    bucket = f"b{abs(hash(folder))}"
    import httpx2

    httpx2.put(f"{url}/{bucket}").raise_for_status()
    store = S3Store(bucket, prefix="deep/prefix", endpoint=url, client_options={"allow_http": True})
    yield OriginalsStorage({"originals": f"s3://{bucket}/deep/prefix", "originals_url": url}, store)


@cache
def s3_server() -> str:
    """The URL of an S3 server in this process, started at the first use."""
    from moto.server import ThreadedMotoServer

    running = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    running.start()
    host, port = running.get_host_and_port()
    return f"http://{host}:{port}"
