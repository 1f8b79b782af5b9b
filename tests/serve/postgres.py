"""A PostgreSQL server for the duration of the tests, if PostgreSQL is installed."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

_OWNER = "postgres"


def _programs() -> Path | None:
    """The folder that contains initdb: of the newest Debian package, or from the PATH."""
    installed = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: float(path.parts[-3]))
    found = installed[-1] if installed else shutil.which("initdb")
    return None if found is None else Path(found).parent


def _owner() -> str | None:
    """The user that runs the server, which does not run as root."""
    if os.geteuid() != 0:
        return None
    try:
        pwd.getpwnam(_OWNER)
    except KeyError:
        pytest.skip("PostgreSQL does not run as root, and there is no user postgres")
    return _OWNER


@contextmanager
def server() -> Iterator[str]:
    """The URL of a new, empty server that listens on a socket in its own folder only."""
    programs = _programs()
    if programs is None:
        pytest.skip("PostgreSQL is not installed here (no initdb)")
    pytest.importorskip("psycopg", reason="the driver for PostgreSQL is not installed: pip install 'fitcarl[postgres]'")
    owner = _owner()
    with tempfile.TemporaryDirectory(prefix="fitcarl-pg-") as scratch:  # short: the path of a socket is limited
        folder = Path(scratch)
        if owner is not None:
            shutil.chown(folder, owner)

        def run(program: str, *arguments: str) -> None:
            subprocess.run(
                [programs / program, *arguments], user=owner, cwd=folder, check=True, capture_output=True, timeout=60
            )

        data = str(folder / "data")
        run("initdb", "-D", data, "-U", "tester", "-A", "trust", "-E", "UTF8", "--no-locale", "--no-sync")
        # Without inherited standard streams, which would block a reader of this process until the server ends.
        run(
            "pg_ctl",
            "-D",
            data,
            "-w",
            "-l",
            str(folder / "log"),
            "-o",
            f"-F -c listen_addresses='' -k {folder}",
            "start",
        )
        try:
            yield f"postgresql://tester@/postgres?host={folder}"
        finally:
            run("pg_ctl", "-D", data, "-w", "-m", "immediate", "stop")
