"""The network of holdfast/models/statement_reader.py in PyTorch and its training on a GPU, with nothing else installed:

    python evals/train/reader_network.py FOLDER

It reads evals/.cache/reader, which `python -m evals.train.reader pack` writes, and leaves in FOLDER what was learned
and what it says of a tenth of the conversations, from which it learns nothing. Two heads learn together: which known
statements, and which parts of them, a message ends, read with all of them at once; and whether a sentence is worth
keeping, as what.
"""

from __future__ import annotations

import gzip
import json
import multiprocessing
import os
import random
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np
import torch
from life_split import CALIBRATES, EVERY, EVERYDAY, is_held
from torch import nn
from torch.nn import functional
from trunks import DEVICE, DROP, MAX_TOKENS, learned_of, load_learned, make_trunk

HERE = Path(__file__).resolve().parents[1] / ".cache" / "reader"
HIDDEN, CLASSES = 128, 5
LARGE = os.environ.get("LARGE", "") != ""
"""Whether a teacher is trained: the larger network of trunks.py."""
HEAD_RATE, SMOOTH = 1e-3, 0.99
SECONDS = float(os.environ.get("SECONDS", "600"))
"""How long it learns."""
START = os.environ.get("START", "")
"""What another reader learned to go on from: all of it if it read endings, the layers if it read answers; without it,
learning starts from the embedder."""
RATE_SHARE = float(os.environ.get("RATE_SHARE", "0.5"))
"""The share of the usual rate where learning goes on."""
TEACHERS = [Path(each) for each in os.environ.get("TEACHERS", "").split(",") if each]
"""What other readers learned, whose readings this one learns besides the authors'."""
WORKERS = int(os.environ.get("WORKERS", "12"))
"""Processes that prepare what is learned."""
QUERIES, SENTENCES = 64, 64
"""Of each step."""
CANDIDATES, PARTS = 8, 12
"""The most candidates, and parts of them, that are read with a message."""
SIZES = (128, 160, 192, 224, 256, MAX_TOKENS)
"""The lengths that batches are padded to."""
SHARES = {
    "contrast": 0.1, "life": 0.06, "conversation": 0.2, "timeline": 0.06, "compound": 0.06, "lives": 0.24,
    "everyday": 0.28,
}  # fmt: skip
SAID = {"told": 0.65, "part": 0.12, "line": 0.23}
"""Where the messages, and the sentences, of a step come from."""
HELD = ("timelines-life-i", "timelines-life-j", "contrasts-held", "compounds-held")
"""What nothing about endings is learned from: how well it does is measured on it."""
Row = tuple[list[int], int, Any]
"""Ids, how many of them are of the first text, and what the head is shown besides."""


class Reading(NamedTuple):
    """A message with candidates: the tokens, and for each place to be judged its span, what the head is shown, and
    whether it ends (-1 where nobody knows)."""

    ids: list[int]
    first: int
    spans: list[tuple[int, int]]
    shown: list[list[float]]
    right: list[int]
    whole: list[bool]
    candidates: list[int]


def load_packed(name: str) -> Any:
    with gzip.open(HERE / f"{name}.json.gz", "rt") as file:
        return json.load(file)


class Net(nn.Module):
    """p1 and p2 are the head for endings (of a whole statement, of a part), k1 and k2 the one for sentences."""

    def __init__(self, trunk: Any, features: int) -> None:
        super().__init__()
        self.trunk = trunk
        self.p1, self.p2 = nn.Linear(2 * trunk.width + features, HIDDEN), nn.Linear(HIDDEN, 2)
        self.k1, self.k2 = nn.Linear(2 * trunk.width + CLASSES, HIDDEN), nn.Linear(HIDDEN, CLASSES)
        nn.init.constant_(self.p2.bias, -2.0)
        nn.init.zeros_(self.k2.bias)

    def classes(self, ids: Any, kinds: Any, mask: Any, shown: Any) -> Any:
        x = self.trunk(ids, kinds, mask)
        real = mask[..., None].to(x.dtype)
        return self._head(self.k1, self.k2, torch.cat([x[:, 0], (x * real).sum(1) / real.sum(1)], 1), shown)

    def endings(self, ids: Any, kinds: Any, mask: Any, places: Any, shown: Any) -> Any:
        """For each place the log odds as a whole statement and as a part. `places` has the share of each token."""
        x = self.trunk(ids, kinds, mask)
        state = torch.cat([torch.bmm(places.to(x.dtype), x), x[:, :1].expand(-1, places.shape[1], -1)], 2)
        return self._head(self.p1, self.p2, state, shown)

    def _head(self, first: Any, last: Any, state: Any, shown: Any) -> Any:
        state = torch.cat([state, functional.dropout(shown, DROP, self.training)], -1)
        hidden = functional.relu(first(functional.dropout(state, DROP, self.training)))
        return last(functional.dropout(hidden, DROP, self.training)).float()


def reading(query: dict[str, Any], dice: random.Random | None) -> Reading:
    """What is read of a query: the likeliest candidates; when learning, a random number of them in a random order, and
    always those that end."""
    chosen = list(range(len(query["ids"])))
    if dice is not None:
        most = dice.choice((3, 5, CANDIDATES, CANDIDATES))
        chosen = [n for n in chosen if n < most or query["right"][n] == 1 or dice.random() < 0.05]
        dice.shuffle(chosen)
        chosen.sort(key=lambda n: query["right"][n] != 1)  # so that there is room for them
    room, kept = MAX_TOKENS - len(query["said"]), []
    for n in chosen:
        if len(query["ids"][n]) < room and len(kept) < CANDIDATES:
            kept.append(n)
            room -= len(query["ids"][n]) + 1
    if dice is not None:
        dice.shuffle(kept)
    found = Reading(list(query["said"]), len(query["said"]), [], [], [], [], kept)
    parts = 0
    for n in kept:
        start, right = len(found.ids), query["right"][n]
        places = [(tuple(query["span"][n]), right, True)]
        told = query["part_right"][n] or [None] * len(query["parts"][n])
        if dice is None or query["part_right"][n]:
            places += [(tuple(span), ends, False) for span, ends in zip(query["parts"][n], told, strict=False)]
        for (begin, end), ends, whole in places:
            parts += not whole
            if end > begin and (whole or parts <= PARTS):
                found.spans.append((start + begin, start + end))
                found.shown.append(query["features"][n])
                found.right.append(-1 if ends is None else ends)
                found.whole.append(whole)
        found.ids.extend([*query["ids"][n], query["said"][-1]])
    return found


class Shelf:
    """What there is to learn from, as arrays; with the means and spreads of what the heads are shown."""

    def __init__(self, queries: dict[str, list[Any]], told: dict[str, list[Any]]) -> None:
        self.queries, self.told = queries, told
        endings = np.vstack([np.array(query["features"], np.float32) for some in queries.values() for query in some])
        sentences = np.array([each["words"] for each in told["told"]], np.float32)
        self.scaling = [(each.mean(0), each.std(0) + 1e-6) for each in (endings, sentences)]

    def go_on(self, learned: Path) -> bool:
        """Keeps the means and spreads of a reader of endings that learned before; says whether it was one."""
        held = np.load(learned)
        if "mean" not in held:
            return False
        self.scaling = [(held["mean"], held["spread"]), (held["mean_said"], held["spread_said"])]
        return True

    def scaled(self, shown: Any, sentences: bool) -> Any:
        mean, spread = self.scaling[sentences]
        return ((np.array(shown, np.float32) - mean) / spread).clip(-5, 5).astype("f4")

    def sentences(self, rows: list[Row], size: int = 0) -> list[Any]:
        """Ids, segment ids, mask and what the head is shown, padded."""
        found = padded([(ids, first) for ids, first, _ in rows], size)
        return [*found, self.scaled([each for _, _, each in rows], True)]

    def readings(self, rows: list[Reading], size: int = 0) -> list[Any]:
        """Ids, segment ids, mask, places, what the head is shown, whether each ends, and whether it is whole."""
        found = padded([(row.ids, row.first) for row in rows], size)
        places = np.zeros((len(rows), CANDIDATES + PARTS, found[0].shape[1]), np.float32)
        shown = np.zeros((len(rows), CANDIDATES + PARTS, len(self.scaling[0][0])), np.float32)
        right, whole = (np.full(places.shape[:2], -1, np.int64) for _ in range(2))
        for n, row in enumerate(rows):
            for i, (start, stop) in enumerate(row.spans):
                places[n, i, start:stop] = 1 / (stop - start)
            if row.spans:
                shown[n, : len(row.spans)] = self.scaled(row.shown, False)
            right[n, : len(row.right)], whole[n, : len(row.whole)] = row.right, row.whole
        return [*found, places, shown, right, whole]

    def lesson(self, dice: random.Random) -> tuple[tuple[int, ...], list[Any]]:
        """The lengths that one step's arrays are padded to, and the arrays."""
        sources = dice.choices(list(SHARES), list(SHARES.values()), k=QUERIES)
        kinds = dice.choices(list(SAID), list(SAID.values()), k=SENTENCES)
        rows = [reading(dice.choice(self.queries[source]), dice) for source in sources]
        some = [dice.choice(self.told[source]) for source in kinds]
        sentences = [row(each) for each in some]
        sizes = _size(max(len(each.ids) for each in rows)), _size(max(len(ids) for ids, _, _ in sentences))
        wanted = np.zeros((len(some), CLASSES), np.float32)
        for n, each in enumerate(some):
            wanted[n, each["kinds"] or [0]] = 1 / max(len(each["kinds"]), 1)
        told = np.array([each["words"] for each in some], np.float32)
        return sizes, [told, wanted, *self.readings(rows, sizes[0]), *self.sentences(sentences, sizes[1])]

    def lessons(self, workers: int) -> Iterator[tuple[tuple[int, ...], list[Any]]]:
        """One step after another, made by other processes: one alone keeps no GPU busy."""
        made: Any = multiprocessing.Queue(4 * workers)

        def work(seed: int) -> None:
            dice = random.Random(seed)
            while True:
                made.put(self.lesson(dice))

        for seed in range(workers):
            multiprocessing.Process(target=work, args=(seed,), daemon=True).start()
        while True:
            yield made.get()


class Reader:
    """The network, and what it makes of a shelf."""

    def __init__(self, shelf: Shelf, learned: Path | None = None) -> None:
        self.shelf = shelf
        trunk = make_trunk(learned, HERE / "embedder.npz", LARGE)
        self.net = Net(trunk, len(shelf.scaling[0][0])).to(DEVICE)

    def read_sentences(self, rows: list[Row]) -> list[Any]:
        return self._all(rows, lambda some: self.net.classes(*self._moved(self.shelf.sentences(some))).tolist())

    def read_endings(self, rows: list[Reading]) -> list[Any]:
        """For each reading its log odds, of each place in turn."""

        def read(some: list[Reading]) -> list[Any]:
            *inputs, _, _ = self._moved(self.shelf.readings(some))
            found = self.net.endings(*inputs).cpu().numpy().round(3)
            return [
                [float(found[n, i, 0 if whole else 1]) for i, whole in enumerate(row.whole)]
                for n, row in enumerate(some)
            ]

        return self._all(rows, read)

    def _moved(self, some: list[Any]) -> list[Any]:
        return [torch.from_numpy(each).to(DEVICE) for each in some]

    def _all(self, rows: list[Any], read: Any) -> list[Any]:
        self.net.eval()
        found: list[Any] = []
        order = sorted(range(len(rows)), key=lambda n: len(rows[n][0]))
        with torch.no_grad():
            for start in range(0, len(rows), 256):
                found += read([rows[n] for n in order[start : start + 256]])
        return [found[n] for n in np.argsort(order)]

    def saved(self) -> dict[str, Any]:
        (mean, spread), (mean_said, spread_said) = self.shelf.scaling
        return learned_of(self.net) | {
            "mean": mean,
            "spread": spread,
            "mean_said": mean_said,
            "spread_said": spread_said,
        }


def padded(rows: list[tuple[list[int], int]], size: int) -> list[Any]:
    long = size or max(len(ids) for ids, _ in rows)
    ids, kinds, mask = (np.zeros((len(rows), long), np.int64) for _ in range(3))
    for n, (each, first) in enumerate(rows):
        ids[n, : len(each)], kinds[n, first : len(each)], mask[n, : len(each)] = each, 1, 1
    return [ids, kinds, mask]


class Lesson:
    """The loss of one step, over tensors whose shapes are the same again and again; teachers count half."""

    def __init__(self, net: Net, teachers: list[Net]) -> None:
        self.net, self.teachers = net, teachers

    def loss(
        self, told: Any, wanted: Any, ids: Any, kinds: Any, mask: Any, places: Any, shown: Any, right: Any, whole: Any,
        *sentences: Any,
    ) -> Any:  # fmt: skip
        inputs = ids, kinds, mask, places, shown
        with torch.autocast(DEVICE, torch.bfloat16, cache_enabled=False):
            read, classes = self.net.endings(*inputs), self.net.classes(*sentences)
            with torch.no_grad():
                taught = [(net.endings(*inputs), net.classes(*sentences)) for net in self.teachers]
        logits = torch.where(whole == 1, read[..., 0], read[..., 1])
        known = (right >= 0).float() * torch.where(whole == 1, 1.0, 0.5)
        ended = (right == 1).float()
        if taught:
            chances = sum(torch.sigmoid(torch.where(whole == 1, each[..., 0], each[..., 1])) for each, _ in taught)
            ended = 0.5 * ended + 0.5 * chances / len(taught)
            wanted = 0.5 * wanted + 0.5 * sum(functional.softmax(each + told, 1) for _, each in taught) / len(taught)
        lost = functional.binary_cross_entropy_with_logits(logits, ended, reduction="none")
        chances = functional.log_softmax(classes + told, 1)
        return 4 * (lost * known).sum() / known.sum() - (wanted * chances).sum(1).mean()


def _size(long: int) -> int:
    return next(size for size in SIZES if size >= long)


class Training:
    """Training steps. On a GPU each is captured as a graph, one for each key, that is for tensors of the same shapes:
    launching its kernels one by one takes several times as long as computing them."""

    def __init__(self, loss: Any, body: list[Any], heads: list[Any], rate: float) -> None:
        self.loss = loss
        self.learning: list[Any] = [*body, *heads]
        groups = [{"params": body, "rate": rate}, {"params": heads, "rate": min(HEAD_RATE, 10 * rate)}]
        for group in groups:
            group["lr"] = torch.tensor(0.0, device=DEVICE)
        self.steady = torch.optim.AdamW(groups, weight_decay=0.01, capturable=DEVICE == "cuda")
        self.graphs: dict[Any, tuple[Any, list[Any], Any]] = {}
        self.pool = torch.cuda.graph_pool_handle() if DEVICE == "cuda" else None

    def step(self, key: Any, inputs: list[Any], share: float) -> Any:
        """Learns from one batch at a share of the rate; returns the loss."""
        for group in self.steady.param_groups:
            group["lr"].fill_(group["rate"] * share)
        if DEVICE == "cpu":
            return self._learn(inputs)
        if key not in self.graphs:
            self._capture(key, inputs)
        graph, held, value = self.graphs[key]
        for mine, new in zip(held, inputs, strict=True):
            mine.copy_(new, non_blocking=True)
        graph.replay()
        return value

    def _learn(self, inputs: list[Any]) -> Any:
        self.steady.zero_grad(set_to_none=True)
        value = self.loss(*inputs)
        value.backward()
        torch.nn.utils.clip_grad_norm_(self.learning, 1.0)
        self.steady.step()
        return value.detach()

    def _capture(self, key: Any, inputs: list[Any]) -> None:
        held = [each.to(DEVICE) for each in inputs]
        aside = torch.cuda.Stream()
        aside.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(aside):
            for _ in range(3):
                self._learn(held)
        torch.cuda.current_stream().wait_stream(aside)
        graph = torch.cuda.CUDAGraph()
        self.steady.zero_grad(set_to_none=True)
        with torch.cuda.graph(graph, pool=self.pool):
            value = self._learn(held)
        self.graphs[key] = graph, held, value


def row(each: dict[str, Any]) -> Row:
    return each["ids"], each["first"], each["words"]


def is_kept_apart(name: str) -> bool:
    """Whether nothing is learned from a conversation: what the network says of it tells how sure that is."""
    if name.startswith("lives-"):
        return is_held(name.removeprefix("lives-"))
    return name.startswith(HELD) or crc32(name.encode()) % EVERY == CALIBRATES


def source_of(talk: dict[str, Any]) -> str:
    everyday = talk["name"].startswith(tuple(f"lives-{file}-" for file in EVERYDAY))
    return "everyday" if everyday else str(talk["source"])


def fit(out: Path) -> None:
    out.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(0)
    torch.set_float32_matmul_precision("high")
    talks, said = load_packed("endings"), load_packed("said")
    known = [talk for talk in talks if not is_kept_apart(talk["name"])]
    queries = {
        name: [q for talk in known if source_of(talk) == name for q in talk["queries"] if q["ids"]] for name in SHARES
    }
    told = {
        name: [each for each in said if each["source"] == name and not is_kept_apart(each["case"])] for name in SAID
    }
    told["part"] = [each for each in told["part"] if each["kinds"]]
    print({name: len(some) for name, some in (*queries.items(), *told.items())}, flush=True)
    shelf = Shelf(queries, told)
    whole = START != "" and shelf.go_on(Path(START))
    lessons = shelf.lessons(WORKERS)
    next(lessons)  # the processes start before the GPU is used
    reader = Reader(shelf)
    if START:
        load_learned(reader.net, Path(START), ("",) if whole else ("layers.", "norm.", "token_type"))
    teachers = [_teacher(shelf, path) for path in TEACHERS]
    named = [(name, value) for name, value in reader.net.named_parameters() if value.requires_grad]
    heads = [value for name, value in named if name[0] in "pk" and name[1] in "12"]
    body = [value for name, value in named if not (name[0] in "pk" and name[1] in "12")]
    training = Training(Lesson(reader.net, teachers).loss, body, heads, reader.net.trunk.rate)
    tracked, mean = training.learning, list[Any]()
    began, step, progress = time.time(), 0, 0.0
    shown = torch.zeros((), device=DEVICE)
    reader.net.train()
    while (progress := (time.time() - began) / SECONDS) < 1:
        step += 1
        key, arrays = next(lessons)
        inputs = [torch.from_numpy(each) for each in arrays]
        share = (RATE_SHARE if START else 1) * min(1.0, 10 * progress + 0.01) * (1 - progress)
        value = training.step(key, inputs, share)
        if progress >= 0.4:
            with torch.no_grad():
                mean = mean or [each.detach().clone() for each in tracked]
                torch._foreach_lerp_(mean, [each.detach() for each in tracked], 1 - SMOOTH)
        shown = shown + (value - shown) / min(step, 100)
        if step % 250 == 0:
            print(step, round(float(shown), 3), len(training.graphs), f"{time.time() - began:.0f} s", flush=True)
    with torch.no_grad():
        for value, better in zip(tracked, mean, strict=True):
            value.copy_(better)
    np.savez(out / "learned.npz", **reader.saved())
    (out / "read.json").write_text(json.dumps(_read(reader, talks, said)))


def _teacher(shelf: Shelf, path: Path) -> Net:
    reader = Reader(shelf, path)
    load_learned(reader.net, path)
    return reader.net.eval().requires_grad_(False)


def _read(reader: Reader, talks: list[Any], said: list[Any]) -> dict[str, Any]:
    """What it says of that which it was not trained on: of each query (candidate, whether whole, log odds, right)."""
    apart = [talk for talk in talks if is_kept_apart(talk["name"])]
    rows = [reading(query, None) for talk in apart for query in talk["queries"]]
    read = iter(zip(rows, reader.read_endings(rows), strict=True))
    endings = {}
    for talk in apart:
        some = []
        for query, (each, odds) in zip(talk["queries"], read, strict=False):
            places = iter(zip(each.whole, odds, each.right, strict=True))
            some.append({"known": query["known"], "lost": query["lost"], "candidates": _judged(query, each, places)})
        endings[f"{talk['name']}|{talk['source']}"] = some
    mine = [n for n, each in enumerate(said) if is_kept_apart(each["case"])]
    sentences = reader.read_sentences([row(said[n]) for n in mine])
    return {"endings": endings, "said": dict(zip(mine, sentences, strict=True))}


def _judged(query: dict[str, Any], read: Reading, places: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    numbers = iter(read.candidates)
    for whole, odds, right in places:
        if whole:
            n = next(numbers)
            found.append({"n": n, "odds": query["odds"][n], "read": odds, "right": right, "parts": []})
        else:
            found[-1]["parts"].append((odds, right))
    return found


if __name__ == "__main__":
    fit(Path(sys.argv[1]))
