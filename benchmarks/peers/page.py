"""The page and the chart of the comparison, from results as they are kept. Pure."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from typing import Any

from benchmarks.peers.environments import PEERS
from benchmarks.peers.workload import PROBES, SETS, SINGLE_STORES

Result = dict[str, Any]
ORDER = [peer.store for peer in PEERS]
COLUMNS = (
    "memory", "search: CPU", "× embedding", "p50 / p95", "store: CPU", "p50 / p95", "found after", "R@10", "RAM MB",
    "disk MB",
)  # fmt: skip
PUBLISHED_COLUMNS = ("memory", "search: CPU", "× embedding", "p50 / p95", "R@10")
INTRODUCTION = """# Compared with other memories

Written by `make bench-peers`. The same messages and questions go to each memory, with the same embedder
(snowflake-arctic-embed-s, the same files) and no language model. Each memory runs in a process and an environment of
its own, {machine}. Other work may have shared the machine:
compare the rows of one table with each other, and CPU rather than wall time. On a busy machine every memory took about
a third more CPU.

Every memory embeds questions with Holdfast's
[encoder of questions](../decisions/0027-questions-have-an-encoder.md), which costs a third of what the model itself
costs. The other memories do not come with it. So a second table for each set has their searches with questions embedded
as the model's makers publish it."""
PUBLISHED = "Searches with questions embedded as the model's makers publish it, by all twelve layers, after a prefix:"
METHOD = f"""## How it is measured

- Milliseconds for one call. **CPU** is that of all threads and child processes, a database server's included, and of
  what continues in the background after the call: the count ends when the process is quiet. **p50 / p95** is wall time
  until the call returns: a stored message is then acknowledged.
- **× embedding**: CPU of a search as a multiple of embedding its question in the same way, measured right after it
  in the same process. What remains above 1 is the memory's own work.
- **store**: {SINGLE_STORES} messages, one call each, once the memory is filled. Its CPU includes digestion. Filling is
  not counted; its vectors were computed before, where a memory embeds the text as it is given.
- **found after**: from the call that stores a message to the end of the first search with its words that finds it;
  median of {PROBES}.
- **R@10**: the share of the evidence among the first ten hits. A hit counts for the messages it quotes, at most two.
  Questions are asked without their date. At larger sizes the same questions compete with other people's messages.
  With 80 to 90 questions, a difference of less than about ten points may be chance.
- Where a memory offers several rankings, the one that found most of the first table's questions was taken (of 18
  combinations for Hindsight, of two for MemPalace), which flatters it a little. Holdfast has its defaults.
- The second table's questions are asked after the first's, in the same process: what a memory keeps is then warm.
- The encoder of questions learned from questions about invented lives, not from those asked here. At larger sizes, the
  other people's messages are of such lives.
- **RAM** is the peak of the process, with the model, and the children's share; **disk** what is left after closing.
- *embedding only* keeps nothing: what it costs is the floor. *plain SQLite* is a table and all cosines in NumPy.
- Speakers' names are given in front of the text where a memory has no field for them. `OPENBLAS_NUM_THREADS=1` for
  all; otherwise threads are as each memory sets them. The model runs on one thread.
- Only Holdfast extracts memories from what it stores, supersedes old ones and encrypts: that is in its store figures.
- Holdfast's ranker was trained on our own conversations, which flatters its R@10 there; nothing trains on LoCoMo."""


def page(results: Iterable[Result]) -> str:
    ordered = sorted(results, key=lambda each: (list(SETS).index(each["set"]), each["size"], ORDER.index(each["peer"])))
    measured = [each for each in ordered if "reason" not in each]
    machine = measured[0]["machine"] if measured else "nowhere yet"
    parts = [INTRODUCTION.format(machine=machine), "![CPU of a search and of storing a message](peers.svg)"]
    for set, size in dict.fromkeys((each["set"], each["size"]) for each in ordered):
        parts += _section(set, size, [each for each in ordered if (each["set"], each["size"]) == (set, size)])
    return "\n\n".join([*parts, METHOD, "## Versions and settings", _settings(measured)]) + "\n"


def _section(set: str, size: int, results: Sequence[Result]) -> list[str]:
    measured = [each for each in results if "reason" not in each]
    questions = max((each.get("questions", 0) for each in measured), default=0)
    missing = [
        f"{peer.title} has no result at this size"
        for peer in PEERS
        if peer.store not in {each["peer"] for each in results}
    ]
    missing += [f"{each['title']} {each['reason']}" for each in results if "reason" in each]
    parts = [f"## {size:,} messages, {questions} questions about {SETS[set]}"]
    if measured:
        parts.append(_table([COLUMNS, *map(_row, measured)]))
    if missing:
        parts.append(f"Not in the table: {'; '.join(missing)}.")
    if published := [each for each in measured if "published" in each]:
        parts += [PUBLISHED, _table([PUBLISHED_COLUMNS, *map(_published_row, published)])]
    return parts


def _row(result: Result) -> tuple[str, ...]:
    store = result["store"]
    return (
        f"**{result['title']}**" if result["peer"] == "holdfast" else result["title"],
        *_searching(result),
        f"{store['cpu']:.1f}",
        _walls(store),
        _finding_time(result.get("found after", [])),
        _share(result),
        f"{result['memory'] / 1e6:.0f}",
        f"{result['disk'] / 1e6:.1f}",
    )


def _published_row(result: Result) -> tuple[str, ...]:
    return (result["title"], *_searching(result["published"]), _share(result["published"]))


def _searching(result: Result) -> tuple[str, str, str]:
    search = result["search"]
    return f"{search['cpu']:.1f}", f"{search['cpu'] / result['embedding']:.1f}", _walls(search)


def _walls(timed: dict[str, float]) -> str:
    return " / ".join(f"{timed[name]:.0f}" if timed[name] >= 10 else f"{timed[name]:.1f}" for name in ("p50", "p95"))


def _share(result: Result) -> str:
    return f"{100 * result['recall']:.1f}" if "recall" in result else "–"


def _finding_time(times: Sequence[float | None]) -> str:
    known = [each for each in times if each is not None]
    if not known:
        return "–"
    lost = len(times) - len(known)
    return f"{statistics.median(known):.0f}" + (f" ({lost} never)" if lost else "")


def _settings(results: Sequence[Result]) -> str:
    latest = {each["peer"]: each for each in results}
    rows = [
        (
            latest[name]["title"],
            ", ".join(f"{package} {number}" for package, number in latest[name]["versions"].items()),
            latest[name]["settings"],
        )
        for name in ORDER
        if name in latest
    ]
    return _table([("memory", "versions", "settings"), *rows])


def _table(rows: Sequence[Sequence[str]]) -> str:
    head, *rest = rows
    return "\n".join("| " + " | ".join(row) + " |" for row in [head, ["---"] * len(head), *rest])


BAR, GAP, LEFT, WIDTH, PANEL = 11, 9, 120, 900, 330
COLOURS = ("#b8bec9", "#8a94a6", "#5c6678")
OURS = ("#8fbdb0", "#2f6f5e", "#1d463b")


def chart(results: Iterable[Result]) -> str:
    """Bars in SVG: CPU of a search and of storing a message, for each memory, a bar for each size."""
    measured = [each for each in results if "reason" not in each and each["set"] == "conversations"]
    sizes = sorted({each["size"] for each in measured})
    figures = {(each["peer"], each["size"]): each for each in measured}
    present = [peer for peer in PEERS if any(peer.store == each["peer"] for each in measured)]
    block = BAR * len(sizes) + GAP
    shapes = []
    for column, verb, label in ((0, "search", "one search"), (1, "store", "storing one message")):
        left = LEFT + column * (PANEL + 60)
        most = max((each[verb]["cpu"] for each in measured), default=1.0)
        shapes.append(f'<text x="{left}" y="20" font-weight="600">{label}, CPU ms</text>')
        for n, peer in enumerate(present):
            top = 34 + n * block
            if column == 0:
                shapes.append(f'<text x="{LEFT - 8}" y="{top + block / 2}" text-anchor="end">{peer.title}</text>')
            for k, size in enumerate(sizes):
                if (found := figures.get((peer.store, size))) is not None:
                    cpu = found[verb]["cpu"]
                    colour = (OURS if peer.store == "holdfast" else COLOURS)[min(k, len(COLOURS) - 1)]
                    shapes.append(_bar(left, top + k * BAR, cpu / most * PANEL, f"{cpu:.1f}", colour))
    bottom = 34 + len(present) * block + 14
    for k, size in enumerate(sizes):
        x = LEFT + k * 140
        shapes.append(f'<rect x="{x}" y="{bottom - 9}" width="10" height="10" fill="{COLOURS[min(k, 2)]}"/>')
        shapes.append(f'<text x="{x + 16}" y="{bottom}">{size:,} messages</text>')
    style = "font-family:system-ui,sans-serif;font-size:11px;fill:#333;background:#fff"
    body = "\n".join(shapes)
    box = f"0 0 {WIDTH} {bottom + 12}"
    return f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{box}" style="{style}">\n{body}\n</svg>\n'


def _bar(left: float, top: float, length: float, value: str, colour: str) -> str:
    rectangle = f'<rect x="{left}" y="{top}" width="{max(length, 1):.0f}" height="{BAR - 1}" fill="{colour}"/>'
    return f'{rectangle}<text x="{left + length + 4:.0f}" y="{top + BAR - 2}" font-size="10">{value}</text>'
