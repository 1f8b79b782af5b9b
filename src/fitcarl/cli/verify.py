"""``fitcarl verify`` and ``fitcarl sign``: check that the files of a run belong together, and who vouches for them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fitcarl.cli import console
from fitcarl.errors import InputError

_RunArgument = Annotated[Path, typer.Argument(metavar="RUN", help="Run folder created by 'fitcarl train'.")]


def verify_files(
    run: _RunArgument,
    key: Annotated[
        Path | None,
        typer.Option("--key", metavar="PUBLIC_KEY", help="Require a signature by the owner of this Ed25519 key."),
    ] = None,
    write_manifest: Annotated[
        bool,
        typer.Option(
            "--write-manifest", help="Write the manifest of a run of an earlier version, if you trust its files."
        ),
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Check that all files of a run are as they were written and belong together; exit code 2 if not."""
    from fitcarl.runs.verify import adopt_run, raise_all, verify_run

    if write_manifest:
        adopt_run(run)
    found = verify_run(run, key)
    if json:
        console.show_json(found.to_json())
    elif found.ok:
        signed = ", signature valid" if found.signed else ""
        console.show(
            f"{run}: {found.files:,} files ({found.size / 1e6:,.1f} MB) verified{signed}; run {found.identity}"
        )
    raise_all(found)


def sign_files(
    run: _RunArgument,
    key: Annotated[
        Path, typer.Option("--key", metavar="PRIVATE_KEY", help="An Ed25519 key in PEM form, without a password.")
    ],
    new_key: Annotated[
        bool, typer.Option("--new-key", help="Create PRIVATE_KEY first, and PRIVATE_KEY.pub to give to others.")
    ] = False,
) -> None:
    """Verify a run and sign its manifest, so that others can check that it comes from you."""
    from fitcarl.runs.signature import create_key
    from fitcarl.runs.verify import sign_run

    if not new_key and not key.is_file():
        raise InputError("no such file", file=key, field="--key", expected="a private key, or --new-key to create it")
    if new_key:
        console.show(f"{create_key(key)}: the public key")
    console.show(f"{sign_run(run, key)}: written")
