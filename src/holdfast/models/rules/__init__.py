"""The built-in extractor: rules, offline and conservative; it would rather miss a fact than invent one.

The rules load at first use, since `holdfast hook` needs only `redacted_text` and must start fast.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from holdfast.models.rules.extractor import RuleExtractor, drafts
    from holdfast.models.rules.summariser import QuotingSummariser
    from holdfast.text.redaction import redacted_text
else:
    _HOMES = {
        "QuotingSummariser": "holdfast.models.rules.summariser",
        "RuleExtractor": "holdfast.models.rules.extractor",
        "drafts": "holdfast.models.rules.extractor",
        "redacted_text": "holdfast.text.redaction",
    }

    def __getattr__(name):
        if name not in _HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(_HOMES[name]), name)


__all__ = ["QuotingSummariser", "RuleExtractor", "drafts", "redacted_text"]
