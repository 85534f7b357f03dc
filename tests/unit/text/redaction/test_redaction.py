"""Secrets of every family are taken out of a text, and nothing else is."""

from __future__ import annotations

import pytest
from evals.data.secret_templates import ordinary_texts, secret_cases
from evals.data.secrets import REDACTION
from evals.measure.redaction import RedactionCase, is_left, read_cases

from holdfast.text.redaction import is_only_redacted, may_be_secret, redacted_conversation, redacted_text

SEEDS = range(3)
FAMILIES = sorted({family for family, _, _ in secret_cases(0)})


@pytest.mark.parametrize("family", FAMILIES)
def test_secrets_of_every_family_go(family: str) -> None:
    cases = [case for seed in SEEDS for case in secret_cases(seed) if case[0] == family]
    missed = [text for _, text, secrets in cases if any(is_left(each, redacted_text(text)) for each in secrets)]
    assert missed == []


def test_ordinary_texts_stay_as_they_are() -> None:
    changed = {text: redacted for text in ordinary_texts() if (redacted := redacted_text(text)) != text}
    assert changed == {}


def test_there_are_enough_cases() -> None:
    assert len(secret_cases(0)) >= 250
    assert len(ordinary_texts()) >= 300


DEVELOPMENT = {
    "development": 0.98,
    "development_2": 0.98,
    "development_3": 0.98,
    "development_4": 0.98,
    "development_5": 0.98,
    "development_chat": 0.96,
    "development_forms": 0.92,  # with many that only a guess would catch
}
"""The lists, and the share of secrets that has to go."""


def development_cases(name: str) -> list[RedactionCase]:
    return read_cases((REDACTION / f"{name}.jsonl").read_text("utf-8").splitlines())


@pytest.mark.parametrize("name", DEVELOPMENT)
def test_nearly_all_secrets_of_the_development_lists_go(name: str) -> None:
    marks = [case.right for case in development_cases(name) if case.secrets]
    assert sum(marks) >= DEVELOPMENT[name] * len(marks)


@pytest.mark.parametrize("name", DEVELOPMENT)
def test_nearly_all_ordinary_texts_of_the_development_lists_stay(name: str) -> None:
    marks = [case.right for case in development_cases(name) if not case.secrets]
    assert sum(marks) >= 0.99 * len(marks)


def test_redacting_twice_changes_nothing_more() -> None:
    once = [redacted_text(text) for _, text, _ in secret_cases(0)]
    assert [redacted_text(text) for text in once] == once


@pytest.mark.parametrize(
    ("text", "redacted"),
    [
        ("Tell Ana: my password is hunter2, ok?", "Tell Ana: my password is [redacted], ok?"),
        ('{"user": "bob", "password": "hunter2"}', '{"user": "bob", "password": "[redacted]"}'),
        ("export DB_PASSWORD=hunter2 && ./run", "export DB_PASSWORD=[redacted] && ./run"),
        ("curl -u bob:hunter2 https://acme.io", "curl -u bob:[redacted] https://acme.io"),
        ("Server=db;Password=hunter2;Encrypt=true", "Server=db;Password=[redacted];Encrypt=true"),
        ("card 4111\u00a01111\u00a01111\u00a01111 for “Ana”", "card [redacted] for “Ana”"),
        ("the pass\u200bword is hunter2 — really", "the pass\u200bword is [redacted] — really"),
        ("IBAN DE89\u00a03704\u00a00044\u00a00532\u00a00130\u00a000, Ana", "IBAN [redacted], Ana"),
        ("SSN 219-09-9999 and phone 219-555-0199", "SSN [redacted] and phone 219-555-0199"),
        ("the code? 4471#. then push hard", "the code? [redacted]. then push hard"),
        ("the gate opens with 38-12-27, left first", "the gate opens with [redacted], left first"),
        ("log in with ana / Banjo!2291 please", "log in with ana / [redacted] please"),
        ("the wifi here is Rowan-Hill-88, network Gast", "the wifi here is [redacted], network Gast"),
        ("meu CPF pra nota é 529.982.247-25, ok", "meu CPF pra nota é [redacted], ok"),
        ("gpg --passphrase red-fox-den -d a.gpg", "gpg --passphrase [redacted] -d a.gpg"),
        ("kod do bramy 8812, potem kluczyk", "kod do bramy [redacted], potem kluczyk"),
    ],
)
def test_only_the_secret_goes(text: str, redacted: str) -> None:
    assert redacted_text(text) == redacted


@pytest.mark.parametrize(
    "text",
    [
        "SECRET_KEY=replace-me-with-a-long-random-string",
        "OPENAI_API_KEY=sk-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
        "https://hooks.slack.com/services/T00000000/B00000000/XXXXXXXXXXXXXXXXXXXXXXXX",
        'password = "fox2den"  # example',
        "curl -u USERNAME:PASSWORD https://api.example.com/v1/ping",
        "Is 1234 still the most common PIN in the world?",
    ],
)
def test_what_stands_for_a_secret_stays(text: str) -> None:
    assert redacted_text(text) == text


def test_numbers_without_their_check_stay() -> None:
    for text in ("DE88 3704 0044 0532 0130 00 was mistyped", "order 4539578763621487", "666-12-3456", "000-12-3456"):
        assert redacted_text(text) == text


def test_a_bare_word_is_a_secret_after_a_question_for_one() -> None:
    assert redacted_conversation(["What is the router's password?", "Quartz77lantern"])[1] == "[redacted]"
    assert redacted_conversation(["Which PIN?", "4821."])[1] == "[redacted]."
    assert redacted_conversation(["Which room?", "4821", "Quartz77lantern"]) == [
        "Which room?",
        "4821",
        "Quartz77lantern",
    ]
    assert may_be_secret("4821")
    assert not may_be_secret("4821 people came")


@pytest.mark.parametrize(
    "text",
    ["[redacted]", "[redacted].", "The user's password is [redacted].", "My PIN is [redacted]", "API key: [redacted]",
     "The user's wifi password is [redacted].", "The user said: [redacted] [redacted]", "Mein Passwort ist [redacted]"],
)  # fmt: skip
def test_what_says_nothing_besides_is_known(text: str) -> None:
    assert is_only_redacted(text)


@pytest.mark.parametrize(
    "text",
    ["The user's host is db-2 and the code is [redacted].", "Rotate [redacted] on Friday", "The password is wrong."],
)
def test_what_says_more_is_not_only_redacted(text: str) -> None:
    assert not is_only_redacted(text)


HOSTILE = {
    "labels": "password " * 12_000,
    "labels and signs": "password: " * 10_000,
    "assignments": "password=a " * 9_000,
    "an open quote": 'password="' + "a" * 100_000,
    "many open quotes": 'password="a' * 9_000,
    "fillers": "password for my old box at the office in town " * 2_000,
    "begins of keys": "-----BEGIN RSA PRIVATE KEY-----\n" * 3_000,
    "begins of tokens": "sk-a sk_b xoxb- eyJa. AKIA ghp_ glpat- " * 2_500,
    "long tokens": ("eyJ" + "a" * 3_000 + ".") * 30,
    "dots": "eyJ" + "a." * 50_000,
    "digits": "4111 " * 20_000,
    "one number": "4" * 100_000,
    "hyphens": "-" * 100_000,
    "ibans": "DE89" * 25_000,
    "addresses": "://a:" * 20_000,
    "at": "a@" * 50_000,
    "colons": ":" * 100_000,
    "options": " -p" * 33_000,
    "commands": "mysql " * 16_000,
    "curl": "curl -H " * 12_000,
    "seeds": "seed phrase is " + "abandon " * 12_000,
    "seed labels": "seed phrase " * 8_000,
    "codes": "recovery codes: " + "a1b2-c3d4 " * 9_000,
    "code labels": "code " * 20_000,
    "blanks": "password" + " " * 100_000,
    "lines": "password\n" * 11_000,
    "quotes": '"' * 100_000,
    "brackets": "password(" * 11_000,
    "identifiers": "a_" * 50_000 + "password=",
    "one word": "a1B" * 33_000,
    "pairs": "login a/b " * 10_000,
    "invisible": "\u200b" * 100_000 + "password is hunter2",
    "identity": "passport 1 " * 9_000,
    "told digits": "pin 4471 code 5512 gate 3391 " * 3_500,
    "told words": "password is blue2 or green3, " * 3_500,
    "doors": "door alarm safe lock gate " * 4_000,
    "a far value": "the code for " + "our old door " * 8_000 + "is 4471",
    "answers": "security question answer is " * 3_500,
    "quotes after labels": 'password "a b" ' * 6_500,
    "digits in words": "pin " + "one two three " * 7_000,
    "single letters": "password " + "a b c 1 " * 12_000,
    "blocks": "recovery key " + "ab12 " * 20_000,
    "groups": "code " + "12-34-" * 16_000,
    "open brackets": "password (" * 10_000 + "hunter2",
    "networks": "the wifi is redfox2019, " * 4_000,
    "answered questions": "security question I answer Red-Fox there " * 2_500,
    "words with signs": "password: red_fox_den\n" * 4_500,
    "templates": "API_KEY=your-key-" + "here-" * 20_000,
    "runs": "token=" + "xxxx0000" * 12_000,
    "questions": "code? " * 16_000 + "4471",
}


EVERY_THIRD = [
    pytest.param(text, id=name, marks=() if n % 3 == 0 else pytest.mark.slow)
    for n, (name, text) in enumerate(HOSTILE.items())
]
"""`make prove` tries all."""


@pytest.mark.parametrize("text", EVERY_THIRD)
def test_hostile_texts_are_bounded(text: str) -> None:
    """Backtracking would not end within the time limit of a test."""
    redacted_text(text)


@pytest.mark.parametrize(
    "text",
    [
        "the password of the ledger db is Otter-88-kelp, can somebody put it in the vault",
        "the password of the db is Kestrel-77-lamp, can somebody put it in the vault, thanks, bye",
        "pw for the demo's Lighthouse77x. fine",
    ],
)
def test_a_password_told_in_a_sentence_goes(text: str) -> None:
    assert not any(secret in redacted_text(text) for secret in ("Otter", "Kestrel", "Lighthouse"))


def test_what_a_password_is_like_or_where_it_stands_stays() -> None:
    for text in ("the password for our room is in the file Notes-2026, ask", "the password for the exam is on page 12"):
        assert redacted_text(text) == text
