"""What the proofs of the service share: a running server."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.server_process import ServerProcess


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ServerProcess]:
    with ServerProcess(tmp_path / "data") as running:
        yield running
