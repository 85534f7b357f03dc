"""How local networks run."""

from __future__ import annotations

import os
from typing import Any


def session_options() -> Any:
    """One thread, silent, small."""
    os.putenv("ORT_DISABLE_TELEMETRY", "1")  # else it keeps a device id and may call home
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    # The arena keeps the largest batch's memory for good; without it a resident service stays half the size.
    options.enable_cpu_mem_arena = False
    return options
