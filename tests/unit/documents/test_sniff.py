"""What bytes are: told by the bytes; a name decides only between readings that the bytes allow."""

from __future__ import annotations

import io

import pytest

from holdfast.documents.parse.language import detected_language
from holdfast.documents.sniff import encoding_of, sniff_format
from holdfast.documents.types import DocumentError

PROSE = "The harbour was quiet, and nobody spoke.\nA gull came down, looked about, and left again.\n" * 5
PYTHON = "import os\n\n\ndef main() -> None:\n    for name in os.listdir():\n        print(name)\n\n\nmain()\n"
SCRIPT = "const a = 1;\nfunction f(x) {\n  return x + a;\n}\nf(2);\nexport default f;\n"
TEXTS = [
    (PROSE, None, "text"), (PROSE, "a.md", "markdown"), (PROSE, "a.py", "code"), (PROSE, "a.txt", "text"),
    (PYTHON, None, "code"), (PYTHON, "x.py", "code"), (SCRIPT, None, "code"), ("#!/bin/sh\necho hi\n", None, "code"),
    ("# Title\n\nSome words.\n\n- one\n- two\n", None, "markdown"), ("# Title\n\nSome words.\n", "a.txt", "text"),
    ("a,b\n1,2\n", "a.csv", "csv"), ("a;b;c\n1;2;3\n4;5;6\n7;8;9\n", None, "csv"), ("a\tb\n1\t2\n3\t4\n", None, "csv"),
    ('{"a": 1}', None, "json"), ('{"a": 1}\n{"a": 2}\n', "x.jsonl", "json"), ("[1, 2]", "a.txt", "json"),
    ("{not json at all", None, "text"), ("[link] and words, [another]\n", None, "text"),
    ("<!DOCTYPE html><p>x", None, "html"), ("  \n<HTML><body>x", "a.txt", "html"), ("<!-- c --><p>x</p>", None, "html"),
    ("<?xml version='1.0'?><html><p>x</p></html>", None, "html"), ("<?xml version='1.0'?><a>x</a>", None, "xml"),
    ("<svg xmlns='x'><text>a</text></svg>", None, "xml"), ("<3 is a heart, not a tag", None, "text"),
    ("From: a@b.c\nSubject: x\nDate: now\n\nhello", None, "eml"), ("Subject: x\nnot a header\n", None, "text"),
    ("To: everyone who reads\n\nThis is a letter.", None, "text"),
    ("WEBVTT\n\n00:01.000 --> 00:02.000\nhi", None, "vtt"), ("1\n00:00:01,000 --> 00:00:02,000\nhi\n", None, "srt"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "name", "format"), TEXTS)
def test_texts_are_told_apart(text: str, name: str | None, format: str) -> None:
    assert sniff_format(io.BytesIO(text.encode()), name) == format


@pytest.mark.parametrize(
    ("head", "format"),
    [(b"%PDF-1.4\n", "pdf"), (b"\n\n%PDF-1.4\n", "pdf"), (b"\x89PNG\r\n\x1a\n", "image"),
     (b"\xff\xd8\xff\xe1", "image"), (b"II*\0", "image"), (b"MM\0*", "image"), (b"GIF89a", "image"),
     (b"RIFF\0\0\0\0WEBPVP8 ", "image")],
)  # fmt: skip
def test_a_name_does_not_make_bytes_into_something_else(head: bytes, format: str) -> None:
    for name in (None, "a.txt", "a.docx"):
        assert sniff_format(io.BytesIO(head + bytes(100)), name) == format


@pytest.mark.parametrize(
    ("head", "what"),
    [(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "old Microsoft"), (b"{\\rtf1", "RTF"), (b"\x1f\x8b\x08", "gzip"),
     (b"\0\0\0 ftypmp42", "video"), (b"ID3\x04", "audio"), (b"\x7fELF", "program"),
     (b"\0\1\2\3\4\5\6\7", "not a supported format")],
)  # fmt: skip
def test_what_cannot_be_read_is_called_by_its_name(head: bytes, what: str) -> None:
    with pytest.raises(DocumentError, match=what):
        sniff_format(io.BytesIO(head + bytes(range(32)) * 10), "report.txt")


@pytest.mark.parametrize(
    ("text", "encoding"),
    [("Zażółć gęślą jaźń, klucz wisi za drzwiami, a olej jest w szafce. ", "cp1250"),
     ("Ключ от подвала висит за дверью, а масло в шкафу. ", "koi8-r"),
     ("Ключ от подвала висит за дверью, а масло в шкафу. ", "cp1251"),
     ("地下室の鍵はドアの後ろに掛かっています。", "shift_jis"), ("Señor Muñoz llegó a la estación. ", "cp1252"),
     ("plain words ", "utf-16-le"), ("plain words ", "utf-16-be"), ("größe и 漢字 ", "utf-8"), ("größe ", "utf-32")],
)  # fmt: skip
def test_old_encodings_are_recognised(text: str, encoding: str) -> None:
    data = (text * 20).encode(encoding)
    assert data.decode(encoding_of(data) or "ascii") == text * 20


def test_a_letter_cut_in_half_at_the_end_is_no_reason_to_doubt() -> None:
    whole = ("größe и 漢字 " * 5_000).encode()
    for cut in range(65_536, 65_540):
        assert encoding_of(whole[:cut]) == "utf-8"


@pytest.mark.parametrize(
    ("text", "language"),
    [("The ferry is late and the keys are with the pilot of the harbour.", "en"),
     ("Der Schlüssel ist nicht hier und die Tür ist mit einem Brett verschlossen.", "de"),
     ("La clé est dans la boîte qui est sur la table avec les outils du port.", "fr"),
     ("Ключ от подвала висит за дверью.", "ru"), ("Ключ від підвалу висить за дверима, її немає.", "uk"),
     ("鍵はドアの後ろに掛かっています。", "ja"), ("钥匙挂在门后面。", "zh"), ("열쇠는 문 뒤에 있습니다.", "ko"),
     ("x = 1\ny = 2", None), ("", None), ("12 34 56", None)],
)  # fmt: skip
def test_languages_are_told_by_their_small_words_and_scripts(text: str, language: str | None) -> None:
    assert detected_language(text) == language
