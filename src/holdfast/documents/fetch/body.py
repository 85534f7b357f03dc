"""Writes an HTTP response body to a file, with limits on its size before and after decompression."""

from __future__ import annotations

import zlib
from collections.abc import AsyncIterable, Iterable
from typing import BinaryIO

from holdfast.documents.fetch.addresses import FetchPolicy
from holdfast.documents.types import DocumentError
from holdfast.domain.errors import Unreachable, quoted_value


async def write_body(data: AsyncIterable[bytes], encoding: str, policy: FetchPolicy, file: BinaryIO) -> None:
    """Decompress the body into the file. Raise DocumentError beyond the sizes of the policy."""
    decoder = ContentDecoder(encoding)
    received = decoded = 0
    async for part in data:
        received += len(part)
        if received > policy.received_bytes:
            raise DocumentError(f"The document is larger than {policy.received_bytes:,} bytes.", field="url")
        for piece in decoder.pieces(part):
            decoded += len(piece)
            if decoded > policy.decoded_bytes:
                raise DocumentError(f"The document unpacks to more than {policy.decoded_bytes:,} bytes.", field="url")
            file.write(piece)
    if not decoder.finished:
        raise Unreachable("The connection broke before the whole document was received.", field="url")
    if not decoded:
        raise DocumentError("The page at this URL is empty.", field="url")


class ContentDecoder:
    """Decodes a Content-Encoding in pieces of at most a mebibyte, so that a small body cannot fill the memory."""

    PIECE_BYTES = 1 << 20

    def __init__(self, encoding: str) -> None:
        coding = encoding.strip().lower()
        if coding not in ("", "identity", "gzip", "x-gzip", "deflate"):
            raise DocumentError(
                f"The server sends the document compressed as {quoted_value(encoding)}, which was not requested.",
                field="url",
            )
        packed = coding not in ("", "identity")
        # Adding 32 to the window size lets zlib detect gzip or zlib from the first bytes.
        self.unpacker = zlib.decompressobj(zlib.MAX_WBITS | 32) if packed else None
        self.try_raw = coding == "deflate"

    def pieces(self, data: bytes) -> Iterable[bytes]:
        if self.unpacker is None:
            yield data
            return
        while data and not self.unpacker.eof:
            try:
                piece = self.unpacker.decompress(data, self.PIECE_BYTES)
            except zlib.error as bad:
                if not self.try_raw:
                    raise DocumentError(f"The document cannot be decompressed: {bad}.", field="url") from None
                # Some servers send deflate without the zlib header.
                self.unpacker, self.try_raw = zlib.decompressobj(-zlib.MAX_WBITS), False
                continue
            self.try_raw = False
            yield piece
            data = self.unpacker.unconsumed_tail

    @property
    def finished(self) -> bool:
        return self.unpacker is None or self.unpacker.eof
