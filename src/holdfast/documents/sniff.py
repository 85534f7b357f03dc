"""Detects the format of a file from its bytes.

The file name only decides between formats that the bytes allow: text may be Markdown, source code or a table. Bytes in
no supported format raise a DocumentError with the format that they resemble.
"""

from __future__ import annotations

import csv
import io
import json
import re
import zipfile
from pathlib import PurePath
from typing import BinaryIO

from holdfast.documents.types import SAVE_AGAIN_FIX, DocumentError

HEAD_BYTES = 64 * 1024
"""How much of a file is examined. Chosen by hand; not measured."""
CODE_SUFFIXES = frozenset(
    str.split(
        ".py .pyi .js .jsx .mjs .cjs .ts .tsx .java .kt .kts .scala .c .h .cc .cpp .cxx .hpp .hh .cs .go .rs .rb .php "
        ".pl .pm .swift .m .mm .sh .bash .zsh .fish .ps1 .bat .sql .r .jl .lua .hs .ml .mli .ex .exs .erl .clj .lisp "
        ".el .vim .dart .groovy .gradle .tf .proto .graphql .css .scss .less .vue .svelte .asm .s .f90 .pas .ada .adb "
        ".cob .v .vhd .nim .zig .toml .yaml .yml .ini .cfg .conf .properties .cmake .mk .dockerfile"
    )
)
_IMAGE_MAGIC = (b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"GIF87a", b"GIF89a", b"II*\0", b"MM\0*")
_UNSUPPORTED_MAGIC = (
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an old Microsoft Office file; save it as .docx, .pptx or .xlsx"),
    (b"{\\rtf", "an RTF file; save it as .docx"),
    (b"\x1f\x8b", "a gzip file; unpack it first"), (b"BZh", "a bzip2 file; unpack it first"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive; pack it as .zip"), (b"Rar!\x1a\x07", "a RAR archive; pack it as .zip"),
    (b"\xfd7zXZ\0", "an xz file; unpack it first"), (b"\x28\xb5\x2f\xfd", "a Zstandard file; unpack it first"),
    (b"\x7fELF", "a program"), (b"MZ", "a program"), (b"\xca\xfe\xba\xbe", "a program"), (b"\0asm", "a program"),
    (b"ID3", "an audio file; add its transcript as .srt or .vtt"),
    (b"OggS", "an audio file; add its transcript as .srt or .vtt"),
    (b"fLaC", "an audio file; add its transcript as .srt or .vtt"), (b"SQLite format 3\0", "a database"),
    (b"RIFF", "an audio or video file; add its transcript as .srt or .vtt"),
)  # fmt: skip
_OFFICE_MEMBERS = (("word/document.xml", "docx"), ("ppt/presentation.xml", "pptx"), ("xl/workbook.xml", "xlsx"))
_HTML_START = re.compile(
    r"<(?:!doctype\s+html|html|head|body|title|meta|script|style|div|p|h[1-6]|table|article|main)\b", re.I
)
_XML_START = re.compile(r"<(?:\?xml|svg|!DOCTYPE|[a-z][\w.-]*:[a-z]\w*)\b", re.I)
_MAIL_HEADER = re.compile(r"(From|To|Cc|Subject|Date|Received|Return-Path|MIME-Version|Message-ID|Delivered-To):", re.I)
_LEGACY_ENCODINGS = str.split(
    "cp1252 cp1250 cp1251 koi8_r cp1253 cp1254 cp1255 cp1256 cp932 euc_jp gb18030 big5 euc_kr"
)
_SRT_START = re.compile(r"\d+\s*\n\d{1,2}:\d\d:\d\d[,.]\d{1,3}\s*-->")
# Every repetition is bounded or cannot overlap with what follows: these patterns run on untrusted text.
_MARKDOWN_MARK = re.compile(
    r"^#{1,6} \S|^```|^~~~|^[-*+] \S|^\d{1,9}\. \S|^>[ \t]|\[[^\]\n]{1,200}\]\([^)\n]{1,200}\)|^\|.{1,500}\|$"
    r"|\*\*\S.{0,200}?\S\*\*|^(?:={3,200}|-{3,200})$",
    re.M,
)
_CODE_LINE = re.compile(
    r"^[ \t]{0,40}(?:def|class|import|from|#include|package|using|func|fn|pub|public|private|static|const|let|var"
    r"|return|if|for|while|else|try|function|struct|impl|module|end|use|echo|export)\b.{0,300}[\w(){}\[\];:,'\"]$"
    r"|[;{}][ \t]{0,40}$|^[ \t]{0,40}[)}\]]{1,9}[;,]?[ \t]{0,40}$",
    re.M,
)


def sniff_format(file: BinaryIO, name: str | None = None) -> str:
    """Return the format, one of: pdf docx pptx xlsx epub zip image html xml markdown text code csv json eml srt vtt."""
    head = file.read(HEAD_BYTES)
    if head.startswith((b"PK\x03\x04", b"PK\x05\x06", b"PK\x07\x08")):
        return _zip_format(file)
    if head.startswith(_IMAGE_MAGIC) or (head[:4] == b"RIFF" and head[8:12] == b"WEBP"):
        return "image"
    if b"%PDF-" in head[:1024]:
        return "pdf"
    for magic, what in _UNSUPPORTED_MAGIC:
        if head.startswith(magic):
            raise DocumentError(f"This is {what}.")
    if head[4:8] == b"ftyp":
        raise DocumentError("This is a video or audio file; add its transcript as .srt or .vtt.")
    text = decoded_head(head)
    if text is None:
        raise DocumentError(
            "This is not a supported format: not PDF, Office, EPUB, HTML, an image, an archive or text."
        )
    return _text_format(text, len(head) < HEAD_BYTES, PurePath(name or "").suffix.lower())


def decoded_head(head: bytes) -> str | None:
    """The start of a text file, decoded; None if the bytes are not text. The last character may be cut off.

    At most one character in a hundred may be a control character or undecodable. Chosen by hand; not measured.
    """
    encoding = encoding_of(head)
    if encoding is None:
        return None
    text = head.decode(encoding, "replace").removeprefix("\ufeff")
    odd = sum(c < " " and c not in "\t\n\r\f\x1b" for c in text) + text.count("\ufffd")
    return text if odd * 100 <= len(text) + 100 else None


def encoding_of(head: bytes) -> str | None:
    """The text encoding of these bytes; None if they are not text."""
    for mark, encoding in ((b"\xef\xbb\xbf", "utf-8-sig"), (b"\xff\xfe\0\0", "utf-32"), (b"\0\0\xfe\xff", "utf-32"),
                           (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16")):  # fmt: skip
        if head.startswith(mark):
            return encoding
    zeros = head.count(0)
    if zeros:
        # Western text in UTF-16 is half zeros, all in the high bytes.
        for half, encoding in ((head[1::2], "utf-16-le"), (head[::2], "utf-16-be")):
            if half.count(0) == zeros and zeros * 10 >= len(head) * 4:
                return encoding
        return None
    try:
        head[:-4].decode("utf-8")
    except UnicodeDecodeError as bad:
        if bad.start < len(head) - 8:
            return _legacy_encoding(head)
    return "utf-8"


def _legacy_encoding(head: bytes) -> str | None:
    """The likeliest encoding older than Unicode; None if the bytes do not look like text."""
    controls = sum((c < 0x20 and c not in b"\t\r\n\f\x1b") or c == 0x7F for c in head)
    if controls * 100 > len(head):
        return None
    try:
        from charset_normalizer import from_bytes
    except ModuleNotFoundError:
        return "cp1252"
    candidates = list(from_bytes(head[:16_384], cp_isolation=list(_LEGACY_ENCODINGS)))
    if any("cp1252" in (each.encoding, *each.could_be_from_charset) for each in candidates[:3]):
        return "cp1252"  # of equally good candidates, this one is by far the most frequent
    return candidates[0].encoding if candidates else None


def _zip_format(file: BinaryIO) -> str:
    try:
        with zipfile.ZipFile(file) as packed:
            names = set(packed.namelist())
            if "META-INF/container.xml" in names:
                return "epub"
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError, EOFError) as bad:
        raise DocumentError(f"It begins like a zip archive but is broken: {bad}.", fix=SAVE_AGAIN_FIX) from None
    for member, format in _OFFICE_MEMBERS:
        if member in names:
            return format
    if "content.xml" in names and "mimetype" in names:
        raise DocumentError("This is an OpenDocument file; save it as .docx, .pptx or .xlsx.")
    return "zip"


def _text_format(text: str, whole: bool, suffix: str) -> str:
    """Which text format: first unmistakable marks, then the file name, then the look of the text."""
    start = text.lstrip()
    if start.startswith("WEBVTT"):
        return "vtt"
    if _SRT_START.match(start):
        return "srt"
    if start.startswith("<") and (markup := _markup_format(start)):
        return markup
    if start.startswith(("{", "[")) and _is_json(start, whole):
        return "json"
    if _is_mail(start):
        return "eml"
    if suffix in CODE_SUFFIXES or text.startswith("#!/"):
        return "code"
    if suffix in (".md", ".markdown", ".mdx", ".rst"):
        return "markdown"
    if _is_table(text, whole, suffix):
        return "csv"
    return _format_by_look(text) if suffix not in (".txt", ".text", ".log") else "text"


def _markup_format(start: str) -> str | None:
    beginning = re.sub(r"<!--.*?(?:-->|$)", "", start[:20_000], flags=re.S).lstrip()
    if _HTML_START.match(beginning):
        return "html"
    if _XML_START.match(beginning):
        return "html" if re.search(r"<!doctype html|<html\b", beginning[:2_000], re.I) else "xml"
    return None


def _is_json(start: str, whole: bool) -> bool:
    """Whether the first value or line parses; of a longer file, whether its beginning looks like JSON."""
    first = start.split("\n", 1)[0]
    for candidate in (start, first) if whole else (first,):
        try:
            json.loads(candidate)
        except (ValueError, RecursionError):
            continue
        return True
    if re.match(r"[\[{\s]{50}", start):  # too deeply nested for any parser; the JSON parser reports that error
        return True
    return not whole and bool(re.match(r'\{\s*"[^"]*"\s*:|\[\s*(?:[\[{"\d-]|true\b|false\b|null\b)', start))


def _is_mail(start: str) -> bool:
    lines = start[:8_000].splitlines()
    if lines and lines[0].startswith("From "):
        lines = lines[1:]
    seen = set()
    for line in lines:
        if not line.strip():
            break
        if line[0] in " \t":
            continue
        header = _MAIL_HEADER.match(line)
        if header:
            seen.add(header.group(1).lower())
        elif not re.match(r"[A-Za-z0-9-]+:", line):
            return False
    return len(seen) >= 2 and bool(seen & {"from", "received", "message-id"})


def _is_table(text: str, whole: bool, suffix: str) -> bool:
    lines = text.splitlines()[: 40 if whole else -1][:40]
    if len(lines) < (1 if suffix in (".csv", ".tsv") else 3):
        return False
    return delimiter_of("\n".join(lines), 1 if suffix in (".csv", ".tsv") else 3) is not None


def delimiter_of(sample: str, min_rows: int = 1) -> str | None:
    """The column delimiter, if at least nine rows in ten have the same number of columns; else None.

    The shares and cell lengths below were chosen by hand; not measured.
    """
    best: tuple[int, str] | None = None
    for delimiter in (",", ";", "\t", "|"):
        try:
            rows = [row for row in csv.reader(io.StringIO(sample, newline=""), delimiter=delimiter) if row]
        except csv.Error:
            continue
        widths = [len(row) for row in rows]
        width = max(set(widths), key=widths.count, default=0)
        steady = widths.count(width) * 10 >= len(widths) * 9
        if width >= 2 and len(rows) >= min_rows and steady and (best is None or width > best[0]):
            # Prose has commas too, but rarely the same number in every line, and its "cells" are long.
            cells = [cell for row in rows for cell in row]
            if min_rows == 1 or sum(map(len, cells)) < 40 * len(cells):
                best = (width, delimiter)
    return best[1] if best else None


def _format_by_look(text: str) -> str:
    lines = [line for line in text[:20_000].splitlines() if line.strip()]
    if len(_CODE_LINE.findall(text[:20_000])) * 2 > len(lines) > 2 and not re.search(r"^#{1,6} \w|^```", text, re.M):
        return "code"
    marks = len(_MARKDOWN_MARK.findall(text[:20_000]))
    strong = re.search(r"^#{1,6} \S|^```", text[:20_000], re.M) is not None
    return "markdown" if marks >= 3 or (strong and marks) else "text"
