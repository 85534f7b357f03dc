"""Inputs made to harm whoever reads them, by name; each is to give a clear error or harmless text."""

from __future__ import annotations

import gzip
import json
import struct
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from email.message import EmailMessage

from holdfast.documents.types import ParseLimits

from . import hostile_archives as packs
from .pdf_writer import Pdf
from .samples import MAKERS, zipped

SCRIPT = "<script>steal('RUN_ME')</script>"
PDF, DOCX = MAKERS[0], MAKERS[2]


@dataclass(frozen=True)
class Hostile:
    make: Callable[[], bytes]
    ends: str
    """`error`, `text` or, where both are good, `either`."""
    limits: ParseLimits = ParseLimits(  # noqa: RUF009 - frozen
        cpu_seconds=10,
        total_cpu_seconds=15,
        wall_seconds=240,
        memory_bytes=512 << 20,
        unpacked_bytes=50_000_000,
        text_chars=20_000_000,
    )
    name: str | None = None
    never: tuple[str, ...] = ("RUN_ME", "root:x:0")
    """What must not be among the text."""


def pdf(*changes: tuple[int, bytes], page: bytes | None = None) -> bytes:
    made = Pdf()
    made.text_page(["A page of honest words in a dishonest file."])
    if page is not None:
        made.page(page)
    for number, body in changes:
        made.objects[number] = body
    return made.bytes()


def looping_outline() -> bytes:
    made = Pdf()
    made.text_page(["A page of honest words in a dishonest file."])
    made.objects[20] = b"<</Type/Outlines/First 21 0 R/Last 21 0 R/Count 1>>"
    made.objects[21] = b"<</Title(Round)/Parent 20 0 R/Next 21 0 R/First 20 0 R/Dest[4 0 R/Fit]>>"
    made.objects[1] = b"<</Type/Catalog/Pages 2 0 R/Outlines 20 0 R>>"
    return made.bytes()


def same_page(times: int) -> bytes:
    made = Pdf()
    made.text_page(["The same page again and again and again, with words enough to count."])
    made.pages *= times
    return made.bytes()


def form_calls_itself() -> bytes:
    made = Pdf()
    made.objects[30] = (
        b"<</Type/XObject/Subtype/Form/BBox[0 0 9 9]/Resources<</XObject<</F 30 0 R>>>>/Length 4>>"
        b"stream\n/F Do\nendstream"
    )
    made.page(b"/F Do BT /F1 11 Tf 50 700 Td (Words beside a form that draws itself.) Tj ET", b"/XObject<</F 30 0 R>>")
    return made.bytes()


def xref_loop() -> bytes:
    data = PDF().data
    start = data.rindex(b"startxref")
    place = int(data[start:].split()[1])
    return data.replace(b"trailer<<", b"trailer<</Prev %d" % place)


def png(width: int, height: int, extra: bytes = b"") -> bytes:
    def part(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    body = zlib.compress(bytes(1_000_000))
    return b"\x89PNG\r\n\x1a\n" + part(b"IHDR", head) + extra + part(b"IDAT", body) + part(b"IEND", b"")


def png_with_text_bomb() -> bytes:
    data = b"Comment\0\0" + zlib.compress(bytes(200_000_000))
    chunk = struct.pack(">I", len(data)) + b"zTXt" + data + struct.pack(">I", zlib.crc32(b"zTXt" + data))
    return png(10, 10, chunk)


def jpeg(width: int, height: int) -> bytes:
    frame = struct.pack(">HBHHB", 17, 8, height, width, 3) + b"\x01\x11\0\x02\x11\0\x03\x11\0"
    return (
        b"\xff\xd8\xff\xe0\0\x10JFIF\0\x01\x01\0\0\x01\0\x01\0\0\xff\xc0"
        + frame
        + b"\xff\xda\0\x0c\x03\x01\0\x02\x11\x03\x11\0?\0\xff\xd9"
    )


def tiff(next_ifd: int, width: int = 10) -> bytes:
    entries = [(256, width), (257, width), (258, 8), (259, 1), (262, 1), (273, 8), (277, 1), (278, width), (279, 100)]
    body = b"".join(struct.pack("<HHII", tag, 4, 1, value) for tag, value in entries)
    return (
        b"II*\0"
        + struct.pack("<I", 8)
        + struct.pack("<H", len(entries))
        + body
        + struct.pack("<I", next_ifd)
        + bytes(200)
    )


def mail(**headers: str) -> EmailMessage:
    made = EmailMessage()
    made["From"], made["To"], made["Subject"] = "a@example.org", "b@example.org", headers.get("subject", "Hello")
    made.set_content("An honest word in a dishonest mail, long enough to be read.")
    return made


def attached(data: bytes, name: str) -> bytes:
    made = mail()
    made.add_attachment(data, maintype="application", subtype="octet-stream", filename=name)
    return made.as_bytes()


def mail_in_mail(levels: int) -> bytes:
    inner = mail()
    for _ in range(levels):
        outer = mail()
        outer.add_attachment(inner)
        inner = outer
    return inner.as_bytes()


def multipart(levels: int) -> bytes:
    head = b"From: a@example.org\nSubject: x\nMIME-Version: 1.0\n"
    body = b"".join(b"Content-Type: multipart/mixed; boundary=b%d\n\n--b%d\n" % (n, n) for n in range(levels))
    return head + body + b"Content-Type: text/plain\n\nthe innermost words\n"


def many(each: Callable[[int], bytes], count: int) -> bytes:
    return b"".join(map(each, range(count)))


def html(body: str) -> bytes:
    return f"<!doctype html><html><body>{body}<p>Honest words stand here too.</p></body></html>".encode()


TIGHT = ParseLimits(
    cpu_seconds=10,
    total_cpu_seconds=15,
    wall_seconds=240,
    memory_bytes=512 << 20,
    unpacked_bytes=5_000_000,
    text_chars=2_000_000,
)
PICTURE = ParseLimits(cpu_seconds=20, total_cpu_seconds=20, wall_seconds=240)

ARCHIVES = {
    "zip bomb": Hostile(packs.bomb, "error"),
    "zip bomb in a mail": Hostile(lambda: attached(packs.bomb(), "x.zip"), "error"),
    "zip bomb in a zip": Hostile(lambda: zipped({"x.zip": packs.bomb()}), "error"),
    "zips in zips": Hostile(lambda: packs.nested(12), "error"),
    "zips of ten zips of ten zips": Hostile(packs.wide, "error"),
    "overlapping files": Hostile(lambda: packs.overlapping(2_000), "error"),
    "two overlapping files": Hostile(lambda: packs.overlapping(2), "error"),
    "thirty thousand files": Hostile(lambda: zipped({f"{n}.txt": "a word" for n in range(30_000)}), "error"),
    "size too small": Hostile(lambda: packs.lying(24, 3), "either"),
    "size too large": Hostile(lambda: packs.lying(24, 4_000_000_000), "either"),
    "packed size too large": Hostile(lambda: packs.lying(20, 900_000_000), "either"),
    "a password": Hostile(lambda: packs.lying(8, 1), "error"),
    "an unknown method": Hostile(lambda: packs.lying(10, 99), "error"),
    "bzip2 bomb": Hostile(lambda: packs.method(zipfile.ZIP_BZIP2), "error"),
    "lzma bomb": Hostile(lambda: packs.method(zipfile.ZIP_LZMA), "error"),
    "names that climb": Hostile(
        lambda: packs.named("../../etc/passwd", "/etc/shadow", "..\\..\\x.txt", "C:\\x.txt"), "text"
    ),
    "names that are odd": Hostile(
        lambda: packs.named("a\0b.txt", "x" * 5_000, "con", ".", "..", "a//b", "\u202etxt.exe"), "text"
    ),
    "the same name many times": Hostile(lambda: packs.named(*["a.txt"] * 500), "text"),
    "only folders": Hostile(lambda: packs.named("a/", "b/"), "error"),
    "an empty zip": Hostile(lambda: zipped({}), "error"),
    "programs": Hostile(lambda: zipped({"a.exe": b"MZ" + bytes(100), "b": b"\x7fELF" + bytes(100)}), "error"),
    "bytes before a zip": Hostile(lambda: b"PK\x03\x04 junk" + zipped({"a.txt": "word"}), "either"),
}
OFFICE = {
    **{
        f"{what} entities in {kind}": Hostile(lambda k=kind, p=prologue: packs.with_entities(k, p), "error")  # type: ignore[misc]
        for kind in packs.OFFICE
        for what, prologue in packs.ENTITIES.items()
    },
    "entities in utf-16": Hostile(
        lambda: packs.with_entities("xlsx", packs.LAUGHS.replace("?>", ' encoding="utf-16"?>', 1), "utf-16"), "error"
    ),
    "deep docx": Hostile(lambda: packs.deep_xml("docx", 30_000), "either"),
    "deep pptx": Hostile(lambda: packs.deep_xml("pptx", 500_000), "either"),
    "docx bomb": Hostile(lambda: packs.with_file("docx", "word/media/a.xml", b"<a>" + packs.BOMB + b"</a>"), "error"),
    "pptx bomb": Hostile(lambda: packs.with_file("pptx", "ppt/slides/slide2.xml", b"<a>" + b" " * 10**8), "error"),
    "xlsx bomb": Hostile(lambda: packs.with_file("xlsx", "xl/sharedStrings.xml", b"<a>" + b" " * 10**8), "error"),
    "epub bomb": Hostile(
        lambda: packs.with_file("epub", "OEBPS/text/one.xhtml", b"<p>" + b"word " * 2 * 10**7), "error"
    ),
    "one text a million times": Hostile(packs.one_text_a_million_times, "error", TIGHT),
    "odd cells": Hostile(packs.odd_cells, "text"),
    "a picture of the reader's disk": Hostile(packs.linked_picture, "text"),
    "docx without document": Hostile(lambda: packs.with_file("docx", "[Content_Types].xml", None), "either"),
    "docx of broken xml": Hostile(lambda: packs.with_file("docx", "word/document.xml", "<w:document><w:p>"), "error"),
    "pptx without slides": Hostile(lambda: packs.with_file("pptx", "ppt/_rels/presentation.xml.rels", None), "error"),
    "xlsx without sheets": Hostile(lambda: packs.with_file("xlsx", "xl/_rels/workbook.xml.rels", None), "error"),
    "epub that points outside": Hostile(
        lambda: packs.with_file(
            "epub", "META-INF/container.xml", '<c><rootfile full-path="../../../../etc/passwd"/></c>'
        ),
        "error",
    ),
    "epub with scripts": Hostile(lambda: packs.with_file("epub", "OEBPS/text/one.xhtml", html(SCRIPT)), "text"),
}
PDFS = {
    "pages in a circle": Hostile(lambda: pdf((2, b"<</Type/Pages/Count 3/Kids[2 0 R 2 0 R]>>")), "error"),
    "two billion pages": Hostile(lambda: pdf((2, b"<</Type/Pages/Count 2147483647/Kids[5 0 R]>>")), "either"),
    "fewer pages than none": Hostile(lambda: pdf((2, b"<</Type/Pages/Count -5/Kids[5 0 R]>>")), "either"),
    "a million pages that are one": Hostile(lambda: same_page(1_000_000), "error"),
    "thirty thousand pages that are one": Hostile(lambda: same_page(30_000), "error"),
    "contents in a circle": Hostile(looping_outline, "text"),
    "a form that draws itself": Hostile(form_calls_itself, "text"),
    "a file that goes back to itself": Hostile(xref_loop, "either"),
    "a page bomb": Hostile(lambda: pdf(page=b" " * 300_000_000), "either"),
    "a bomb in a bomb": Hostile(
        lambda: pdf(
            (
                9,
                b"<</Length 100000/Filter[/FlateDecode/FlateDecode]>>stream\n"
                + zlib.compress(zlib.compress(packs.BOMB))
                + b"\nendstream",
            ),
            (2, b"<</Type/Pages/Count 1/Kids[8 0 R]>>"),
            (8, b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]/Contents 9 0 R>>"),
        ),
        "either",
    ),
    "ten million strokes": Hostile(lambda: pdf(page=b"0 0 m 9 9 l S " * 3_000_000), "either"),
    "deep arrays": Hostile(lambda: pdf((9, b"[" * 1_000_000 + b"]" * 1_000_000)), "text"),
    "deep states": Hostile(lambda: pdf(page=b"q " * 3_000_000), "either"),
    "a page as large as a country": Hostile(lambda: pdf().replace(b"[0 0 595 842]", b"[0 0 9e9 9e9]"), "either"),
    "scripts and launches": Hostile(
        lambda: pdf(
            (1, b"<</Type/Catalog/Pages 2 0 R/OpenAction<</S/JavaScript/JS(RUN_ME)>>/AA<</WC<</S/Launch/F(x)>>>>>>")
        ),
        "text",
    ),
    "locked": Hostile(
        lambda: pdf().replace(
            b"trailer<<", b"trailer<</Encrypt<</Filter/Standard/V 2/R 3/O(x)/U(x)/P -1/Length 128>>/ID[(a)(b)]"
        ),
        "error",
    ),
    "no pages": Hostile(lambda: pdf((2, b"<</Type/Pages/Count 0/Kids[]>>")), "error"),
    "only a header": Hostile(lambda: b"%PDF-1.7\n", "error"),
    "a header and noise": Hostile(
        lambda: b"%PDF-1.7\n" + many(lambda n: zlib.crc32(b"%d" % n).to_bytes(4), 50_000), "error"
    ),
    "no end": Hostile(lambda: pdf()[:-300], "either"),
    "a header far inside": Hostile(lambda: b"x" * 900 + pdf(), "either"),
    "a font of lies": Hostile(
        lambda: pdf((3, b"<</Type/Font/Subtype/Type0/DescendantFonts[3 0 R]/ToUnicode 3 0 R/Encoding 3 0 R>>")),
        "either",
    ),
}
PICTURES = {
    "a png of ten billion points": Hostile(lambda: png(100_000, 100_000), "error", PICTURE),
    "a png as wide as allowed": Hostile(lambda: png(2_147_483_647, 1), "error", PICTURE),
    "a png with a bomb of words": Hostile(png_with_text_bomb, "error", PICTURE),
    "a png of no size": Hostile(lambda: png(0, 0), "error", PICTURE),
    "a jpeg of four billion points": Hostile(lambda: jpeg(65_535, 65_535), "error", PICTURE),
    "a gif of four billion points": Hostile(
        lambda: b"GIF89a" + struct.pack("<HH", 65_535, 65_535) + bytes(30), "error", PICTURE
    ),
    "a tiff in a circle": Hostile(lambda: tiff(8), "either", PICTURE),
    "a tiff of ten billion points": Hostile(lambda: tiff(0, 100_000), "error", PICTURE),
    "a webp that ends": Hostile(lambda: b"RIFF\xff\xff\xff\x7fWEBPVP8 \xff\xff\xff\x7f", "error", PICTURE),
    "a png that ends": Hostile(lambda: png(10, 10)[:40], "error", PICTURE),
    "a jpeg that ends": Hostile(lambda: jpeg(10, 10)[:30], "error", PICTURE),
}
MARKUP = {
    "scripts": Hostile(
        lambda: html(SCRIPT + "<img src=x onerror=RUN_ME()><a href='javascript:RUN_ME()'>a link</a>"), "text"
    ),
    "a script that never ends": Hostile(lambda: html("<p>Before it.</p><script>RUN_ME"), "either"),
    "scripts in svg": Hostile(
        lambda: (
            f'<svg xmlns="http://www.w3.org/2000/svg" onload="RUN_ME()">{SCRIPT}<text>Harmless</text></svg>'.encode()
        ),
        "either",
    ),
    "frames and objects": Hostile(
        lambda: html("<iframe srcdoc='RUN_ME'>RUN_ME</iframe><object data=RUN_ME>RUN_ME</object>"), "text"
    ),
    "hidden words": Hostile(lambda: html("<div style='display:none'>RUN_ME</div><p hidden>RUN_ME</p>"), "text"),
    "styles": Hostile(lambda: html("<style>p{background:url(RUN_ME)}</style>"), "text"),
    "templates": Hostile(lambda: html("<template>RUN_ME</template><noscript>RUN_ME</noscript>"), "text"),
    "a comment that never ends": Hostile(lambda: html("<p>Before it all.</p><!-- RUN_ME"), "either"),
    "entities of its own": Hostile(
        lambda: b'<!DOCTYPE html [<!ENTITY a SYSTEM "file:///etc/passwd">]><html><body><p>&a; honest</p></body></html>',
        "text",
    ),
    "xml with a file": Hostile(lambda: (packs.FILE + "<x>honest &a; words</x>").encode(), "either"),
    "xml that laughs": Hostile(lambda: (packs.LAUGHS + "<x>&a39;</x>").encode(), "either"),
    "two hundred thousand boxes": Hostile(lambda: html("<div>" * 200_000), "text"),
    "two hundred thousand tables": Hostile(lambda: html("<table><tr><td>" * 200_000), "text"),
    "a million angles": Hostile(lambda: b"<html>" + b"<" * 1_000_000, "either"),
    "a million broken comments": Hostile(lambda: b"<html><p>word" + b"<!-" * 100_000, "either"),
    "an attribute of ten megabytes": Hostile(lambda: html(f"<p title='{'a' * 10_000_000}'>word</p>"), "text"),
    "a million attributes": Hostile(lambda: html(f"<p {'a=1 ' * 300_000}>word</p>"), "either"),
    "a million entities": Hostile(lambda: html("&lt;script&gt;" * 300_000), "text"),
    "utf-7": Hostile(lambda: html("+ADw-script+AD4-RUN+AF8-ME+ADw-/script+AD4-"), "text"),
    "zeros between the letters": Hostile(
        lambda: html("<scr\0ipt>RUN_ME</scr\0ipt>").replace(b"RUN_ME", b"words"), "either"
    ),
}
TEXTS = {
    "json a million deep": Hostile(lambda: b"[" * 1_000_000, "error"),
    "json deep and whole": Hostile(lambda: b'{"a":' * 100_000 + b"1" + b"}" * 100_000, "error"),
    "a number of a million digits": Hostile(lambda: b"[" + b"9" * 1_000_000 + b"]", "either"),
    "json with half a letter": Hostile(lambda: b'{"a": "\\ud800 word", "b\\udfff": "\\u0000 word"}', "text"),
    "json that ends": Hostile(lambda: json.dumps({"a": ["words"] * 30_000}).encode()[:-5], "error"),
    "json with one key a million times": Hostile(lambda: b"{" + b'"a":1,' * 1_000_000 + b'"a":2}', "text"),
    "a table of a million columns": Hostile(
        lambda: b",".join([b"x"] * 1_000_000) + b"\n" + b",".join([b"y"] * 1_000_000), "either", name="a.csv"
    ),
    "a table of one quote": Hostile(lambda: b'a,b\n"' + b"word, " * 3_000_000, "either", name="a.csv"),
    "a table of formulas": Hostile(lambda: b"a,b\n=cmd|'/c calc'!A1,2\n@SUM(1),3\n", "text", name="a.csv"),
    "a line of thirty megabytes": Hostile(lambda: b"word " * 4_000_000, "error", TIGHT),
    "a line without a space": Hostile(lambda: b"x" * 10_000_000, "text"),
    "ten million lines": Hostile(lambda: b"\n" * 10_000_000 + b"word", "text"),
    "controls": Hostile(
        lambda: b"a\x1b[2J\x1b]0;title\x07 word \x08\x08\x7f" + b"plain words " * 100,
        "text",
        never=("\x1b", "\x07", "\x7f"),
    ),
    "words turned round": Hostile(lambda: "an \u202egnp.exe\u202c word \u200b\ufeff\u2066x".encode(), "text"),
    "only a mark": Hostile(lambda: b"\xef\xbb\xbf", "error"),
    "only spaces": Hostile(lambda: b" \n\t" * 1_000, "error"),
    "only zeros": Hostile(lambda: bytes(100_000), "error"),
    "utf-16 of lone halves": Hostile(lambda: b"\xff\xfe" + b"\x00\xd8w\x00" * 1_000, "either"),
    "a mark of utf-32 and nothing right": Hostile(lambda: b"\xff\xfe\0\0" + b"\xff" * 1_000, "error"),
    "markdown of a million stars": Hostile(lambda: b"# Title\n\n" + b"*" * 1_000_000, "text", name="a.md"),
    "markdown of a million brackets": Hostile(
        lambda: b"# Title\n\n" + b"[" * 1_000_000 + b"](" * 1_000, "text", name="a.md"
    ),
    "markdown of a hundred thousand headings": Hostile(lambda: b"# A\n" * 100_000, "text", name="a.md"),
    "a fence that never ends": Hostile(lambda: b"# A\n\n```\n" + b"code\n" * 500_000, "text", name="a.md"),
    "markdown with scripts": Hostile(lambda: b"# A\n\n[x](javascript:alert(1)) and words", "text", name="a.md"),
    "subtitles of nonsense": Hostile(lambda: b"1\n99:99:99,999 --> 00:00:00,000\nword\n\n" * 50_000, "text"),
    "subtitles with scripts": Hostile(
        lambda: b"WEBVTT\n\n00:01.000 --> 00:02.000\n<script>a</script> word\n", "text", never=("<script",)
    ),
    "a mail in a mail in a mail": Hostile(lambda: mail_in_mail(20), "error"),
    "a mail of a thousand depths": Hostile(lambda: multipart(1_000), "either"),
    "a mail with a million headers": Hostile(
        lambda: many(lambda n: b"X-A: b\n", 300_000) + mail().as_bytes(), "either"
    ),
    "a mail of an unknown script": Hostile(lambda: mail().as_bytes().replace(b"utf-8", b"x-nothing"), "text"),
    "a mail with a program": Hostile(lambda: attached(b"MZ" + bytes(1_000), "../../evil.exe"), "text"),
    "a mail that bites its date": Hostile(
        lambda: b"From: a@b.c\nDate: 99 Foo 99999 99:99\nSubject: =?x?y?z?=\nTo: \xff\xfe\n\nwords\n", "text"
    ),
}
POLYGLOTS = {
    "a gif that is a script": Hostile(lambda: b"GIF89a/*" + bytes(20) + b"*/=RUN_ME;", "error", PICTURE),
    "a pdf that is a zip": Hostile(lambda: pdf() + zipped({"a.txt": b"words of the zip"}), "either"),
    "a zip that is a page": Hostile(lambda: zipped({"a.html": html(SCRIPT)}) + SCRIPT.encode(), "either"),
    "a jpeg that is a page": Hostile(lambda: b"\xff\xd8\xff\xe0" + html(SCRIPT), "error", PICTURE),
    "a page that is a pdf": Hostile(lambda: html("word") + pdf(), "either"),
    "a docx called png": Hostile(lambda: DOCX().data, "text", name="a.png"),
    "gzip": Hostile(lambda: gzip.compress(packs.BOMB), "error"),
    "a program": Hostile(lambda: b"\x7fELF\x02\x01\x01" + bytes(500), "error", name="a.txt"),
    "a program of windows": Hostile(lambda: b"MZ\x90\0" + bytes(500), "error", name="a.pdf"),
    "old office": Hostile(lambda: b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(2_000), "error"),
    "rich text": Hostile(lambda: b"{\\rtf1\\ansi{\\object\\objdata 0105}}", "error"),
    "a database": Hostile(lambda: b"SQLite format 3\0" + bytes(500), "error"),
    "noise": Hostile(lambda: many(lambda n: zlib.crc32(b"%d" % n).to_bytes(4), 10_000), "error"),
}
HOSTILE = {**ARCHIVES, **OFFICE, **PDFS, **PICTURES, **MARKUP, **TEXTS, **POLYGLOTS}
