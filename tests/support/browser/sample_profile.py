"""A profile with a life: what the pages of the UI are shown and tested with."""

from __future__ import annotations

from typing import Any

from ..server_process import ServerProcess

SPACE, PROFILE = "studio", "ana"
PROFILE_PATH = f"/v1/namespaces/{SPACE}/profiles/{PROFILE}"
CONVERSATIONS: dict[str, list[tuple[str, str, str]]] = {
    "moving-to-lisbon": [
        ("user", "2026-08-03T09:12:00Z", "I live in Porto and I work as an architect."),
        ("assistant", "2026-08-03T09:12:20Z", "Noted. What are you working on?"),
        ("user", "2026-08-03T09:14:00Z", "A library in Braga. The opening is on 12 November 2026."),
        ("user", "2026-08-03T09:15:00Z", "I am allergic to peanuts, and I prefer window seats."),
    ],
    "trip-planning": [
        ("user", "2026-09-14T18:02:00Z", "We moved to Lisbon last week."),
        ("assistant", "2026-09-14T18:02:30Z", "Congratulations! Shall I change your home city?"),
        ("user", "2026-09-14T18:03:00Z", "Yes. And please always answer in short sentences."),
        ("user", "2026-09-14T18:05:00Z", "My sister Marta lives in Berlin and works at a bakery."),
        ("user", "2026-09-14T18:06:00Z", "Remind me to renew my passport before December."),
    ],
    "library-budget": [
        ("user", "2026-10-21T14:20:00Z", "The budget of the library is 4.2 million euros."),
        ("assistant", "2026-10-21T14:20:15Z", "Is that including the furniture?"),
        ("user", "2026-10-21T14:21:00Z", "No, furniture is another 300,000 euros. Hugo signs the invoices."),
        ("user", "2026-10-21T14:24:00Z", "I met Hugo on 20 October 2026 at the site."),
    ],
    "weekend": [
        ("user", "2026-11-08T10:00:00Z", "I started running again, five kilometres every Sunday."),
        ("user", "2026-11-08T10:02:00Z", "My favourite café is Copenhagen Coffee Lab in Alfama."),
    ],
}
MEMORIES: list[dict[str, Any]] = [
    {"content": "Prefers aisle seats on flights over four hours", "key": "seat-preference", "kind": "preference",
     "metadata": {"source": "travel form"}},
    {"content": "Deploys go out on Tuesdays after the stand-up", "key": "deploy-day", "kind": "instruction",
     "agent": "release-bot", "trust": "agent"},
    {"content": "The site office is at Rua do Souto 21, Braga; see https://example.org/plans", "key": "site-office"},
    {"content": "Call the fire inspector about the stairwell", "kind": "task", "metadata": {"pinned": True}},
    {"content": "Coffee without sugar", "key": "coffee", "kind": "preference"},
]  # fmt: skip


def fill_profile(server: ServerProcess) -> None:
    """Fill the profile and wait until everything is digested.

    The conversations come first and whole: lists show the newest at the top and only what is in sight.
    """
    server.call_json("POST", "/v1/namespaces", json={"name": SPACE})
    for session, said in CONVERSATIONS.items():
        messages = [{"role": role, "timestamp": at, "content": text} for role, at, text in said]
        server.call_json("POST", PROFILE_PATH + "/ingest", json={"messages": messages, "session_id": session})
    server.settle(PROFILE_PATH)
    for memory in MEMORIES:
        server.call_json("POST", PROFILE_PATH + "/remember", json=memory)
    server.call_json("POST", PROFILE_PATH + "/remember", json={"content": "Prefers window seats on every flight",
                                                   "key": "seat-preference", "kind": "preference"})  # fmt: skip
    for question in ("Where do I live?", "Who signs the invoices?"):
        server.call_json("POST", PROFILE_PATH + "/recall", json={"query": question})
    server.settle(PROFILE_PATH)
