"""The body of an answer → a file, counted packed and unpacked: what is small packed may be very large unpacked."""

from __future__ import annotations

import zlib
from collections.abc import AsyncIterable, Iterable
from typing import BinaryIO

from ..errors import Unreachable, shown
from .addresses import Policy
from .types import DocumentError


async def write(data: AsyncIterable[bytes], encoding: str, policy: Policy, file: BinaryIO) -> None:
    """What comes in, unpacked, into the file. Raises DocumentError beyond the policy's sizes."""
    decoder = Decoder(encoding)
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
        raise Unreachable("The document was cut off on its way.", field="url")
    if not decoded:
        raise DocumentError("There is nothing at this address.", field="url")


class Decoder:
    """Content codings, unpacked in pieces of at most a mebibyte."""

    PIECE = 1 << 20

    def __init__(self, encoding: str) -> None:
        coding = encoding.strip().lower()
        if coding not in ("", "identity", "gzip", "x-gzip", "deflate"):
            raise DocumentError(f"The server sends the document packed as {shown(encoding)}, unasked.", field="url")
        packed = coding not in ("", "identity")
        # 32 more bits of window size: gzip or zlib, whichever the first bytes are.
        self.unpacker = zlib.decompressobj(zlib.MAX_WBITS | 32) if packed else None
        self.bare = coding == "deflate"

    def pieces(self, data: bytes) -> Iterable[bytes]:
        if self.unpacker is None:
            yield data
            return
        while data and not self.unpacker.eof:
            try:
                piece = self.unpacker.decompress(data, self.PIECE)
            except zlib.error as bad:
                if not self.bare:
                    raise DocumentError(
                        f"The server's packing of the document is broken: {bad}.", field="url"
                    ) from None
                # Some servers send deflate without its header.
                self.unpacker, self.bare = zlib.decompressobj(-zlib.MAX_WBITS), False
                continue
            self.bare = False
            yield piece
            data = self.unpacker.unconsumed_tail

    @property
    def finished(self) -> bool:
        return self.unpacker is None or self.unpacker.eof
