"""A pooler in transaction mode between servers and database: everything holds, and is heard of a little later."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from processes.test_fleet import (  # noqa: F401  (they run here, too)
    LIMIT,
    Pair,
    test_a_job_is_known_everywhere,
    test_a_limit_is_one_limit,
    test_a_listener_hears_what_another_server_writes,
    test_a_repeat_at_another_server_is_no_second_write,
    test_a_revoked_token_ends_everywhere,
    test_what_is_deleted_is_gone_everywhere,
)
from support.postgres import database
from support.postgres_cluster import postgres_user, private_folder
from support.server_fleet import Load, assert_everything_there_once, running_fleet, store_url, wait_until_settled

pytestmark = pytest.mark.slow
PACKAGES = ("pgbouncer", "libevent-2.1-7", "libc-ares2")
SOON = 2.0
"""Looking every second, and a moment to answer."""


@pytest.fixture(scope="module")
def pgbouncer() -> Iterator[tuple[str, dict[str, str]]]:
    """The program, and the environment it runs in: an installed one, or Debian's unpacked into a folder."""
    installed = shutil.which("pgbouncer", path=f"{os.environ['PATH']}:/usr/sbin")
    if installed:
        yield installed, {}
        return
    with tempfile.TemporaryDirectory() as path:
        yield _unpacked(Path(path))


def _unpacked(folder: Path) -> tuple[str, dict[str, str]]:
    try:
        got = subprocess.run(["apt-get", "download", *PACKAGES], cwd=folder, capture_output=True, text=True, timeout=60)
        assert got.returncode == 0, got.stderr
        for package in folder.glob("*.deb"):
            subprocess.run(["dpkg", "-x", str(package), str(folder)], check=True, timeout=60)
    except (OSError, AssertionError, subprocess.SubprocessError) as absent:
        pytest.skip(f"pgbouncer is not installed and cannot be had: {absent}")
    folder.chmod(0o755)  # it refuses to be run by root, and others must reach it
    libraries = ":".join({str(found.parent) for found in folder.rglob("*.so.*")})
    return str(next(folder.rglob("sbin/pgbouncer"))), {"LD_LIBRARY_PATH": libraries}


@pytest.fixture(scope="module")
def pooled(pgbouncer: tuple[str, dict[str, str]]) -> Iterator[str]:
    """The address of a database behind it."""
    program, environment = pgbouncer
    folder = private_folder()
    with database() as dsn:
        settings = folder / "pgbouncer.ini"
        settings.write_text(
            f"[databases]\nbehind = {dsn}\n[pgbouncer]\nunix_socket_dir = {folder}\nlisten_port = 6432\n"
            "auth_type = any\npool_mode = transaction\ndefault_pool_size = 8\nmax_client_conn = 200\n"
        )
        settings.chmod(0o644)
        with (folder / "log").open("ab") as log:
            running = subprocess.Popen(
                [program, str(settings)], env=os.environ | environment, stdout=log, stderr=log, cwd="/",
                user=postgres_user(),
            )  # fmt: skip
        try:
            address = store_url(f"host={folder} port=6432 dbname=behind user=postgres")
            until = time.monotonic() + 120
            while not answers(address):
                assert time.monotonic() < until, (folder / "log").read_text()
                time.sleep(0.1)
            yield address
        finally:
            running.kill()
            running.wait()
            shutil.rmtree(folder)


def answers(address: str) -> bool:
    try:
        with psycopg.connect(address, autocommit=True, prepare_threshold=None):
            return True
    except psycopg.OperationalError:
        return False


@pytest.fixture(scope="module")
def pair(pooled: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    with running_fleet(2, tmp_path_factory.mktemp("pair"), pooled, rate_limit=f"{LIMIT}/hour") as made:
        yield Pair(*made, soon=SOON)


def test_who_cannot_listen_looks(pair: Pair) -> None:
    until = time.monotonic() + 120
    while "polling every second" not in pair.one.log_tail():
        assert time.monotonic() < until, pair.one.log_tail()
        time.sleep(0.1)


def test_writers_get_along(pair: Pair) -> None:
    with Load([pair.one, pair.two], pause=0.02) as load:
        time.sleep(5)
    wait_until_settled(pair.two, 30)
    assert set(load.told.outcomes) == {"ok"}
    assert_everything_there_once(pair.one, load.told)
