"""The commands about who may do what: token, tokens, grant, revoke, access."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated

import typer

from ..errors import InvalidInput, NotFound, shown
from .output import Block, Note, Reply, Table
from .place import Place, add
from .views import minute

if TYPE_CHECKING:
    from ..credentials import Credential, Grant
    from ..records import Act, Reach

SCOPES = ("profile", "namespace", "everywhere")
Id = Annotated[str, typer.Argument(metavar="ID", help="A credential's id, as `holdfast tokens` shows it.")]
Rights = Annotated[
    str, typer.Option("--rights", metavar="LIST", help="Some of read,write,forget (and admin, for a token).")
]


def token(
    place: Place,
    label: Annotated[str, typer.Argument(metavar="LABEL", help="What it is for.")],
    rights: Rights = "read,write,forget",
    scope: Annotated[
        str, typer.Option("--scope", metavar="profile|namespace|everywhere", help="Where its rights hold.")
    ] = "profile",
    url: Annotated[bool, typer.Option("--url", help="A secret URL instead of a key.")] = False,
    agent: Annotated[
        str | None, typer.Option("--agent", metavar="NAME", help="What it writes is this agent's.")
    ] = None,
    reads: Annotated[
        str, typer.Option("--reads", metavar="all|own|NAMES", help="Of what other agents wrote; names with commas.")
    ] = "all",
    granting: Annotated[
        list[str] | None,
        typer.Option("--grant", metavar="PROFILE=RIGHTS", help="Rights in one more profile too; repeatable."),
    ] = None,
) -> Reply:
    """Issue a token for this profile, and show it once."""
    if scope not in SCOPES:
        raise InvalidInput(f"scope is {shown(scope)}; use one of {', '.join(SCOPES)}.", field="scope")
    namespace = None if scope == "everywhere" else place.namespace
    profile = place.profile if scope == "profile" else None
    with place.folder() as holdfast:
        made, secret = holdfast.access.issue(
            "url" if url else "key", label, _rights(rights), namespace=namespace, profile=profile, agent=agent,
            reads=reads if reads in ("all", "own") else _rights(reads),
            grants=[_grant(place.namespace, each) for each in granting or ()],
        )  # fmt: skip
    path = f"/s/{secret}" if url else secret
    return Reply({"credential": made, "token": secret}, (path, Note(f"{made.id}: shown this once.")))


def tokens(place: Place) -> Reply:
    """List credentials, newest first, without their tokens."""
    with place.folder() as holdfast:
        held = holdfast.access.listed()
    return Reply({"credentials": held}, _listed(held))


def grant(
    place: Place,
    id: Id,
    rights: Rights = "read",
    withdraw: Annotated[bool, typer.Option("--withdraw", help="Take the rights in this profile back.")] = False,
) -> Reply:
    """Give a credential rights in this profile as well, in place of those it was granted here."""
    with place.folder() as holdfast:
        if withdraw:
            if not holdfast.access.withdraw(id, place.namespace, place.profile):
                raise NotFound(f"{id} was granted nothing in this profile.", field="id")
            return Reply({"withdrawn": True}, (f"{id} has no grant in {place.profile} any more.",))
        made = holdfast.access.grant(id, place.namespace, place.profile, _rights(rights))
    return Reply(made, (f"{id} may {', '.join(_rights(rights))} in {place.profile}.",))


def revoke(place: Place, id: Id) -> Reply:
    """End a credential at once."""
    with place.folder() as holdfast:
        holdfast.access.revoke(id)
    return Reply({"revoked": True}, (f"{id} is revoked.",))


def access(place: Place) -> Reply:
    """Who can reach this profile: every credential with rights here, why, and who granted them."""
    with place.folder() as holdfast:
        found = holdfast.access.reaching(place.namespace, place.profile)
        acts = holdfast.access.acts_on(place.namespace, place.profile)
    return Reply({"credentials": found, "acts": acts}, (*_reached(found), *_told(acts)))


def _rights(text: str) -> list[str]:
    return [each.strip() for each in text.split(",") if each.strip()]


def _grant(namespace: str, text: str) -> Grant:
    from ..credentials import Grant

    profile, sign, rights = text.rpartition("=")
    if not sign or not profile:
        raise InvalidInput(f"grant is {shown(text)}; write it like team=read,write.", field="grant")
    return Grant(namespace, profile, frozenset(_rights(rights)))


def _listed(held: Iterable[Credential]) -> tuple[Block, ...]:
    rows = tuple(
        (each.id, each.kind, each.name, ",".join(sorted(each.rights)), _scope(each), _seen(each.agent, each.reads),
         "revoked" if each.revoked_at else minute(each.created_at))
        for each in held
    )  # fmt: skip
    return (
        (Table(rows, ("id", "kind", "name", "rights", "where", "agent", "since")),) if rows else (Note("No tokens."),)
    )


def _scope(credential: Credential) -> str:
    places = [credential.namespace or "everywhere", *([credential.profile] if credential.profile else [])]
    granted = [f"{each.namespace}/{each.profile}={','.join(sorted(each.rights))}" for each in credential.grants]
    return " ".join(["/".join(places), *granted])


def _seen(agent: str | None, reads: tuple[str, ...] | None) -> str:
    if agent is None or reads is None:
        return agent or ""
    return f"{agent}, reads {', '.join(reads) or 'its own'}"


def _reached(found: Iterable[Reach]) -> tuple[Block, ...]:
    rows = tuple(
        (each.id, each.kind, each.name, ",".join(sorted(each.rights)), each.by, _seen(each.agent, each.reads))
        for each in found
    )
    return (Table(rows, ("id", "kind", "name", "rights", "by", "agent")),) if rows else (Note("Nobody."),)


def _told(acts: Iterable[Act]) -> tuple[Block, ...]:
    rows = tuple((minute(act.at), act.credential or "-", act.what, act.thing) for act in acts)
    return (Note(""), Table(rows, ("at", "by", "what", "whom"))) if rows else ()


def add_to(app: typer.Typer) -> None:
    add(app, "token", token)
    add(app, "tokens", tokens)
    add(app, "grant", grant)
    add(app, "revoke", revoke)
    add(app, "access", access)
