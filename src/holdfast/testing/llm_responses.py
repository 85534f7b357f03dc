"""Encodes responses as OpenAI's and Anthropic's servers send them: whole answers, streams, errors, vectors."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import orjson

from holdfast.testing.llm_faults import FAULT_STATUSES, Fault


@dataclass(frozen=True, slots=True)
class ScriptedAnswer:
    """An answer of the model, and how it ends: stop, length or refusal."""

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


def openai_response(answer: ScriptedAnswer) -> dict[str, Any]:
    refused = answer.ends == "refusal"
    message = {
        "role": "assistant",
        "content": None if refused else answer.text,
        "refusal": answer.text if refused else None,
    }
    choice = {"index": 0, "message": message, "finish_reason": "length" if answer.ends == "length" else "stop"}
    return _completion(answer, "chat.completion") | {"choices": [choice], "usage": _openai_usage(answer)}


def openai_events(answer: ScriptedAnswer, *, usage: bool) -> Iterator[bytes]:
    part = "refusal" if answer.ends == "refusal" else "content"
    deltas = [{"role": "assistant", "content": ""}, *({part: piece} for piece in answer.pieces)]
    finish = "length" if answer.ends == "length" else "stop"
    for delta, reason in [*((delta, None) for delta in deltas), ({}, finish)]:
        choice = {"index": 0, "delta": delta, "finish_reason": reason}
        yield _event(_completion(answer, "chat.completion.chunk") | {"choices": [choice]})
    if usage:
        yield _event(_completion(answer, "chat.completion.chunk") | {"choices": [], "usage": _openai_usage(answer)})
    yield b"data: [DONE]\n\n"


def anthropic_response(answer: ScriptedAnswer) -> dict[str, Any]:
    content = [{"type": "text", "text": answer.text}] if answer.text else []
    message = _message(answer) | {"content": content, "stop_reason": _stop_reason(answer), "stop_sequence": None}
    return message | {"usage": _anthropic_usage(answer) | {"output_tokens": answer.output}}


def anthropic_events(answer: ScriptedAnswer) -> Iterator[bytes]:
    start = _message(answer) | {"content": [], "stop_reason": None, "stop_sequence": None}
    start["usage"] = _anthropic_usage(answer) | {"output_tokens": 1}
    yield _named_event({"type": "message_start", "message": start})
    yield _named_event({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}})
    yield _named_event({"type": "ping"})
    for piece in answer.pieces:
        delta = {"type": "text_delta", "text": piece}
        yield _named_event({"type": "content_block_delta", "index": 0, "delta": delta})
    yield _named_event({"type": "content_block_stop", "index": 0})
    ends = {"stop_reason": _stop_reason(answer), "stop_sequence": None}
    yield _named_event({"type": "message_delta", "delta": ends, "usage": {"output_tokens": answer.output}})
    yield _named_event({"type": "message_stop"})


def error_body(fault: Fault, key: str, *, anthropic: bool) -> dict[str, Any]:
    """The body of a provider's error; like a careless provider, it repeats the key."""
    _, kind, code = FAULT_STATUSES[fault]
    message, parameter = f"This is a fault of the test ({fault.name}), asked with {key}.", None
    if fault is Fault.STATUS_400:
        message, parameter = "Unsupported value: 'temperature' does not support 0 with this model.", "temperature"
    if anthropic:
        return {"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_test"}
    return {"error": {"message": message, "type": kind, "param": parameter, "code": code}}


def error_event(fault: Fault, key: str, *, anthropic: bool) -> bytes:
    body = error_body(fault, key, anthropic=anthropic)
    return _named_event(body) if anthropic else _event(body)


def embeddings_response(texts: list[str], model: str, dimensions: int) -> dict[str, Any]:
    """The body of a response with one vector per text; equal texts get equal vectors. The vectors are in the wrong
    order, which the client must correct by `index`."""
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


def _completion(answer: ScriptedAnswer, kind: str) -> dict[str, Any]:
    return {"id": "chatcmpl-test", "object": kind, "created": 1_700_000_000, "model": answer.model}


def _openai_usage(answer: ScriptedAnswer) -> dict[str, Any]:
    counts = {
        "prompt_tokens": answer.input,
        "completion_tokens": answer.output,
        "total_tokens": answer.input + answer.output,
    }
    return counts | {"prompt_tokens_details": {"cached_tokens": answer.cached}}


def _message(answer: ScriptedAnswer) -> dict[str, Any]:
    return {"id": "msg_test", "type": "message", "role": "assistant", "model": answer.model}


def _anthropic_usage(answer: ScriptedAnswer) -> dict[str, Any]:
    fresh = answer.input - answer.cached
    return {"input_tokens": fresh, "cache_creation_input_tokens": 0, "cache_read_input_tokens": answer.cached}


def _stop_reason(answer: ScriptedAnswer) -> str:
    return {"stop": "end_turn", "length": "max_tokens", "refusal": "refusal"}[answer.ends]


def _event(data: dict[str, Any]) -> bytes:
    return b"data: " + orjson.dumps(data) + b"\n\n"


def _named_event(data: dict[str, Any]) -> bytes:
    return f"event: {data['type']}\n".encode() + _event(data)
