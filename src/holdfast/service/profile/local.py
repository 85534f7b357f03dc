"""LocalProfile: every verb of one profile of this process's data folder."""

from __future__ import annotations

from typing import Self

from holdfast.domain.ports.profile import AsyncProfile
from holdfast.domain.visibility import Reads, Visibility, validate_agent, validate_reads
from holdfast.service.profile.archive import ArchiveVerbs
from holdfast.service.profile.context import ProfileContext
from holdfast.service.profile.curation import CurationVerbs
from holdfast.service.profile.documents import DocumentVerbs
from holdfast.service.profile.forget import ForgetVerbs
from holdfast.service.profile.graph import GraphVerbs
from holdfast.service.profile.journal import JournalVerbs
from holdfast.service.profile.kinds import KindVerbs
from holdfast.service.profile.memories import MemoryVerbs
from holdfast.service.profile.recall import RecallVerbs
from holdfast.service.profile.retention import RetentionVerbs


class LocalProfile(
    MemoryVerbs,
    RecallVerbs,
    ForgetVerbs,
    RetentionVerbs,
    CurationVerbs,
    DocumentVerbs,
    GraphVerbs,
    KindVerbs,
    ArchiveVerbs,
    JournalVerbs,
    AsyncProfile,
):
    """All verbs of one profile in this process's data folder."""

    @property
    def namespace(self) -> str:
        return self._context.namespace

    @property
    def name(self) -> str:
        return self._context.name

    def as_agent(self, agent: str, *, reads: Reads = "all") -> Self:
        by = validate_agent(agent)
        return type(self)(self._context.restricted(Visibility(by, validate_reads(reads, by))))

    @property
    def profile_context(self) -> ProfileContext:
        """The context that the profile's verbs share; for the service's own adapters."""
        return self._context
