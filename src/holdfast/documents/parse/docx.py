"""Word files: converted to HTML, which keeps headings, lists and tables, then walked like a page."""

from __future__ import annotations

from collections.abc import Iterator

from ..types import About, Piece, Section
from .markup import sections
from .packed import Packed
from .source import Source, library


def read(source: Source) -> Iterator[Piece]:
    mammoth = library("mammoth")
    with Packed(source) as packed:
        about = packed.core_properties()
        # The converter builds a tree of what it reads: nothing reaches it that could grow on the way.
        packed.check_all((".xml", ".rels"))
    html = mammoth.convert_to_html(
        source.start(),
        convert_image=lambda image: [],
        include_embedded_style_map=False,
        style_map="p[style-name='Title'] => h1:fresh\np[style-name='Subtitle'] => p:fresh\n"
        "p[style-name='Code'] => pre:separator('\\n')\np[style-name='HTML Preformatted'] => pre:separator('\\n')",
    ).value
    first: Section | None = None
    found = sections(html)
    for section in found:
        first = first or section
        if section is first:
            title = about.title or (section.heading[0] if section.heading else None) or source.name
            yield About(title, about.author, about.date, about.language)
        yield section
