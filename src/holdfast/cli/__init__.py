"""The command line. `main` prints every error as one line on stderr and returns the error's exit status.

With --json, stdout is one JSON document and stderr has one JSON object per line. Text is UTF-8 in every locale.
"""

from __future__ import annotations

import gc
import io
import json
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from holdfast.domain.errors import HoldfastError, InvalidInput, StorageError

if TYPE_CHECKING:
    import click

INTERRUPTED_EXIT = 130
TRACEBACK_VARIABLE = "HOLDFAST_TRACEBACK"
LONG_RUNNING = (["serve"], ["mcp"])
GC_THRESHOLD = 200_000
"""New objects between two garbage collections: almost all that a command makes are modules, which stay. A recall makes
60,000; one collection of them takes 13 ms."""
READER_GONE_EXIT = 141


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status; without arguments, those of the process, which then ends here."""
    if arguments is None:
        gc.set_threshold(GC_THRESHOLD)
    _set_utf8_output()
    given = [_decoded_argument(argument) for argument in (sys.argv[1:] if arguments is None else arguments)]
    if given[:1] == ["hook"] and not {"-h", "--help"} & set(given):
        from holdfast.cli.hooks.run import run_hook  # without click: imports are most of a hook's running time

        return run_hook(given[1:], exit_process=arguments is None)
    if given == ["--version"]:
        from holdfast import __version__

        print(__version__)
        return 0
    if "_HOLDFAST_COMPLETE" in os.environ:
        from holdfast.cli.completion import print_completions

        return print_completions(os.environ["_HOLDFAST_COMPLETE"])
    if arguments is not None:
        return _exit_status(given)
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # more would only spin beside the small products of a search
    status = _exit_status(given)
    if given[:1] in LONG_RUNNING:
        return status
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError):  # its reader is gone
            stream.flush()
    os._exit(status)  # everything is closed: taking modules and models apart would take as long as many commands


def _exit_status(given: list[str]) -> int:
    from holdfast.cli.output.progress import Interrupted
    from holdfast.cli.output.render import ReaderGone
    from holdfast.cli.output.warnings import configure_warnings

    as_json = "--json" in given[: given.index("--") if "--" in given else None]
    configure_warnings(as_json)
    try:
        status = _run_command(given)
        sys.stdout.flush()
        return status
    except HoldfastError as error:
        _print_error(error, as_json)
        return error.exit
    except Interrupted as interrupted:
        _print_note(str(interrupted), as_json)
        return INTERRUPTED_EXIT
    except KeyboardInterrupt:
        _print_note("Interrupted.", as_json)
        return INTERRUPTED_EXIT
    except (BrokenPipeError, ReaderGone):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # otherwise Python's own flush fails at exit
        return READER_GONE_EXIT
    except Exception as fault:
        if os.environ.get(TRACEBACK_VARIABLE):
            raise
        translated = _translated_error(fault)
        _print_error(translated, as_json)
        return translated.exit


def _run_command(arguments: list[str]) -> int:
    import click

    from holdfast.cli.app import START, app

    if not arguments:
        print(START)
        return 0
    commands = app(arguments[0])
    try:
        with commands.make_context("holdfast", list(arguments)) as context:
            return commands.invoke(context) or 0
    except click.exceptions.Exit as ended:
        return ended.exit_code
    except click.Abort:
        raise KeyboardInterrupt from None
    except click.ClickException as error:
        raise _usage_error(error) from None


def _usage_error(error: click.ClickException) -> InvalidInput:
    context = getattr(error, "ctx", None)
    parameter = getattr(error, "param", None)
    message = error.format_message()
    message = message if message.endswith((".", "?", "!")) else f"{message}."
    fix = f"See: {context.command_path} --help" if context is not None else None
    return InvalidInput(message, field=getattr(parameter, "name", None), fix=fix)


def _translated_error(fault: Exception) -> HoldfastError:
    """The error of a fault that no command foresaw: what the system said about a file, or that this is a bug."""
    if isinstance(fault, OSError) and fault.strerror:
        where = f"{fault.filename}: " if fault.filename else ""
        return StorageError(f"{where}{fault.strerror}.", fix="Check the path, its permissions and the free space.")
    import traceback

    spot = traceback.extract_tb(fault.__traceback__)[-1]
    return HoldfastError(
        f"This should not happen: {type(fault).__name__}: {fault} ({os.path.basename(spot.filename)}, line "
        f"{spot.lineno}).", fix=f"Nothing that was acknowledged is lost. {TRACEBACK_VARIABLE}=1 shows the whole "
        "traceback, for a bug report.",
    )  # fmt: skip


def _print_note(text: str, as_json: bool) -> None:
    start = "\n" if sys.stderr.isatty() else ""  # after the ^C that the terminal shows
    print(json.dumps({"note": text}, ensure_ascii=False) if as_json else f"{start}{text}", file=sys.stderr)


def _print_error(error: HoldfastError, as_json: bool) -> None:
    message = " ".join(str(error).split())
    if as_json:
        details = {"code": error.code, "message": message, "field": error.field, "retryable": error.retryable}
        print(json.dumps({"error": details}, ensure_ascii=False), file=sys.stderr)
    else:
        print(f"error: {message}", file=sys.stderr)


def _set_utf8_output() -> None:
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")


def _decoded_argument(argument: str) -> str:
    """The argument decoded as UTF-8. One that is not UTF-8 stays as it is: it may be a file name."""
    try:
        return os.fsencode(argument).decode()
    except (UnicodeDecodeError, UnicodeEncodeError):
        return argument


__all__ = ["main"]
