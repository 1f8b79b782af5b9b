from __future__ import annotations

import pytest

from fitcarl.serve.access import AccessPolicy, is_local
from fitcarl.serve.clients import Client
from fitcarl.serve.errors import ApiError

TOKEN = (Client.with_token("right"),)


def status(access: AccessPolicy, path: str = "/v1/model", **headers: str) -> int:
    try:
        access.check("GET", path, headers)
    except ApiError as error:
        return error.status
    return 200


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ("Bearer right", 200),
        ("bearer right", 200),
        ("Bearer wrong", 401),
        ("Basic right", 401),
        ("right", 401),
        ("", 401),
    ],
)
def test_token_must_match(header: str, expected: int) -> None:
    access = AccessPolicy.for_address("0.0.0.0", TOKEN)
    assert status(access, authorization=header, host="example.org") == expected


def test_explorer_and_health_need_no_token() -> None:
    access = AccessPolicy.for_address("127.0.0.1", TOKEN)
    assert (
        status(access, "/")
        == status(access, "/assets/page.js")
        == status(access, "/v1/health")
        == status(access, "/v1/ready")
        == 200
    )
    assert status(access, "/v1/docs") == status(access, "/v1/metrics") == 401


def test_token_with_non_ascii_characters_is_rejected() -> None:
    assert status(AccessPolicy(TOKEN), authorization="Bearer ü€") == 401


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("127.0.0.1:8000", 200),
        ("localhost", 200),
        ("LOCALHOST:8000", 200),
        ("[::1]:8000", 200),
        ("here.example", 200),
        ("evil.example:8000", 400),
        ("127.0.0.1.evil.example", 400),
        ("127.0.0.1:@evil.example", 400),
        ("[::1].evil.example", 400),
        ("localhost\x00", 400),
        ("", 400),
    ],
)
def test_local_service_accepts_local_host_names_only(host: str, expected: int) -> None:
    assert status(AccessPolicy.for_address("127.0.0.1", (), ["Here.example"]), host=host) == expected


def test_public_service_accepts_any_host_name() -> None:
    assert status(AccessPolicy.for_address("0.0.0.0"), host="any.example") == 200


@pytest.mark.parametrize(
    ("host", "local"),
    [("127.0.0.1", True), ("127.9.9.9", True), ("::1", True), ("localhost", True), ("0.0.0.0", False), ("db", False)],
)
def test_loopback_addresses_are_local(host: str, local: bool) -> None:
    assert is_local(host) is local
