"""Storage in one PostgreSQL database that holds all profiles."""

from __future__ import annotations
