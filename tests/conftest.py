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
