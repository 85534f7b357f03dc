"""Digestion, search and recall work in Python's own threads: they wake none of BLAS's, which would spin for a while
afterwards."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from support.paths import CHILDREN, EVALS_DATA

pytestmark = pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="threads are counted in /proc")


def test_digestion_search_and_recall_leave_the_threads_of_blas_asleep(tmp_path: Path) -> None:
    talk = EVALS_DATA / "conversations" / "team-launch.json"
    child = [sys.executable, str(CHILDREN / "work_with_idle_blas.py"), str(tmp_path), str(talk)]
    told = subprocess.run(
        child, env=os.environ | {"OPENBLAS_NUM_THREADS": "4"}, capture_output=True, text=True, check=True
    )
    assert int(told.stdout) <= 1
