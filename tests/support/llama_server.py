"""A real small language model behind an OpenAI-compatible server of this machine, as long as a block lasts.

    with RealModel(path) as model:
        memory = await AsyncHoldfast.open(folder, llm=model.llm)

The server (llama.cpp by way of xllamacpp) enforces JSON schemas. It runs on one thread in a process of its own, on a
free port of the loopback, and ends with its standard input, so that it never outlives whoever started it.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections import deque
from pathlib import Path
from types import TracebackType
from typing import Self

MODELS = Path(__file__).resolve().parents[2] / ".cache" / "models"
QWEN = MODELS / "qwen2.5-coder-0.5b-instruct-q4_k_m.gguf"
SMOL = MODELS / "smollm2-135m-instruct-q4_1.gguf"
CONTEXT_TOKENS = 8_192
START_SECONDS, STOP_SECONDS = 120.0, 20.0


class LlamaServer:
    """A model's file, served."""

    def __init__(self, path: Path, *, context: int = CONTEXT_TOKENS) -> None:
        self.path = path
        self._context = context
        self._said: deque[str] = deque(maxlen=40)

    @property
    def llm(self) -> str:
        """What the setting `llm` wants."""
        return f"{self.url}#{self.path.stem}"

    @property
    def cpu(self) -> float:
        """CPU seconds that the server has used so far."""
        fields = Path(f"/proc/{self._process.pid}/stat").read_text("utf-8").rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def __enter__(self) -> Self:
        if not self.path.exists():
            raise FileNotFoundError(f"{self.path} is not there; run: python scripts/fetch_test_model.py")
        told, telling = os.pipe()
        command = [sys.executable, __file__, str(self.path), str(self._context), str(telling)]
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            pass_fds=(telling,),
        )
        os.close(telling)
        self._reader = threading.Thread(target=self._listen, daemon=True)
        self._reader.start()
        with open(told, encoding="utf-8") as address:
            self.url = f"{address.read()}/v1"  # empty when it ends before it listens
        try:
            self._wait_until_ready(time.monotonic() + START_SECONDS)
        except BaseException:
            self._stop()
            raise
        return self

    def __exit__(self, _: type[BaseException] | None, __: BaseException | None, ___: TracebackType | None) -> None:
        self._stop()

    def _listen(self) -> None:
        assert self._process.stdout is not None
        self._said.extend(self._process.stdout)

    def _wait_until_ready(self, deadline: float) -> None:
        listens = self.url != "/v1"
        while listens and time.monotonic() < deadline and self._process.poll() is None:
            try:
                with urllib.request.urlopen(f"{self.url.removesuffix('/v1')}/health", timeout=5) as answer:
                    if answer.status == 200:
                        return
            except (urllib.error.URLError, OSError):
                time.sleep(0.1)
        if not listens:
            self._reader.join(STOP_SECONDS)  # what it said before it ended
        raise RuntimeError(f"The server of {self.path.name} did not start:\n{''.join(self._said)}")

    def _stop(self) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        try:
            self._process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._reader.join(STOP_SECONDS)
        self._process.stdout.close()


def serve(path: str, context: int, telling: int) -> None:
    """Until standard input ends; the address is written to `telling`, which the library's own lines do not reach."""
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = path
    params.model_alias = {Path(path).stem}
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.n_ctx = context
    params.n_parallel = 1
    params.n_gpu_layers = 0
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
    params.sampling.seed = 1
    params.warmup = False
    params.use_jinja = True
    params.offline = True
    server = xllamacpp.Server(params)
    with open(telling, "w", encoding="utf-8") as address:
        address.write(server.listening_address)
    sys.stdin.read()
    sys.stdout.flush()
    os._exit(0)  # the server's threads are not asked


if __name__ == "__main__":
    serve(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
