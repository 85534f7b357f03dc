"""Parses images with local OCR."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec
from typing import Any

from holdfast.documents.parse.dispatch import ParserInput, load_library
from holdfast.documents.types import DocumentError, DocumentProperties, ParserOutput, Progress, Section
from holdfast.domain.errors import install_fix

_MAX_SIDE_PIXELS = 2_500
"""Larger images are scaled down before OCR. Chosen by hand; not measured."""
_MAX_FRAMES = 200
"""Further pages of a TIFF are ignored. Chosen by hand; not measured."""


def parse(source: ParserInput) -> Iterator[ParserOutput]:
    if ocr_missing_reason():
        raise DocumentError("This is an image, and reading images needs OCR.", fix=install_fix("ocr"))
    pillow = load_library("PIL.Image", "ocr")
    pillow.MAX_IMAGE_PIXELS = source.limits.pixels
    image = pillow.open(source.start())
    width, height = image.size
    if width * height > source.limits.pixels:
        raise DocumentError(f"The image has {width:,} × {height:,} pixels; the limit is {source.limits.pixels:,}.")
    # Only TIFF has pages; the frames of a GIF or a WebP are an animation.
    count = min(getattr(image, "n_frames", 1), _MAX_FRAMES) if image.format == "TIFF" else 1
    yield DocumentProperties(title=source.name, pages=count)
    for number in range(1, count + 1):
        image.seek(number - 1)
        if image.width * image.height > source.limits.pixels:
            raise DocumentError(f"Page {number} of the image is too large.")
        text = recognised_text(_bgr_pixels(image))
        yield Section(text, (), number if count > 1 else None)
        yield Progress(min(99, number * 100 // count))


def ocr_missing_reason() -> str | None:
    """Why OCR is not available here; None if it is."""
    if all(find_spec(name) for name in ("rapidocr", "onnxruntime", "PIL")):
        return None
    return f"it is a picture, and reading pictures needs OCR. {install_fix('ocr')}"


def recognised_text(pixels: Any) -> str:
    """Recognise the lines of text in an image (an array of rows of blue, green, red), from top to bottom."""
    result = _ocr_engine()(pixels)
    return "\n".join(result.txts or ())


@cache
def _ocr_engine() -> Any:
    threads = {f"EngineConfig.onnxruntime.{which}_op_num_threads": 1 for which in ("intra", "inter")}
    # One line per batch: measured on a dense page, 824 MB instead of 973 and three quarters of the time, same text.
    params = {"Global.log_level": "critical", "Rec.rec_batch_num": 1, **threads}
    return load_library("rapidocr", "ocr").RapidOCR(params=params)


def _bgr_pixels(image: Any) -> Any:
    import numpy as np

    if image.mode in ("RGBA", "LA", "P", "PA"):
        # Transparent pixels become white; otherwise black letters on a transparent ground would be black on black.
        rgba = image.convert("RGBA")
        image = load_library("PIL.Image", "ocr").new("RGB", rgba.size, "white")
        image.paste(rgba, mask=rgba.getchannel("A"))
    small = image.convert("RGB")
    small.thumbnail((_MAX_SIDE_PIXELS, _MAX_SIDE_PIXELS))
    return np.ascontiguousarray(np.asarray(small)[:, :, ::-1])
