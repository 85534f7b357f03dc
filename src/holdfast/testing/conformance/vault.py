"""Contract of a Vault."""

from __future__ import annotations

from datetime import timedelta

import pytest

from holdfast.domain.credentials import Grant, new_credential, token_id_and_digest
from holdfast.domain.errors import AlreadyExists, NotFound
from holdfast.domain.ports.storage import Vault
from holdfast.domain.records import AdminAction
from holdfast.testing.conformance.samples import AT, message, written


class VaultContract:
    """Subclass it and give it a `vault` fixture."""

    async def test_what_is_laid_down_for_a_namespace_goes_with_it(self, vault: Vault) -> None:
        await vault.create_namespace("ruled")
        await vault.put_setting("ruled", "retention", {"ttl": {"event": "30d"}})
        await vault.put_setting("ruled", "cadence", "off")
        await vault.put_setting("ruled", "cadence", None)
        assert await vault.settings("ruled") == {"retention": {"ttl": {"event": "30d"}}}
        assert await vault.settings("unknown") == {}
        with pytest.raises(NotFound):
            await vault.put_setting("unknown", "retention", {})
        await vault.delete_namespace("ruled")
        await vault.create_namespace("ruled")
        assert await vault.settings("ruled") == {}

    async def test_acts_are_kept_newest_first(self, vault: Vault) -> None:
        acts = [AdminAction(AT, "c" if n else None, "namespace.created", f"n{n}") for n in range(3)]
        for act in acts:
            await vault.credentials.note(act)
        assert await vault.credentials.acts(2) == acts[:0:-1]

    async def test_a_namespace_is_created_on_purpose_and_only_once(self, vault: Vault) -> None:
        made = await vault.create_namespace("support")
        assert [n.name for n in await vault.namespaces()] == ["support"]
        assert len(made.id) == 26
        with pytest.raises(AlreadyExists):
            await vault.create_namespace("support")

    async def test_an_unknown_namespace_is_not_found_and_not_made(self, vault: Vault) -> None:
        with pytest.raises(NotFound):
            await vault.open("nowhere", "alice", create=True)
        with pytest.raises(NotFound):
            await vault.profiles("nowhere")
        with pytest.raises(NotFound):
            await vault.delete_namespace("nowhere")
        assert await vault.namespaces() == []

    async def test_a_profile_appears_when_it_is_opened_to_write(self, vault: Vault) -> None:
        await vault.create_namespace("a")
        with pytest.raises(NotFound):
            await vault.open("a", "alice", create=False)
        assert await vault.profiles("a") == []
        await vault.open("a", "alice", create=True)
        assert [p.name for p in await vault.profiles("a")] == ["alice"]
        await vault.open("a", "alice", create=False)

    async def test_profile_names_are_free_and_listed_in_order(self, vault: Vault) -> None:
        await vault.create_namespace("a")
        for name in ("zoë", "a/b\\c:d", "Ünï ✓", ".."):
            await vault.open("a", name, create=True)
        assert [p.name for p in await vault.profiles("a")] == sorted(["zoë", "a/b\\c:d", "Ünï ✓", ".."])

    async def test_one_profile_does_not_see_another(self, vault: Vault) -> None:
        await vault.create_namespace("a")
        await vault.create_namespace("b")
        said = message("the secret of alice")
        await (await vault.open("a", "alice", create=True)).apply(written(said))
        for namespace, profile in (("a", "bob"), ("b", "alice")):
            other = await vault.open(namespace, profile, create=True)
            assert await other.get([said.id]) == []
            assert (await other.stats("m")).messages == 0

    async def test_a_deleted_profile_is_gone_and_its_name_is_free(self, vault: Vault) -> None:
        await vault.create_namespace("a")
        said = message("hello")
        await (await vault.open("a", "alice", create=True)).apply(written(said))
        assert await vault.delete("a", "alice") is True
        assert await vault.delete("a", "alice") is False
        assert await vault.profiles("a") == []
        again = await vault.open("a", "alice", create=True)
        assert await again.get([said.id]) == []

    async def test_deleting_a_namespace_takes_its_profiles_along(self, vault: Vault) -> None:
        await vault.create_namespace("a")
        await (await vault.open("a", "alice", create=True)).apply(written(message("hello")))
        await vault.delete_namespace("a")
        assert await vault.namespaces() == []
        await vault.create_namespace("a")
        assert await vault.profiles("a") == []

    async def test_work_is_expected_until_the_profile_rests(self, vault: Vault) -> None:
        await vault.create_namespace("a")
        await vault.open("a", "alice", create=True)
        await vault.expect_work("a", "alice")
        assert await vault.waiting("m") == [("a", "alice")]
        await vault.rested("a", "alice", "m")
        assert await vault.waiting("m") == []

    async def test_a_credential_is_found_by_its_id_and_ends_when_told(self, vault: Vault) -> None:
        made, token = new_credential("key", "ci", ["read", "write"], now=AT, namespace="a")
        await vault.credentials.add(made, token_id_and_digest(token)[1])
        assert await vault.credentials.find(made.id) == (made, token_id_and_digest(token)[1])
        assert await vault.credentials.find("nobody") is None
        await vault.credentials.used(made.id, AT + timedelta(hours=1))
        assert await vault.credentials.end(made.id, AT + timedelta(days=1))
        assert not await vault.credentials.end(made.id, AT + timedelta(days=2))
        assert await vault.credentials.end(made.id, AT)
        (ended,) = await vault.credentials.list_all()
        assert (ended.used_at, ended.revoked_at) == (AT + timedelta(hours=1), AT)

    async def test_a_grant_is_kept_replaced_and_taken_away(self, vault: Vault) -> None:
        held = vault.credentials
        one = Grant("a", "team", frozenset({"read"}))
        made, token = new_credential(
            "key", "ci", ["read"], now=AT, namespace="b", profile="x", grants=[one], agent="sales", reads=["support"]
        )
        await held.add(made, token_id_and_digest(token)[1])
        assert await held.find(made.id) == (made, token_id_and_digest(token)[1])
        assert (made.agent, made.reads, made.grants) == ("sales", ("support",), (one,))
        more = Grant("a", "team", frozenset({"read", "write"}))
        for grant in (Grant("a", "other", frozenset({"forget"})), more, more):
            await held.grant(made.id, grant)
        (listed,) = await held.list_all()
        assert listed.grants == (Grant("a", "other", frozenset({"forget"})), more)
        await held.end(made.id, AT + timedelta(days=1))
        await held.grant(made.id, Grant("a", "other", frozenset()))
        await held.grant("nobody", more)
        (listed,) = await held.list_all()
        assert (listed.grants, listed.revoked_at) == ((more,), AT + timedelta(days=1))

    async def test_a_deleted_place_takes_what_was_granted_in_it_along(self, vault: Vault) -> None:
        for name in ("a", "b"):
            await vault.create_namespace(name)
            for profile in ("x", "y"):
                await vault.open(name, profile, create=True)
        grants = [Grant(name, profile, frozenset({"read"})) for name in ("a", "b") for profile in ("x", "y")]
        made, token = new_credential("key", "0", ["read"], now=AT, namespace="c", grants=grants)
        await vault.credentials.add(made, token_id_and_digest(token)[1])
        await vault.delete("a", "x")
        assert [(await vault.credentials.list_all())[0].grants] == [tuple(grants[1:])]
        await vault.delete_namespace("b")
        assert [(await vault.credentials.list_all())[0].grants] == [tuple(grants[1:2])]

    async def test_a_deleted_place_takes_its_credentials_along(self, vault: Vault) -> None:
        for name in ("a", "b"):
            await vault.create_namespace(name)
            for profile in ("x", "y"):
                await vault.open(name, profile, create=True)
        places = [(None, None), ("a", None), ("a", "x"), ("a", "y"), ("b", "x")]
        for n, (where, which) in enumerate(places):
            made, token = new_credential("key", str(n), ["read"], now=AT, namespace=where, profile=which)
            await vault.credentials.add(made, token_id_and_digest(token)[1])
        await vault.delete("a", "x")
        assert {each.name for each in await vault.credentials.list_all()} == {"0", "1", "3", "4"}
        await vault.delete_namespace("a")
        assert {each.name for each in await vault.credentials.list_all()} == {"0", "4"}
