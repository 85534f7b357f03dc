"""The pure parts of the wire to language models: settings, reading, waiting, the breaker."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import httpx2 as httpx
import pytest

from holdfast.domain import usage as spending
from holdfast.domain.errors import InvalidInput, ModelUnavailable
from holdfast.models.llm.chat import provider_schema
from holdfast.models.llm.circuit_breaker import CircuitBreaker
from holdfast.models.llm.embeddings import embedder_from_setting
from holdfast.models.llm.endpoint import Endpoint, parse_endpoint
from holdfast.models.llm.http import retry_after_seconds
from holdfast.models.llm.retry import RetryPolicy
from holdfast.models.llm.tasks.parse_answer import parse_json
from holdfast.testing.llm_faults import HOSTILE_ANSWERS

KEY = "sk-proj-T0pS3cret"
ACCOUNT = "https://api.cloudflare.com/client/v4/accounts/0123abc/ai/v1"


@pytest.mark.parametrize(
    ("spec", "key", "url", "expected"),
    [
        ("openai:gpt-5-mini", KEY, None, ("openai", "gpt-5-mini", "https://api.openai.com/v1", "openai")),
        ("anthropic:claude-x", KEY, None, ("anthropic", "claude-x", "https://api.anthropic.com/v1", "anthropic")),
        ("ollama:qwen3:8b", None, None, ("ollama", "qwen3:8b", "http://127.0.0.1:11434/v1", "openai")),
        ("ollama:qwen3", None, "http://gpu:11434/v1/", ("ollama", "qwen3", "http://gpu:11434/v1", "openai")),
        ("workers-ai:@cf/meta/llama-4", KEY, ACCOUNT, ("workers-ai", "@cf/meta/llama-4", ACCOUNT, "openai")),
        ("openrouter:z/m:free", KEY, None, ("openrouter", "z/m:free", "https://openrouter.ai/api/v1", "openai")),
        ("http://127.0.0.1:8080/v1#qwen", None, None, ("custom", "qwen", "http://127.0.0.1:8080/v1", "openai")),
        ("https://llm.example/v1/#a/b", KEY, None, ("custom", "a/b", "https://llm.example/v1", "openai")),
        ("http://[::1]:8080/v1#qwen", None, None, ("custom", "qwen", "http://[::1]:8080/v1", "openai")),
    ],
)
def test_a_setting_names_an_endpoint(spec: str, key: str | None, url: str | None, expected: tuple[str, ...]) -> None:
    found = parse_endpoint(spec, key, url)
    assert (found.vendor, found.model, found.url, found.dialect) == expected
    assert found.key == key
    assert KEY not in repr(found)


@pytest.mark.parametrize(
    ("spec", "key", "url", "words"),
    [
        ("", None, None, "known provider"),
        ("gpt-5-mini", KEY, None, "known provider"),
        ("mistral:large", KEY, None, "'mistral'"),
        (KEY, KEY, None, "known provider"),
        (KEY, None, None, "known provider"),
        (f"{KEY}:{KEY}", KEY, None, "known provider"),
        (f"openai:{KEY}", KEY, None, "name a model"),
        ("openai:", KEY, None, "name a model"),
        ("openai", KEY, None, "name a model"),
        ("openai:gpt 5", KEY, None, "name a model"),
        ("openai:gpt-5", None, None, "HOLDFAST_LLM_KEY is not set"),
        ("openai:gpt-5", "  ", None, "HOLDFAST_LLM_KEY is not set"),
        ("openai:gpt-5", f"{KEY}\r\nx-evil: 1", None, "characters that no key has"),
        ("openai:gpt-5", f"{KEY}é", None, "characters that no key has"),
        ("workers-ai:@cf/meta/llama", KEY, None, "id of your account"),
        ("openai:gpt-5", KEY, "ftp://host/v1", "not a URL"),
        ("openai:gpt-5", KEY, "host/v1", "not a URL"),
        ("openai:gpt-5", KEY, "http://host:x/v1", "not a URL"),
        ("openai:gpt-5", KEY, f"https://u:{KEY}@host/v1", "a user"),
        ("openai:gpt-5", KEY, f"https://host/v1?key={KEY}", "a query"),
        ("http://host/v1", KEY, None, "without a model"),
        ("http://host/v1#", KEY, None, "without a model"),
        ("http:///v1#m", KEY, None, "not a URL"),
        (f"http://{KEY}@host/v1#m", None, None, "a user"),
        ("http://host/v1#m", KEY, "http://other/v1", "a URL too"),
    ],
)
def test_a_wrong_setting_is_explained_without_its_key(spec: str, key: str, url: str | None, words: str) -> None:
    with pytest.raises(InvalidInput) as raised:
        parse_endpoint(spec, key, url)
    assert words in str(raised.value)
    assert raised.value.field == "llm"
    assert raised.value.fix
    assert "T0pS3cret" not in str(raised.value)


def test_an_embedder_is_a_model_and_its_dimensions() -> None:
    assert (
        embedder_from_setting("openai:text-embedding-3-small/1536", KEY).model == "openai/text-embedding-3-small/1536"
    )
    assert embedder_from_setting("ollama:nomic-embed-text/768").model == "ollama/nomic-embed-text/768"
    assert embedder_from_setting("http://host/v1#a/b/768").model == "custom/a/b/768"
    for spec in ("openai:text-embedding-3-small", "ollama:m/0", "ollama:m/99999", "anthropic:claude/100", "what:m/3"):
        with pytest.raises(InvalidInput) as raised:
            embedder_from_setting(spec, KEY)
        assert raised.value.field == "embedder"
        assert "HOLDFAST_EMBEDDER" in str(raised.value)


@pytest.mark.parametrize(
    "text",
    [
        '{"a": 1}',
        '\n {"a": 1}\n',
        '```json\n{"a": 1}\n```',
        '```\n{"a": 1}\n```',
        'Here it is:\n```json\n{"a": 1}\n```\nAnything else?',
        'Sure {as you wish}: {"a": 1} – done.',
        '<think>Perhaps {"a": 2}? No.</think>\n{"a": 1}',
    ],
)
def test_the_one_object_in_a_text_is_found(text: str) -> None:
    assert parse_json(text) == {"a": 1}


def test_braces_and_quotes_in_strings_do_not_confuse() -> None:
    assert parse_json('Well: {"a": "} \\" {", "b": {"c": "{{"}} ok') == {"a": '} " {', "b": {"c": "{{"}}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "empty"),
        (" \n", "empty"),
        ("Ana lives in Lisbon", "no JSON"),
        ('{"a": 1} or {"a": 2}', "more than one"),
        ('{"items": [{"a": 1}, {"a"', "breaks off"),
        ("{'a': 1}", "no JSON"),
        ('{"a": NaN}', "no JSON"),
        ('{"a": "\\u0000"}', "NUL"),
        ('{"a\\u0000": 1}', "NUL"),
        ("x" * 1_000_001, "1,000,000"),
    ],
)
def test_what_is_no_single_object_is_refused_with_the_reason(text: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        parse_json(text)


@pytest.mark.parametrize("text", HOSTILE_ANSWERS, ids=range(len(HOSTILE_ANSWERS)))
@pytest.mark.timeout(60)
def test_hostile_texts_are_refused_or_plain_data(text: str) -> None:
    try:
        found = parse_json(text)
    except ValueError:
        return
    assert isinstance(found, dict)


def test_waits_double_up_to_a_limit_and_differ() -> None:
    manners = RetryPolicy()
    for tried, most in ((1, 0.5), (2, 1.0), (3, 2.0), (9, 8.0), (500, 8.0)):
        waits = {manners.wait(tried) for _ in range(50)}
        assert len(waits) > 1
        assert all(most / 2 <= wait <= most for wait in waits)


def test_retry_after_is_read_in_seconds_milliseconds_and_as_a_date() -> None:
    def read(**headers: str) -> float | None:
        return retry_after_seconds(httpx.Headers({name.replace("_", "-"): value for name, value in headers.items()}))

    assert read(retry_after="7") == 7
    assert read(retry_after="0.5") == 0.5
    assert read(retry_after_ms="1500", retry_after="2") == 1.5
    in_a_while = read(retry_after=format_datetime(datetime.now(UTC) + timedelta(hours=1), usegmt=True))
    assert in_a_while is not None
    assert 3000 < in_a_while <= 3600
    assert read(retry_after="Wed, 21 Oct 2015 07:28:00 GMT") == 0
    for wrong in ("", "soon", "-1", "nan", "inf"):
        assert read(retry_after=wrong) is None
    assert read() is None


class Clock:
    def __init__(self) -> None:
        self.at = 0.0

    def __call__(self) -> float:
        return self.at


def open_breaker(clock: Clock, **settings: Any) -> CircuitBreaker:
    breaker = CircuitBreaker("a/b", clock=clock, **settings)
    for _ in range(5):
        assert not breaker.enter()
        breaker.failed(trying=False)
    return breaker


def test_the_breaker_opens_after_five_failures_in_a_row() -> None:
    breaker = CircuitBreaker("a/b", clock=Clock())
    for _ in range(4):
        breaker.failed(trying=False)
    breaker.answered()
    for _ in range(4):
        breaker.failed(trying=False)
    breaker.enter()
    breaker.failed(trying=False)
    with pytest.raises(ModelUnavailable, match="next attempt is in 5 s"):
        breaker.enter()


def test_after_a_rest_one_call_tries_and_its_success_closes_the_breaker() -> None:
    clock = Clock()
    breaker = open_breaker(clock)
    clock.at = 5
    assert breaker.enter()
    with pytest.raises(ModelUnavailable):
        breaker.enter()
    breaker.answered()
    assert not breaker.enter()


def test_the_rest_grows_as_long_as_the_server_stays_down_and_starts_anew_afterwards() -> None:
    clock = Clock()
    breaker = open_breaker(clock)
    rests = []
    for _ in range(8):
        before = clock.at
        while True:
            try:
                assert breaker.enter()
                break
            except ModelUnavailable:
                clock.at += 5
        rests.append(clock.at - before)
        breaker.failed(trying=True)
    assert rests == [5, 10, 20, 40, 80, 160, 300, 300]
    clock.at += 300
    assert breaker.enter()
    breaker.answered()
    for _ in range(5):
        breaker.failed(trying=False)
    clock.at += 5
    assert breaker.enter()


def test_a_cancelled_try_lets_the_next_one_try() -> None:
    clock = Clock()
    breaker = open_breaker(clock)
    clock.at = 5
    trying = breaker.enter()
    breaker.left(trying=trying)
    assert breaker.enter()


def test_failures_of_calls_that_began_before_it_opened_do_not_lengthen_the_rest() -> None:
    clock = Clock()
    breaker = open_breaker(clock)
    clock.at = 4
    breaker.failed(trying=False)
    clock.at = 5
    assert breaker.enter()


def test_a_schema_loses_only_the_words_that_structured_output_refuses() -> None:
    schema = {
        "type": "object",
        "additionalProperties": False,
        "required": ["pattern", "list"],
        "properties": {
            "pattern": {"type": "string", "maxLength": 80, "pattern": "^a"},
            "list": {"type": "array", "minItems": 1, "maxItems": 5, "items": {"$ref": "#/$defs/n"}},
            "one": {"oneOf": [{"type": "null"}, {"type": "number", "minimum": 0}]},
        },
        "$defs": {"n": {"type": "integer", "maximum": 9, "description": "small"}},
    }
    assert provider_schema(schema) == {
        "type": "object",
        "additionalProperties": False,
        "required": ["pattern", "list"],
        "properties": {
            "pattern": {"type": "string"},
            "list": {"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/n"}},
            "one": {"anyOf": [{"type": "null"}, {"type": "number"}]},
        },
        "$defs": {"n": {"type": "integer", "description": "small"}},
    }


def test_an_account_is_current_within_its_block_only() -> None:
    class Purse:
        async def check(self) -> None: ...

        async def note(self, usage: spending.Usage) -> None: ...

    purse = Purse()
    assert spending.current_account() is None
    with spending.charged_to(purse):
        assert spending.current_account() is purse
        with spending.charged_to(None):
            assert spending.current_account() is None
        assert spending.current_account() is purse
    assert spending.current_account() is None


def test_nothing_of_the_wire_is_loaded_without_a_model() -> None:
    code = (
        "import sys, holdfast.service.wiring, holdfast.service.holdfast\n"
        "print([name for name in sys.modules if name.startswith('holdfast.models.llm')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=400, check=True)
    assert done.stdout.strip() == "[]"


def test_an_endpoint_hides_its_key_in_every_text() -> None:
    found = Endpoint("openai", "m", "https://host/v1", KEY)
    assert KEY not in f"{found} {found!r} {[found]}"
