"""A nightly job: for every profile of a namespace, what was learnt in the last day, as one Markdown page each.

    python examples/nightly_summary.py support ./data        # from cron, while no other process has the folder open
    python examples/nightly_summary.py support http://127.0.0.1:8420      # from a server, with HOLDFAST_TOKEN

To have Holdfast itself write summaries as memories, call `profile.set_summaries("daily at 03:00")` once.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from holdfast import Holdfast, Memory, Profile

TITLES = {"fact": "Facts", "event": "Events", "instruction": "Instructions", "task": "Tasks"}


def written_since(profile: Profile, start: datetime) -> Iterator[Memory]:
    """The current memories that were written or changed since then, newest first."""
    cursor = None
    while True:
        page = profile.list(order="updated", limit=100, cursor=cursor)
        for memory in page:
            if memory.updated_at < start:
                return
            yield memory
        if page.cursor is None:
            return
        cursor = page.cursor


def page(profile: Profile, start: datetime) -> str:
    """The page of one profile; empty when nothing was learnt."""
    profile.settle()
    groups: dict[str, list[str]] = {}
    for memory in written_since(profile, start):
        changed = f" (version {memory.version})" if memory.version > 1 else ""
        groups.setdefault(TITLES.get(memory.kind, memory.kind), []).append(f"- {memory.content}{changed}")
    parts = [f"## {title}\n" + "\n".join(lines) for title, lines in sorted(groups.items())]
    return "\n\n".join([f"# {profile.name}, since {start:%Y-%m-%d %H:%M}", *parts]) + "\n" if parts else ""


def nightly(memory: Holdfast, namespace: str, now: datetime) -> Iterator[str]:
    for known in memory.profiles(namespace):
        if text := page(memory.profile(namespace, known.name), now - timedelta(days=1)):
            yield text


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("usage: python examples/nightly_summary.py NAMESPACE FOLDER|URL")
    namespace, place = sys.argv[1:]
    remote = "://" in place
    if remote and "HOLDFAST_TOKEN" not in os.environ:
        sys.exit("Set HOLDFAST_TOKEN to a token of the server.")
    with Holdfast.connect(place, os.environ["HOLDFAST_TOKEN"]) if remote else Holdfast.open(place) as memory:
        print("\n".join(nightly(memory, namespace, datetime.now(UTC))))
