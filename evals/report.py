"""Figures → Markdown and a plot."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from .measure.metrics import NAMES, interval, means
from .measure.retrieval import Figures

Weights = dict[str, Any]
TITLES = {
    "locomo": "LoCoMo-dev",
    "pool": "LongMemEval-dev pool",
    "s48": "LongMemEval-dev s48",
    "own": "own conversations",
}
BARS = {"locomo": 78, "pool": 80, "s48": 89}
COLOURS = {"BM25": "#b8bec9", "vectors": "#8a94a6", "Holdfast": "#2f6f5e"}


def table(figures: Mapping[str, Figures]) -> str:
    lines = ["| set | n | system | " + " | ".join(NAMES) + " | R@10, 95 % |", "|---" * (len(NAMES) + 4) + "|"]
    for name, found in figures.items():
        for system, scores in found.scores.items():
            low, high = interval(scores)
            cells = " | ".join(f"{value:.1f}" for value in means(scores))
            lines.append(f"| {TITLES[name]} | {len(scores)} | {system} | {cells} | {low:.1f}–{high:.1f} |")
    return "\n".join(lines)


def categories(figures: Mapping[str, Figures]) -> str:
    lines = ["| set | category | n | BM25 | vectors | Holdfast |", "|---|---|---|---|---|---|"]
    for name, found in figures.items():
        for category in sorted(set(found.categories)):
            rows = [n for n, each in enumerate(found.categories) if each == category]
            cells = [100 * np.mean([found.scores[s][n].r10 for n in rows]) for s in ("BM25", "vectors", "Holdfast")]
            shown = " | ".join(f"{value:.1f}" for value in cells)
            lines.append(f"| {TITLES[name]} | {category} | {len(rows)} | {shown} |")
    return "\n".join(lines)


def costs_table(figures: Mapping[str, Figures]) -> str:
    lines = [
        "| set | search CPU ms (median), embedding apart | ingest and digestion, messages / CPU s |",
        "|---|---|---|",
    ]
    for name, found in figures.items():
        rate = found.messages / max(found.ingest_cpu, 1e-9)
        lines.append(f"| {TITLES[name]} | {1e3 * float(np.median(found.cpu)):.1f} | {rate:,.0f} |")
    return "\n".join(lines)


def embedders(arctic: Mapping[str, Figures], potion: Mapping[str, Figures], costs: Mapping[str, float]) -> str:
    lines = [
        "| embedder | " + " | ".join(f"{TITLES[name]} R@10" for name in potion) + " | query CPU ms | weights |",
        "|---" * (len(potion) + 3) + "|",
    ]
    for title, found, size in (("arctic", arctic, "34 MB"), ("potion", potion, "30 MB (needed by `near` anyway)")):
        cells = " | ".join(f"{means(found[name].scores['Holdfast'])[1]:.1f}" for name in potion)
        lines.append(f"| {title} | {cells} | {costs[title]:.2f} | {size} |")
    return "\n".join(lines)


def ablation(without: Mapping[str, Mapping[str, float]], title: str) -> str:
    sets = list(next(iter(without.values())))
    lines = [f"| {title} | " + " | ".join(sets) + " |", "|---" * (len(sets) + 1) + "|"]
    for group, found in without.items():
        lines.append(f"| {group} | " + " | ".join(f"{found[name]:.1f}" for name in sets) + " |")
    return "\n".join(lines)


def page(
    figures: Mapping[str, Figures],
    potion: Mapping[str, Figures],
    costs: Mapping[str, float],
    peak: float,
    without: Mapping[str, Mapping[str, float]],
    spread: Mapping[float, Mapping[str, float]],
) -> str:
    return f"""# Retrieval with no language model

Written by `make eval`. Evidence recall over messages through the public `search` and `context`, default settings.
LoCoMo trains nothing; on the other sets each question is ranked by weights that have not seen its conversation (own)
or itself (LongMemEval). *context* is the share of the evidence whose text is in a 1,000-token `context()`; BM25 and
vectors fill the same budget in their own order. A hit counts for the messages it quotes, at most two.

![R@10 by set](retrieval.svg)

{table(figures)}

## By category, R@10

{categories(figures)}

## Cost

Embedding a question adds {costs["arctic"]:.1f} ms CPU. Embeddings were cached in this run; peak memory {peak:,.0f} MB.
CPU is that of this long run on a shared machine; [embedded.md](embedded.md) is measured alone.

{costs_table(figures)}

## Which embedder

{embedders(figures, potion, costs)}

## What each group of features is worth

R@10 when a group is left out and the ranker is trained again (fewer networks than shipped: a little below the table).

{ablation(without, "left out")}

## Diversity

R@10 on questions that need several messages, when a hit loses this much of its score for each hit of its session that
stands before it. A light touch changes little and helps one set while it costs another; more costs all. Nothing is
spread.

{ablation({f"{penalty:g}": found for penalty, found in spread.items()}, "penalty")}
"""


def plot(figures: Mapping[str, Figures]) -> str:
    """R@10 by set as a bar chart in SVG."""
    width, height, left, base = 760, 300, 40, 250
    step = (width - left) / len(figures)
    shapes = []
    for mark in range(0, 101, 20):
        y = base - 2 * mark
        shapes.append(f'<line x1="{left}" x2="{width}" y1="{y}" y2="{y}" stroke="#e5e8ec"/>')
        shapes.append(f'<text x="{left - 6}" y="{y + 4}" text-anchor="end">{mark}</text>')
    for place, (name, found) in enumerate(figures.items()):
        x = left + step * place + step * 0.14
        for bar, system in enumerate(("BM25", "vectors", "Holdfast")):
            value = means(found.scores[system])[1]
            at = x + bar * step * 0.24
            shapes.append(
                f'<rect x="{at:.0f}" y="{base - 2 * value:.0f}" width="{step * 0.22:.0f}" height="{2 * value:.0f}" '
                f'fill="{COLOURS[system]}"/><text x="{at + step * 0.11:.0f}" y="{base - 2 * value - 5:.0f}" '
                f'text-anchor="middle">{value:.0f}</text>'
            )
        shapes.append(f'<text x="{x + step * 0.36:.0f}" y="{base + 18}" text-anchor="middle">{TITLES[name]}</text>')
    for place, (system, colour) in enumerate(COLOURS.items()):
        x = left + place * 110
        shapes.append(f'<rect x="{x}" y="{base + 30}" width="12" height="12" fill="{colour}"/>')
        shapes.append(f'<text x="{x + 18}" y="{base + 41}">{system}</text>')
    body = "\n".join(shapes)
    style = "font-family:system-ui,sans-serif;font-size:12px;fill:#333"
    return f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" style="{style}">\n{body}\n</svg>\n'
