"""Finds the memories that drafts may affect: holders of their keys, memories that say the same, memories they outdate.

Without a judge, words, numbers, names and a small network decide; if there is a judge, it compares every near memory.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property

import numpy as np

from holdfast.domain.errors import ModelError
from holdfast.domain.filters import keyless
from holdfast.domain.ports.models import Embedder, Judge
from holdfast.domain.ports.search import Probe, Proposals
from holdfast.domain.ports.storage import Store
from holdfast.domain.types import SECOND_HAND_TRUST, Draft, Floats, Memory, Message, Test, Verdict, fingerprint
from holdfast.ingest.reconcile.change import KnownMemories, memory_from_draft
from holdfast.ingest.reconcile.draft_context import DraftContext, best_cosines
from holdfast.ingest.reconcile.endings import (
    NearStatement,
    Telling,
    find_ended_parts,
    ranked_candidates,
    read_ended,
)
from holdfast.text import supersession, tokens
from holdfast.text.endings import HOME_KEYS, ends, mover
from holdfast.text.similarity import adds_details, restates, updates, upgrades
from holdfast.text.task_completion import finishes, leaves_open

log = logging.getLogger("holdfast")
MAX_RELATED = 24
"""How many of the nearest memories are compared with a draft. Chosen by hand; not measured alone."""
JUDGED_NEIGHBOURS, MAX_JUDGED_PAIRS = 3, 24
"""How many neighbours of each draft, and how many pairs in all, a judge compares. Chosen by hand; not measured."""


@dataclass(frozen=True)
class DraftNeighbourhood:
    """A draft with the memories near it."""

    draft: Draft
    vector: Floats | None
    said: Message
    saying: supersession.StatementSource
    memories: list[Memory]
    cosines: dict[str, float]
    rare: set[str]
    said_at: Mapping[str, datetime]
    """Message id → when it was said, for the sources of the memories that are events."""

    def was_over(self, memory: Memory) -> bool:
        """Whether the memory is an event that was over when it was told: nothing later makes it untrue. A plan is
        outdated by what became of it."""
        end = memory.occurred_until or memory.occurred_at
        if memory.kind != "event" or end is None or end > self.said.said_at:
            return False
        told = [self.said_at[source] for source in memory.sources if source in self.said_at]
        return not told or (memory.occurred_at or end) <= max(told)

    @cached_property
    def mark(self) -> str:
        return fingerprint(self.draft.kind, self.draft.content)

    @property
    def statement(self) -> supersession.ComparedStatement:
        return _draft_statement(self.draft, self.said)

    @cached_property
    def outdatable_memories(self) -> list[Memory]:
        """The memories that the draft may make out of date."""
        at = self.said.said_at
        return [m for m in self.memories if not self.was_over(m) and not leaves_open(self.draft, at, m)]

    def beside(
        self,
        drafts: Sequence[Draft],
        memories: Sequence[Memory],
        meanings: Sequence[Floats | None],
        known: KnownMemories,
    ) -> DraftNeighbourhood:
        """Add the memories of earlier drafts of the batch, and leave out memories that those drafts outdate."""
        earlier, cosines = list[Memory](), dict(self.cosines)
        for draft, memory, meaning in zip(drafts, memories, meanings, strict=True):
            if draft is self.draft:
                break
            if draft.sources[-1] != self.draft.sources[-1]:
                earlier.append(memory)
                if self.vector is not None and meaning is not None:
                    cosines[memory.id] = float(self.vector @ meaning)
        gone = known.ended_wholly()
        earlier = sorted(earlier, key=lambda memory: -cosines.get(memory.id, 0.0))[: MAX_RELATED // 2]
        return replace(self, memories=[m for m in (*self.memories, *earlier) if m.id not in gone], cosines=cosines)


@dataclass(frozen=True, slots=True)
class CandidateFinder:
    """Finds what is known about drafts, in one store with one embedder and an optional judge."""

    store: Store
    embedder: Embedder
    now: datetime
    judge: Judge | None = None
    tasks: Sequence[Memory] | None = None
    """The newest open tasks, where the caller has read them."""

    @property
    def compares_meanings(self) -> bool:
        """Whether a judge or the network that compares statements can use the vectors of drafts."""
        return self.judge is not None or self.embedder.model == supersession.trained_embedder()

    async def find_known(
        self, drafts: Sequence[Draft], messages: dict[str, Message], extractor: str, other_texts: Sequence[str] = ()
    ) -> KnownMemories:
        """Load the memories that the drafts may affect, and decide how each draft relates to them. If the drafts are
        embedded, so are the other texts: together they take fewer runs of the model."""
        known = KnownMemories(said_at={id: message.said_at for id, message in messages.items()})
        keys = tuple({draft.key for draft in drafts if draft.key is not None})
        if keys:
            page = await self.store.scan(Test("key", "in", keys), now=None, limit=10_000)
            known.heads = {(memory.kind, memory.key): memory for memory in page.items if memory.key is not None}
        prints = tuple({fingerprint(draft.kind, draft.content) for draft in drafts})
        if prints:
            page = await self.store.scan(keyless(Test("fingerprint", "in", prints)), now=None, limit=10_000)
            known.equivalents = {memory.fingerprint: memory for memory in page.items}
        taken = {memory.key for memory in known.heads.values()}
        loose = [
            draft
            for draft in drafts
            if draft.key not in taken and fingerprint(draft.kind, draft.content) not in known.equivalents
        ]
        known.vectors = await self._meanings(drafts, other_texts) if loose and self.compares_meanings else {}
        meanings = [known.vectors.get(draft.content) for draft in drafts]
        sayings = supersession.statement_sources(messages.values())
        homes = await self._homes() if any(mover(draft.content) for draft in loose) else []
        tasks = await self._load_tasks() if loose else []
        new = [
            DraftContext(draft, vector, messages[draft.sources[-1]], sayings[draft.sources[-1]])
            for draft, vector in zip(drafts, meanings, strict=True)
            if draft in loose
        ]
        near = await self._neighbourhoods(new, [*tasks, *homes])
        if self.judge is None or not await self._judged(self.judge, drafts, near, known):
            memories = [memory_from_draft(draft, messages, now=self.now, extractor=extractor) for draft in drafts]
            for told in _by_message(near):
                some = [each.beside(drafts, memories, meanings, known) for each in told]
                open_ = [each for each in some if not _relate_by_rules(each, known)]
                for each in some:
                    ending = [known.outdated[each.mark]] if each.mark in known.outdated else []
                    for old in (*ending, *known.gone.get(each.mark, ())):
                        if not finishes(each.draft, each.said.said_at, old):  # a task is done as a whole
                            await self._part_by_part(each.draft, messages, each.saying, old, known)
                await self._relate_by_models(open_, messages, known)
        for draft in drafts:
            if head := known.heads.get((draft.kind, draft.key or "")):
                source = draft.sources[-1]
                await self._part_by_part(draft, messages, sayings[source], head, known)
        gone = [memory for some in known.gone.values() for memory in some]
        affected = (*known.heads.values(), *known.outdated.values(), *gone)
        rests_on = [source for memory in affected for source in memory.sources]
        sources = [item for item in await self.store.get(rests_on) if isinstance(item, Message)]
        known.said_at |= {message.id: message.said_at for message in sources}
        known.sources = {message.id: message for message in (*messages.values(), *sources)}
        return known

    async def _part_by_part(
        self,
        draft: Draft,
        messages: Mapping[str, Message],
        saying: supersession.StatementSource,
        old: Memory,
        known: KnownMemories,
    ) -> None:
        """Find which parts of a memory a superseding draft ends. A memory that a model or a
        caller wrote ends as a whole."""
        by_parts = self.judge is None and bool(old.sources) and draft.trust not in SECOND_HAND_TRUST
        if by_parts and isinstance(self.embedder, supersession.EndingReader):
            (source,) = await self._source_texts([old.sources[-1]], messages)
            new = _draft_statement(draft, messages[draft.sources[-1]])
            ended = await find_ended_parts(new, saying, _statement(old), source, self.embedder)
            known.ended_parts[fingerprint(draft.kind, draft.content), old.draft_id] = ended

    async def _source_texts(self, ids: Sequence[str], messages: Mapping[str, Message]) -> list[str]:
        """What the messages say; empty for one that is gone."""
        absent = [id for id in dict.fromkeys(ids) if id not in messages]
        stored = await self.store.get(absent) if absent else []
        texts = {item.id: item.content for item in (*messages.values(), *stored) if isinstance(item, Message)}
        return [texts.get(id, "") for id in ids]

    async def _meanings(self, drafts: Sequence[Draft], other_texts: Sequence[str]) -> dict[str, Floats]:
        """Embed the drafts and the other texts. The embedder may reject one of these, which must not matter to the
        drafts."""
        contents = [draft.content for draft in drafts]
        for some in ([*contents, *other_texts], contents) if other_texts else (contents,):
            texts = list(dict.fromkeys(some))
            try:
                return dict(zip(texts, await embed_texts(self.embedder, texts), strict=True))
            except Exception as failure:
                log.warning("the embedder failed: %s", failure)
        return {}

    async def _load_tasks(self) -> list[Memory]:
        """Load the newest open tasks. They have no vectors, and a report of completion may share no word with one."""
        if self.tasks is not None:
            return list(self.tasks[: MAX_RELATED // 2])
        return list((await self.store.scan(Test("kind", "eq", "task"), now=self.now, limit=MAX_RELATED // 2)).items)

    async def _homes(self) -> list[Memory]:
        """Load where somebody lives, which a report of a move ends without naming it."""
        return list((await self.store.scan(Test("key", "in", HOME_KEYS), now=self.now, limit=MAX_RELATED)).items)

    async def _neighbourhoods(self, told: Sequence[DraftContext], others: list[Memory]) -> list[DraftNeighbourhood]:
        """Find the memories near each draft; what is read of them is read for all drafts at once."""
        proposed = [await self._propose(each) for each in told]
        ids = dict.fromkeys(item.id for found in proposed for item in found.items if item.memory)
        stored = {item.id: item for item in await self.store.get(list(ids))}
        near = []
        for found in proposed:
            items = (*(stored[item.id] for item in found.items if item.id in stored), *others)
            # Memories without sources were written by hand and are not candidates.
            near.append(list({each.id: each for each in items if isinstance(each, Memory) and each.sources}.values()))
        events = [source for some in near for memory in some if memory.kind == "event" for source in memory.sources]
        sources = await self.store.get(list(dict.fromkeys(events)))
        said_at = {item.id: item.said_at for item in sources if isinstance(item, Message)}
        return [
            DraftNeighbourhood(*each, memories, best_cosines(found), each.rare_words(found), said_at)
            for each, found, memories in zip(told, proposed, near, strict=True)
        ]

    async def _propose(self, told: DraftContext) -> Proposals:
        model = self.embedder.model
        return await self.store.propose(
            Probe(self.now, told.words, told.vector, model, limit=0, memories=MAX_RELATED, with_neighbours=0)
        )

    async def _judged(
        self, judge: Judge, drafts: Sequence[Draft], near: list[DraftNeighbourhood], known: KnownMemories
    ) -> bool:
        """Let the judge decide on every pair; returns False when it fails."""
        pairs = [(draft, head) for draft in drafts if (head := known.heads.get((draft.kind, draft.key or "")))]
        for each in near:
            best = sorted(each.memories, key=lambda memory: -each.cosines.get(memory.id, 0.0))
            pairs += [(each.draft, memory) for memory in best[:JUDGED_NEIGHBOURS]]
        try:
            decided = await _judge_pairs(judge, pairs)
        except Exception as failure:
            log.warning("relating without the judge, it failed: %s", failure)
            return False
        for draft, memory, verdict in decided:
            mark, head = fingerprint(draft.kind, draft.content), known.heads.get((draft.kind, draft.key or ""))
            if verdict == "same" and adds_details(draft.content, memory.content):
                verdict = "apart"  # a number or a name that the judge overlooks must be kept
            if verdict == "same":
                known.equivalents.setdefault(mark, memory)
            elif verdict == "replaces" and memory is not head:
                known.outdated.setdefault(mark, memory)
            elif verdict == "apart" and memory is head:
                known.keyless.add(mark)
        return True

    async def _relate_by_models(
        self, near: Sequence[DraftNeighbourhood], messages: Mapping[str, Message], known: KnownMemories
    ) -> None:
        """Find the current memories that the drafts of one message outdate, where no rule knows it."""
        near = [each for each in near if each.vector is not None]
        if not near:
            return
        reader, said = self.embedder, near[0].saying
        readable = tokens.is_mostly_latin(said.message) and near[0].draft.trust not in SECOND_HAND_TRUST
        if readable and isinstance(reader, supersession.EndingReader):
            try:
                await self._relate_by_reading(near, messages, known, reader)
                return
            except Exception as failure:
                log.warning("comparing statements without reading them, the reader failed: %s", failure)
        for each in near:
            memories = each.outdatable_memories
            cosines = [each.cosines.get(memory.id, np.nan) for memory in memories]
            found = supersession.candidate_past_gate(
                each.statement, said, [_statement(memory) for memory in memories], cosines, each.rare
            )
            if found is not None:
                known.outdated[each.mark] = memories[found]

    async def _relate_by_reading(
        self,
        near: Sequence[DraftNeighbourhood],
        messages: Mapping[str, Message],
        known: KnownMemories,
        reader: supersession.EndingReader,
    ) -> None:
        gone = known.ended_wholly()
        memories = {memory.id: memory for each in near for memory in each.outdatable_memories if memory.id not in gone}
        tellings = [
            Telling(each.statement, [
                NearStatement(memory.id, _statement(memory), each.cosines.get(memory.id, np.nan))
                for memory in each.outdatable_memories
                if memory.id in memories
            ])
            for each in near
        ]  # fmt: skip
        said = near[0].saying
        text = supersession.told_in(near[0].statement, said)
        candidates = ranked_candidates(text, tellings)
        if not candidates:
            return
        sources = await self._source_texts([memories[each.id].sources[-1] for each in candidates], messages)
        for ended in await read_ended(text, said.before, tellings, candidates, sources, reader):
            mark, memory = near[ended.draft].mark, memories[ended.id]
            if mark in known.outdated:
                known.gone[mark] = (*known.gone.get(mark, ()), memory)
            else:
                known.outdated[mark] = memory
            known.ended_parts[mark, memory.draft_id] = ended.parts


def _by_message(near: Iterable[DraftNeighbourhood]) -> list[list[DraftNeighbourhood]]:
    """The drafts that are read together: those of one message or, of a long one, each alone."""
    groups: dict[tuple[str, str], list[DraftNeighbourhood]] = {}
    for each in near:
        groups.setdefault((each.said.id, supersession.told_in(each.statement, each.saying)), []).append(each)
    return list(groups.values())


def _relate_by_rules(near: DraftNeighbourhood, known: KnownMemories) -> bool:
    """Find the current memories that the draft restates or outdates by rules; returns whether there are any."""
    draft, memories = near.draft, near.memories
    same = sorted((m for m in memories if restates(draft, m)), key=lambda memory: memory.trust in SECOND_HAND_TRUST)
    if same:
        known.equivalents[near.mark] = same[0]
        return True
    if gone := tuple(memory for memory in memories if ends(draft, near.said.said_at, memory)):
        known.gone[near.mark] = gone
        return True
    if done := [memory for memory in memories if finishes(draft, near.said.said_at, memory)]:
        known.gone[near.mark] = tuple(done)
        return True
    close = [
        memory
        for memory in memories
        if not near.cosines.get(memory.id, np.nan) < supersession.GATE_WITH_CHANGE_WORD.near
    ]
    outdated = near.outdatable_memories
    replaced = [memory for memory in close if updates(draft, memory, near.rare)]
    if replaced := replaced or [memory for memory in outdated if upgrades(draft.content, memory.content)]:
        about = set(tokens.question_words(draft.content))
        known.outdated[near.mark] = max(replaced, key=lambda memory: len(about & set(tokens.tokens(memory.content))))
        return True
    return False


async def _judge_pairs(judge: Judge, pairs: Sequence[tuple[Draft, Memory]]) -> list[tuple[Draft, Memory, Verdict]]:
    """Ask the judge for verdicts. Statements of people are compared separately from those of documents and tools; that
    people's statements take precedence over these is not left to the judge."""
    own = [pair for pair in pairs if all(each.trust not in SECOND_HAND_TRUST for each in pair)][:MAX_JUDGED_PAIRS]
    others = [pair for pair in pairs if pair[0].trust in SECOND_HAND_TRUST][:MAX_JUDGED_PAIRS]
    asked = [(group, await judge.compare(group)) for group in (own, others) if group]
    marks = {fingerprint(draft.kind, draft.content) for draft, _ in own}
    return [
        (draft, memory, verdict)
        for group, verdicts in asked
        for (draft, memory), verdict in zip(group, verdicts, strict=True)
        if group is own or fingerprint(draft.kind, draft.content) not in marks
    ]


def _draft_statement(draft: Draft, said: Message) -> supersession.ComparedStatement:
    return supersession.ComparedStatement(draft.kind, draft.content, said.session_id, draft.sources, draft.key)


def _statement(memory: Memory) -> supersession.ComparedStatement:
    return supersession.ComparedStatement(memory.kind, memory.content, memory.session_id, memory.sources, memory.key)


async def embed_texts(embedder: Embedder, texts: list[str]) -> list[Floats]:
    """Embed texts and check the vectors: a wrong one would corrupt every later search."""
    found = await embedder.embed(texts)
    dimensions = int(embedder.model.rsplit("/", 1)[1])
    for vector in found:
        if vector.shape != (dimensions,) or not abs(float(np.linalg.norm(vector)) - 1) < 0.01:
            raise ModelError(f"{embedder.model} gave a vector of shape {vector.shape} that is not of length 1.")
    if len(found) != len(texts):
        raise ModelError(f"{embedder.model} gave {len(found)} vectors for {len(texts)} texts.")
    return found
