"""Keys: their form, their roles, their tenants."""

import re

import pytest

from app.api.schemas.names import ID_PATTERN
from app.auth.errors import NotThisModerator
from app.auth.keys import MODERATOR, ROLES, BadKey, new_key, parts_of


def test_only_its_secret_matches_a_key() -> None:
    key, token = new_key("", ["predict"], ["acme"], now=0)
    found = parts_of(token)
    assert found is not None
    assert found[0] == key.id
    assert key.matches(found[1])
    assert not key.matches(found[1][:-1] + ("a" if found[1][-1] != "a" else "b"))
    assert not key.matches("")


def test_the_secret_is_not_kept() -> None:
    key, token = new_key("", ["predict"], ["acme"], now=0)
    secret = token.rsplit("_", 1)[1] if token.count("_") == 2 else token[20:]
    assert secret not in repr(key)
    assert re.fullmatch(r"[0-9a-f]{64}", key.hash)


def test_no_two_keys_are_alike() -> None:
    made = [new_key("", ["predict"], ["*"], now=0) for _ in range(100)]
    assert len({key.id for key, _ in made}) == len({token for _, token in made}) == 100


@pytest.mark.parametrize(
    ("patterns", "tenant", "covered"),
    [
        (["acme"], "acme", True),
        (["acme"], "acme-2", False),
        (["acme"], "ACME", False),
        (["acme-*"], "acme-2", True),
        (["acme-*"], "acme", False),
        (["acme-*", "shop"], "shop", True),
        (["*"], "anything", True),
        (["a.b"], "axb", False),
    ],
)
def test_a_key_covers_the_tenants_that_it_names(patterns: list[str], tenant: str, covered: bool) -> None:
    assert new_key("", ["predict"], patterns, now=0)[0].covers(tenant) == covered


def test_a_key_is_valid_until_it_expires() -> None:
    key, _ = new_key("", ["predict"], ["*"], now=1000, expires_at=2000)
    assert [key.is_valid(now) for now in (1000, 1999, 2000)] == [True, True, False]


def test_roles_are_unique_and_in_a_fixed_order() -> None:
    assert new_key("", ["admin", "predict", "admin"], ["*"], now=0)[0].roles == ("predict", "admin")
    assert new_key("", reversed(ROLES), ["*"], now=0)[0].roles == ROLES


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"roles": []}, "a key needs a role; the roles are predict, feedback, review, admin, metrics"),
        ({"roles": ["root"]}, "'root' is not a role; the roles are predict, feedback, review, admin, metrics"),
        ({"tenants": []}, "a key needs a tenant; write acme for one tenant, acme-* for a prefix, * for all"),
        ({"tenants": ["a*b"]}, "'a*b' is not a tenant or a prefix; write acme for one"),
        ({"tenants": ["../x"]}, "'../x' is not a tenant or a prefix"),
        ({"name": "a\nb"}, "no control characters"),
        ({"name": "a" * 129}, "at most 128 characters"),
        ({"moderator": ""}, "the moderator of a key must have 1 to 200 characters, and no control characters"),
        ({"moderator": "a" * 201}, "the moderator of a key must have 1 to 200 characters"),
        ({"moderator": "a\x7f"}, "the moderator of a key must have 1 to 200 characters, and no control characters"),
        ({"speaks_for_others": True}, "speaks_for_others needs a moderator"),
        ({"expires_at": 5}, "the expiry of a key must be in the future"),
    ],
)
def test_an_invalid_key_is_refused(changes: dict[str, object], sentence: str) -> None:
    asked: dict[str, object] = {"name": "", "roles": ["predict"], "tenants": ["acme"], "now": 5} | changes
    with pytest.raises(BadKey, match=re.escape(sentence)):
        new_key(**asked)  # type: ignore[arg-type]


def test_a_moderator_has_the_same_form_in_a_key_as_in_a_request() -> None:
    assert f"^{MODERATOR.pattern}$" == ID_PATTERN
    assert new_key("", ["feedback"], ["*"], now=0, moderator="é" * 200)[0].moderator == "é" * 200


@pytest.mark.parametrize(
    ("moderator", "speaks_for_others", "named", "expected"),
    [
        (None, False, None, None),
        (None, False, "kim", "kim"),
        ("kim", False, None, "kim"),
        ("kim", False, "kim", "kim"),
        ("kim", True, None, "kim"),
        ("kim", True, "lee", "lee"),
    ],
)
def test_a_key_with_a_name_stands_for_its_moderator(
    moderator: str | None, speaks_for_others: bool, named: str | None, expected: str | None
) -> None:
    key, _ = new_key("", ["feedback"], ["*"], 0, moderator=moderator, speaks_for_others=speaks_for_others)
    assert key.moderator_for(named) == expected


@pytest.mark.parametrize("named", ["lee", "Kim", "kim ", ""])
def test_a_key_with_a_name_cannot_speak_for_another(named: str) -> None:
    key, _ = new_key("", ["feedback"], ["*"], now=0, moderator="kim")
    with pytest.raises(NotThisModerator, match=f"carries the name 'kim', and cannot speak for {named!r}"):
        key.moderator_for(named)


@pytest.mark.parametrize(
    "token", ["", "sluice_", "sluice_0123456789ab_", "Bearer x", "sluice_0123456789ab_" + "a" * 44]
)
def test_an_invalid_token_has_no_parts(token: str) -> None:
    assert parts_of(token) is None
