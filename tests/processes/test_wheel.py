"""The wheel in an empty environment: it brings what it needs, and its command remembers, recalls and serves.

`make prove` tries every Python that Holdfast supports and that is here, and a run without an installation. Packages
come from uv's cache, else from the registry.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import holdfast
from support.paths import ROOT
from support.server_process import ServerProcess

PYTHONS = ("3.11", "3.12", "3.13", "3.14")
RUNNING = f"{sys.version_info.major}.{sys.version_info.minor}"
CONSTRAINTS = ("--constraints", str(ROOT / "requirements-serve.lock"))


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(autouse=True)
def only_what_is_installed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No path to the sources, no settings of the user, no memories of the user."""
    for name in [name for name in os.environ if name.startswith("HOLDFAST_")]:
        monkeypatch.delenv(name)
    monkeypatch.delenv("PYTHONPATH", raising=False)
    monkeypatch.setenv("HOLDFAST_DATA", str(tmp_path / "memories"))


def run_uv(*arguments: str) -> str:
    """Run uv with what its cache holds, and only if that is not enough with the network; return what it prints."""
    uv = shutil.which("uv", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    assert uv is not None, "uv is part of the extra dev: `make test` installs it"
    for network in (["--offline"], []):
        ran = subprocess.run([uv, *network, *arguments], capture_output=True, text=True)
        if ran.returncode == 0:
            return ran.stdout
    raise AssertionError(f"uv {' '.join(arguments)}:\n{ran.stderr}")


def interpreter(version: str) -> Path:
    """A Python of this version, on the PATH or installed by pyenv; without one, the test is skipped."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    for folder in (*pyenv.glob(f"versions/{version}.*/bin"), *os.get_exec_path()):
        python = Path(folder) / f"python{version}"
        # pyenv puts a command for every version on the PATH, also for those that it then refuses to run.
        if python.exists() and not subprocess.run([python, "-c", ""], capture_output=True).returncode:
            return python
    pytest.skip(f"There is no Python {version} on the PATH or in {pyenv}.")


@pytest.fixture(params=[pytest.param(each, marks=() if each == RUNNING else pytest.mark.slow) for each in PYTHONS])
def installed(request: pytest.FixtureRequest, wheel: Path, tmp_path: Path) -> Iterator[Path]:
    """The command, installed from the wheel into an environment that holds nothing else."""
    environment = tmp_path / "environment"
    run_uv("venv", "--quiet", "--python", str(interpreter(request.param)), str(environment))
    python = environment / "bin" / "python"
    run_uv("pip", "install", "--quiet", "--python", str(python), *CONSTRAINTS, str(wheel))
    yield environment / "bin" / "holdfast"
    shutil.rmtree(environment)


def output(*command: str | Path) -> str:
    ran = subprocess.run(command, capture_output=True, text=True, env=os.environ | {"HOLDFAST_EMBEDDER": "potion"})
    assert ran.returncode == 0, ran.stderr
    return ran.stdout.strip()


def test_the_installed_command_remembers_recalls_and_serves(installed: Path, tmp_path: Path) -> None:
    assert output(installed, "--version") == holdfast.__version__
    output(installed, "remember", "I prefer window seats")
    assert "I prefer window seats" in output(installed, "recall", "Which seats do I prefer?")
    with ServerProcess(tmp_path / "memories", command=[str(installed)]) as server:
        found = server.call_json("POST", "/v1/namespaces/default/profiles/default/search", json={"query": "seats"})
        assert found["hits"][0]["content"] == "I prefer window seats"
        assert "<title>" in server.ask("GET", "/", None).text
        assert server.stop(signal.SIGTERM) == 0


@pytest.mark.slow
def test_one_command_runs_it_without_an_installation(wheel: Path) -> None:
    """As `uvx holdfast` and `pipx run holdfast` do."""
    once = ("tool", "run", "--python", str(interpreter(RUNNING)), *CONSTRAINTS, "--from", str(wheel), "holdfast")
    run_uv(*once, "remember", "I prefer window seats")
    assert "I prefer window seats" in run_uv(*once, "recall", "Which seats do I prefer?")
