"""How the SQL backends try a change without making it."""

from __future__ import annotations

from holdfast.domain.types import Applied


class DryRunRollback(Exception):
    """Rolls back the transaction of a dry run and carries what the change would have done."""

    def __init__(self, applied: Applied) -> None:
        super().__init__()
        self.applied = applied
