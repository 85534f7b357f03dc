"""Hostile archives and Office files: bombs, lies about sizes, names that climb, entities."""

from __future__ import annotations

import io
import struct
import warnings
import zipfile
import zlib

from .samples import docx_files, epub_files, pptx_files, xlsx_files, zipped

BOMB = bytes(100_000_000)
LAUGHS = (
    '<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "ha">'
    + "".join(
        f'<!ENTITY a{n} "{"&a" + (str(n - 1) if n else "") + ";" * 1}{"&a" + (str(n - 1) if n else "") + ";"}">'
        for n in range(40)
    )
    + "]>"
)
FILE = '<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]>'
NET = '<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a SYSTEM "http://127.0.0.1:9/x">]>'
PARAMETER = '<?xml version="1.0"?><!DOCTYPE x [<!ENTITY % p SYSTEM "file:///etc/passwd"> %p;]>'
OUTER = '<?xml version="1.0"?><!DOCTYPE x SYSTEM "http://127.0.0.1:9/x.dtd">'
QUADRATIC = '<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "' + "A" * 100_000 + '">]>'
ENTITIES = {"laughs": LAUGHS, "file": FILE, "net": NET, "parameter": PARAMETER, "dtd": OUTER, "quadratic": QUADRATIC}
OFFICE = {
    "docx": (docx_files, "word/document.xml"),
    "pptx": (pptx_files, "ppt/slides/slide2.xml"),
    "xlsx": (xlsx_files, "xl/sharedStrings.xml"),
    "epub": (epub_files, "OEBPS/book.opf"),
}


def with_entities(kind: str, prologue: str, encoding: str = "utf-8") -> bytes:
    make, name = OFFICE[kind]
    files = make()
    body = str(files[name])
    spot = body.index("<w:t>") + 5 if kind == "docx" else body.index(">", body.index("t>") + 1) + 1
    refers = "&a39;" if prologue is LAUGHS else "&a;" * (20_000 if prologue is QUADRATIC else 1)
    files[name] = (prologue + body[:spot] + (refers if "%" not in prologue else "") + body[spot:]).encode(encoding)
    return zipped(files)


def bomb(name: str = "zeros.txt") -> bytes:
    return zipped({name: b"word " * (len(BOMB) // 5)})


def nested(levels: int) -> bytes:
    inner = zipped({"a.txt": b"the innermost text"})
    for level in range(levels):
        inner = zipped({f"{level}.zip": inner})
    return inner


def wide() -> bytes:
    """Each archive holds ten of the next: small files, but very many."""
    inner = zipped({"a.txt": b"word " * 200_000})
    for _ in range(3):
        inner = zipped({f"{number}.zip": inner for number in range(10)})
    return inner


def overlapping(entries: int) -> bytes:
    """One packed file, told of `entries` times by the directory."""
    data = zlib.compressobj(9, zlib.DEFLATED, -15)
    body = b"word " * 2_000_000
    packed = data.compress(body) + data.flush()
    common = struct.pack("<HHHHHIII", 20, 0, 8, 0, 0, zlib.crc32(body), len(packed), len(body))
    out = bytearray(b"PK\x03\x04" + common + struct.pack("<HH", 5, 0) + b"a.txt" + packed)
    start = len(out)
    for number in range(entries):
        name = b"%05d" % number
        out += b"PK\x01\x02" + struct.pack("<H", 20) + common + struct.pack("<HHHHHII", 5, 0, 0, 0, 0, 0, 0) + name
    out += b"PK\x05\x06" + struct.pack("<HHHHIIH", 0, 0, entries, entries, len(out) - start, start, 0)
    return bytes(out)


def changed(data: bytes, *changes: tuple[bytes, bytes]) -> bytes:
    for before, after in changes:
        assert before in data
        data = data.replace(before, after)
    return data


def lying(field: int, value: int) -> bytes:
    """A directory that lies: field 20 is the packed size, 24 the size, 8 the flags, 10 the method."""
    data = bytearray(zipped({"a.txt": b"some honest words " * 50}))
    for mark, shift in ((b"PK\x01\x02", 0), (b"PK\x03\x04", -2)):
        spot = data.index(mark) + field + shift
        data[spot : spot + (4 if field >= 16 else 2)] = value.to_bytes(4 if field >= 16 else 2, "little")
    return bytes(data)


def named(*names: str) -> bytes:
    out = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with zipfile.ZipFile(out, "w") as packed:
            for name in names:
                packed.writestr(zipfile.ZipInfo(name), f"text of a file with a hostile name, {len(name)} long")
    return out.getvalue()


def method(kind: int) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", kind) as packed:
        packed.writestr("a.txt", bytes(30_000_000))
    return out.getvalue()


def deep_xml(kind: str, levels: int) -> bytes:
    make, name = OFFICE[kind]
    files = make()
    body = str(files[name])
    first = body.index(">", body.index(">") + 1) + 1 if kind == "docx" else body.index(">") + 1
    files[name] = (
        body[:first] + "<w:p>" * levels
        if kind == "docx"
        else body[:first] + "<x>" * levels + "</x>" * levels + body[first:]
    )
    if kind == "docx":
        files[name] = str(files[name]) + "</w:p>" * levels + body[first:]
    return zipped(files)


def with_file(kind: str, name: str, body: str | bytes | None) -> bytes:
    files = OFFICE[kind][0]()
    if body is None:
        files.pop(name)
    else:
        files[name] = body
    return zipped(files)


def one_text_a_million_times() -> bytes:
    files = xlsx_files()
    space = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
    files["xl/sharedStrings.xml"] = f"<sst {space}><si><t>{'many words ' * 2_900}</t></si></sst>"
    row = "<row>" + '<c t="s"><v>0</v></c>' * 100 + "</row>"
    files["xl/worksheets/sheet1.xml"] = f"<worksheet {space}><sheetData>{row * 3_000}</sheetData></worksheet>"
    return zipped(files)


def odd_cells() -> bytes:
    cells = (
        '<c r="XFD1048576" t="s"><v>99999999</v></c><c r="ZZZZZZ9" t="s"><v>-1</v></c><c r="" s="999"><v>1e999</v></c>'
        '<c r="A1" s="1"><v>1e300</v></c><c t="b"><v>7</v></c><c r="A5" s="1"><v>nan</v></c><c t="e"><v>#REF!</v></c>'
    )
    space = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
    return with_file("xlsx", "xl/worksheets/sheet1.xml", f"<worksheet {space}><row>{cells}</row></worksheet>")


def linked_picture() -> bytes:
    """A picture that is not in the file but at a path of the reader's machine."""
    files = docx_files()
    draw = (
        '<w:p><w:r><w:drawing xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main" '
        'xmlns:wp="http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing" '
        'xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships">'
        '<wp:inline><a:graphic><a:graphicData><a:blip r:link="leak"/></a:graphicData></a:graphic></wp:inline>'
        "</w:drawing></w:r></w:p>"
    )
    kind = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/image"
    files["word/document.xml"] = str(files["word/document.xml"]).replace("<w:body>", f"<w:body>{draw}")
    files["word/_rels/document.xml.rels"] = str(files["word/_rels/document.xml.rels"]).replace(
        "</Rel", f'<Relationship Id="leak" Type="{kind}" Target="file:///etc/passwd" TargetMode="External"/></Rel', 1
    )
    return zipped(files)
