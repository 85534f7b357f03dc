"""A chat that remembers: read memory before the model answers, write the turn down afterwards.

    python examples/chat.py            # type; an empty line ends the chat; start it again, and it still knows

`reply` stands where a language model belongs and only counts what it was given, so that this runs anywhere.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from uuid import uuid4

from holdfast import Holdfast, Profile

Messages = list[dict[str, str]]


def reply(messages: Messages) -> str:
    """Replace this by a call of your model; with OpenAI's client:

    client.chat.completions.create(model=…, messages=messages).choices[0].message.content
    """
    known = [line for line in messages[0]["content"].splitlines() if line.startswith("- ")]
    return f"(A model answers here. Lines of memory in its prompt: {len(known)}.)"


def turn(user: Profile, session: str, window: Messages, said: str) -> str:
    """One turn; `window` is the running conversation, which grows by it."""
    known = user.context(said, tokens=400, exclude_session=session)
    system = {"role": "system", "content": f"You are a helpful assistant.\n\n{known}"}
    window.append({"role": "user", "content": said})
    answer = reply([system, *window])
    window.append({"role": "assistant", "content": answer})
    user.ingest(window[-2:], session_id=session)
    return answer


def chat(user: Profile, lines: Iterable[str]) -> None:
    session, window = f"chat-{uuid4()}", Messages()
    for line in lines:
        if not line.strip():
            break
        print(turn(user, session, window, line.strip()))


if __name__ == "__main__":
    print("Say something, such as: I live in Porto. An empty line ends the chat.")
    with Holdfast.open("./chat-memory") as memory:
        chat(memory.profile("chat", "me"), sys.stdin)
