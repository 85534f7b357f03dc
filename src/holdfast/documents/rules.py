"""Where documents may come from, and how large they may be. Nothing that reads documents is loaded before they do."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from holdfast.documents.fetch.addresses import FetchPolicy
    from holdfast.documents.types import ParseLimits

DEFAULT_MAX_DOCUMENT_BYTES = 64 * 1024 * 1024
"""The default of the setting document_bytes. Chosen by hand; not measured."""


@dataclass(frozen=True, slots=True)
class DocumentRules:
    """Where documents may come from, and how large they may be."""

    fetch: bool = True
    allow: tuple[str, ...] = ()
    bytes: int = DEFAULT_MAX_DOCUMENT_BYTES
    again: timedelta | None = None
    """How old a fetched page may become before it is fetched again; None: only when it is added again."""

    def __post_init__(self) -> None:
        if self.allow:
            self.policy()  # an invalid host is reported here, not at the first fetch

    def policy(self) -> FetchPolicy:
        from holdfast.documents.fetch.addresses import FetchPolicy

        return FetchPolicy(enabled=self.fetch, allow=self.allow, received_bytes=self.bytes)

    def limits(self) -> ParseLimits:
        from holdfast.documents.types import ParseLimits

        return ParseLimits(input_bytes=self.bytes)
