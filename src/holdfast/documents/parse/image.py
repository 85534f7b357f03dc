"""Images: the words in them, by OCR that runs here and asks nobody."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec
from typing import Any

from ..types import About, DocumentError, Piece, Progress, Section
from .source import Source, library

_SIDE = 2_500
_FRAMES = 200
_FIX = "pip install 'holdfast[ocr]'"


def read(source: Source) -> Iterator[Piece]:
    if ocr_missing():
        raise DocumentError("This is an image, and reading images needs OCR.", fix=_FIX)
    pillow = library("PIL.Image", "ocr")
    pillow.MAX_IMAGE_PIXELS = source.limits.pixels
    image = pillow.open(source.start())
    width, height = image.size
    if width * height > source.limits.pixels:
        raise DocumentError(f"The image has {width:,} × {height:,} pixels; the limit is {source.limits.pixels:,}.")
    # Only TIFF has pages; the frames of a GIF or a WebP are a film.
    count = min(getattr(image, "n_frames", 1), _FRAMES) if image.format == "TIFF" else 1
    yield About(title=source.name, pages=count)
    for number in range(1, count + 1):
        image.seek(number - 1)
        if image.width * image.height > source.limits.pixels:
            raise DocumentError(f"Page {number} of the image is too large.")
        text = read_pixels(_pixels(image))
        yield Section(text, (), number if count > 1 else None)
        yield Progress(min(99, number * 100 // count))


def ocr_missing() -> str | None:
    """Why OCR cannot be done here, if so."""
    if all(find_spec(name) for name in ("rapidocr", "onnxruntime", "PIL")):
        return None
    return f"it is a picture, and reading pictures needs OCR: {_FIX}"


def read_pixels(pixels: Any) -> str:
    """The lines of text in an image (an array of rows of blue, green, red), from top to bottom."""
    found = _engine()(pixels)
    return "\n".join(found.txts or ())


@cache
def _engine() -> Any:
    one = {f"EngineConfig.onnxruntime.{which}_op_num_threads": 1 for which in ("intra", "inter")}
    # One line at a time: a dense page takes 824 MB instead of 973, and three quarters of the time, for the same text.
    return library("rapidocr", "ocr").RapidOCR(params={"Global.log_level": "critical", "Rec.rec_batch_num": 1, **one})


def _pixels(image: Any) -> Any:
    import numpy as np

    if image.mode in ("RGBA", "LA", "P", "PA"):
        # Clear pixels are white paper; black letters on clear ground would be black on black.
        rgba = image.convert("RGBA")
        image = library("PIL.Image", "ocr").new("RGB", rgba.size, "white")
        image.paste(rgba, mask=rgba.getchannel("A"))
    small = image.convert("RGB")
    small.thumbnail((_SIDE, _SIDE))
    return np.ascontiguousarray(np.asarray(small)[:, :, ::-1])
