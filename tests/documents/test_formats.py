"""Every format, read in the child: what was planted is found, where it was planted."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import pytest
from document_corpus import MAKERS, PICTURES, Sample
from document_reading import read

needs_documents = pytest.mark.skipif(find_spec("pypdfium2") is None, reason="holdfast[documents] is not installed")
needs_ocr = pytest.mark.skipif(find_spec("rapidocr") is None, reason="holdfast[ocr] is not installed")


def check(sample: Sample, folder: Path) -> None:
    found = read(sample.data, folder, sample.name)
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
    assert found.percents == sorted(found.percents)


@needs_documents
@pytest.mark.parametrize("maker", MAKERS, ids=lambda maker: maker.__name__.strip("_"))
def test_what_is_planted_is_found_in_its_place(maker: Callable[[], Sample], tmp_path: Path) -> None:
    check(maker(), tmp_path)


@needs_documents
@pytest.mark.parametrize("maker", MAKERS, ids=lambda maker: maker.__name__.strip("_"))
def test_a_document_is_known_by_its_content_whatever_it_is_called(maker: Callable[[], Sample], tmp_path: Path) -> None:
    sample = maker()
    for name in (None, "x.bin", "photo.jpg"):
        found = read(sample.data, tmp_path, name)
        if sample.format != "code":
            assert found.about.format == sample.format, name
        assert all(any(planted.fact in section.text for section in found.sections) for planted in sample.facts)


@needs_ocr
@needs_documents
@pytest.mark.parametrize("maker", PICTURES, ids=["scanned pdf", "png", "jpeg", "webp", "gif", "tiff"])
def test_words_in_pictures_are_read(maker: Callable[[], Sample], tmp_path: Path) -> None:
    sample = maker()
    found = read(sample.data, tmp_path, sample.name)
    assert found.error is None
    for planted in sample.facts:
        assert [section.page for section in found.sections if planted.fact in section.text] == [planted.page]
