"""Keeps local networks in a folder as onnxruntime runs them: assembled and optimised. Loading one maps it into memory.

What is kept follows from files of this package and from onnxruntime's version, and gives the same numbers. It may be
deleted at any time. Where nothing can be kept, a network is prepared again by every process.
"""

from __future__ import annotations

import hashlib
import json
import logging
import mmap
import os
import platform
import shutil
import tempfile
import time
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

log = logging.getLogger("holdfast")
NETWORK_FILE, WEIGHTS_FILE, CHECKSUM_FILE = "network.onnx", "weights.bin", "checksums.json"
MIN_SEPARATE_BYTES = 1024
"""From what size on a tensor lies in the file of weights, which is mapped and not copied. Chosen by hand."""
MAX_UNUSED_DAYS = 30
"""After how many days what an earlier version kept is deleted. Chosen by hand."""
BuildSession = Callable[[Any], Any]
"""Makes an onnxruntime session with the given options."""


class NetworkCache:
    """The networks kept in one folder; without a folder, none."""

    def __init__(self) -> None:
        self.folder: Path | None = None
        self.few_runs = False
        """Whether this process runs each network on a few texts only, as a command that asks one question does. A kept
        network is then loaded in two thirds of the time; it gives the same numbers and needs more memory."""

    def load_session(self, name: str, sources: Sequence[Path], options: Callable[[], Any], build: BuildSession) -> Any:
        """The session of a network that `build` makes from these files: the kept one, or a new one that is kept."""
        if self.folder is None:
            return build(options())
        kept = self.folder / f"{name}-{_fingerprint(sources)}"
        if _is_whole(kept):
            return _kept_session(kept, options(), few_runs=self.few_runs)
        try:
            return _keep_session(kept, name, options(), build)
        except Exception as failure:  # onnxruntime's errors have no class in common; a full disk must not end a search
            log.info("the network %s cannot be kept in %s: %s", name, self.folder, failure)
            return build(options())


networks = NetworkCache()
"""The cache of this process. Whoever opens Holdfast from settings sets its folder."""


def load_onnxruntime() -> Any:
    """The inference library, without its telemetry: it would keep a device id in the user's folder and may send
    events. It looks for the variable when it is imported, so nothing else may import it."""
    os.putenv("ORT_DISABLE_TELEMETRY", "1")
    import onnxruntime

    return onnxruntime


def _fingerprint(sources: Sequence[Path]) -> str:
    files = [(path.name, found.st_size, found.st_mtime_ns) for path in sources for found in [path.stat()]]
    return hashlib.sha256(repr((files, load_onnxruntime().__version__, platform.machine())).encode()).hexdigest()[:16]


def _kept_session(kept: Path, options: Any, *, few_runs: bool) -> Any:
    onnxruntime = load_onnxruntime()
    options.enable_mem_reuse = not few_runs  # to plan which results may share memory takes longer than some runs
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL  # it is optimised
    return onnxruntime.InferenceSession(str(kept / NETWORK_FILE), options, providers=["CPUExecutionProvider"])


def _keep_session(kept: Path, name: str, options: Any, build: BuildSession) -> Any:
    """Build the session and let onnxruntime write what it runs. The folder appears whole or not at all."""
    kept.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{name}-", dir=kept.parent, ignore_cleanup_errors=True) as folder:
        fresh = Path(folder) / "whole"
        fresh.mkdir()
        options.optimized_model_filepath = str(fresh / NETWORK_FILE)
        options.add_session_config_entry("session.optimized_model_external_initializers_file_name", WEIGHTS_FILE)
        options.add_session_config_entry(
            "session.optimized_model_external_initializers_min_size_in_bytes", str(MIN_SEPARATE_BYTES)
        )
        session = build(options)
        (fresh / CHECKSUM_FILE).write_text(json.dumps(_checksums(fresh)))
        shutil.rmtree(kept, ignore_errors=True)  # it is not there, or not whole
        _delete_unused(kept.parent, name)
        fresh.rename(kept)
    return session


def _is_whole(kept: Path) -> bool:
    """Whether a kept network is there and has the bytes that were written."""
    try:
        return bool(json.loads((kept / CHECKSUM_FILE).read_text()) == _checksums(kept))
    except (OSError, ValueError):
        return False


def _checksums(folder: Path) -> dict[str, int]:
    found = {}
    for name in (NETWORK_FILE, WEIGHTS_FILE):
        with (folder / name).open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            found[name] = zlib.crc32(data)
    return found


def _delete_unused(folder: Path, name: str) -> None:
    before = time.time() - MAX_UNUSED_DAYS * 86_400
    for old in folder.glob(f"{name}-*"):
        if old.stat().st_mtime < before:
            shutil.rmtree(old, ignore_errors=True)
