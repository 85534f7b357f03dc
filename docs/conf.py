"""Builds the documentation as a site: `make docs`. README.md is its first page and its table of contents."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from sphinx.application import Sphinx

project = "Holdfast"
author = "the Holdfast contributors"
# Without a version: a running server serves these pages at /help to strangers too.
html_title = "Holdfast"
root_doc = "README"
extensions = ["myst_parser"]
myst_heading_anchors = 4
highlight_language = "none"
html_theme = "furo"
html_favicon = "../ui/public/icon.svg"
html_show_sphinx = html_show_copyright = html_copy_source = html_use_index = False

_SECTION = re.compile(r"^## (.+?)\n(.*?)(?=^## |\Z)", re.M | re.S)
_LINK = re.compile(r"\[([^\[\]]*)\]\(([^)\s]+)\)")


def prepare_page(app: Sphinx, name: str, source: list[str]) -> None:
    """Makes links fit for a site, and gives the first page its table of contents."""
    root = Path(app.srcdir)
    text = _LINK.sub(lambda link: _site_link(link[1], link[2], (root / name).parent, root), source[0])
    if name == root_doc:
        text += "".join(_contents(heading, part) for heading, part in _SECTION.findall(source[0]))
    source[0] = text


def _site_link(text: str, target: str, folder: Path, root: Path) -> str:
    """A file outside the documentation is a download; a page that is named by its file is named by its title."""
    path = target.partition("#")[0]
    if path and "://" not in path and not (folder / path).resolve().is_relative_to(root):
        return f"[{text}](<path:{path}>)"
    return f"[]({target})" if text == path else f"[{text}]({target})"


def _contents(heading: str, part: str) -> str:
    """A hidden table of contents with the pages that a section of the first page links to."""
    pages = dict.fromkeys(
        target for _, target in _LINK.findall(part) if target.endswith(".md") and not target.startswith("../")
    )
    return f"\n```{{toctree}}\n:hidden:\n:caption: {heading}\n\n" + "\n".join(pages) + "\n```\n"


def finish_site(app: Sphinx, failure: Exception | None) -> None:
    """Lets the site open at its folder too."""
    if failure is None:
        shutil.copyfile(Path(app.outdir) / f"{root_doc}.html", Path(app.outdir) / "index.html")


def setup(app: Sphinx) -> None:
    app.connect("source-read", prepare_page)
    app.connect("build-finished", finish_site)
