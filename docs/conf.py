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
_LINK = re.compile(r"\]\(([^)\s]+)\)")


def prepare_page(app: Sphinx, name: str, source: list[str]) -> None:
    """Offers files outside the documentation as downloads, and gives the first page its table of contents."""
    folder = (Path(app.srcdir) / name).parent
    text = _LINK.sub(lambda link: f"]({_target(link[1], folder, Path(app.srcdir))})", source[0])
    if name == root_doc:
        text += "".join(_contents(heading, part) for heading, part in _SECTION.findall(text))
    source[0] = text


def _target(link: str, folder: Path, root: Path) -> str:
    path = link.partition("#")[0]
    outside = path and "://" not in path and not (folder / path).resolve().is_relative_to(root)
    return f"<path:{path}>" if outside else link


def _contents(heading: str, part: str) -> str:
    """A hidden table of contents with the pages that a section of the first page links to."""
    pages = dict.fromkeys(link for link in _LINK.findall(part) if link.endswith(".md") and ":" not in link)
    return f"\n```{{toctree}}\n:hidden:\n:caption: {heading}\n\n" + "\n".join(pages) + "\n```\n"


def finish_site(app: Sphinx, failure: Exception | None) -> None:
    """Lets the site open at its folder too."""
    if failure is None:
        shutil.copyfile(Path(app.outdir) / f"{root_doc}.html", Path(app.outdir) / "index.html")


def setup(app: Sphinx) -> None:
    app.connect("source-read", prepare_page)
    app.connect("build-finished", finish_site)
