"""Documents of any length in every format, for measuring."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from email.message import EmailMessage

from .pdf_writer import Pdf
from .samples import docx_files, drawn, epub_files, pptx_files, relations, xlsx_files, zipped

SENTENCES = (
    "The pilot of harbour {n} noted a swell of {m} centimetres at noon. ",
    "Crate {n} was signed for by the clerk, who weighed it twice and wrote {m} kilos. ",
    "Nobody had asked for lamp {n} since the spring, so it went to shelf {m}. ",
)


def page(number: int) -> str:
    """About 3,000 characters that are on no other page."""
    return "".join(SENTENCES[n % 3].format(n=number * 50 + n, m=n * 7 % 97) for n in range(43))


def paragraphs(number: int) -> list[str]:
    text = page(number)
    return [text[start : start + 600] for start in range(0, len(text), 600)]


def pdf(pages: int) -> bytes:
    made = Pdf()
    for number in range(pages):
        text = page(number)
        made.text_page([text[start : start + 95] for start in range(0, len(text), 95)])
    return made.bytes()


def scanned(pages: int) -> bytes:
    made = Pdf()
    for number in range(pages):
        text = page(number)
        lines = [text[start : start + 60] for start in range(0, 1_500, 60)]
        image = drawn(lines, (1_240, 2_050))
        made.picture_page(1_240, 2_050, image.tobytes())  # type: ignore[attr-defined]
    return made.bytes()


def picture(pages: int) -> bytes:
    out = io.BytesIO()
    drawn([page(0)[start : start + 60] for start in range(0, 1_500, 60)], (1_240, 2_050)).save(out, "PNG")  # type: ignore[attr-defined]
    return out.getvalue()


def body(pages: int) -> str:
    return "".join(
        f"<h2>Part {number}</h2>" + "".join(f"<p>{text}</p>" for text in paragraphs(number)) for number in range(pages)
    )


def html(pages: int) -> bytes:
    head = "<!doctype html><html lang='en'><head><title>A log</title></head>"
    return f"{head}<body><article><h1>A log</h1>{body(pages)}</article></body></html>".encode()


def docx(pages: int) -> bytes:
    files = docx_files()
    texts = "".join(f"<w:p><w:r><w:t>{text}</w:t></w:r></w:p>" for n in range(pages) for text in paragraphs(n))
    files["word/document.xml"] = str(files["word/document.xml"]).replace("</w:body>", f"{texts}</w:body>")
    return zipped(files)


def pptx(pages: int) -> bytes:
    files = pptx_files()
    slide = str(files["ppt/slides/slide2.xml"])
    known = "The budget of Gull is 86,000 euros for the first year."
    for number in range(pages):
        files[f"ppt/slides/more{number}.xml"] = slide.replace(known, page(number))
    deck = str(files["ppt/presentation.xml"])
    first, last = deck.index("<p:sldIdLst>") + 12, deck.index("</p:sldIdLst>")
    ids = "".join(f'<p:sldId id="{1000 + n}" r:id="m{n}"/>' for n in range(pages))
    files["ppt/presentation.xml"] = deck[:first] + ids + deck[last:]
    files["ppt/_rels/presentation.xml.rels"] = relations(
        *((f"m{n}", "slide", f"slides/more{n}.xml") for n in range(pages))
    )
    return zipped(files)


def xlsx(pages: int) -> bytes:
    files = xlsx_files()
    cell = '<c t="inlineStr"><is><t>{}</t></is></c>'
    rows = "".join(
        "<row>" + "".join(cell.format(text[start : start + 60]) for start in range(0, 600, 60)) + "</row>"
        for number in range(pages)
        for text in paragraphs(number)
    )
    sheet = str(files["xl/worksheets/sheet1.xml"])
    files["xl/worksheets/sheet1.xml"] = sheet.replace("</sheetData>", f"{rows}</sheetData>")
    return zipped(files)


def epub(pages: int) -> bytes:
    files = epub_files()
    files["OEBPS/text/one.xhtml"] = f"<html><body>{body(pages)}</body></html>"
    return zipped(files, "mimetype")


def markdown(pages: int) -> bytes:
    return "".join(f"## Part {n}\n\n" + "\n\n".join(paragraphs(n)) + "\n\n" for n in range(pages)).encode()


def text(pages: int) -> bytes:
    return "".join("\n\n".join(paragraphs(n)) + "\n\n" for n in range(pages)).encode()


def csv(pages: int) -> bytes:
    rows = [
        text[start : start + 60].replace(",", "")
        for n in range(pages)
        for text in paragraphs(n)
        for start in range(0, 600, 60)
    ]
    return "\n".join(",".join(rows[start : start + 10]) for start in range(0, len(rows), 10)).encode()


def json_(pages: int) -> bytes:
    return json.dumps([{"part": n, "texts": [{"text": text} for text in paragraphs(n)]} for n in range(pages)]).encode()


def eml(pages: int) -> bytes:
    mail = EmailMessage()
    mail["From"], mail["To"], mail["Subject"] = "a@example.org", "b@example.org", "A log"
    mail.set_content("\n\n".join(text for n in range(pages) for text in paragraphs(n)))
    return mail.as_bytes()


def srt(pages: int) -> bytes:
    lines = [text[start : start + 60] for n in range(pages) for text in paragraphs(n) for start in range(0, 600, 60)]
    at = [f"{n // 720:02}:{n // 12 % 60:02}:{n * 5 % 60:02},000" for n in range(len(lines) + 1)]
    return "".join(f"{n + 1}\n{at[n]} --> {at[n + 1]}\n{line}\n\n" for n, line in enumerate(lines)).encode()


def archive(pages: int) -> bytes:
    return zipped({f"{n}.md": markdown(10) for n in range(max(1, pages // 10))})


def samples() -> list[tuple[str, Callable[[int], bytes], int]]:
    """Name, maker, and the most pages that make sense."""
    return [
        ("pdf", pdf, 10_000), ("html", html, 1_000), ("docx", docx, 10_000), ("pptx", pptx, 10_000),
        ("xlsx", xlsx, 10_000), ("epub", epub, 10_000), ("markdown", markdown, 10_000), ("text", text, 10_000),
        ("csv", csv, 10_000), ("json", json_, 10_000), ("eml", eml, 10_000), ("srt", srt, 10_000),
        ("zip", archive, 10_000), ("scanned pdf", scanned, 5), ("png", picture, 1),
    ]  # fmt: skip
