"""Real files of every format, made on the spot, each with facts planted at places that are known."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from email.message import EmailMessage

from .pdf_writer import Pdf

FILLER = (
    "The committee met in the usual room and went through the agenda without haste. Nothing was decided that had not "
    "been expected, and the minutes were taken by the secretary, who sends them to all members within the week. "
)


@dataclass(frozen=True)
class Planted:
    """A fact, and where a reader of the document would find it."""

    fact: str
    page: int | None = None
    heading: str | None = None
    kind: str = "text"


@dataclass(frozen=True)
class Sample:
    name: str
    format: str
    data: bytes
    facts: tuple[Planted, ...]
    title: str | None = None
    author: str | None = None
    date: str | None = None
    language: str | None = "en"
    ocr: bool = False


def pdf() -> Sample:
    made = Pdf(info={"Title": "Harbour Works", "Author": "Ines Duarte", "CreationDate": "D:20240312101500Z"})
    for number in range(1, 31):
        lines = [FILLER[:95], FILLER[95:190]]
        if number in (4, 17, 30):
            lines.append(f"The crane on quay {number} lifts {number * 11} tonnes.")
        made.text_page([f"Page {number} of the report", *lines])
    made.outline = [("Introduction", 1), ("Cranes", 10), ("Outlook", 25)]
    facts = [
        Planted("The crane on quay 4 lifts 44 tonnes.", 4, "Introduction"),
        Planted("The crane on quay 17 lifts 187 tonnes.", 17, "Cranes"),
        Planted("The crane on quay 30 lifts 330 tonnes.", 30, "Outlook"),
    ]
    return Sample("report.pdf", "pdf", made.bytes(), tuple(facts), "Harbour Works", "Ines Duarte", "2024-03-12")


def drawn(lines: list[str], size: tuple[int, int] = (1000, 300)) -> object:
    from PIL import Image, ImageDraw, ImageFont

    image = Image.new("RGB", size, "white")
    pen = ImageDraw.Draw(image)
    for number, line in enumerate(lines):
        pen.text((30, 40 + 80 * number), line, fill="black", font=ImageFont.load_default(38))
    return image


def scanned_pdf() -> Sample:
    image = drawn(["The vault opens at seven", "Keeper Marta Quill"])
    made = Pdf()
    made.text_page([FILLER[:90], FILLER[90:180], "This page has words of its own."])
    made.picture_page(1000, 300, image.tobytes())  # type: ignore[attr-defined]
    facts = (Planted("This page has words of its own.", 1), Planted("The vault opens at seven", 2))
    return Sample("scan.pdf", "pdf", made.bytes(), facts, ocr=True)


def image(kind: str) -> Sample:
    out = io.BytesIO()
    drawn(["Locker 4471 holds the spare key"]).save(out, kind)  # type: ignore[attr-defined]
    fact = Planted("Locker 4471 holds the spare key")
    return Sample(f"note.{kind.lower()}", "image", out.getvalue(), (fact,), language=None, ocr=True)


def html() -> Sample:
    body = f"""<!doctype html><html lang="en"><head><title>Tides of Porto Covo</title>
    <meta name="author" content="Rui Alves"><meta property="article:published_time" content="2024-05-06">
    <script>var secret = "never read this";</script><style>.x {{ color: red }}</style></head>
    <body><nav><a href="/">Home</a> <a href="/about">About</a></nav><article><h1>Tides of Porto Covo</h1>
    <p>{FILLER}</p><h2>Spring tides</h2><p>The highest tide of the year reaches 4.2 metres in March. {FILLER}</p>
    <table><tr><th>Month</th><th>Height</th></tr><tr><td>March</td><td>4.2 m</td></tr>
    <tr><td>June</td><td>3.6 m</td></tr></table><h2>Neap tides</h2><p>Neap tides never exceed two metres. {FILLER}</p>
    <pre>height = 2.0 * neap</pre></article><script>alert("run")</script></body></html>"""
    facts = (
        Planted("The highest tide of the year reaches 4.2 metres", None, "Spring tides"),
        Planted("Neap tides never exceed two metres.", None, "Neap tides"),
        Planted("March | 4.2 m", None, "Spring tides", "table"),
    )
    return Sample("tides.html", "html", body.encode(), facts, "Tides of Porto Covo", "Rui Alves", "2024-05-06")


def zipped(files: dict[str, str | bytes], first: str | None = None) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, data in files.items():
            packed.writestr(name, data, zipfile.ZIP_STORED if name == first else zipfile.ZIP_DEFLATED)
    return out.getvalue()


_W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
_R = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_P = "http://schemas.openxmlformats.org/package/2006/relationships"
CORE = (
    '<cp:coreProperties xmlns:cp="http://schemas.openxmlformats.org/package/2006/metadata/core-properties" '
    'xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:dcterms="http://purl.org/dc/terms/">'
    "<dc:title>{title}</dc:title><dc:creator>Noor Haddad</dc:creator>"
    "<dcterms:created>2023-11-02T08:00:00Z</dcterms:created></cp:coreProperties>"
)


def types(*parts: tuple[str, str]) -> str:
    space = "http://schemas.openxmlformats.org/package/2006/content-types"
    listed = "".join(f'<Override PartName="/{name}" ContentType="{kind}"/>' for name, kind in parts)
    return f'<Types xmlns="{space}"><Default Extension="xml" ContentType="application/xml"/>{listed}</Types>'


def relations(*each: tuple[str, str, str]) -> str:
    listed = "".join(f'<Relationship Id="{i}" Type="{_R}/{kind}" Target="{to}"/>' for i, kind, to in each)
    return f'<Relationships xmlns="{_P}">{listed}</Relationships>'


def docx_files() -> dict[str, str | bytes]:
    def paragraph(text: str, style: str | None = None) -> str:
        styled = f'<w:pPr><w:pStyle w:val="{style}"/></w:pPr>' if style else ""
        return f"<w:p>{styled}<w:r><w:t>{text}</w:t></w:r></w:p>"

    def row(*cells: str) -> str:
        return "<w:tr>" + "".join(f"<w:tc>{paragraph(cell)}</w:tc>" for cell in cells) + "</w:tr>"

    body = (
        paragraph("Lease of the mill", "Heading1") + paragraph(FILLER) + paragraph("Rent", "Heading2")
        + paragraph("The rent is 1,250 euros, due on the third of each month.") + paragraph("Deposit", "Heading2")
        + f"<w:tbl>{row('Item', 'Sum')}{row('Deposit', '3,750 euros')}</w:tbl>" + paragraph(FILLER)
    )  # fmt: skip
    main = "application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"
    styles = "".join(
        f'<w:style w:type="paragraph" w:styleId="Heading{n}"><w:name w:val="heading {n}"/></w:style>' for n in (1, 2)
    )
    return {
        "[Content_Types].xml": types(("word/document.xml", main)),
        "_rels/.rels": relations(("r1", "officeDocument", "word/document.xml")),
        "word/document.xml": f"<w:document {_W}><w:body>{body}</w:body></w:document>",
        "word/styles.xml": f"<w:styles {_W}>{styles}</w:styles>",
        "word/_rels/document.xml.rels": relations(("s1", "styles", "styles.xml")),
        "docProps/core.xml": CORE.format(title="Mill Lease"),
    }


def docx() -> Sample:
    facts = (
        Planted("The rent is 1,250 euros, due on the third of each month.", None, "Rent"),
        Planted("Deposit | 3,750 euros", None, "Deposit", "table"),
    )
    return Sample("lease.docx", "docx", zipped(docx_files()), facts, "Mill Lease", "Noor Haddad", "2023-11-02")


def pptx_files() -> dict[str, str | bytes]:
    spaces = (
        'xmlns:p="http://schemas.openxmlformats.org/presentationml/2006/main" '
        f'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main" xmlns:r="{_R}"'
    )

    def shape(text: str, place: str = "") -> str:
        held = f'<p:nvSpPr><p:nvPr><p:ph type="{place}"/></p:nvPr></p:nvSpPr>' if place else ""
        return f"<p:sp>{held}<p:txBody><a:p><a:r><a:t>{text}</a:t></a:r></a:p></p:txBody></p:sp>"

    slides = [
        shape("Kick-off", "ctrTitle") + shape("Welcome to project Gull. " + FILLER),
        shape("Budget", "title") + shape("The budget of Gull is 86,000 euros for the first year."),
        shape("Risks", "title") + shape("The main risk is the delivery of the pumps in October."),
    ]
    files: dict[str, str | bytes] = {
        "[Content_Types].xml": types(("ppt/presentation.xml", "application/vnd.ms-powerpoint")),
        "ppt/presentation.xml": f"<p:presentation {spaces}><p:sldIdLst>"
        + "".join(f'<p:sldId id="{255 + n}" r:id="rId{n}"/>' for n in (1, 2, 3))
        + "</p:sldIdLst></p:presentation>",
        "ppt/_rels/presentation.xml.rels": relations(
            *((f"rId{n}", "slide", f"slides/slide{4 - n}.xml") for n in (1, 2, 3))
        ),
        "ppt/slides/_rels/slide2.xml.rels": relations(("n1", "notesSlide", "../notesSlides/notesSlide1.xml")),
        "ppt/notesSlides/notesSlide1.xml": f"<p:notes {spaces}>{shape('Mention the grant of Faro.')}</p:notes>",
        "docProps/core.xml": CORE.format(title="Project Gull"),
    }
    for number, body in enumerate(slides, 1):  # shown in the order 1, 2, 3 but stored backwards
        files[f"ppt/slides/slide{4 - number}.xml"] = (
            f"<p:sld {spaces}><p:cSld><p:spTree>{body}</p:spTree></p:cSld></p:sld>"
        )
    return files


def pptx() -> Sample:
    facts = (
        Planted("The budget of Gull is 86,000 euros for the first year.", 2, "Budget"),
        Planted("The main risk is the delivery of the pumps in October.", 3, "Risks"),
        Planted("Mention the grant of Faro.", 2, "Budget"),
    )
    return Sample("gull.pptx", "pptx", zipped(pptx_files()), facts, "Project Gull", "Noor Haddad", "2023-11-02")


def xlsx_files() -> dict[str, str | bytes]:
    space = f'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main" xmlns:r="{_R}"'
    texts = ["Part", "Price", "Arrives", "Pump P-77", "Valve V-12"]
    shared = "".join(f"<si><t>{text}</t></si>" for text in texts)
    rows = (
        '<row r="1"><c r="A1" t="s"><v>0</v></c><c r="B1" t="s"><v>1</v></c><c r="C1" t="s"><v>2</v></c></row>'
        '<row r="2"><c r="A2" t="s"><v>3</v></c><c r="B2"><v>1890.5</v></c><c r="C2" s="1"><v>45352</v></c></row>'
        '<row r="3"><c r="A3" t="s"><v>4</v></c><c r="C3" s="1"><v>45362</v></c></row>'
        '<row r="4"><c r="A4" t="inlineStr"><is><t>Delivery in autumn, as agreed with the maker</t></is></c></row>'
    )
    return {
        "[Content_Types].xml": types(("xl/workbook.xml", "application/vnd.ms-excel")),
        "xl/workbook.xml": f'<workbook {space}><sheets><sheet name="Parts" r:id="rId1"/></sheets></workbook>',
        "xl/_rels/workbook.xml.rels": relations(("rId1", "worksheet", "worksheets/sheet1.xml")),
        "xl/sharedStrings.xml": f"<sst {space}>{shared}</sst>",
        "xl/styles.xml": f'<styleSheet {space}><cellXfs><xf numFmtId="0"/><xf numFmtId="14"/></cellXfs></styleSheet>',
        "xl/worksheets/sheet1.xml": f"<worksheet {space}><sheetData>{rows}</sheetData></worksheet>",
        "docProps/core.xml": CORE.format(title="Parts list"),
    }


def xlsx() -> Sample:
    facts = (
        Planted("Pump P-77 | 1890.5 | 2024-03-01", None, "Parts", "table"),
        Planted("Valve V-12 |  | 2024-03-11", None, "Parts", "table"),
    )
    made = zipped(xlsx_files())
    return Sample("parts.xlsx", "xlsx", made, facts, "Parts list", "Noor Haddad", "2023-11-02", language=None)


def epub_files() -> dict[str, str | bytes]:
    container = '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
    chapter = '<?xml version="1.0"?><!DOCTYPE html><html xmlns="http://www.w3.org/1999/xhtml"><body>{}</body></html>'
    return {
        "mimetype": "application/epub+zip",
        "META-INF/container.xml": f'{container}<rootfile full-path="OEBPS/book.opf"/></rootfiles></container>',
        "OEBPS/book.opf": '<package xmlns="http://www.idpf.org/2007/opf" xmlns:dc="http://purl.org/dc/elements/1.1/">'
        "<metadata><dc:title>The Salt Road</dc:title><dc:creator>Edda Winter</dc:creator><dc:date>2019</dc:date>"
        "<dc:language>en-GB</dc:language></metadata><manifest>"
        '<item id="b" href="text/two.xhtml" media-type="application/xhtml+xml"/>'
        '<item id="a" href="text/one.xhtml" media-type="application/xhtml+xml"/></manifest>'
        '<spine><itemref idref="a"/><itemref idref="b"/></spine></package>',
        "OEBPS/text/one.xhtml": chapter.format(f"<h1>The Caravan</h1><p>{FILLER}</p>"),
        "OEBPS/text/two.xhtml": chapter.format("<h1>The Well</h1><p>The well of Asmara is ninety cubits deep.</p>"),
    }


def epub() -> Sample:
    made = zipped(epub_files(), "mimetype")
    facts = (Planted("The well of Asmara is ninety cubits deep.", None, "The Well"),)
    return Sample("salt.epub", "epub", made, facts, "The Salt Road", "Edda Winter", "2019")


def markdown() -> Sample:
    text = (
        f"---\ntitle: Garden log\nauthor: Yuki Mori\ndate: 2024-04-01\n---\n\n# Garden\n\n{FILLER}\n\n## Beds\n\n"
        "Bed four holds the *garlic* planted in October.\n\n| bed | plant |\n|---|---|\n| five | kale |\n\n"
        "### Watering\n\n```python\nlitres = 12  # per evening\n```\n\nThe pump starts at half past six.\n"
    )
    facts = (
        Planted("Bed four holds the *garlic* planted in October.", None, "Beds"),
        Planted("| five | kale |", None, "Beds", "table"),
        Planted("litres = 12  # per evening", None, "Watering", "code"),
        Planted("The pump starts at half past six.", None, "Watering"),
    )
    return Sample("log.md", "markdown", text.encode(), facts, "Garden log", "Yuki Mori", "2024-04-01")


def text() -> Sample:
    body = f"{FILLER}\n\nThe spare boat is called Petrel and lies in Olhão.\n\n{FILLER}\n" * 3
    return Sample(
        "boats.txt", "text", body.encode("utf-16"), (Planted("The spare boat is called Petrel and lies in Olhão."),)
    )


def old_text() -> Sample:
    body = (
        f"{FILLER}\n\nDer Schlüssel für den Keller hängt hinter der Tür. Das Öl ist im Schrank über dem Kühlschrank.\n"
        * 4
    )
    fact = Planted("Der Schlüssel für den Keller hängt hinter der Tür.")
    return Sample("keys.txt", "text", body.encode("cp1252"), (fact,))


def code() -> Sample:
    body = "import math\n\n\ndef area(radius: float) -> float:\n    return math.pi * radius**2\n\n\nLIMIT = 4096\n"
    return Sample(
        "area.py",
        "code",
        body.encode(),
        (Planted("return math.pi * radius**2", None, "area.py", "code"),),
        language=None,
    )


def csv() -> Sample:
    rows = ["name;city;since", *(f"Person {n};Town {n};20{n % 30:02}" for n in range(300)), "Olga Brandt;Tartu;2016"]
    fact = Planted("Olga Brandt | Tartu | 2016", kind="table")
    return Sample("people.csv", "csv", "\n".join(rows).encode(), (fact,), language=None)


def json_() -> Sample:
    held = {"stations": [{"name": "Skagen", "depth": 11, "open": True}, {"name": "Læsø", "note": "closed in winter"}]}
    facts = (Planted("stations[0].depth: 11"), Planted("stations[1].note: closed in winter"))
    return Sample("stations.json", "json", json.dumps(held, ensure_ascii=False).encode(), facts, language=None)


def eml() -> Sample:
    mail = EmailMessage()
    mail["From"], mail["To"] = "Lena Fischer <lena@example.org>", "ops@example.org"
    mail["Subject"], mail["Date"] = "Keys of the depot", "Mon, 04 Mar 2024 18:20:00 +0100"
    mail.set_content(f"The code of the depot is 5512 from Monday on.\n\n{FILLER}")
    mail.add_alternative("<p>HTML twin</p>", subtype="html")
    mail.add_attachment(csv().data, maintype="application", subtype="octet-stream", filename="people.csv")
    facts = (
        Planted("The code of the depot is 5512 from Monday on.", None, "Keys of the depot"),
        Planted("Olga Brandt | Tartu | 2016", None, "people.csv", "table"),
        Planted("From: Lena Fischer <lena@example.org>", None, "Keys of the depot"),
    )
    author = "Lena Fischer <lena@example.org>"
    return Sample("mail.eml", "eml", mail.as_bytes(), facts, "Keys of the depot", author, "2024-03-04")


def srt() -> Sample:
    times = [(f"00:{n // 12:02}:{n * 5 % 60:02},000", f"00:{n // 12:02}:{n * 5 % 60 + 4:02},000") for n in range(40)]
    cues = [f"{n}\n{start} --> {stop}\n<i>Line {n} is spoken</i>\n" for n, (start, stop) in enumerate(times, 1)]
    cues.append("41\n00:09:00,000 --> 00:09:04,000\nThe ferry leaves at dawn.\n")
    return Sample("talk.srt", "srt", "\n".join(cues).encode(), (Planted("[00:09:00] The ferry leaves at dawn."),))


def vtt() -> Sample:
    spoken = "00:01.000 --> 00:04.000\n<v Ana>We meet at the lighthouse.\n\n00:40.000 --> 00:44.000\nAgreed.\n"
    body = f"WEBVTT\n\nNOTE not spoken\n\n{spoken}"
    return Sample("call.vtt", "vtt", body.encode(), (Planted("Ana: We meet at the lighthouse."),), language=None)


def archive() -> Sample:
    inside = zipped({"deep/notes.md": "# Notes\n\nThe deep fact is that the anchor weighs 90 kilos.\n"})
    files: dict[str, str | bytes] = {"a/log.md": markdown().data, "b/report.pdf": pdf().data, "c/more.zip": inside}
    facts = (
        Planted("Bed four holds the *garlic* planted in October.", None, "Beds"),
        Planted("The crane on quay 17 lifts 187 tonnes.", 17, "Cranes"),
        Planted("The deep fact is that the anchor weighs 90 kilos.", None, "Notes"),
    )
    return Sample("all.zip", "zip", zipped({**files, "__MACOSX/._x": b"\0\1\2"}), facts)


MAKERS: tuple[Callable[[], Sample], ...] = (
    pdf, html, docx, pptx, xlsx, epub, markdown, text, old_text, code, csv, json_, eml, srt, vtt, archive,
)  # fmt: skip
PICTURES: tuple[Callable[[], Sample], ...] = (
    scanned_pdf, lambda: image("PNG"), lambda: image("JPEG"), lambda: image("WEBP"), lambda: image("GIF"),
    lambda: image("TIFF"),
)  # fmt: skip
