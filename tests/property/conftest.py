"""What holds for all tests of this folder."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from support.postgres import empty_database, migrated_dsn


@pytest.fixture(scope="module", autouse=True)
def emptied_database() -> Iterator[None]:
    """State machines write to the database without the frame of a test; who comes next must find nothing of it."""
    yield
    if migrated_dsn.cache_info().currsize:
        empty_database()
