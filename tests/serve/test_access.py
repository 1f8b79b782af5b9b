from __future__ import annotations

import pytest

from fitcarl.serve.access import AccessPolicy, is_local
from fitcarl.serve.errors import ApiError


def status(guard: AccessPolicy, path: str = "/v1/model", **headers: str) -> int:
    try:
        guard.check(path, headers)
    except ApiError as refusal:
        return refusal.status
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
def test_a_token_is_asked_for_and_must_be_the_right_one(header: str, expected: int) -> None:
    guard = AccessPolicy.of("0.0.0.0", "right")
    assert status(guard, authorization=header, host="example.org") == expected


def test_the_page_and_health_are_open_where_a_token_is_asked_for() -> None:
    guard = AccessPolicy.of("127.0.0.1", "right")
    assert status(guard, "/") == status(guard, "/assets/page.js") == status(guard, "/v1/health") == 200
    assert status(guard, "/v1/docs") == status(guard, "/v1/metrics") == 401


def test_a_token_of_any_characters_is_compared_without_failing() -> None:
    assert status(AccessPolicy(token="right"), authorization="Bearer ü€") == 401


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
        ("", 400),
    ],
)
def test_a_local_service_answers_to_local_names_only(host: str, expected: int) -> None:
    assert status(AccessPolicy.of("127.0.0.1", None, ["Here.example"]), host=host) == expected


def test_a_service_for_others_answers_to_any_name() -> None:
    assert status(AccessPolicy.of("0.0.0.0", None), host="any.example") == 200


@pytest.mark.parametrize(
    ("host", "local"),
    [("127.0.0.1", True), ("127.9.9.9", True), ("::1", True), ("localhost", True), ("0.0.0.0", False), ("db", False)],
)
def test_what_only_this_machine_reaches_is_local(host: str, local: bool) -> None:
    assert is_local(host) is local
