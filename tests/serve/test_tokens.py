"""Files of tokens."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fitcarl.errors import InputError
from fitcarl.serve.clients import ALL_SCOPES, RateLimit, token_digest
from fitcarl.serve.errors import ApiError
from fitcarl.serve.tokens import Spaces, read_clients

SECRET = "0123456789abcdef-secret"
ALICE = {"name": "alice", "token": SECRET, "scopes": ["read"]}
BOB = {"name": "bob", "sha256": token_digest("another secret of bob").hex(), "scopes": ["read", "observe", "admin"]}


def written(folder: Path, content: object, mode: int = 0o600, name: str = "tokens.json") -> Path:
    file = folder / name
    file.write_text(content if isinstance(content, str) else json.dumps(content))
    file.chmod(mode)
    return file


def test_tokens_have_names_scopes_spaces_and_rates(tmp_path: Path) -> None:
    content = {"requests_per_minute": 60, "tokens": [ALICE, {**BOB, "space": "team", "requests_per_minute": 5}]}
    alice, bob = read_clients(written(tmp_path, content))
    assert (alice.name, alice.scopes, alice.space) == ("alice", {"read"}, "alice")
    assert (bob.name, bob.scopes, bob.space) == ("bob", ALL_SCOPES, "team")
    assert alice.has_token(token_digest(SECRET))
    assert not alice.has_token(token_digest("another secret of bob"))
    assert bob.has_token(token_digest("another secret of bob"))
    assert alice.rate is not None
    assert bob.rate is not None
    assert SECRET not in repr(alice)
    assert alice.digest.hex() not in repr(alice)


def test_toml_is_the_default_format(tmp_path: Path) -> None:
    text = f'[[tokens]]\nname = "alice"\ntoken = "{SECRET}"\nscopes = ["read"]\n'
    [alice] = read_clients(written(tmp_path, text, name="tokens.toml"), "shared")
    assert (alice.name, alice.space, alice.rate) == ("alice", "default", None)


@pytest.mark.parametrize("mode", [0o644, 0o604, 0o602, 0o666])
def test_file_that_others_can_access_is_refused(tmp_path: Path, mode: int) -> None:
    with pytest.raises(InputError, match=r"other users can read or change.*chmod 600"):
        read_clients(written(tmp_path, {"tokens": [ALICE]}, mode))
    assert read_clients(written(tmp_path, {"tokens": [ALICE]}, 0o640))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({}, "field tokens: no tokens"),
        ({"tokens": []}, "field tokens: no tokens"),
        ({"tokens": ["x"]}, r"tokens\.0: not a token"),
        ({"token": [ALICE]}, "field token: unknown key.*did you mean 'tokens'"),
        ({"tokens": [{**ALICE, "scope": ["read"]}]}, r"tokens\.0\.scope: unknown key"),
        ({"tokens": [{**ALICE, "scopes": ["write"]}]}, r"tokens\.0\.scopes: unknown scope; found 'write'"),
        ({"tokens": [{**ALICE, "scopes": []}]}, r"tokens\.0\.scopes: no scopes"),
        ({"tokens": [{**ALICE, "scopes": [["read"]]}]}, "unknown scope"),
        ({"tokens": [{**ALICE, "name": "a b"}]}, r"tokens\.0\.name: invalid name"),
        ({"tokens": [{**ALICE, "name": "default"}]}, r"tokens\.0\.name: the name of the space of earlier facts"),
        ({"tokens": [{**ALICE, "token": "short"}]}, r"tokens\.0\.token: invalid token; expected at least 16"),
        ({"tokens": [{**ALICE, "token": "with\nline breaks and more"}]}, "invalid token"),
        ({"tokens": [{**ALICE, "sha256": BOB["sha256"]}]}, r"tokens\.0: incomplete; expected either token or sha256"),
        ({"tokens": [{**BOB, "sha256": "abc"}]}, r"tokens\.0\.sha256: not a SHA-256"),
        ({"tokens": [{**ALICE, "requests_per_minute": 0}]}, r"tokens\.0\.requests_per_minute: invalid rate"),
        ({"tokens": [ALICE, {**BOB, "name": "alice"}]}, r"tokens\.1\.name: used twice"),
        ({"tokens": [ALICE, {**ALICE, "name": "carol"}]}, r"tokens\.1\.token: used twice"),
        ([ALICE], "not an object"),
        ('{"tokens": [' + SECRET, "row 1: cannot be parsed"),
        ("[" * 100_000, "cannot be parsed"),
    ],
)
def test_invalid_file_is_reported_without_tokens(tmp_path: Path, content: Any, message: str) -> None:
    with pytest.raises(InputError, match=message) as raised:
        read_clients(written(tmp_path, content))
    assert SECRET not in str(raised.value)


def test_spaces_cannot_be_named_if_they_are_shared(tmp_path: Path) -> None:
    shared: Spaces = "shared"
    with pytest.raises(InputError, match="all tokens share one space"):
        read_clients(written(tmp_path, {"tokens": [{**ALICE, "space": "team"}]}), shared)
    kept = {**ALICE, "name": "default", "space": "default"}
    assert read_clients(written(tmp_path, {"tokens": [kept]}))[0].space == "default"


def test_rate_limit_says_when_to_try_again() -> None:
    now = 0.0
    rate = RateLimit(60, clock=lambda: now)
    for _ in range(10):  # ten seconds' worth at once
        rate.take()
    with pytest.raises(ApiError, match="more than 60 requests per minute") as raised:
        rate.take()
    assert (raised.value.status, raised.value.headers) == (429, {"Retry-After": "1"})
    now = 1.0
    rate.take()
    rate.charge(5)
    with pytest.raises(ApiError) as raised:
        rate.take()
    assert raised.value.retry_seconds == 6
    now = 7.0
    rate.take()


def test_slow_rate_allows_one_request() -> None:
    now = 0.0
    rate = RateLimit(1, clock=lambda: now)
    rate.take()
    with pytest.raises(ApiError) as raised:
        rate.take()
    assert raised.value.retry_seconds == 60
