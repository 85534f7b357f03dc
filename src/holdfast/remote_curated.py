"""Curation of a profile of a server."""

from __future__ import annotations

import functools

from .profile import LocalProfile
from .remote_call import call
from .results import Audit


class RemoteCurated:
    """A profile of a server, as far as somebody sets right what it knows."""

    merge = call(LocalProfile.merge, "POST", "/memories/merge")
    split = call(LocalProfile.split, "POST", "/memories/{id}/split")
    mark = call(LocalProfile.mark, "POST", "/memories/{id}/mark")
    revise_where = call(LocalProfile.revise_where, "POST", "/memories/revise")
    review = call(LocalProfile.review, "GET", "/review", "review")
    resolve = call(LocalProfile.resolve, "POST", "/review/{id}")
    edits = call(LocalProfile.edits, "GET", "/edits", "edits")
    undo = call(LocalProfile.undo, "POST", "/undo")
    _looked_at = call(LocalProfile.audit, "GET", "/audit")
    _mended = call(LocalProfile.audit, "POST", "/audit")

    @functools.wraps(LocalProfile.audit)
    async def audit(self, *, fix: str | None = None, dry_run: bool = False, examples: int = 5) -> Audit:
        if fix is None:
            return await self._looked_at(examples=examples)
        return await self._mended(fix=fix, dry_run=dry_run, examples=examples)
