"""A team that shares a profile: each person has a memory of their own, and all read and write the team's.

    python examples/team.py

Over a server, `memory.access.issue` gives each person a credential that reaches exactly these two profiles.
"""

from __future__ import annotations

from holdfast import Context, Grant, Holdfast

NAMESPACE, TEAM = "acme", "team:platform"


def join(memory: Holdfast, person: str) -> str:
    """A token for a server over this folder: everything in one's own profile, reading and writing in the team's."""
    team = Grant(NAMESPACE, TEAM, frozenset({"read", "write"}))
    rights = ["read", "write", "forget"]
    _, token = memory.access.issue(
        "key", f"{person}'s key", rights, namespace=NAMESPACE, profile=person, agent=person, grants=[team]
    )
    return token


def share(memory: Holdfast, person: str, statement: str, *, key: str | None = None) -> None:
    """Write to the team's memory, with the author's name."""
    memory.profile(NAMESPACE, TEAM).remember(statement, key=key, agent=person)


def prompt(memory: Holdfast, person: str, question: str) -> Context:
    """What the person's agent may know: their own memory and the team's, ranked together."""
    return memory.across(NAMESPACE, [person, TEAM]).context(question, tokens=400)


def main() -> None:
    with Holdfast.open("./team-memory") as memory:
        print({person: join(memory, person)[:3] + "…" for person in ("ada", "bo")})
        memory.profile(NAMESPACE, "ada").remember("I prefer meetings in the morning")
        share(memory, "ada", "We deploy on Tuesdays.", key="deploy-day")
        share(memory, "bo", "We deploy on Thursdays now.", key="deploy-day")
        print(prompt(memory, "ada", "When do we deploy?"))
        (day,) = memory.profile(NAMESPACE, TEAM).list(key="deploy-day")
        for version in memory.profile(NAMESPACE, TEAM).history(day.id):
            print(version.version, version.agent, version.content)


if __name__ == "__main__":
    main()
