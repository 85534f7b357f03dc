"""The built files of the web UI and of the documentation, with their media types, ETags and gzipped forms."""

from __future__ import annotations

import gzip
import hashlib
import re
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

STATIC = Path(__file__).with_name("static")
START_PAGE = "index.html"
MEDIA_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".md": "text/plain; charset=utf-8",
    ".png": "image/png",
    ".py": "text/plain; charset=utf-8",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
    ".woff2": "font/woff2",
}
GZIPPED_TYPES = (".css", ".html", ".js", ".svg")
"""Without fonts and pictures, which are already compressed."""
_NAME = re.compile(r"[0-9A-Za-z_-]+(?:\.[0-9A-Za-z_-]+)+")


@dataclass(frozen=True, slots=True)
class Asset:
    """One built file."""

    body: bytes
    type: str
    etag: str
    packed: bytes | None = None
    """The gzipped body, for types that gzip makes smaller."""


def asset(name: str, folder: str = "assets") -> Asset | None:
    """Load a built file by its name; None when there is none."""
    path = STATIC / folder / name
    if not _NAME.fullmatch(name) or path.suffix not in MEDIA_TYPES or not path.is_file():
        return None
    return _cached_asset(path, path.stat().st_mtime_ns)


def start_page(depth: int = 0) -> Asset | None:
    """The start page, for a URL that is `depth` folders below the root."""
    found = asset(START_PAGE, "")
    if found is None or depth == 0:
        return found
    return build_asset(found.body.replace(b'"./', b'"' + b"../" * depth), ".html")


@lru_cache(128)
def _cached_asset(path: Path, changed: int) -> Asset:
    """The file, cached by its modification time, so that a new build needs no restart of the server."""
    return build_asset(path.read_bytes(), path.suffix)


def build_asset(body: bytes, suffix: str) -> Asset:
    packed = gzip.compress(body, 9, mtime=0) if suffix in GZIPPED_TYPES else None
    return Asset(body, MEDIA_TYPES[suffix], hashlib.sha256(body).hexdigest()[:32], packed)
