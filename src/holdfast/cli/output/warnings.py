"""Prints warnings as one line each on stderr; as JSON with --json."""

from __future__ import annotations

import json
import logging
from typing import TextIO

from holdfast.cli.output.progress import ERASE_LINE


class _OneLineFormatter(logging.Formatter):
    def __init__(self, as_json: bool) -> None:
        super().__init__()
        self._as_json = as_json

    def format(self, record: logging.LogRecord) -> str:
        failure = record.exc_info[1] if record.exc_info else None
        message = record.getMessage() + (f": {type(failure).__name__}: {failure}" if failure else "")
        message = " ".join(message.split())
        return json.dumps({"warning": message}, ensure_ascii=False) if self._as_json else f"warning: {message}"


class _LineHandler(logging.StreamHandler[TextIO]):
    """Writes whole lines also where a spinner is on the terminal."""

    def emit(self, record: logging.LogRecord) -> None:
        if self.stream.isatty():
            self.stream.write(ERASE_LINE)
        super().emit(record)


def configure_warnings(as_json: bool) -> None:
    handler = _LineHandler()
    handler.setFormatter(_OneLineFormatter(as_json))
    logging.getLogger("holdfast").handlers = [handler]
