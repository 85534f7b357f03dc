"""The moving picture of the command line for the README: `python -m scripts.terminal_picture [--out FILE]`.

Runs the commands in an empty data folder and writes them, with what they print, as an SVG file that types and shows
them line by line. A viewer that does not animate, or whose user wants no motion, shows the last frame.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import tempfile
from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import NamedTuple

from holdfast.cli import main as holdfast

PICTURE = Path(__file__).parents[1] / "docs" / "images" / "terminal.svg"
FILES = {
    "monday.txt": "Ana: I live in Porto and I'm allergic to peanuts.\n",
    "friday.txt": "Ana: We moved to Lisbon.\n",
}
COMMANDS = (
    ("cat", "monday.txt"),
    ("holdfast", "ingest", "monday.txt", "--session", "monday"),
    ("cat", "friday.txt"),
    ("holdfast", "ingest", "friday.txt", "--session", "friday"),
    ("holdfast", "recall", "Where does Ana live?"),
    ("holdfast", "recall", "What is Ana's blood type?"),
)
SECONDS_PER_CHARACTER = 0.035
SECONDS_AFTER_COMMAND = 0.5
SECONDS_PER_LINE = 0.12
SECONDS_TO_READ = 1.2
SECONDS_AT_END = 5.0
COLUMNS, COLUMN_PIXELS, LINE_PIXELS, MARGIN_PIXELS = 92, 7.9, 19, 18
STYLE = """
  svg { --paper: #ffffff; --edge: #d0d7de; --ink: #1f2328; --quiet: #59636e; --mark: #0a6b5e; }
  @media (prefers-color-scheme: dark) {
    svg { --paper: #0d1117; --edge: #30363d; --ink: #e6edf3; --quiet: #9198a1; --mark: #4cc2ae; }
  }
  rect { fill: var(--paper); stroke: var(--edge); }
  text { font: 13px ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; fill: var(--ink); }
  .quiet { fill: var(--quiet); }
  .command { font-weight: 600; }
  .prompt { fill: var(--mark); font-weight: 600; }
"""


class Line(NamedTuple):
    """A line of the terminal, and when it is shown, in seconds."""

    text: str
    at: float
    typed: float = 0.0
    """How long typing it takes; 0 for what a command printed."""


def recorded_commands() -> Iterator[tuple[str, str]]:
    """Each command with what it printed, run in an empty folder."""
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        for name, text in FILES.items():
            Path(name).write_text(text, "utf-8")
        for program, *arguments in COMMANDS:
            shown = " ".join(f'"{each}"' if " " in each else each for each in (program, *arguments))
            yield shown, FILES[arguments[0]] if program == "cat" else _printed(arguments)


def _printed(arguments: list[str]) -> str:
    with contextlib.redirect_stdout(io.StringIO()) as out:
        status = holdfast([*arguments, "--data", "data"])
    if status:
        raise SystemExit(f"holdfast {' '.join(arguments)} ended with {status}")
    return out.getvalue()


def timed_lines(recorded: Iterator[tuple[str, str]]) -> tuple[list[Line], float]:
    """The lines of the terminal, and how long the whole takes."""
    lines, now = [], 0.3
    for command, printed in recorded:
        typed = len(command) * SECONDS_PER_CHARACTER
        lines.append(Line(command, now, typed))
        now += typed + SECONDS_AFTER_COMMAND
        for text in printed.rstrip("\n").split("\n"):
            lines.append(Line(text, now))
            now += SECONDS_PER_LINE
        now += SECONDS_TO_READ
    return lines, now + SECONDS_AT_END


def svg_text(lines: list[Line], seconds: float) -> str:
    width, height = COLUMNS * COLUMN_PIXELS + 2 * MARGIN_PIXELS, len(lines) * LINE_PIXELS + 2 * MARGIN_PIXELS
    frames, texts = [], []
    for n, line in enumerate(lines):
        start, end = (100 * at / seconds for at in (line.at, line.at + line.typed))
        y = MARGIN_PIXELS + (n + 0.75) * LINE_PIXELS
        frames.append(
            f"  @keyframes show{n} {{ 0%, {start:.2f}% {{ opacity: 0 }} {start + 0.01:.2f}%, 100% {{ opacity: 1 }} }}"
        )
        if line.typed:
            frames.append(
                f"  @keyframes type{n} {{ 0%, {start:.2f}% {{ clip-path: inset(0 100% 0 0); animation-timing-function: "
                f"steps({len(line.text)}) }} {end:.2f}%, 100% {{ clip-path: inset(0 0 0 0) }} }}"
            )
            texts.append(_text("$", "prompt", 0, y, f"show{n}", seconds))
            texts.append(_text(line.text, "command", 2, y, f"type{n}", seconds))
        elif line.text:
            words = line.text.lstrip()
            indent = len(line.text) - len(words)
            texts.append(_text(words, "quiet" if indent else "printed", indent, y, f"show{n}", seconds))
    motion, shown = "\n".join(frames), "\n".join(texts)
    size = f'viewBox="0 0 {width:.0f} {height}" width="{width:.0f}" height="{height}"'
    return f"""\
<svg xmlns="http://www.w3.org/2000/svg" {size} role="img">
<title>The command line: two conversations, a question with a cited answer, and one that nothing is known about</title>
<style>{STYLE}  @media (prefers-reduced-motion: reduce) {{ text {{ animation: none !important }} }}
{motion}
</style>
<rect x="0.5" y="0.5" width="{width - 1:.0f}" height="{height - 1}" rx="8"/>
{shown}
</svg>
"""


def _text(text: str, kind: str, column: int, y: float, animation: str, seconds: float) -> str:
    x = MARGIN_PIXELS + column * COLUMN_PIXELS
    motion = f"animation: {animation} {seconds:.1f}s infinite"
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}" style="{motion}">{escape(text, quote=False)}</text>'


def main() -> None:
    given = argparse.ArgumentParser(description=__doc__)
    given.add_argument("--out", type=Path, default=PICTURE)
    chosen = given.parse_args()
    chosen.out.write_text(svg_text(*timed_lines(recorded_commands())), "utf-8")
    print(f"{chosen.out.name} {chosen.out.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
