"""The built-in extractor: rules, offline, conservative; it would rather miss a fact than invent one.

The rules are loaded when first asked for: `holdfast hook` needs `redacted` alone, and at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...redaction import redacted

if TYPE_CHECKING:
    from .extractor import RuleExtractor, drafts
    from .summariser import QuotingSummariser
else:

    def __getattr__(name):
        if name == "QuotingSummariser":
            from .summariser import QuotingSummariser

            return QuotingSummariser
        if name not in ("RuleExtractor", "drafts"):
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from . import extractor

        return getattr(extractor, name)


__all__ = ["QuotingSummariser", "RuleExtractor", "drafts", "redacted"]
