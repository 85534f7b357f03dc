"""What bytes are, by what they say and not by what they are called.

A name only decides between readings that the bytes allow: text may be Markdown, source code or a table. Bytes that are
none of the formats known here are refused with what they look like.
"""

from __future__ import annotations

import csv
import io
import json
import re
import zipfile
from pathlib import PurePath
from typing import BinaryIO

from .types import SAVE_AGAIN, DocumentError

HEAD_BYTES = 64 * 1024
CODE_SUFFIXES = frozenset(
    str.split(
        ".py .pyi .js .jsx .mjs .cjs .ts .tsx .java .kt .kts .scala .c .h .cc .cpp .cxx .hpp .hh .cs .go .rs .rb .php "
        ".pl .pm .swift .m .mm .sh .bash .zsh .fish .ps1 .bat .sql .r .jl .lua .hs .ml .mli .ex .exs .erl .clj .lisp "
        ".el .vim .dart .groovy .gradle .tf .proto .graphql .css .scss .less .vue .svelte .asm .s .f90 .pas .ada .adb "
        ".cob .v .vhd .nim .zig .toml .yaml .yml .ini .cfg .conf .properties .cmake .mk .dockerfile"
    )
)
_IMAGES = (b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"GIF87a", b"GIF89a", b"II*\0", b"MM\0*")
_UNREADABLE = (
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an old Microsoft Office file; save it as .docx, .pptx or .xlsx"),
    (b"{\\rtf", "an RTF file; save it as .docx"),
    (b"\x1f\x8b", "a gzip file; unpack it first"), (b"BZh", "a bzip2 file; unpack it first"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive; pack it as .zip"), (b"Rar!\x1a\x07", "a RAR archive; pack it as .zip"),
    (b"\xfd7zXZ\0", "an xz file; unpack it first"), (b"\x28\xb5\x2f\xfd", "a Zstandard file; unpack it first"),
    (b"\x7fELF", "a program"), (b"MZ", "a program"), (b"\xca\xfe\xba\xbe", "a program"), (b"\0asm", "a program"),
    (b"ID3", "a sound; give its transcript as .srt or .vtt"), (b"OggS", "a sound; give its transcript as .srt or .vtt"),
    (b"fLaC", "a sound; give its transcript as .srt or .vtt"), (b"SQLite format 3\0", "a database"),
    (b"RIFF", "a sound or a film; give its transcript as .srt or .vtt"),
)  # fmt: skip
_OFFICE = (("word/document.xml", "docx"), ("ppt/presentation.xml", "pptx"), ("xl/workbook.xml", "xlsx"))
_HTML = re.compile(
    r"<(?:!doctype\s+html|html|head|body|title|meta|script|style|div|p|h[1-6]|table|article|main)\b", re.I
)
_XML = re.compile(r"<(?:\?xml|svg|!DOCTYPE|[a-z][\w.-]*:[a-z]\w*)\b", re.I)
_HEADER = re.compile(r"(From|To|Cc|Subject|Date|Received|Return-Path|MIME-Version|Message-ID|Delivered-To):", re.I)
_OLD_ENCODINGS = str.split("cp1252 cp1250 cp1251 koi8_r cp1253 cp1254 cp1255 cp1256 cp932 euc_jp gb18030 big5 euc_kr")
_SRT = re.compile(r"\d+\s*\n\d{1,2}:\d\d:\d\d[,.]\d{1,3}\s*-->")
# Every repetition is bounded or cannot overlap with what follows: these run on what strangers wrote.
_MARKDOWN = re.compile(
    r"^#{1,6} \S|^```|^~~~|^[-*+] \S|^\d{1,9}\. \S|^>[ \t]|\[[^\]\n]{1,200}\]\([^)\n]{1,200}\)|^\|.{1,500}\|$"
    r"|\*\*\S.{0,200}?\S\*\*|^(?:={3,200}|-{3,200})$",
    re.M,
)
_CODE = re.compile(
    r"^[ \t]{0,40}(?:def|class|import|from|#include|package|using|func|fn|pub|public|private|static|const|let|var"
    r"|return|if|for|while|else|try|function|struct|impl|module|end|use|echo|export)\b.{0,300}[\w(){}\[\];:,'\"]$"
    r"|[;{}][ \t]{0,40}$|^[ \t]{0,40}[)}\]]{1,9}[;,]?[ \t]{0,40}$",
    re.M,
)


def sniffed(file: BinaryIO, name: str | None = None) -> str:
    """One of: pdf docx pptx xlsx epub zip image html xml markdown text code csv json eml srt vtt."""
    head = file.read(HEAD_BYTES)
    if head.startswith((b"PK\x03\x04", b"PK\x05\x06", b"PK\x07\x08")):
        return _packed(file)
    if head.startswith(_IMAGES) or (head[:4] == b"RIFF" and head[8:12] == b"WEBP"):
        return "image"
    if b"%PDF-" in head[:1024]:
        return "pdf"
    for magic, what in _UNREADABLE:
        if head.startswith(magic):
            raise DocumentError(f"This is {what}.")
    if head[4:8] == b"ftyp":
        raise DocumentError("This is a film or a sound; give its transcript as .srt or .vtt.")
    text = decoded_head(head)
    if text is None:
        raise DocumentError(
            "These bytes are no format that can be read: not PDF, Office, EPUB, HTML, an image, an archive or text."
        )
    return _written(text, len(head) < HEAD_BYTES, PurePath(name or "").suffix.lower())


def decoded_head(head: bytes) -> str | None:
    """The beginning of a text, or None if it is not one. A character may be cut off at the end."""
    encoding = encoding_of(head)
    if encoding is None:
        return None
    text = head.decode(encoding, "replace").removeprefix("\ufeff")
    odd = sum(c < " " and c not in "\t\n\r\f\x1b" for c in text) + text.count("\ufffd")
    return text if odd * 100 <= len(text) + 100 else None


def encoding_of(head: bytes) -> str | None:
    """The encoding that these bytes of a text are in, or None if they are no text."""
    for mark, encoding in ((b"\xef\xbb\xbf", "utf-8-sig"), (b"\xff\xfe\0\0", "utf-32"), (b"\0\0\xfe\xff", "utf-32"),
                           (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16")):  # fmt: skip
        if head.startswith(mark):
            return encoding
    zeros = head.count(0)
    if zeros:
        # Western text in UTF-16 is half zeros, all on one side.
        for side, encoding in ((head[1::2], "utf-16-le"), (head[::2], "utf-16-be")):
            if side.count(0) == zeros and zeros * 10 >= len(head) * 4:
                return encoding
        return None
    try:
        head[:-4].decode("utf-8")
    except UnicodeDecodeError as bad:
        if bad.start < len(head) - 8:
            return _eight_bits(head)
    return "utf-8"


def _eight_bits(head: bytes) -> str | None:
    """An encoding from before Unicode: the likeliest, if it looks like words at all."""
    controls = sum((c < 0x20 and c not in b"\t\r\n\f\x1b") or c == 0x7F for c in head)
    if controls * 100 > len(head):
        return None
    try:
        from charset_normalizer import from_bytes
    except ModuleNotFoundError:
        return "cp1252"
    found = list(from_bytes(head[:16_384], cp_isolation=list(_OLD_ENCODINGS)))
    if any("cp1252" in (each.encoding, *each.could_be_from_charset) for each in found[:3]):
        return "cp1252"  # of readings that are equally good, the one that is far more frequent
    return found[0].encoding if found else None


def _packed(file: BinaryIO) -> str:
    try:
        with zipfile.ZipFile(file) as packed:
            names = set(packed.namelist())
            if "META-INF/container.xml" in names:
                return "epub"
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError, EOFError) as bad:
        raise DocumentError(f"It begins like a zip archive but is broken: {bad}.", fix=SAVE_AGAIN) from None
    for member, format in _OFFICE:
        if member in names:
            return format
    if "content.xml" in names and "mimetype" in names:
        raise DocumentError("This is an OpenDocument file; save it as .docx, .pptx or .xlsx.")
    return "zip"


def _written(text: str, whole: bool, suffix: str) -> str:
    """Which kind of text: marks that nothing else has first, then the name, then the look of it."""
    start = text.lstrip()
    if start.startswith("WEBVTT"):
        return "vtt"
    if _SRT.match(start):
        return "srt"
    if start.startswith("<") and (found := _markup(start)):
        return found
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
    return _by_look(text) if suffix not in (".txt", ".text", ".log") else "text"


def _markup(start: str) -> str | None:
    beginning = re.sub(r"<!--.*?(?:-->|$)", "", start[:20_000], flags=re.S).lstrip()
    if _HTML.match(beginning):
        return "html"
    if _XML.match(beginning):
        return "html" if re.search(r"<!doctype html|<html\b", beginning[:2_000], re.I) else "xml"
    return None


def _is_json(start: str, whole: bool) -> bool:
    """The first value or line parses; of a long one only the beginning is here, and looks like it."""
    first = start.split("\n", 1)[0]
    for candidate in (start, first) if whole else (first,):
        try:
            json.loads(candidate)
        except (ValueError, RecursionError):
            continue
        return True
    if re.match(r"[\[{\s]{50}", start):  # nesting that no parser can follow is JSON too, and an error as such
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
        found = _HEADER.match(line)
        if found:
            seen.add(found.group(1).lower())
        elif not re.match(r"[A-Za-z0-9-]+:", line):
            return False
    return len(seen) >= 2 and bool(seen & {"from", "received", "message-id"})


def _is_table(text: str, whole: bool, suffix: str) -> bool:
    lines = text.splitlines()[: 40 if whole else -1][:40]
    if len(lines) < (1 if suffix in (".csv", ".tsv") else 3):
        return False
    return delimiter_of("\n".join(lines), 1 if suffix in (".csv", ".tsv") else 3) is not None


def delimiter_of(sample: str, fewest: int = 1) -> str | None:
    """What separates the columns, if nearly every row has the same number of them."""
    best: tuple[int, str] | None = None
    for delimiter in (",", ";", "\t", "|"):
        try:
            rows = [row for row in csv.reader(io.StringIO(sample, newline=""), delimiter=delimiter) if row]
        except csv.Error:
            continue
        widths = [len(row) for row in rows]
        width = max(set(widths), key=widths.count, default=0)
        steady = widths.count(width) * 10 >= len(widths) * 9
        if width >= 2 and len(rows) >= fewest and steady and (best is None or width > best[0]):
            # Prose has commas too, but hardly the same number in every line, and its cells are long.
            cells = [cell for row in rows for cell in row]
            if fewest == 1 or sum(map(len, cells)) < 40 * len(cells):
                best = (width, delimiter)
    return best[1] if best else None


def _by_look(text: str) -> str:
    lines = [line for line in text[:20_000].splitlines() if line.strip()]
    if len(_CODE.findall(text[:20_000])) * 2 > len(lines) > 2 and not re.search(r"^#{1,6} \w|^```", text, re.M):
        return "code"
    marks = len(_MARKDOWN.findall(text[:20_000]))
    strong = re.search(r"^#{1,6} \S|^```", text[:20_000], re.M) is not None
    return "markdown" if marks >= 3 or (strong and marks) else "text"
