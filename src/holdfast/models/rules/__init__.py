"""The built-in extractor: rules, offline, conservative; it would rather miss a fact than invent one.

The rules are loaded when first asked for: `holdfast hook` needs `redacted` alone, and at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .secrets import redacted

if TYPE_CHECKING:
    from .extractor import RuleExtractor, drafts
else:

    def __getattr__(name):
        if name not in ("RuleExtractor", "drafts"):
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from . import extractor

        return getattr(extractor, name)


__all__ = ["RuleExtractor", "drafts", "redacted"]
