"""The process that parses one document: `python -m holdfast.documents.sandbox.child PATH NAME LIMITS`.

One process is started per document. It can read only that document and writes its output as frames to standard output.
Every failure of a parser ends here, as an error frame or as the end of this process.
"""

from __future__ import annotations

import gc
import json
import logging
import os
import sys
import time
import warnings
from pathlib import Path
from typing import BinaryIO

from holdfast.documents.sandbox import frames
from holdfast.documents.sandbox.seccomp import enter_sandbox, exit_with_parent, extend_cpu_limit
from holdfast.documents.types import (
    SAVE_AGAIN_FIX,
    DocumentError,
    DocumentProperties,
    ParseLimits,
    Progress,
    Section,
)


def main(path: str, name: str, limits: str) -> int:
    """Parse the document into frames on standard output; return the exit status."""
    out = _take_stdout()
    bounds = ParseLimits(**json.loads(limits))
    enter_sandbox(bounds, [Path(path)])
    exit_with_parent()
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    try:
        _parse_file(Path(path), name or None, bounds, out)
    except DocumentError as error:
        out.write(frames.encode_error(error.reason, error.fix))
    except MemoryError:
        gc.collect()
        out.write(frames.encode_error(f"Parsing it takes more than {bounds.memory_bytes >> 20:,} MiB of memory."))
    except RecursionError:
        out.write(frames.encode_error("It is nested too deeply to be read."))
    except BrokenPipeError:
        return 1
    except ImportError as error:  # a library that imports a missing module only when it is used
        from holdfast.documents.parse.dispatch import missing_library_error

        missing = missing_library_error(error)
        out.write(frames.encode_error(missing.reason, missing.fix))
    except Exception as error:
        # Third-party parsers may raise anything on a broken document.
        out.write(frames.encode_error(f"It is broken: {_error_text(error)}", SAVE_AGAIN_FIX))
    out.flush()
    return 0


def _parse_file(path: Path, name: str | None, limits: ParseLimits, out: BinaryIO) -> None:
    from holdfast.documents.parse.dispatch import ParserInput, parse_document

    chars, last_percent, second = 0, -1, 0
    about = DocumentProperties()
    with path.open("rb") as file:
        for piece in parse_document(ParserInput.of_file(file, path, name, limits)):
            if isinstance(piece, DocumentProperties):
                about = piece
            elif isinstance(piece, Section):
                chars += len(piece.text)
                if chars > limits.text_chars:
                    raise DocumentError(f"It has more than {limits.text_chars:,} characters of text.")
            elif piece.percent == last_percent:
                continue
            else:
                last_percent = piece.percent
            out.writelines(frames.encode_frames(piece))
            if not isinstance(piece, Section):
                out.flush()
            if time.process_time() >= second + 1:
                second = int(time.process_time())
                extend_cpu_limit(limits)
    if not chars:
        raise DocumentError("There is no text in it.", fix=" ".join(about.notes) or None)
    out.writelines(frames.encode_frames(Progress(100)))
    out.write(frames.END_FRAME)


def _take_stdout() -> BinaryIO:
    """Take standard output for frames alone; whatever a library prints is discarded."""
    frames_out = os.dup(1)
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    os.dup2(null, 2)
    os.close(null)
    return os.fdopen(frames_out, "wb", buffering=64 * 1024)


def _error_text(error: Exception) -> str:
    words = " ".join(str(error).split())[:300]
    return f"{words} ({type(error).__name__})." if words else f"{type(error).__name__}."


if __name__ == "__main__":
    # Skip the interpreter's shutdown: native libraries have been seen to crash in it.
    os._exit(main(*sys.argv[1:4]))
