"""The bodies that OpenAI's and Anthropic's servers send: whole answers, the events of a stream, errors, vectors."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import orjson

from .faults import STATUSES, Fault


@dataclass(frozen=True, slots=True)
class Said:
    """What the model says, and how it ends: stop, length or refusal."""

    text: str
    model: str
    ends: str = "stop"
    input: int = 0
    cached: int = 0

    @property
    def output(self) -> int:
        return max(1, len(self.text) // 4)

    @property
    def pieces(self) -> list[str]:
        size = max(16, len(self.text) // 200)
        return [self.text[at : at + size] for at in range(0, len(self.text), size)]


def openai_whole(said: Said) -> dict[str, Any]:
    refused = said.ends == "refusal"
    message = {
        "role": "assistant",
        "content": None if refused else said.text,
        "refusal": said.text if refused else None,
    }
    choice = {"index": 0, "message": message, "finish_reason": "length" if said.ends == "length" else "stop"}
    return _completion(said, "chat.completion") | {"choices": [choice], "usage": _openai_usage(said)}


def openai_events(said: Said, *, usage: bool) -> Iterator[bytes]:
    part = "refusal" if said.ends == "refusal" else "content"
    deltas = [{"role": "assistant", "content": ""}, *({part: piece} for piece in said.pieces)]
    finish = "length" if said.ends == "length" else "stop"
    for delta, reason in [*((delta, None) for delta in deltas), ({}, finish)]:
        choice = {"index": 0, "delta": delta, "finish_reason": reason}
        yield _event(_completion(said, "chat.completion.chunk") | {"choices": [choice]})
    if usage:
        yield _event(_completion(said, "chat.completion.chunk") | {"choices": [], "usage": _openai_usage(said)})
    yield b"data: [DONE]\n\n"


def anthropic_whole(said: Said) -> dict[str, Any]:
    content = [{"type": "text", "text": said.text}] if said.text else []
    message = _message(said) | {"content": content, "stop_reason": _stop_reason(said), "stop_sequence": None}
    return message | {"usage": _anthropic_usage(said) | {"output_tokens": said.output}}


def anthropic_events(said: Said) -> Iterator[bytes]:
    start = _message(said) | {"content": [], "stop_reason": None, "stop_sequence": None}
    start["usage"] = _anthropic_usage(said) | {"output_tokens": 1}
    yield _named_event({"type": "message_start", "message": start})
    yield _named_event({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}})
    yield _named_event({"type": "ping"})
    for piece in said.pieces:
        delta = {"type": "text_delta", "text": piece}
        yield _named_event({"type": "content_block_delta", "index": 0, "delta": delta})
    yield _named_event({"type": "content_block_stop", "index": 0})
    ends = {"stop_reason": _stop_reason(said), "stop_sequence": None}
    yield _named_event({"type": "message_delta", "delta": ends, "usage": {"output_tokens": said.output}})
    yield _named_event({"type": "message_stop"})


def error_body(fault: Fault, key: str, *, anthropic: bool) -> dict[str, Any]:
    """What a provider says went wrong; like a careless one, it repeats the key."""
    _, kind, code = STATUSES[fault]
    message, parameter = f"This is a fault of the test ({fault.name}), asked with {key}.", None
    if fault is Fault.STATUS_400:
        message, parameter = "Unsupported value: 'temperature' does not support 0 with this model.", "temperature"
    if anthropic:
        return {"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_test"}
    return {"error": {"message": message, "type": kind, "param": parameter, "code": code}}


def error_event(fault: Fault, key: str, *, anthropic: bool) -> bytes:
    body = error_body(fault, key, anthropic=anthropic)
    return _named_event(body) if anthropic else _event(body)


def embeddings(texts: list[str], model: str, dimensions: int) -> dict[str, Any]:
    """A vector for each text, the same for the same text; in the wrong order, which `index` puts right."""
    data = [{"object": "embedding", "index": n, "embedding": _vector(text, dimensions)} for n, text in enumerate(texts)]
    usage = {"prompt_tokens": sum(len(text) // 4 + 1 for text in texts)}
    return {
        "object": "list",
        "data": data[::-1],
        "model": model,
        "usage": usage | {"total_tokens": usage["prompt_tokens"]},
    }


def _vector(text: str, dimensions: int) -> list[float]:
    digest = hashlib.shake_256(text.encode()).digest(dimensions)
    return [(byte - 127.5) / 64 for byte in digest]


def _completion(said: Said, kind: str) -> dict[str, Any]:
    return {"id": "chatcmpl-test", "object": kind, "created": 1_700_000_000, "model": said.model}


def _openai_usage(said: Said) -> dict[str, Any]:
    counts = {"prompt_tokens": said.input, "completion_tokens": said.output, "total_tokens": said.input + said.output}
    return counts | {"prompt_tokens_details": {"cached_tokens": said.cached}}


def _message(said: Said) -> dict[str, Any]:
    return {"id": "msg_test", "type": "message", "role": "assistant", "model": said.model}


def _anthropic_usage(said: Said) -> dict[str, Any]:
    fresh = said.input - said.cached
    return {"input_tokens": fresh, "cache_creation_input_tokens": 0, "cache_read_input_tokens": said.cached}


def _stop_reason(said: Said) -> str:
    return {"stop": "end_turn", "length": "max_tokens", "refusal": "refusal"}[said.ends]


def _event(data: dict[str, Any]) -> bytes:
    return b"data: " + orjson.dumps(data) + b"\n\n"


def _named_event(data: dict[str, Any]) -> bytes:
    return f"event: {data['type']}\n".encode() + _event(data)
