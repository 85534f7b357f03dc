"""Compare Holdfast with other memories: `python -m benchmarks.peers`. Writes docs/results/peers.md and peers.svg.

Each memory runs in a process and an environment of its own, under .cache/peers. A result is kept there as JSON and not
measured again, so that a run can be stopped and continued; `--fresh` measures again. The page shows all results kept.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.peers import processes
from benchmarks.peers.embedder import Embedder, VectorCache
from benchmarks.peers.environments import CACHE, PEERS, NotInstallable, Peer, interpreter
from benchmarks.peers.page import chart, page
from benchmarks.peers.workload import SETS, Workload, make_workload

ROOT = Path(__file__).resolve().parents[2]
RESULTS = CACHE / "results"
VECTORS, NETWORKS = CACHE / "vectors.db", CACHE / "networks"
ENVIRONMENT = {
    "OPENBLAS_NUM_THREADS": "1",  # NumPy's idle threads would otherwise spin on every small product
    "HF_HUB_OFFLINE": "1",
    "MEM0_TELEMETRY": "False",
    "ANONYMIZED_TELEMETRY": "False",
}


def result_path(peer: Peer, set: str, size: int) -> Path:
    return RESULTS / f"{set}-{size}-{peer.store}.json"


def measure(peer: Peer, set: str, size: int, seconds: float) -> dict[str, Any]:
    """The figures of one memory, or the reason why there are none."""
    about: dict[str, Any] = {"peer": peer.store, "title": peer.title, "set": set, "size": size}
    try:
        python = interpreter(peer)
    except NotInstallable as error:
        return about | {"reason": f"could not be installed: {error}"}
    folder = Path(tempfile.mkdtemp(prefix="peers-"))
    try:
        (folder / "home").mkdir()
        (folder / "memory").mkdir()
        workload = make_workload(set, size)
        workload.write(folder / "workload.json")
        embed_ahead(workload)
        arguments = [peer.store, folder / "workload.json", VECTORS, NETWORKS, folder / "memory", folder / "result.json"]
        environment = os.environ | ENVIRONMENT | {"HOME": str(folder / "home")}
        with (RESULTS / f"{peer.store}.log").open("w") as log:
            run = subprocess.run(
                [python, "-m", "benchmarks.peers.measurement", *map(str, arguments)],
                cwd=ROOT, env=environment, stdout=log, stderr=log, timeout=seconds, check=False,
            )  # fmt: skip
        if run.returncode != 0:
            lines = Path(log.name).read_text().strip().splitlines() or [f"ended with {run.returncode}"]
            return about | {"reason": f"failed: {lines[-1]}"}
        figures: dict[str, Any] = json.loads((folder / "result.json").read_text())
        return about | figures
    except subprocess.TimeoutExpired:
        return about | {"reason": f"did not finish within {seconds / 60:.0f} minutes"}
    finally:
        processes.kill_descendants()
        shutil.rmtree(folder, ignore_errors=True)


def embed_ahead(workload: Workload) -> None:
    """Puts the vectors of the messages into the cache, and the encoder of questions into its folder."""
    embedder, cache = Embedder(NETWORKS), VectorCache(VECTORS)
    embedder.embed_query("Is the encoder assembled?")
    for session in workload.sessions():
        texts = [message.text for message in session if cache.get(message.text) is None]
        if texts:
            cache.add(texts, embedder.embed(texts))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", default="400,10000", help="how many messages, such as 400,10000,100000")
    parser.add_argument("--set", choices=SETS, default="conversations", help="whose questions are asked")
    parser.add_argument("--peers", default=",".join(peer.store for peer in PEERS))
    parser.add_argument("--minutes", type=float, default=60, help="how long one memory may take at one size")
    parser.add_argument("--fresh", action="store_true", help="measure again what was measured before")
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "results" / "peers.md")
    given = parser.parse_args()
    RESULTS.mkdir(parents=True, exist_ok=True)
    processes.adopt_orphans()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that nothing that was started stays behind
    for size in map(int, given.sizes.split(",")):
        for peer in PEERS:
            path = result_path(peer, given.set, size)
            known = path.exists() and "reason" not in json.loads(path.read_text())
            if peer.store in given.peers.split(",") and (given.fresh or not known):
                print(f"{given.set} {size:,} {peer.title} …", file=sys.stderr, flush=True)
                result = measure(peer, given.set, size, given.minutes * 60)
                print(json.dumps(result), file=sys.stderr, flush=True)
                path.write_text(json.dumps(result, indent=1), "utf-8")
    results = [json.loads(path.read_text()) for path in RESULTS.glob("*.json")]
    given.out.write_text(page(results), "utf-8")
    given.out.with_suffix(".svg").write_text(chart(results), "utf-8")


if __name__ == "__main__":
    main()
