"""Ed25519 signatures of manifests: who vouches for a run. Needs the extra ``sign``."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fitcarl.core.files import read_json, write_json
from fitcarl.errors import InputError, require_extra
from fitcarl.runs.manifest import SIGNATURE, Manifest

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

_FORMAT = 1
_PURPOSE = b"fitcarl run manifest\n"
"""Signed before the content, so that the signature is valid for nothing else."""
_MAX_KEY = 1 << 16
"""Bytes of a key file."""
_MAX_SIGNATURE = 1 << 16
"""Bytes of a signature with the identity of its run."""


def create_key(file: Path) -> Path:
    """Writes a new private key that only its owner can read, and its public key beside it.

    Args:
        file: The private key; the public key gets the same name with ``.pub``.

    Returns:
        The file of the public key.

    Raises:
        InputError: If one of the files exists or cannot be written.
    """
    _require()
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

    key, public = Ed25519PrivateKey.generate(), file.with_name(file.name + ".pub")
    contents = (
        (file, key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()), 0o600),
        (public, key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo), 0o644),
    )
    for path, _, _ in contents:
        if path.exists():
            raise InputError("exists already", file=path, field="--new-key", expected="a new file")
    for path, content, mode in contents:
        try:
            with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as out:
                out.write(content)
        except OSError as error:
            raise InputError(f"cannot be written ({error.strerror})", file=path, field="--new-key") from None
    return public


def sign_manifest(manifest: Manifest, folder: Path, key: Path) -> Path:
    """Writes the signature of a manifest beside it.

    Args:
        manifest: The manifest, whose files have been checked.
        folder: The folder of the manifest.
        key: An Ed25519 private key in PEM form, without a password.

    Returns:
        The file of the signature.

    Raises:
        InputError: If the key cannot be used.
    """
    _require()
    private, file = _private_key(key), folder / SIGNATURE
    signed = private.sign(_signed_content(manifest))
    write_json(file, {"format": _FORMAT, "algorithm": "ed25519", "run": manifest.run, "signature": signed.hex()})
    return file


def check_signature(manifest: Manifest, folder: Path, key: Path) -> None:
    """Raises an InputError unless the manifest has a signature by the owner of a public key.

    Args:
        manifest: The manifest.
        folder: Its folder.
        key: An Ed25519 public key in PEM form.
    """
    _require()
    from cryptography.exceptions import InvalidSignature

    public, file = _public_key(key), folder / SIGNATURE
    if not file.exists():
        raise InputError("is missing, so that the run is not signed", file=file, expected="a signature")
    found: Any = read_json(file, _MAX_SIGNATURE)
    try:
        if (found["format"], found["algorithm"]) != (_FORMAT, "ed25519"):
            raise ValueError
        public.verify(bytes.fromhex(found["signature"]), _signed_content(manifest))
    except InvalidSignature:
        raise InputError("is not a signature of this run by this key", file=file, expected=f"one by {key}") from None
    except (KeyError, TypeError, ValueError):
        raise InputError("is damaged", file=file, expected="the file that `fitcarl sign` wrote") from None


def _require() -> None:
    require_extra("sign", "cryptography", needed_by="signing and checking signatures")


def _signed_content(manifest: Manifest) -> bytes:
    return _PURPOSE + json.dumps(manifest.content(), sort_keys=True, separators=(",", ":")).encode()


def _private_key(file: Path) -> Ed25519PrivateKey:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    try:
        key = load_pem_private_key(_key_content(file), password=None)
    except (ValueError, TypeError):
        key = None
    if not isinstance(key, Ed25519PrivateKey):
        expected = "an Ed25519 private key in PEM form without a password, such as `fitcarl sign --new-key` creates"
        raise InputError("is not a private key", file=file, field="--key", expected=expected)
    return key


def _public_key(file: Path) -> Ed25519PublicKey:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    from cryptography.hazmat.primitives.serialization import load_pem_public_key

    try:
        key = load_pem_public_key(_key_content(file))
    except (ValueError, TypeError):
        key = None
    if not isinstance(key, Ed25519PublicKey):
        raise InputError("is not a public key", file=file, field="--key", expected="an Ed25519 public key in PEM form")
    return key


def _key_content(file: Path) -> bytes:
    try:
        if not file.is_file():
            raise InputError("no such file", file=file, field="--key", expected="a key")
        with file.open("rb") as content:
            return content.read(_MAX_KEY)
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror})", file=file, field="--key") from None
