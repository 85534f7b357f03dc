"""What is known already of what some drafts say: who holds their keys, who says the same, whom they put out of date.

Without a judge that is decided by words, numbers, names and a small network; a judge, when there is one, is asked about
every memory that is near.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

import numpy as np

from . import outdated, words
from .alike import adds, restates, updates
from .errors import ModelError
from .finished import finishes, leaves_open
from .ports import Embedder, Judge, Store
from .reconcile import Known, memory_of
from .types import SECOND_HAND, Draft, Floats, Memory, Message, Probe, Proposals, Test, Verdict, fingerprint

log = logging.getLogger("holdfast")
RELATED = 16
"""How many of the nearest memories are looked at for one that says the same, or is out of date."""
RARE = 6
"""A word in this many texts, or in one of fifty, may identify a thing."""
NEAREST, COMPARED = 3, 24
"""Of each draft's neighbours, and of all pairs, how many a judge decides on."""


@dataclass(frozen=True, slots=True)
class Near:
    """A draft among the memories near it."""

    draft: Draft
    vector: Floats | None
    said: Message
    saying: outdated.Saying
    memories: list[Memory]
    cosines: dict[str, float]
    rare: set[str]

    @property
    def mark(self) -> str:
        return fingerprint(self.draft.kind, self.draft.content)

    def beside(
        self, drafts: Sequence[Draft], told: Sequence[Memory], meanings: Sequence[Floats | None], known: Known
    ) -> Near:
        """The draft also among what was told before it in the same batch, without what is out of date by now."""
        earlier, cosines = list[Memory](), dict(self.cosines)
        for draft, memory, meaning in zip(drafts, told, meanings, strict=True):
            if draft is self.draft:
                break
            if set(draft.sources).isdisjoint(self.draft.sources):
                earlier.append(memory)
                if self.vector is not None and meaning is not None:
                    cosines[memory.id] = float(self.vector @ meaning)
        gone = {memory.id for mark, memory in known.outdated.items() if not known.ends.get((mark, memory.id))}
        earlier = sorted(earlier, key=lambda memory: -cosines.get(memory.id, 0.0))[: RELATED // 2]
        return replace(self, memories=[m for m in (*self.memories, *earlier) if m.id not in gone], cosines=cosines)


@dataclass(frozen=True, slots=True)
class Related:
    store: Store
    embedder: Embedder
    now: datetime
    judge: Judge | None = None

    async def known(self, drafts: Sequence[Draft], messages: dict[str, Message], extractor: str) -> Known:
        known = Known(said={id: message.said_at for id, message in messages.items()})
        keys = tuple({draft.key for draft in drafts if draft.key is not None})
        if keys:
            page = await self.store.scan(Test("key", "in", keys), now=None, limit=10_000)
            known.heads = {(memory.kind, memory.key): memory for memory in page.items if memory.key is not None}
        prints = tuple({fingerprint(draft.kind, draft.content) for draft in drafts})
        if prints:
            page = await self.store.scan(Test("fingerprint", "in", prints), now=None, limit=10_000)
            known.alike = {memory.fingerprint: memory for memory in page.items if memory.key is None}
        held = {memory.key for memory in known.heads.values()}
        loose = [
            draft
            for draft in drafts
            if draft.key not in held and fingerprint(draft.kind, draft.content) not in known.alike
        ]
        meanings = await self._meanings(drafts) if loose else [None] * len(drafts)
        sayings = outdated.sayings(messages.values())
        tasks = await self._tasks() if loose else []
        near = [
            await self._near(draft, vector, messages[draft.sources[-1]], sayings[draft.sources[-1]], tasks)
            for draft, vector in zip(drafts, meanings, strict=True)
            if draft in loose
        ]
        if self.judge is None or not await self._judged(self.judge, drafts, near, known):
            told = [memory_of(draft, messages, now=self.now, extractor=extractor) for draft in drafts]
            for each in near:
                await self._relate(each.beside(drafts, told, meanings, known), known)
                if old := known.outdated.get(each.mark):
                    await self._part_by_part(each.draft, each.said, each.saying, old, known)
        for draft in drafts:
            if head := known.heads.get((draft.kind, draft.key or "")):
                source = draft.sources[-1]
                await self._part_by_part(draft, messages[source], sayings[source], head, known)
        rests_on = [source for memory in (*known.heads.values(), *known.outdated.values()) for source in memory.sources]
        known.said |= {item.id: item.said_at for item in await self.store.get(rests_on) if isinstance(item, Message)}
        return known

    async def _part_by_part(
        self, draft: Draft, said: Message, saying: outdated.Saying, old: Memory, known: Known
    ) -> None:
        """Which parts of a memory a draft ends that takes its place; all of what a model wrote or was set by hand."""
        told = self.judge is None and bool(old.sources) and draft.trust not in SECOND_HAND
        if told and isinstance(self.embedder, outdated.Reader):
            new = outdated.Statement(draft.kind, draft.content, said.session_id, draft.sources, draft.key)
            ended = await outdated.ended(new, saying, _stated(old), self.embedder)
            known.ends[fingerprint(draft.kind, draft.content), old.id] = ended

    async def _meanings(self, drafts: Sequence[Draft]) -> list[Floats | None]:
        """The drafts' vectors, when a judge or the network that compares statements can use them; else none."""
        if not drafts or (self.judge is None and self.embedder.model != outdated.model()):
            return [None] * len(drafts)
        try:
            return [*await vectors(self.embedder, [draft.content for draft in drafts])]
        except Exception as failure:
            log.warning("relating by words alone, the embedder failed: %s", failure)
            return [None] * len(drafts)

    async def _tasks(self) -> list[Memory]:
        """The newest that are open. They have no vectors, and what tells that one is done often shares no word."""
        return list((await self.store.scan(Test("kind", "eq", "task"), now=self.now, limit=RELATED // 2)).items)

    async def _near(
        self, draft: Draft, vector: Floats | None, said: Message, saying: outdated.Saying, tasks: list[Memory]
    ) -> Near:
        wanted = words.question_words(draft.content)
        probe = Probe(self.now, wanted, vector, self.embedder.model, limit=0, memories=RELATED, with_neighbours=0)
        found = await self.store.propose(probe)
        most = max(RARE, found.parts // 50)
        rare = {word for word, count in zip(wanted, found.frequency, strict=True) if count <= most}
        held = await self.store.get([item.id for item in found.items if item.memory])
        told = {each.id: each for each in (*held, *tasks) if isinstance(each, Memory) and each.sources}  # not by hand
        rare -= set(words.tokens(said.speaker or ""))
        return Near(draft, vector, said, saying, list(told.values()), _cosines(found), rare)

    async def _judged(self, judge: Judge, drafts: Sequence[Draft], near: list[Near], known: Known) -> bool:
        """Let the judge decide on every pair; False when it cannot."""
        pairs = [(draft, head) for draft in drafts if (head := known.heads.get((draft.kind, draft.key or "")))]
        for each in near:
            best = sorted(each.memories, key=lambda memory: -each.cosines.get(memory.id, 0.0))
            pairs += [(each.draft, memory) for memory in best[:NEAREST]]
        try:
            decided = await _decided(judge, pairs)
        except Exception as failure:
            log.warning("relating without the judge, it failed: %s", failure)
            return False
        for draft, memory, verdict in decided:
            mark, head = fingerprint(draft.kind, draft.content), known.heads.get((draft.kind, draft.key or ""))
            if verdict == "same" and adds(draft.content, memory.content):
                verdict = "apart"  # a judge that overlooks a number or a name must not make it lost
            if verdict == "same":
                known.alike.setdefault(mark, memory)
            elif verdict == "replaces" and memory is not head:
                known.outdated.setdefault(mark, memory)
            elif verdict == "apart" and memory is head:
                known.apart.add(mark)
        return True

    async def _relate(self, near: Near, known: Known) -> None:
        """Find the current memory that says in other words what the draft says, or that it makes out of date."""
        draft, memories = near.draft, near.memories
        same = sorted((m for m in memories if restates(draft, m)), key=lambda memory: memory.trust in SECOND_HAND)
        if same:
            known.alike[near.mark] = same[0]
            return
        if done := [memory for memory in memories if finishes(draft, near.said.said_at, memory)]:
            known.outdated[near.mark] = done[0]
            return
        close = [memory for memory in memories if not near.cosines.get(memory.id, np.nan) < outdated.SAID.near]
        replaced = [memory for memory in close if updates(draft, memory, near.rare)]
        if replaced:
            about = set(words.question_words(draft.content))
            known.outdated[near.mark] = max(replaced, key=lambda memory: len(about & set(words.tokens(memory.content))))
        elif near.vector is not None:
            new = outdated.Statement(draft.kind, draft.content, near.said.session_id, draft.sources, draft.key)
            at = near.said.said_at
            memories = [m for m in memories if not _happened(m, near.said) and not leaves_open(draft, at, m)]
            old = [_stated(memory) for memory in memories]
            cosines = [near.cosines.get(memory.id, np.nan) for memory in memories]
            reader = (
                self.embedder if isinstance(self.embedder, outdated.Reader) and draft.trust not in SECOND_HAND else None
            )
            best = await outdated.replaced(new, near.saying, old, cosines, near.rare, reader)
            if best is not None:
                known.outdated[near.mark] = memories[best]


async def _decided(judge: Judge, pairs: Sequence[tuple[Draft, Memory]]) -> list[tuple[Draft, Memory, Verdict]]:
    """The judge's verdicts. What people said themselves is compared with no document or tool in sight, and what they
    say about the same thing needs no judge to come before these."""
    own = [pair for pair in pairs if all(each.trust not in SECOND_HAND for each in pair)][:COMPARED]
    others = [pair for pair in pairs if pair[0].trust in SECOND_HAND][:COMPARED]
    asked = [(group, await judge.compare(group)) for group in (own, others) if group]
    marks = {fingerprint(draft.kind, draft.content) for draft, _ in own}
    return [
        (draft, memory, verdict)
        for group, verdicts in asked
        for (draft, memory), verdict in zip(group, verdicts, strict=True)
        if group is own or fingerprint(draft.kind, draft.content) not in marks
    ]


def _happened(memory: Memory, said: Message) -> bool:
    """Whether it tells of what was over when the message was written: nothing that comes later makes that untrue."""
    end = memory.occurred_until or memory.occurred_at
    return memory.kind == "event" and end is not None and end <= said.said_at


def _stated(memory: Memory) -> outdated.Statement:
    return outdated.Statement(memory.kind, memory.content, memory.session_id, memory.sources, memory.key)


def _cosines(found: Proposals) -> dict[str, float]:
    """Of each item that has a vector, its nearest part's cosine."""
    near: dict[str, float] = {}
    for of, cosine in zip(found.of.tolist(), found.cosine.tolist(), strict=True):
        if cosine == cosine:
            id = found.items[of].id
            near[id] = max(near.get(id, -1.0), cosine)
    return near


async def vectors(embedder: Embedder, texts: list[str]) -> list[Floats]:
    """The embedder's vectors, checked: a wrong one would spoil every later search."""
    found = await embedder.embed(texts)
    dimensions = int(embedder.model.rsplit("/", 1)[1])
    for vector in found:
        if vector.shape != (dimensions,) or not abs(float(np.linalg.norm(vector)) - 1) < 0.01:
            raise ModelError(f"{embedder.model} gave a vector of shape {vector.shape} that is not of length 1.")
    if len(found) != len(texts):
        raise ModelError(f"{embedder.model} gave {len(found)} vectors for {len(texts)} texts.")
    return found
