"""Faults that a ModelServer can simulate, and the responses it sends for them."""

from __future__ import annotations

from enum import Enum, auto


class Fault(Enum):
    """A fault that a ModelServer shows instead of a correct answer."""

    SLOW = auto()
    """Accepts the request and never answers."""
    HANG_UP = auto()
    """Closes the connection in the middle of the answer."""
    GONE = auto()
    """Closes the connection before any answer."""
    STATUS_400 = auto()
    """Rejects requests with a temperature as unsupported by the model."""
    STATUS_401 = auto()
    """Rejects the API key, and repeats it in the error."""
    STATUS_404 = auto()
    STATUS_429 = auto()
    """Too many requests, with the server's `retry_after`."""
    STATUS_500 = auto()
    STATUS_503 = auto()
    STATUS_529 = auto()
    """Overloaded."""
    REDIRECT = auto()
    """Redirects the caller to another address."""
    MID_STREAM = auto()
    """Reports an error in a stream that began correctly; answers with status 500 where nothing is streamed."""
    TRUNCATED = auto()
    """Truncated at the token limit, in the middle of the JSON."""
    EMPTY = auto()
    REFUSAL = auto()
    NOT_JSON = auto()
    WRONG_SHAPE = auto()
    """JSON that matches no closed schema."""
    HOSTILE = auto()
    """A text made to break a parser; each time the next of `HOSTILE_ANSWERS`."""
    UNREADABLE = auto()
    """A well-formed response of another protocol."""
    WRONG_DIMENSION = auto()
    """Vectors with one number too few; chats are answered correctly."""


HOSTILE_ANSWERS = (
    '{"items": "' + "A" * 2_000_000 + '"}',
    "[" * 100_000,
    '{"a":' * 5_000 + "1" + "}" * 5_000,
    '{"items": [{"text": "nul \\u0000 here"}]}',
    '{"items": [{"text": "lone \\ud800 surrogate"}]}',
    '{"items": 1e999999, "n": NaN}',
    '{"items": ' + "9" * 10_000 + "}",
    "{" * 50_000 + "}" * 50_000,
    '"\\"' * 100_000,
    '__import__("os").system("true")',
    "\u202e}]\u0000{[\ufeff",
    '{"__proto__": {"items": []}, "__class__": "os.system"}',
)
"""Texts that break a careless parser: long, deeply nested, with NULs, lone surrogates, unclosed quotes or code."""

_LONG_ANSWER = '{"items": [' + ", ".join(f'"item {n} of an answer that breaks off"' for n in range(10)) + "]}"
FAULT_TEXTS = {
    Fault.HANG_UP: _LONG_ANSWER,
    Fault.MID_STREAM: _LONG_ANSWER,
    Fault.TRUNCATED: '{"items": [{"text": "Ana lives in Li',
    Fault.EMPTY: "",
    Fault.REFUSAL: "I cannot help with that.",
    Fault.NOT_JSON: "Sure! Ana lives in Lisbon, and her dog is called Rex.",
    Fault.WRONG_SHAPE: '{"unexpected": [1, {"of": "another"}], "schema": null}',
}
"""The response texts of the faults that send one."""

FAULT_STATUSES = {
    Fault.STATUS_400: (400, "invalid_request_error", "unsupported_value"),
    Fault.STATUS_401: (401, "authentication_error", "invalid_api_key"),
    Fault.STATUS_404: (404, "not_found_error", "model_not_found"),
    Fault.STATUS_429: (429, "rate_limit_error", "rate_limit_exceeded"),
    Fault.STATUS_500: (500, "api_error", "server_error"),
    Fault.STATUS_503: (503, "api_error", "unavailable"),
    Fault.STATUS_529: (529, "overloaded_error", "overloaded"),
    Fault.MID_STREAM: (500, "overloaded_error", "overloaded"),
}
"""HTTP status, Anthropic's error type and OpenAI's error code of each fault."""
