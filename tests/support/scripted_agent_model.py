"""A model server for coding agents that answers from a script, in the protocols of Anthropic, OpenAI and Google.

It keeps every request, so that a test sees what the agent has put in front of its model.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from uuid import uuid4

ANSWER = "Noted, understood."
LONG_CONVERSATION_TOKENS = 90_000


class ScriptedModel:
    def __init__(self, url: str) -> None:
        self.url = url
        self.requests: list[str] = []
        """The bodies of the requests, as text."""
        self.long_answers = 0
        """To how many more requests the model says that the conversation has become long."""

    def input_tokens(self) -> int:
        self.long_answers -= 1
        return LONG_CONVERSATION_TOKENS if self.long_answers >= 0 else 10


@contextmanager
def scripted_model() -> Iterator[ScriptedModel]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    model = ScriptedModel(f"http://127.0.0.1:{server.server_address[1]}")
    server.model = model  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield model
    finally:
        server.shutdown()
        server.server_close()


class _Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length", 0))).decode("utf-8", "replace")
        asked = json.loads(body or "{}")
        self.server.model.requests.append(json.dumps(asked, ensure_ascii=False))  # type: ignore[attr-defined]
        path, tokens = self.path.partition("?")[0], self.server.model.input_tokens()  # type: ignore[attr-defined]
        if path.endswith(("/count_tokens", ":countTokens")):
            self._send_json({"input_tokens": 10, "totalTokens": 10})
        elif path.endswith("/messages"):
            self._send(_anthropic_events(tokens) if asked.get("stream") else None, _anthropic_message(tokens))
        elif path.endswith("/responses"):
            self._send(_responses_events(tokens), {})
        elif path.endswith("/chat/completions"):
            self._send(_chat_events(tokens) if asked.get("stream") else None, _chat_message(tokens))
        elif ":streamGenerateContent" in path:
            self._send([(None, _gemini_message(tokens))], {})
        elif ":generateContent" in path:
            self._send_json(_gemini_message(tokens))
        else:
            self._send_json({})

    def do_GET(self) -> None:
        self._send_json({"data": [], "models": []})

    def do_HEAD(self) -> None:
        self.do_GET()

    def _send(self, events: list[tuple[str | None, Any]] | None, whole: dict[str, Any]) -> None:
        if events is None:
            self._send_json(whole)
            return
        lines = [
            (f"event: {name}\n" if name else "") + f"data: {data if data == '[DONE]' else json.dumps(data)}\n\n"
            for name, data in events
        ]
        self._write("text/event-stream", "".join(lines))

    def _send_json(self, value: Any) -> None:
        self._write("application/json", json.dumps(value))

    def _write(self, kind: str, text: str) -> None:
        data = text.encode()
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def log_message(self, *_: Any) -> None:
        """Print nothing."""


def _anthropic_message(tokens: int) -> dict[str, Any]:
    return {
        "id": f"msg_{uuid4().hex}", "type": "message", "role": "assistant", "model": "scripted",
        "stop_reason": "end_turn", "stop_sequence": None, "content": [{"type": "text", "text": ANSWER}],
        "usage": {"input_tokens": tokens, "output_tokens": 5},
    }  # fmt: skip


def _anthropic_events(tokens: int) -> list[tuple[str | None, Any]]:
    text = {"type": "text_delta", "text": ANSWER}
    end = {"stop_reason": "end_turn", "stop_sequence": None}
    events: list[dict[str, Any]] = [
        {"type": "message_start", "message": {**_anthropic_message(tokens), "content": [], "stop_reason": None}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": text},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": end, "usage": {"output_tokens": 5}},
        {"type": "message_stop"},
    ]
    return [(str(event["type"]), event) for event in events]


def _responses_events(tokens: int) -> list[tuple[str | None, Any]]:
    part = {"type": "output_text", "text": ANSWER, "annotations": []}
    item = {"type": "message", "role": "assistant", "id": "msg_1", "status": "completed", "content": [part]}
    usage = {"input_tokens": tokens, "output_tokens": 5, "total_tokens": tokens + 5}
    events: list[dict[str, Any]] = [
        {"type": "response.created", "response": {"id": "resp_1"}},
        {"type": "response.output_item.added", "output_index": 0, "item": {**item, "content": []}},
        {"type": "response.output_text.delta", "item_id": "msg_1", "output_index": 0, "delta": ANSWER},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": {"id": "resp_1", "output": [item], "usage": usage}},
    ]
    return [(str(event["type"]), event) for event in events]


def _chat_message(tokens: int) -> dict[str, Any]:
    message = {"role": "assistant", "content": ANSWER}
    usage = {"prompt_tokens": tokens, "completion_tokens": 5, "total_tokens": tokens + 5}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    return {"id": "c1", "object": "chat.completion", "model": "scripted", "choices": [choice], "usage": usage}


def _chat_events(tokens: int) -> list[tuple[str | None, Any]]:
    head = {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "scripted"}
    text = {"index": 0, "delta": {"role": "assistant", "content": ANSWER}, "finish_reason": None}
    end = {"index": 0, "delta": {}, "finish_reason": "stop"}
    usage = {"prompt_tokens": tokens, "completion_tokens": 5, "total_tokens": tokens + 5}
    return [
        (None, {**head, "choices": [text]}),
        (None, {**head, "choices": [end], "usage": usage}),
        (None, "[DONE]"),
    ]


def _gemini_message(tokens: int) -> dict[str, Any]:
    candidate = {"content": {"role": "model", "parts": [{"text": ANSWER}]}, "finishReason": "STOP", "index": 0}
    usage = {"promptTokenCount": tokens, "candidatesTokenCount": 5, "totalTokenCount": tokens + 5}
    return {"candidates": [candidate], "usageMetadata": usage, "modelVersion": "scripted"}
