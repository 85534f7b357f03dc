"""What holds for all tests."""

from __future__ import annotations

import os

import pytest
from hypothesis import Phase, settings

pytest.register_assert_rewrite("support")

# The same examples in every run, so that a change passes or fails for what it does; `make prove` looks at other ones.
settings.register_profile(
    "same", derandomize=True, database=None, phases=(Phase.explicit, Phase.generate, Phase.shrink)
)
settings.register_profile("random", print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "same"))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--renew", action="store_true", help="write the golden files anew in place of comparing them")


SLOW_FOLDERS = ("processes", "property", "e2e", "third_party", "scenarios", "conformance", "adapters")
"""Slowest files first: workers take one file after another, and the last one should not keep the others waiting."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    def rank(item: pytest.Item) -> int:
        folder = item.nodeid.split("/")[1]
        return SLOW_FOLDERS.index(folder) if folder in SLOW_FOLDERS else len(SLOW_FOLDERS)

    items.sort(key=rank)
