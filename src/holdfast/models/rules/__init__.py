"""The built-in extractor: rules, offline and conservative; it would rather miss a fact than invent one.

The rules load at first use, since `holdfast hook` needs only `redacted_text` and must start fast.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from holdfast.models.rules.extractor import RuleExtractor, drafts
    from holdfast.models.rules.summariser import QuotingSummariser
    from holdfast.text.redaction import redacted_text
else:

    def __getattr__(name):
        if name == "redacted_text":
            from holdfast.text.redaction import redacted_text

            return redacted_text
        if name == "QuotingSummariser":
            from holdfast.models.rules.summariser import QuotingSummariser

            return QuotingSummariser
        if name not in ("RuleExtractor", "drafts"):
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from holdfast.models.rules import extractor

        return getattr(extractor, name)


__all__ = ["QuotingSummariser", "RuleExtractor", "drafts", "redacted_text"]
