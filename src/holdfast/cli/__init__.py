"""The command line. `main` turns every refusal into one line on stderr and the error's exit status.

With --json, stdout is one JSON document and stderr has one JSON object a line. Text is UTF-8 whatever the locale says.
"""

from __future__ import annotations

import io
import json
import logging
import os
import sys
from collections.abc import Sequence
from typing import Any

from ..errors import HoldfastError, InvalidInput
from .output import ReaderGone

INTERRUPTED = 130
READER_GONE = 141


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; the exit status."""
    _speak_utf8()
    given = [_as_utf8(argument) for argument in (sys.argv[1:] if arguments is None else arguments)]
    if given[:1] == ["hook"] and not {"-h", "--help"} & set(given):
        from .hook import run  # not by way of typer: a hook's start is most of its cost

        return run(given[1:], leave=arguments is None)
    if given == ["--version"]:
        from .. import __version__

        print(__version__)
        return 0
    as_json = "--json" in given[: given.index("--") if "--" in given else None]
    _warn_in_one_line(as_json)
    try:
        status = _run(given)
        sys.stdout.flush()
        return status
    except HoldfastError as refused:
        _complain(refused, as_json)
        return refused.exit
    except KeyboardInterrupt:
        return INTERRUPTED
    except (BrokenPipeError, ReaderGone):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # or Python's own flush complains at exit
        return READER_GONE


def _run(arguments: list[str]) -> int:
    import typer

    from .app import app

    try:
        return app(arguments[0] if arguments else None)(arguments, prog_name="holdfast", standalone_mode=False) or 0
    except typer.Abort:
        raise KeyboardInterrupt from None
    except Exception as wrong:
        # Recent typers carry their own copy of click, so click's classes may be others than the ones raised.
        if not hasattr(wrong, "format_message"):
            raise
        if type(wrong).__name__ == "NoArgsIsHelpError":
            print(wrong)
            return InvalidInput.exit
        raise _as_invalid(wrong) from None


def _as_invalid(wrong: Any) -> InvalidInput:
    context = getattr(wrong, "ctx", None)
    parameter = getattr(wrong, "param", None)
    said = str(wrong.format_message())
    said = said if said.endswith((".", "?", "!")) else f"{said}."
    fix = f"See: {context.command_path} --help" if context is not None else None
    return InvalidInput(said, field=getattr(parameter, "name", None), fix=fix)


def _complain(refused: HoldfastError, as_json: bool) -> None:
    message = " ".join(str(refused).split())
    if as_json:
        about = {"code": refused.code, "message": message, "field": refused.field, "retryable": refused.retryable}
        print(json.dumps({"error": about}, ensure_ascii=False), file=sys.stderr)
    else:
        print(f"error: {message}", file=sys.stderr)


class _OneLine(logging.Formatter):
    def __init__(self, as_json: bool) -> None:
        super().__init__()
        self._as_json = as_json

    def format(self, record: logging.LogRecord) -> str:
        failure = record.exc_info[1] if record.exc_info else None
        said = record.getMessage() + (f": {type(failure).__name__}: {failure}" if failure else "")
        said = " ".join(said.split())
        return json.dumps({"warning": said}, ensure_ascii=False) if self._as_json else f"warning: {said}"


def _warn_in_one_line(as_json: bool) -> None:
    handler = logging.StreamHandler()
    handler.setFormatter(_OneLine(as_json))
    logging.getLogger("holdfast").handlers = [handler]


def _speak_utf8() -> None:
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")


def _as_utf8(argument: str) -> str:
    """An argument's own bytes as UTF-8; one that is not UTF-8 stays as it is, since it may be a file's name."""
    try:
        return os.fsencode(argument).decode()
    except (UnicodeDecodeError, UnicodeEncodeError):
        return argument


__all__ = ["main"]
