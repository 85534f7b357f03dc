"""Every backend and the reference give the same answers after any sequence of changes."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

from support.backend_agreement import Agreement, InDatabase, Sealed
from support.example_counts import example_count

TestAgreement = Agreement.TestCase
TestAgreement.settings = settings(
    max_examples=example_count(40), stateful_step_count=25, deadline=None, suppress_health_check=list(HealthCheck)
)
TestInDatabase, TestSealed = InDatabase.TestCase, Sealed.TestCase
TestInDatabase.settings = TestSealed.settings = settings(
    max_examples=example_count(12), stateful_step_count=25, deadline=None, suppress_health_check=list(HealthCheck)
)
