"""Ports of a profile: `AsyncProfile` is kept by local and remote profiles, a protocol per family of verbs."""

from __future__ import annotations

from typing import Protocol, Self

from holdfast.domain.ports.profile.archive import ProfileArchive
from holdfast.domain.ports.profile.curation import ProfileCuration
from holdfast.domain.ports.profile.documents import ProfileDocuments
from holdfast.domain.ports.profile.forget import ProfileForget
from holdfast.domain.ports.profile.graph import ProfileGraph
from holdfast.domain.ports.profile.journal import ProfileJournal
from holdfast.domain.ports.profile.kinds import ProfileKinds
from holdfast.domain.ports.profile.memories import ProfileMemories
from holdfast.domain.ports.profile.recall import ProfileRecall
from holdfast.domain.ports.profile.retention import ProfileRetention
from holdfast.domain.visibility import Reads


class AsyncProfile(
    ProfileMemories,
    ProfileRecall,
    ProfileForget,
    ProfileRetention,
    ProfileCuration,
    ProfileDocuments,
    ProfileGraph,
    ProfileKinds,
    ProfileArchive,
    ProfileJournal,
    Protocol,
):
    """Every verb of one profile, local or remote."""

    @property
    def namespace(self) -> str: ...

    @property
    def name(self) -> str: ...

    def as_agent(self, agent: str, *, reads: Reads = "all") -> Self:
        """Return the same profile as this agent sees it. Writes are recorded as the agent's. Of other agents' writing
        it reads all (`all`), none (`own`), or that of the listed agents. Nothing is copied."""
        ...
