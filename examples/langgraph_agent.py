"""A LangGraph agent with a long-term memory: HoldfastStore as its store, and the profile for what was said.

    pip install langgraph
    python examples/langgraph_agent.py

`answer` stands where a language model belongs.
"""

from __future__ import annotations

from typing import Any, TypedDict

try:
    from langgraph.graph import END, START, StateGraph
    from langgraph.store.base import BaseStore
except ModuleNotFoundError as missing:
    raise SystemExit("This example needs LangGraph: pip install langgraph") from missing

from holdfast import Holdfast, Profile
from holdfast.integrations.langgraph_store import HoldfastStore


class State(TypedDict, total=False):
    said: str
    known: str
    answer: str


def build(profile: Profile) -> Any:
    """The compiled graph: recall, answer, remember."""

    def recall(state: State, *, store: BaseStore) -> State:
        preferences = store.search(("preferences",), query=state["said"], limit=3)
        lines = [f"- {item.key}: {item.value['text']}" for item in preferences]
        said_before = profile.context(state["said"], tokens=300, kind=["message", "fact", "event"])
        return {"known": "\n".join([*lines, str(said_before)])}

    def answer(state: State) -> State:
        return {"answer": "(A model answers here, from what is known.)"}

    def remember(state: State) -> State:
        profile.ingest([{"role": "user", "content": state["said"]}, {"role": "assistant", "content": state["answer"]}])
        return {}

    graph = StateGraph(State)
    for node in (recall, answer, remember):
        graph.add_node(node.__name__, node)
    graph.add_edge(START, "recall")
    graph.add_edge("recall", "answer")
    graph.add_edge("answer", "remember")
    graph.add_edge("remember", END)
    return graph.compile(store=HoldfastStore(profile, fields=["text"]))


def main() -> None:
    with Holdfast.open("./graph-memory") as memory:
        ana = memory.profile("graph", "ana")
        HoldfastStore(ana, fields=["text"]).put(("preferences",), "food", {"text": "Ana never eats meat or fish"})
        agent = build(ana)
        agent.invoke({"said": "I live in Porto and I have two cats."})
        print(agent.invoke({"said": "Which restaurants are near the place where I live?"})["known"])


if __name__ == "__main__":
    main()
