"""The web UI as it was built from ui/: its files, with their types, tags and packed forms. It knows no server."""

from __future__ import annotations

import gzip
import hashlib
import re
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

STATIC = Path(__file__).with_name("static")
PAGE = "index.html"
TYPES = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
    ".woff2": "font/woff2",
}
PACKED = (".css", ".html", ".js", ".svg")
"""A font is packed already."""
_NAME = re.compile(r"[0-9A-Za-z_-]+(?:\.[0-9A-Za-z_-]+)+")


@dataclass(frozen=True, slots=True)
class Asset:
    """One built file."""

    body: bytes
    type: str
    etag: str
    packed: bytes | None = None
    """The same, gzipped, where that makes it smaller."""


def asset(name: str, folder: str = "assets") -> Asset | None:
    """A file of the build by its name; None when there is none."""
    path = STATIC / folder / name
    if not _NAME.fullmatch(name) or path.suffix not in TYPES or not path.is_file():
        return None
    return _read(path, path.stat().st_mtime_ns)


def page(depth: int = 0) -> Asset | None:
    """The page that everything starts from, for an address so many folders below the root."""
    found = asset(PAGE, "")
    if found is None or depth == 0:
        return found
    return built(found.body.replace(b'"./', b'"' + b"../" * depth), ".html")


@lru_cache(128)
def _read(path: Path, changed: int) -> Asset:
    """As the file was when it last changed: who builds the UI need not start the server again."""
    return built(path.read_bytes(), path.suffix)


def built(body: bytes, suffix: str) -> Asset:
    packed = gzip.compress(body, 9, mtime=0) if suffix in PACKED else None
    return Asset(body, TYPES[suffix], hashlib.sha256(body).hexdigest()[:32], packed)
