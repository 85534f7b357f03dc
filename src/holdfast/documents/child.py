"""The process that reads one document: `python -m holdfast.documents.child PATH NAME LIMITS`.

It is started anew for each document, holds nothing but that document, and says what it finds as frames on standard
output. Everything a parser can do wrong ends here: as an error frame, or as the end of this process.
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

from . import frames
from .seal import die_with_the_parent, more_time, seal
from .types import SAVE_AGAIN, About, DocumentError, Limits, Progress, Section


def main(path: str, name: str, limits: str) -> int:
    out = _own_output()
    bounds = Limits(**json.loads(limits))
    seal(bounds, [Path(path)])
    die_with_the_parent()
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    try:
        _read(Path(path), name or None, bounds, out)
    except DocumentError as error:
        out.write(frames.failed(error.reason, error.fix))
    except MemoryError:
        gc.collect()
        out.write(frames.failed(f"Reading it takes more than {bounds.memory_bytes >> 20:,} MiB of memory."))
    except RecursionError:
        out.write(frames.failed("It is nested too deeply to be read."))
    except BrokenPipeError:
        return 1
    except ImportError as error:  # one that its library looked for only when it was used
        from .parse.source import unloaded

        missing = unloaded(error)
        out.write(frames.failed(missing.reason, missing.fix))
    except Exception as error:
        # The parsers are other people's, and a broken document may make them raise anything.
        out.write(frames.failed(f"It is broken: {_told(error)}", SAVE_AGAIN))
    out.flush()
    return 0


def _read(path: Path, name: str | None, limits: Limits, out: BinaryIO) -> None:
    from .parse.source import Source, parsed_source

    said, last, second = 0, -1, 0
    about = About()
    with path.open("rb") as file:
        for piece in parsed_source(Source.of_file(file, path, name, limits)):
            if isinstance(piece, About):
                about = piece
            elif isinstance(piece, Section):
                said += len(piece.text)
                if said > limits.text_chars:
                    raise DocumentError(f"It holds more than {limits.text_chars:,} characters of text.")
            elif piece.percent == last:
                continue
            else:
                last = piece.percent
            out.writelines(frames.framed(piece))
            if not isinstance(piece, Section):
                out.flush()
            if time.process_time() >= second + 1:
                second = int(time.process_time())
                more_time(limits)
    if not said:
        raise DocumentError("There is no text in it.", fix=" ".join(about.notes) or None)
    out.writelines(frames.framed(Progress(100)))
    out.write(frames.END)


def _own_output() -> BinaryIO:
    """Standard output for frames alone: what a library prints goes nowhere."""
    mine = os.dup(1)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    os.close(nowhere)
    return os.fdopen(mine, "wb", buffering=64 * 1024)


def _told(error: Exception) -> str:
    words = " ".join(str(error).split())[:300]
    return f"{words} ({type(error).__name__})." if words else f"{type(error).__name__}."


if __name__ == "__main__":
    # Without the interpreter's own farewell: native libraries have been seen to crash in it.
    os._exit(main(*sys.argv[1:4]))
