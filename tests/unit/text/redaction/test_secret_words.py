"""Secrets that are told in talk go, by the learned detector; what only resembles them stays."""

from __future__ import annotations

import subprocess
import sys

import pytest

from holdfast.text.redaction import redacted_text
from holdfast.text.redaction.secret_words import WEIGHTS

MAX_BYTES = 300_000


@pytest.mark.parametrize(
    ("text", "redacted"),
    [
        ("front door keypad: 4471 then hit the star", "front door keypad: [redacted] then hit the star"),
        ("the code they texted me is 739 204, hurry", "the code they texted me is [redacted], hurry"),
        (
            "no, with a capital B: Bluebird7 is the wifi password",
            "no, with a capital B: [redacted] is the wifi password",
        ),
        ("emergency codes: 62439606, 46127011, 81031940", "emergency codes: [redacted]"),
        ("das WLAN-Passwort ist Kartoffel-77, bitte", "das WLAN-Passwort ist [redacted], bitte"),
        ("le digicode c'est 48B19, 3e étage", "le digicode c'est [redacted], 3e étage"),
        ("kod do bramy 8812", "kod do bramy [redacted]"),
        ("玄関の暗証番号は8841です", "玄関の暗証番号は[redacted]です"),
        ("मेरे कार्ड का पिन 6082 है", "मेरे कार्ड का पिन [redacted] है"),
        (
            "The staging database password is hunter2-Xy99 and the api key is in the vault.",
            "The staging database password is [redacted] and the api key is in the vault.",
        ),
        ("my phone passcode is 88997766", "my phone passcode is [redacted]"),
    ],
)
def test_what_is_told_goes(text: str, redacted: str) -> None:
    assert redacted_text(text) == redacted


@pytest.mark.parametrize(
    "text",
    [
        "The number of locker 4 is 1028.",
        "the code of the depot is 5512",
        "I forgot my password again",
        "what is your pin?",
        "the password must have 12 characters",
        "promo code SUMMER20 is still valid",
        "error code 1045 on the login page",
        "gate B38 closes at 18:35, flight BA2490",
        "my username is nightowl_1987",
        "j'ai oublié le code de la porte",
        "Das Passwort steht auf dem Router",
        "My phone number is 0123 456789.",
        "Phone number: 0171 2345678",
        "my mobile is +41791234567",
    ],
)
def test_what_resembles_a_secret_stays(text: str) -> None:
    assert redacted_text(text) == text


def test_a_secret_in_a_long_text_goes() -> None:
    talk = "We walked along the river and had soup at the old mill. " * 60
    assert redacted_text(f"{talk}The gate code is 7702. {talk}") == f"{talk}The gate code is [redacted]. {talk}"


def test_the_weights_are_small() -> None:
    assert WEIGHTS.stat().st_size < MAX_BYTES


def test_the_detector_waits_until_it_is_needed() -> None:
    code = (
        "import sys; from holdfast.text.redaction import redacted_text; redacted_text('soup at seven, then a walk'); "
        "print('holdfast.text.redaction.secret_words' in sys.modules)"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert said.stdout.strip() == "False"
