"""What ships is what the source says: the UI is built again and compared byte for byte."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from holdfast.api.web import STATIC
from support.browser.chromium import SKIP_REASONS
from support.browser.node_packages import UI, missing_packages


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_the_built_files_are_those_of_the_source(tmp_path: Path) -> None:
    missing = missing_packages()
    if missing is not None:
        SKIP_REASONS.append(f"the build could not be compared: {missing}")
        pytest.skip(missing)
    for command in (["npx", "tsc", "--noEmit"], ["npx", "vite", "build", "--outDir", str(tmp_path), "--emptyOutDir"]):
        done = subprocess.run(command, cwd=UI, capture_output=True, text=True, timeout=400, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
    made, shipped = contents(tmp_path), contents(STATIC)
    assert sorted(made) == sorted(shipped), "run `make ui` and commit what it writes"
    assert [name for name in made if made[name] != shipped[name]] == []


def test_the_lock_file_names_no_registry() -> None:
    assert '"resolved"' not in (UI / "package-lock.json").read_text("utf-8")


def test_nothing_is_taken_from_elsewhere() -> None:
    """No file that ships names another host to load from; addresses in texts and namespaces of SVG aside."""
    for name, body in contents(STATIC).items():
        if name.endswith((".html", ".css")):
            assert b"://" not in body.replace(b"http://www.w3.org/", b""), name
