"""Every format, read in the child: what was planted is found, where it was planted."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import pytest

from support.documents.parsing import parse_bytes
from support.documents.samples import MAKERS, PICTURES, Sample, zipped

needs_documents = pytest.mark.skipif(find_spec("pypdfium2") is None, reason="holdfast[documents] is not installed")
needs_ocr = pytest.mark.skipif(find_spec("rapidocr") is None, reason="holdfast[ocr] is not installed")


def check(sample: Sample, folder: Path) -> None:
    found = parse_bytes(sample.data, folder, sample.name)
    assert found.error is None
    for planted in sample.facts:
        places = [section for section in found.sections if planted.fact in section.text]
        assert places, f"{planted.fact!r} is lost"
        if planted.page is not None:
            assert {section.page for section in places} == {planted.page}
        if planted.heading is not None:
            assert planted.heading in places[0].heading
        assert places[0].kind == planted.kind
    assert found.about.format == sample.format
    assert (found.about.author, found.about.date) == (sample.author, sample.date)
    assert sample.title is None or found.about.title == sample.title
    assert found.about.language == sample.language
    assert found.percents == sorted(set(found.percents))
    assert found.percents[-1] == 100


@needs_documents
@pytest.mark.parametrize("maker", MAKERS, ids=lambda maker: maker.__name__.strip("_"))
def test_what_is_planted_is_found_in_its_place(maker: Callable[[], Sample], tmp_path: Path) -> None:
    check(maker(), tmp_path)


@needs_documents
@pytest.mark.parametrize("maker", MAKERS, ids=lambda maker: maker.__name__.strip("_"))
def test_a_document_is_known_by_its_content_whatever_it_is_called(maker: Callable[[], Sample], tmp_path: Path) -> None:
    sample = maker()
    for name in (None, "photo.jpg"):
        found = parse_bytes(sample.data, tmp_path, name)
        if sample.format != "code":
            assert found.about.format == sample.format, name
        assert all(any(planted.fact in section.text for section in found.sections) for planted in sample.facts)


SAME = [pytest.param(maker, marks=pytest.mark.slow) for maker in PICTURES[1:]]
"""The same picture without a page around it, in several spellings: `make prove` reads them."""


@needs_ocr
@needs_documents
@pytest.mark.parametrize("maker", [PICTURES[0], *SAME], ids=["scanned pdf", "png", "jpeg", "webp", "gif", "tiff"])
def test_words_in_pictures_are_read(maker: Callable[[], Sample], tmp_path: Path) -> None:
    sample = maker()
    found = parse_bytes(sample.data, tmp_path, sample.name)
    assert found.error is None
    for planted in sample.facts:
        assert [section.page for section in found.sections if planted.fact in section.text] == [planted.page]


CELLAR = "Ключ от подвала висит за дверью."


def cellar_page(encoding: str) -> str:
    return f'<html><head><meta charset="{encoding}"></head><body><p>{CELLAR}</p></body></html>'


@needs_documents
@pytest.mark.parametrize("encoding", ["windows-1251", "koi8-r", "iso-8859-5"])
def test_a_page_is_read_in_the_encoding_that_it_declares(encoding: str, tmp_path: Path) -> None:
    assert CELLAR in parse_bytes(cellar_page(encoding).encode(encoding), tmp_path).text


@needs_documents
@pytest.mark.parametrize("lie", ["no-such-thing", "rot13", "utf-8", "base64"])
def test_a_page_that_declares_another_encoding_is_read_somehow(lie: str, tmp_path: Path) -> None:
    assert parse_bytes(cellar_page(lie).encode("koi8-r"), tmp_path).error is None


@needs_documents
def test_what_cannot_be_read_in_an_archive_is_noted_and_the_rest_is_read(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {
        "good.txt": "The good file says seven.",
        "bad.pdf": b"%PDF-1.7 broken",
        "bad.docx": zipped({"word/document.xml": "<x"}),
        "bad.png": b"\x89PNG\r\n\x1a\n broken",
        "program.exe": b"MZ" + bytes(50),
        "broken.json": "[" * 100_000,
    }
    found = parse_bytes(zipped(files), tmp_path, "all.zip")
    assert found.error is None
    assert "The good file says seven." in found.text
    assert [note.split(":")[0] for note in found.about.notes] == [name for name in files if name != "good.txt"]
