"""The built-in extractor: rules, offline, conservative; it would rather miss a fact than invent one."""

from .extractor import RuleExtractor, drafts
from .secrets import redacted

__all__ = ["RuleExtractor", "drafts", "redacted"]
