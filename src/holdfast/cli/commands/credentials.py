"""The commands about credentials: token, tokens, grant, revoke, access."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated

from holdfast.cli.options import CommandTarget, add_command
from holdfast.cli.output.render import Block, CommandResult, Remark, Table
from holdfast.cli.output.views import minute_text
from holdfast.cli.parameters import Argument, Commands, Option
from holdfast.domain.errors import InvalidInput, NotFound, quoted_value

if TYPE_CHECKING:
    from holdfast.domain.credentials import Credential, Grant
    from holdfast.domain.records import AdminAction, CredentialReach

SCOPES = ("profile", "namespace", "everywhere")
CredentialId = Annotated[str, Argument(metavar="ID", help="The id of a credential; `holdfast tokens` lists them.")]
Rights = Annotated[str, Option("--rights", metavar="LIST", help="Any of read,write,forget (and admin, for a token).")]


def token(
    target: CommandTarget,
    label: Annotated[str, Argument(metavar="LABEL", help="What it is for.")],
    rights: Rights = "read,write,forget",
    scope: Annotated[
        str, Option("--scope", metavar="profile|namespace|everywhere", help="Where the rights apply.")
    ] = "profile",
    url: Annotated[bool, Option("--url", help="Issue a secret URL instead of a token.")] = False,
    agent: Annotated[
        str | None, Option("--agent", metavar="NAME", help="Record everything written with it as this agent's.")
    ] = None,
    reads: Annotated[
        str,
        Option("--reads", metavar="all|own|NAMES", help="Which agents' memories it reads; separate names with commas."),
    ] = "all",
    granting: Annotated[
        list[str] | None,
        Option("--grant", metavar="PROFILE=RIGHTS", help="Also grant rights in this profile; repeatable."),
    ] = None,
) -> CommandResult:
    """Issue a token for this profile. It is shown only once."""
    if scope not in SCOPES:
        raise InvalidInput(f"scope is {quoted_value(scope)}; use one of {', '.join(SCOPES)}.", field="scope")
    namespace = None if scope == "everywhere" else target.namespace
    profile = target.profile if scope == "profile" else None
    with target.open_folder(create=True) as holdfast:
        credential, secret = holdfast.access.issue(
            "url" if url else "key", label, _split_names(rights), namespace=namespace, profile=profile, agent=agent,
            reads=reads if reads in ("all", "own") else _split_names(reads),
            grants=[_parse_grant(target.namespace, each) for each in granting or ()],
        )  # fmt: skip
    path = f"/s/{secret}" if url else secret
    return CommandResult(
        {"credential": credential, "token": secret}, (path, Remark(f"{credential.id}: the token is shown only once."))
    )


def tokens(target: CommandTarget) -> CommandResult:
    """List credentials, newest first, without their tokens."""
    with target.open_folder() as holdfast:
        found = holdfast.access.list_all()
    return CommandResult({"credentials": found}, _credential_table(found))


def grant(
    target: CommandTarget,
    id: CredentialId,
    rights: Rights = "read",
    withdraw: Annotated[bool, Option("--withdraw", help="Withdraw the rights in this profile.")] = False,
) -> CommandResult:
    """Grant a credential rights in this profile.

    They replace an earlier grant here.
    """
    with target.open_folder() as holdfast:
        if withdraw:
            if not holdfast.access.withdraw(id, target.namespace, target.profile):
                raise NotFound(f"{id} has no grant in this profile.", field="id")
            return CommandResult({"withdrawn": True}, (f"{id} no longer has a grant in {target.profile}.",))
        granted = holdfast.access.grant(id, target.namespace, target.profile, _split_names(rights))
    return CommandResult(granted, (f"{id} may {', '.join(_split_names(rights))} in {target.profile}.",))


def revoke(target: CommandTarget, id: CredentialId) -> CommandResult:
    """Revoke a credential at once."""
    with target.open_folder() as holdfast:
        holdfast.access.revoke(id)
    return CommandResult({"revoked": True}, (f"{id} is revoked.",))


def access(target: CommandTarget) -> CommandResult:
    """List who has rights in this profile, and why.

    Every credential with its rights, and who granted them.
    """
    with target.open_folder() as holdfast:
        found = holdfast.access.reaching(target.namespace, target.profile)
        acts = holdfast.access.acts_on(target.namespace, target.profile)
    return CommandResult({"credentials": found, "acts": acts}, (*_access_table(found), *_act_table(acts)))


def _split_names(text: str) -> list[str]:
    return [each.strip() for each in text.split(",") if each.strip()]


def _parse_grant(namespace: str, text: str) -> Grant:
    from holdfast.domain.credentials import Grant

    profile, sign, rights = text.rpartition("=")
    if not sign or not profile:
        raise InvalidInput(f"grant is {quoted_value(text)}; write it like team=read,write.", field="grant")
    return Grant(namespace, profile, frozenset(_split_names(rights)))


def _credential_table(found: Iterable[Credential]) -> tuple[Block, ...]:
    rows = tuple(
        (each.id, each.kind, each.name, ",".join(sorted(each.rights)), _scope_text(each),
         _agent_text(each.agent, each.reads), "revoked" if each.revoked_at else minute_text(each.created_at))
        for each in found
    )  # fmt: skip
    return (
        (Table(rows, ("id", "kind", "name", "rights", "where", "agent", "since")),) if rows else (Remark("No tokens."),)
    )


def _scope_text(credential: Credential) -> str:
    places = [credential.namespace or "everywhere", *([credential.profile] if credential.profile else [])]
    granted = [f"{each.namespace}/{each.profile}={','.join(sorted(each.rights))}" for each in credential.grants]
    return " ".join(["/".join(places), *granted])


def _agent_text(agent: str | None, reads: tuple[str, ...] | None) -> str:
    if agent is None or reads is None:
        return agent or ""
    return f"{agent}, reads {', '.join(reads) or 'its own'}"


def _access_table(found: Iterable[CredentialReach]) -> tuple[Block, ...]:
    rows = tuple(
        (each.id, each.kind, each.name, ",".join(sorted(each.rights)), each.by, _agent_text(each.agent, each.reads))
        for each in found
    )
    return (
        (Table(rows, ("id", "kind", "name", "rights", "by", "agent")),)
        if rows
        else (Remark("No credential has rights here."),)
    )


def _act_table(acts: Iterable[AdminAction]) -> tuple[Block, ...]:
    rows = tuple((minute_text(act.at), act.credential or "-", act.what, act.thing) for act in acts)
    return (Remark(""), Table(rows, ("at", "by", "act", "credential"))) if rows else ()


def add_to(app: Commands) -> None:
    add_command(app, "token", token)
    add_command(app, "tokens", tokens)
    add_command(app, "grant", grant)
    add_command(app, "revoke", revoke)
    add_command(app, "access", access)
