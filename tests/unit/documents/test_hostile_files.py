"""Inputs made to harm: each is a clear error or harmless text, soon, in little memory, and the reader goes on."""

from __future__ import annotations

import json
import random
import resource
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from holdfast.documents.types import ParseLimits
from support.documents.hostile_files import HOSTILE, Hostile
from support.documents.parsing import ParsedDocument, parse_bytes
from support.documents.samples import MAKERS, markdown
from support.paths import TESTS

pytestmark = pytest.mark.skipif(
    find_spec("pypdfium2") is None or find_spec("rapidocr") is None, reason="holdfast[documents,ocr] is not installed"
)


def check(found: ParsedDocument, ends: str) -> None:
    if found.error is not None:
        told = str(found.error)
        assert ends in ("error", "either"), told
        assert len(told) > 15
        assert "Traceback" not in told
        assert "returned invalid data" not in told
    else:
        assert ends in ("text", "either"), found.text[:300]
        assert found.text.strip()


def test_there_are_more_than_a_hundred_hostile_inputs() -> None:
    assert len(HOSTILE) >= 100


EVERY_SIXTH = [
    pytest.param(hostile, id=name, marks=() if n % 6 == 0 else pytest.mark.slow)
    for n, (name, hostile) in enumerate(HOSTILE.items())
]
"""Of all kinds; `make prove` tries all."""


@pytest.mark.parametrize("hostile", EVERY_SIXTH)
def test_no_input_harms_its_reader(hostile: Hostile, tmp_path: Path) -> None:
    data = hostile.make()
    here = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    found = parse_bytes(data, tmp_path, hostile.name, hostile.limits)
    check(found, hostile.ends)
    assert not [word for word in hostile.never if word in found.text]
    assert "took longer than" not in str(found.error), "only the limit of time ended it"
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - here < 200 * 1024, "the reader itself grew"
    assert [path.name for path in tmp_path.iterdir()] == [
        path.name for path in tmp_path.iterdir() if len(path.name) == 16
    ]


def test_the_reader_reads_on_after_the_worst(tmp_path: Path) -> None:
    for name in ("zip bomb", "deep docx"):
        parse_bytes(HOSTILE[name].make(), tmp_path, None, HOSTILE[name].limits)
    sample = markdown()
    assert parse_bytes(sample.data, tmp_path, sample.name).error is None


WORST = ("zip bomb", "a page bomb", "one text a million times", "two hundred thousand boxes", "xlsx bomb")
MORE = ("zips of ten zips of ten zips", "a bomb in a bomb", "json with one key a million times", "deep docx",
        "a table of a million columns", "an attribute of ten megabytes", "ten million strokes")  # fmt: skip


@pytest.mark.parametrize("worst", [WORST, pytest.param(MORE, marks=pytest.mark.slow)], ids=["some", "more"])
def test_the_worst_inputs_stay_within_their_memory(worst: tuple[str, ...], tmp_path: Path) -> None:
    """Measured by the kernel, in a process of its own so that no other child counts."""
    command = [sys.executable, "-m", "support.children.parse_hostile_files", str(tmp_path), *worst]
    done = subprocess.run(command, cwd=TESTS, capture_output=True, text=True, timeout=400, check=True)
    peaks = json.loads(done.stdout)
    assert max(peaks.values()) <= 512 * 1024, peaks


@pytest.mark.slow
@pytest.mark.parametrize("maker", MAKERS, ids=lambda maker: maker.__name__.strip("_"))
def test_broken_files_of_every_format_are_an_error_or_what_is_left_of_them(maker, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    data = maker().data
    dice = random.Random(maker.__name__)
    broken = [data[: len(data) * part // 10] for part in (1, 3, 5, 9)] + [data[:-1], data[1:]]
    for flips in (1, 5, 50, 500):
        flipped = bytearray(data)
        for _ in range(flips):
            flipped[dice.randrange(len(flipped))] = dice.randrange(256)
        broken.append(bytes(flipped))
    for each in broken:
        check(parse_bytes(each, tmp_path, maker().name, ParseLimits(cpu_seconds=10, memory_bytes=512 << 20)), "either")
