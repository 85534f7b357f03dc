"""The pages of the documentation, from the archive that `make docs` packs them into. Independent of any server."""

from __future__ import annotations

import base64
import hashlib
import re
import zipfile
from functools import lru_cache
from pathlib import Path, PurePosixPath

from holdfast.api.web import MEDIA_TYPES, Asset, build_asset

ARCHIVE = Path(__file__).with_name("help.zip")
FIRST_PAGE = "index.html"
ABSENT_PAGE = b"""<!doctype html><html lang="en"><meta charset="utf-8"><title>Holdfast: help</title>
<meta name="viewport" content="width=device-width"><meta name="color-scheme" content="light dark">
<h1>Help</h1>
<p>The documentation has not been built for this installation. Run <code>make docs</code> in the checkout of Holdfast;
it takes a few minutes. If the server was started with <code>make serve</code>, reload this page then; if Holdfast was
installed by pip, pipx or uv, install it again.</p>
<p>The same pages are Markdown files in the checkout: begin with <code>docs/README.md</code>.</p>
<p>This server describes its API at <a href="../docs">/docs</a>; <code>holdfast --help</code> lists the commands.</p>
</html>"""
_INLINE_CODE = re.compile(rb"<(script|style)>(.*?)</\1>", re.S)
_INLINE_STYLE = re.compile(rb' style="([^"]*)"')


def help_page(name: str) -> Asset | None:
    """Load a file of the documentation by its path in the archive; None when there is none."""
    name = name or FIRST_PAGE
    if ARCHIVE.is_file() and PurePosixPath(name).suffix in MEDIA_TYPES:
        return _cached_page(name, ARCHIVE.stat().st_mtime_ns)
    return build_asset(ABSENT_PAGE, ".html") if name == FIRST_PAGE else None


@lru_cache(256)
def _cached_page(name: str, changed: int) -> Asset | None:
    """The file, cached by the archive's modification time, so that a new build needs no restart of the server."""
    with zipfile.ZipFile(ARCHIVE) as packed:
        held = name in packed.namelist()
        return build_asset(packed.read(name), PurePosixPath(name).suffix) if held else None


@lru_cache(256)
def content_policy(page: bytes) -> str:
    """A content security policy that allows the code written into this page, by its hash, and this server's files."""
    scripts = [code for kind, code in _INLINE_CODE.findall(page) if kind == b"script"]
    styles = [code for kind, code in _INLINE_CODE.findall(page) if kind == b"style"] + _INLINE_STYLE.findall(page)
    return (
        f"default-src 'none'; script-src 'self'{_hashes(scripts)}; style-src 'self' 'unsafe-hashes'{_hashes(styles)}; "
        "img-src 'self' data:; connect-src 'self'; font-src 'self'; base-uri 'none'; form-action 'self'; "
        "frame-ancestors 'none'"
    )


def _hashes(pieces: list[bytes]) -> str:
    digests = (base64.b64encode(hashlib.sha256(piece).digest()).decode() for piece in dict.fromkeys(pieces))
    return "".join(f" 'sha256-{digest}'" for digest in digests)
