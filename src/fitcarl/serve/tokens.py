"""The file of tokens: several clients with names, scopes, spaces and rate limits."""

from __future__ import annotations

import json
import os
import re
import stat
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from fitcarl.errors import InputError, did_you_mean
from fitcarl.serve.clients import ALL_SCOPES, Client, RateLimit, Scope, token_digest
from fitcarl.serve.tables import DEFAULT_SPACE

Spaces = Literal["separate", "shared"]
"""Whether every token has its own stored facts, or all use the same ones."""

_MAX_BYTES = 1_000_000
MIN_LENGTH = 16
"""Characters of a token that is not hashed; shorter ones could be guessed."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_SHA256 = re.compile(r"[0-9a-f]{64}")
_KEYS = ("name", "token", "sha256", "scopes", "space", "requests_per_minute")
_OTHERS_MAY = stat.S_IROTH | stat.S_IWOTH


def read_clients(file: str | Path, spaces: Spaces = "separate") -> tuple[Client, ...]:
    """Reads a TOML or JSON file of tokens.

    Args:
        file: The file; other users of the machine must not be able to read or change it.
        spaces: Whether each token has its own stored facts.

    Raises:
        InputError: If the file cannot be used; the message never contains a token.
    """
    content = _parsed(Path(file))
    _check_keys(file, "", content, ("tokens", "requests_per_minute"))
    entries = content.get("tokens")
    if not isinstance(entries, list) or not entries:
        raise InputError("no tokens", file=file, field="tokens", expected="a list of tokens, each with a name")
    default_rate = _rate(file, "requests_per_minute", content)
    clients = [_client(file, f"tokens.{index}", one, spaces, default_rate) for index, one in enumerate(entries)]
    for key in ("name", "digest"):
        values = [getattr(client, key) for client in clients]
        if repeated := [index for index, value in enumerate(values) if value in values[:index]]:
            field = f"tokens.{repeated[0]}.{'name' if key == 'name' else 'token'}"
            raise InputError("used twice", file=file, field=field, expected="another one for every client")
    return tuple(clients)


def _parsed(file: Path) -> dict[str, Any]:
    with file.open("rb") as opened:  # the mode of the opened file, so that it cannot be exchanged meanwhile
        mode = os.fstat(opened.fileno()).st_mode
        if os.name == "posix" and mode & _OTHERS_MAY:
            hint = f"run: chmod 600 {file}"
            problem = "other users can read or change this file of tokens"
            raise InputError(problem, file=file, found=stat.filemode(mode), expected="a private file", hint=hint)
        content = opened.read(_MAX_BYTES + 1)
    if len(content) > _MAX_BYTES:
        raise InputError("too large", file=file, expected=f"at most {_MAX_BYTES} bytes")
    try:
        text = content.decode()
        value = json.loads(text) if file.suffix == ".json" else tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        where = re.search(r"line (\d+)", str(error))  # only this, because the text of the error may contain a token
        expected = "JSON" if file.suffix == ".json" else "TOML, or a file name that ends with .json"
        raise InputError(
            "cannot be parsed", file=file, row=int(where[1]) if where else None, expected=expected
        ) from None
    if not isinstance(value, dict):
        raise InputError("not an object", file=file, expected='{"tokens": [...]}')
    return value


def _client(file: str | Path, place: str, entry: object, spaces: Spaces, default_rate: float | None) -> Client:
    if not isinstance(entry, dict):
        raise InputError("not a token", file=file, field=place, expected="a table with the keys " + ", ".join(_KEYS))
    _check_keys(file, place, entry, _KEYS)
    name = _name(file, f"{place}.name", entry.get("name"))
    space = DEFAULT_SPACE if spaces == "shared" else name
    if "space" in entry:
        if spaces == "shared":
            raise InputError("all tokens share one space", file=file, field=f"{place}.space", expected="no space")
        space = _name(file, f"{place}.space", entry["space"])
    elif name == DEFAULT_SPACE:
        expected = "another name, or also a space"
        raise InputError("the name of the space of earlier facts", file=file, field=f"{place}.name", expected=expected)
    rate = _rate(file, f"{place}.requests_per_minute", entry) or default_rate
    limit = None if rate is None else RateLimit(rate)
    return Client(name, _digest(file, place, entry), _scopes(file, place, entry), space, limit)


def _check_keys(file: str | Path, place: str, entry: Mapping[str, Any], known: tuple[str, ...]) -> None:
    for key in entry:
        if key not in known:
            field, hint = ".".join(filter(None, (place, key))), did_you_mean(key, known)
            raise InputError("unknown key", file=file, field=field, expected="one of " + ", ".join(known), hint=hint)


def _name(file: str | Path, field: str, value: object) -> str:
    if not isinstance(value, str) or not _NAME.fullmatch(value):
        expected = "up to 64 letters, digits, dots, hyphens and underscores"
        raise InputError("invalid name", file=file, field=field, found=value, expected=expected)
    return value


def _digest(file: str | Path, place: str, entry: Mapping[str, Any]) -> bytes:
    token, sha256 = entry.get("token"), entry.get("sha256")
    if (token is None) == (sha256 is None):
        raise InputError("incomplete", file=file, field=place, expected="either token or sha256")
    if sha256 is not None:
        if not isinstance(sha256, str) or not _SHA256.fullmatch(sha256.lower()):
            raise InputError("not a SHA-256", file=file, field=f"{place}.sha256", expected="64 hexadecimal digits")
        return bytes.fromhex(sha256)
    if not isinstance(token, str) or len(token) < MIN_LENGTH or not is_token(token):
        expected = f"at least {MIN_LENGTH} visible ASCII characters"
        raise InputError("invalid token", file=file, field=f"{place}.token", expected=expected)
    return token_digest(token)


def is_token(text: str) -> bool:
    """Whether a text can be sent as a bearer token."""
    return text.isascii() and text.isprintable() and text.strip() == text != ""


def _scopes(file: str | Path, place: str, entry: Mapping[str, Any]) -> frozenset[Scope]:
    field, expected = f"{place}.scopes", "a list of " + ", ".join(sorted(ALL_SCOPES))
    scopes = entry.get("scopes")
    if not isinstance(scopes, list) or not scopes:
        raise InputError("no scopes", file=file, field=field, expected=expected)
    for scope in scopes:
        if not isinstance(scope, str) or scope not in ALL_SCOPES:
            raise InputError("unknown scope", file=file, field=field, found=scope, expected=expected)
    return frozenset(scopes)


def _rate(file: str | Path, field: str, entry: Mapping[str, Any]) -> float | None:
    value = entry.get("requests_per_minute")
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < float("inf"):
        raise InputError("invalid rate", file=file, field=field, found=value, expected="a number above 0")
    return float(value)
