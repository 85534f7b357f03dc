"""Parses Word files: converts them to HTML, which keeps headings, lists and tables, and parses that."""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.documents.parse.dispatch import ParserInput, load_library
from holdfast.documents.parse.html_sections import html_sections
from holdfast.documents.parse.safe_zip import SafeZip
from holdfast.documents.types import DocumentProperties, ParserOutput, Section


def parse(source: ParserInput) -> Iterator[ParserOutput]:
    mammoth = load_library("mammoth")
    with SafeZip(source) as packed:
        about = packed.core_properties()
        # The converter builds a tree in memory, so all XML is checked and counted before.
        packed.check_all((".xml", ".rels"))
    html = mammoth.convert_to_html(
        source.start(),
        convert_image=lambda image: [],
        include_embedded_style_map=False,
        style_map="p[style-name='Title'] => h1:fresh\np[style-name='Subtitle'] => p:fresh\n"
        "p[style-name='Code'] => pre:separator('\\n')\np[style-name='HTML Preformatted'] => pre:separator('\\n')",
    ).value
    first: Section | None = None
    for section in html_sections(html):
        first = first or section
        if section is first:
            title = about.title or (section.heading[0] if section.heading else None) or source.name
            yield DocumentProperties(title, about.author, about.date, about.language)
        yield section
