"""What stays of a statement of which a value has changed, or one of several members has left."""

from __future__ import annotations

import pytest

from holdfast.ingest.reconcile.changed_values import without_changed_values, without_member


@pytest.mark.parametrize(
    ("old", "new", "left"),
    [
        (
            "The ferry is on 6 May at 18:20 with Stena.",
            "The ferry leaves at 19:05 now.",
            "The ferry is on 6 May … with Stena.",
        ),
        (
            "The party is at the trampoline place, 12 kids, on 30 May.",
            "14 kids came to the party.",
            "The party is at the trampoline place, on 30 May.",
        ),
        (
            "The user and others ship to Render on Fridays.",
            "The user and others ship on Mondays now.",
            "The user and others ship to Render.",
        ),
        (
            "The worker runs Celery on python 3.10.",
            "The user and others upgraded to python 3.12.",
            "The worker runs Celery.",
        ),
        (
            "The cache is redis 6 on port 6380.",
            "The user and others are on redis 7 now.",
            "The cache is … on port 6380.",
        ),
        (
            "The user takes the 6:50 bus from Delft.",
            "The user takes the 7:20 bus now.",
            "The user takes the … bus from Delft.",
        ),
        (
            "The user takes 5 mg of ramipril every evening.",
            "The doctor raised ramipril to 10 mg.",
            "The user takes … ramipril every evening.",
        ),
        ("Choir meets on Tuesdays at Nora's house.", "Choir is at Ilse's from now on.", "Choir meets on Tuesdays."),
        (
            "The check-up is on 4 July at 9am at the Linden clinic (4 July 2026).",
            "The check-up is at 11am now.",
            "The check-up is on 4 July … at the Linden clinic (4 July 2026).",
        ),
        (
            "The user has seats for Sting on 8 May (8 May 2026) in the Arena.",
            "The Sting concert moved to 9 May (9 May 2026).",
            "The user has seats for Sting … in the Arena.",
        ),
    ],
)
def test_what_did_not_change_stays(old: str, new: str, left: str) -> None:
    assert without_changed_values(old, new) == left


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("The user drives a blue Fiat Panda.", "The user drives a Kia Soul now."),
        ("The user lives in a flat in Turin near Central Park.", "The user moved to Milan."),
        ("The choir meets on Friday at 8 in Cafe Luna.", "The choir meets on Monday at 9 in Bar Pop."),
        ("The API rate limit is 200 requests per second.", "The rate limit is 500 requests per second now."),
        ("The user has three hens.", "The user has five hens now."),
        ("The plan is the Klaver 200 for 47 euros.", "The plan is the Klaver 500 now."),
        ("The trip is on 3 May at 9:00 with Kim.", "The trip on 3 May is cancelled."),
        ("The user works at Nokia in Espoo.", "The user works at Volvo now."),
        ("The user's rent is 900 euros.", "The dog weighs 12 kilos."),
    ],
)
def test_nothing_stays_where_all_changed_or_it_is_unsure(old: str, new: str) -> None:
    assert without_changed_values(old, new) is None


@pytest.mark.parametrize(
    ("old", "new", "left"),
    [
        (
            "The user shares an office with Tine and Marek.",
            "Marek left the office.",
            "The user shares an office with Tine.",
        ),
        ("The user sings with Ada, Bo and Cleo.", "Bo quit.", "The user sings with Ada … and Cleo."),
        ("The user's hobbies are chess and sailing.", "The user gave up sailing.", "The user's hobbies are chess."),
        ("The user takes metformin and aspirin.", "The doctor took me off aspirin.", "The user takes metformin."),
    ],
)
def test_the_others_stay(old: str, new: str, left: str) -> None:
    assert without_member(old, new) == left


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("The user has two cats, Miso and Tofu.", "Miso died."),
        ("Marek leads the team.", "Marek left."),
        ("Lena owns the invoices module, Radu does auth.", "Radu left the team."),
        ("Radu and Lena own the invoices module.", "Radu left the team."),
        ("The user sings with Ada and Bo.", "The user bought a car."),
    ],
)
def test_nobody_else_stays(old: str, new: str) -> None:
    assert without_member(old, new) is None
