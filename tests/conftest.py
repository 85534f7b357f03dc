"""What holds for all tests."""

from __future__ import annotations

import ast
import gc
import logging
import os
import shutil
import signal
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import httpcore2
import pytest
from hypothesis import HealthCheck, Phase, settings

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as in a job in the background, whose children would ignore it
    signal.signal(signal.SIGINT, signal.default_int_handler)

pytest.register_assert_rewrite("support")
_parse = ast.parse


def parse_without_collecting(*given: Any, **named: Any) -> Any:
    """`ast.parse` of CPython 3.11 raises a SystemError when garbage with finalizers is collected while it runs."""
    collects = gc.isenabled()
    gc.disable()
    try:
        return _parse(*given, **named)
    finally:
        if collects:
            gc.enable()


ast.parse = parse_without_collecting
gc.disable()  # until the tests are collected: what is imported for them stays
# The certificates of the system take some 20 ms to load, and nearly every test that speaks HTTP makes a client.
httpcore2.default_ssl_context = cache(httpcore2.default_ssl_context)

# The same examples in every run, so that a change passes or fails for what it does; `make prove` looks at other ones.
# Neither is about the time that an example takes.
TIMELESS: Any = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile(
    "same", derandomize=True, database=None, phases=(Phase.explicit, Phase.generate, Phase.shrink), **TIMELESS
)
settings.register_profile("random", print_blob=True, **TIMELESS)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "same"))


MEMORY_DISK = Path("/dev/shm")
MIN_FREE_BYTES = 4 * 1024**3


def pytest_configure(config: pytest.Config) -> None:
    """Tests' folders lie in memory where there is room: what is written and synced there is the same as on a disk."""
    if MEMORY_DISK.is_dir() and shutil.disk_usage(MEMORY_DISK).free > MIN_FREE_BYTES:
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(MEMORY_DISK))
    if not hasattr(config, "workerinput"):
        from support.postgres_run import prepare_run  # not before its asserts are registered

        prepare_run()
        # A test that names no folder must not meet the memories of whoever runs it.
        os.environ["XDG_DATA_HOME"] = tempfile.mkdtemp(prefix="holdfast-tests-data-")


def pytest_unconfigure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):
        from support.postgres_run import end_run

        end_run()
        shutil.rmtree(os.environ["XDG_DATA_HOME"])


@pytest.fixture(autouse=True)
def patient_reads(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """A read waits for the digestion of recent writes, however busy the machine is; in use, for half a second."""
    if request.node.get_closest_marker("short_waits") is None:
        monkeypatch.setattr("holdfast.service.profile.context.CATCH_UP_SECONDS", 60.0)


@pytest.fixture(autouse=True)
def logging_as_before() -> Iterator[None]:
    """Commands run in this process log to the stderr of their test, which is closed after it."""
    logs = [logging.getLogger(name) for name in ("holdfast", "holdfast.access")]
    before = [(log, log.handlers[:], log.level, log.propagate) for log in logs]
    yield
    for log, handlers, level, propagate in before:
        log.handlers, log.propagate = handlers, propagate
        log.setLevel(level)


def pytest_collection_finish() -> None:
    """Thousands of tests and modules stay until the end: garbage need not be looked for among them again and again."""
    gc.collect()
    gc.freeze()
    gc.enable()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--renew", action="store_true", help="write the golden files anew in place of comparing them")


SLOW_FOLDERS = (
    "processes", "conformance", "property", "e2e", "third_party", "scenarios", "adapters", "unit/documents",
    "unit/text/redaction", "unit/models", "architecture",
)  # fmt: skip
"""Slowest files first: workers take one file after another, and the last one should not keep the others waiting."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    def rank(item: pytest.Item) -> int:
        slow = (n for n, folder in enumerate(SLOW_FOLDERS) if item.nodeid.startswith(f"tests/{folder}/"))
        return next(slow, len(SLOW_FOLDERS))

    items.sort(key=rank)


WHOLE_FOLDERS = ("tests/e2e/", "tests/architecture/")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """File by file, but some folders as one. The browser tests share a browser and a server, which take seconds to
    start, those of the architecture the syntax trees of the package."""
    from xdist.scheduler import LoadFileScheduling

    class Scheduling(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            whole = (folder for folder in WHOLE_FOLDERS if nodeid.startswith(folder))
            return next(whole, super()._split_scope(nodeid))

    return Scheduling(config, log) if config.getvalue("dist") == "loadfile" else None
