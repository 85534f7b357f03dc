"""Every page of the UI: its address, and what stands on it when it is ready. A new page is one line."""

from __future__ import annotations

PROFILE_PAGES: dict[str, str] = {
    "home": "What is known",
    "memories": "Coffee without sugar",
    "memories?key=home-city": "The user lives in Lisbon",
    "memories?q=seats": "Prefers window seats on every flight",
    "review": "Last changes",
    "traces": "Outside a turn",
    "traces?session=trip-planning": "We moved to Lisbon last week.",
    "graph": "Include links that have ended",
    "graph/marta": "sibling of",
    "playground": "If nothing supports an answer, there is none",
    "playground/context?q=Where+do+I+live%3F": "of 1,000 tokens",
    "playground/tell": "Conversation",
    "documents": "No documents yet",
}
ADMIN_PAGES: dict[str, str] = {
    "": "Choose a profile",
    "#/admin/places": "New namespace",
    "#/admin/credentials": "New credential",
    "#/admin/retention?in=studio&of=ana": "Add a rule",
    "#/admin/kinds?in=studio&of=ana": "Register a schema",
    "#/admin/usage?in=studio&of=ana": "No calls of language models yet",
    "#/admin/health": "open event streams",
    "#/admin/audit": "Namespace created",
}
WIDTHS = {"phone": (390, 844), "tablet": (820, 1100), "desktop": (1440, 900)}


def page_address(page: str) -> str:
    """The fragment of a profile's page, for ana's."""
    return f"#/p/studio/ana/{page}"


EVERY_PAGE: dict[str, str] = {page_address(page): ready for page, ready in PROFILE_PAGES.items()} | ADMIN_PAGES
