"""A small PDF writer for tests: pages of text or of pictures, an outline, and whatever a hostile hand would add."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass
class Pdf:
    """Objects by number; number 1 is the catalogue, 2 the pages, 3 the font."""

    objects: dict[int, bytes] = field(default_factory=dict)
    pages: list[int] = field(default_factory=list)
    outline: list[tuple[str, int]] = field(default_factory=list)
    info: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.objects[3] = b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>"

    def add(self, body: bytes) -> int:
        number = max([3, *self.objects]) + 1
        self.objects[number] = body
        return number

    def stream(self, data: bytes, extra: bytes = b"", packed: bool = True) -> int:
        body = zlib.compress(data) if packed else data
        kind = b"/Filter/FlateDecode" if packed else b""
        return self.add(b"<<" + extra + kind + b"/Length %d>>stream\n" % len(body) + body + b"\nendstream")

    def text_page(self, lines: Sequence[str]) -> None:
        shown = b"".join(b"(%s) Tj T*\n" % escaped(line) for line in lines)
        self.page(b"BT /F1 11 Tf 14 TL 50 780 Td\n" + shown + b"ET")

    def picture_page(self, width: int, height: int, rgb: bytes) -> None:
        size = b"/Width %d/Height %d" % (width, height)
        picture = self.stream(rgb, b"/Type/XObject/Subtype/Image/ColorSpace/DeviceRGB/BitsPerComponent 8" + size)
        self.page(b"q 500 0 0 %d 50 400 cm /P Do Q" % (500 * height // width), b"/XObject<</P %d 0 R>>" % picture)

    def page(self, content: bytes, resources: bytes = b"") -> None:
        drawn = self.stream(content)
        place = b"/Type/Page/Parent 2 0 R/MediaBox[0 0 595 842]"
        self.pages.append(
            self.add(b"<<%s/Resources<</Font<</F1 3 0 R>>%s>>/Contents %d 0 R>>" % (place, resources, drawn))
        )

    def bytes(self) -> bytes:
        kids = b" ".join(b"%d 0 R" % page for page in self.pages)
        self.objects.setdefault(2, b"<</Type/Pages/Count %d/Kids[%s]>>" % (len(self.pages), kids))
        outline = b"/Outlines %d 0 R" % self._outline() if self.outline else b""
        self.objects.setdefault(1, b"<</Type/Catalog/Pages 2 0 R%s>>" % outline)
        info = self.add(b"<<%s>>" % b"".join(b"/%s(%s)" % (k.encode(), escaped(v)) for k, v in self.info.items()))
        return self._written(info)

    def _outline(self) -> int:
        root = max(self.objects) + 1
        for number, (title, page) in enumerate(self.outline):
            here = root + 1 + number
            after = b"/Next %d 0 R" % (here + 1) if number + 1 < len(self.outline) else b""
            target = b"/Dest[%d 0 R/Fit]" % self.pages[page - 1]
            self.objects[here] = b"<</Title(%s)/Parent %d 0 R%s%s>>" % (escaped(title), root, target, after)
        last = root + len(self.outline)
        self.objects[root] = b"<</Type/Outlines/First %d 0 R/Last %d 0 R/Count %d>>" % (root + 1, last, last - root)
        return root

    def _written(self, info: int) -> bytes:
        out = bytearray(b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n")
        places = {}
        for number in sorted(self.objects):
            places[number] = len(out)
            out += b"%d 0 obj\n" % number + self.objects[number] + b"\nendobj\n"
        start = len(out)
        out += b"xref\n0 %d\n0000000000 65535 f \n" % (max(places) + 1)
        for number in range(1, max(places) + 1):
            out += b"%010d 00000 n \n" % places[number] if number in places else b"0000000000 65535 f \n"
        out += b"trailer<</Size %d/Root 1 0 R/Info %d 0 R>>\nstartxref\n%d\n%%%%EOF\n" % (max(places) + 1, info, start)
        return bytes(out)


def escaped(text: str) -> bytes:
    return text.encode("latin-1", "replace").replace(b"\\", b"\\\\").replace(b"(", b"\\(").replace(b")", b"\\)")
