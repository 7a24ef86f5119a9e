"""Flower's user and password: where they are kept, who they open to."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest

from producer.services.credentials_file import (
    VARIABLE,
    Credentials,
    given_credentials,
    kept_credentials,
)
from skillopt.errors import ConfigError

GOOD = "team:long-enough-password"


def basic(joined: str, kind: str = "Basic") -> str:
    return f"{kind} {base64.b64encode(joined.encode()).decode()}"


def test_a_file_is_made_once_for_its_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "auth"
    made, is_new = kept_credentials(path)
    assert is_new
    assert path.stat().st_mode & 0o777 == 0o600
    assert len(made.password) >= 24
    assert kept_credentials(path) == (made, False)
    assert given_credentials({}, path) == made


def test_the_variable_goes_before_the_file(tmp_path: Path) -> None:
    found = given_credentials({VARIABLE: GOOD}, tmp_path / "auth")
    assert (found.user, found.password) == ("team", "long-enough-password")
    assert not (tmp_path / "auth").exists()


def test_without_either_it_says_what_to_give() -> None:
    with pytest.raises(ConfigError, match=rf"{VARIABLE}=user:password.*--auth-file"):
        given_credentials({}, None)


@pytest.mark.parametrize(
    "joined", ["team", "team:", ":long-enough-password", "team:short", "team:with some spaces in"]
)
def test_weak_or_broken_credentials_are_refused_without_being_shown(joined: str) -> None:
    with pytest.raises(ConfigError) as refused:
        given_credentials({VARIABLE: joined}, None)
    assert joined not in str(refused.value)


def test_a_file_that_others_can_read_is_refused_with_the_fix(tmp_path: Path) -> None:
    path = tmp_path / "auth"
    path.write_text(GOOD)
    path.chmod(0o640)
    with pytest.raises(ConfigError, match="chmod 600"):
        given_credentials({}, path)


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"'.*none/auth'"):
        kept_credentials(tmp_path / "none" / "auth")


@pytest.mark.parametrize(
    "header",
    [
        *("", "Basic", "Basic ", "Basic ====", "Bearer x", "Basic \u00ff", GOOD),
        *(basic("team:"), basic(GOOD + "x"), basic("tëam:lång-enough"), basic(GOOD, "Digest")),
    ],
)
def test_nothing_but_the_right_header_opens(header: str) -> None:
    user, _, password = GOOD.partition(":")
    assert not Credentials(user, password).opened_by(header)


def test_the_right_header_opens_and_is_in_no_representation() -> None:
    user, _, password = GOOD.partition(":")
    credentials = Credentials(user, password)
    assert credentials.opened_by(basic(GOOD))
    assert credentials.opened_by(basic(GOOD, kind="basic"))
    assert password not in repr(credentials)
