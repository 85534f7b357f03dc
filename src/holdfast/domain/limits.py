"""The limits of what callers may write and ask, in one place; every interface enforces them through these names.

docs/limits.md lists them for users, and a test compares the two.
"""

from __future__ import annotations

MAX_NAMESPACE_CHARACTERS = 32
MAX_PROFILE_BYTES = 200
"""Of a profile's name, and of the names of agents, speakers, people and ids."""
MAX_SESSION_CHARACTERS = 64
MAX_KEY_BYTES = 512
MAX_KIND_CHARACTERS = 64
MAX_IDEMPOTENCY_KEY_BYTES = 255
MAX_CONTENT_BYTES = 32_768
"""Of a memory's content, and of a message after a longer text was split."""
MAX_TEXT_BYTES = 1_048_576
"""Of one text that ingest splits into messages."""
MAX_MESSAGES = 500
MAX_QUERY_BYTES = MAX_TEXT_BYTES
"""Of the text that search, recall and context take: a program may pass whatever its user wrote."""
MAX_QUESTION_BYTES = 1_024
"""Of that text, what is searched for; of a longer one, its beginning and its end. Models read little more: the default
embedder reads 512 tokens."""
MAX_METADATA_BYTES = 16_384
MAX_VALUE_BYTES = 262_144
MAX_SETTING_BYTES = 65_536
"""Of retention rules, a schema or a mapping."""
MAX_JSON_DEPTH = 64
"""Levels of objects and lists in metadata, a value or a setting. Everything that reads JSON back recurses once for each
level, and Python's recursion limit is 1,000."""
MAX_METADATA_ITEMS = 1_000
MAX_VALUE_ITEMS = 50_000
"""Names and list items in all levels together."""
MAX_PROFILES_ACROSS = 10_000
"""Of one question; they are asked in portions, so that time grows with their number and memory does not."""
MAX_FILTER_DEPTH = 16
MAX_FILTER_TESTS = 500
