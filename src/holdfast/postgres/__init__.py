"""One PostgreSQL, every profile in it."""

from __future__ import annotations
