"""A PostgreSQL server that can be killed and started again."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
from importlib.util import find_spec
from pathlib import Path


def missing() -> str:
    """Why PostgreSQL cannot be used here; empty if it can."""
    if _programs() is None:
        return "PostgreSQL is not installed (no initdb)"
    if find_spec("psycopg") is None:
        return "the driver psycopg is not installed"
    if os.geteuid() == 0 and not _has_user():
        return "PostgreSQL does not run as root, and there is no user postgres"
    return ""


def _programs() -> Path | None:
    installed = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: float(path.parts[-3]))
    found = installed[-1] if installed else shutil.which("initdb")
    return None if found is None else Path(found).parent


def _has_user() -> bool:
    try:
        pwd.getpwnam("postgres")
    except KeyError:
        return False
    return True


class Database:
    """A server with its data in a folder, on a socket in that folder only.

    Args:
        folder: An existing folder with a short path: that of a socket is limited.
    """

    def __init__(self, folder: Path) -> None:
        self._folder, self._user = folder, "postgres" if os.geteuid() == 0 else None
        if self._user:
            shutil.chown(folder, self._user)
        self.url = f"postgresql://tester@/postgres?host={folder}"
        self._run("initdb", "-D", str(folder / "data"), "-U", "tester", "-A", "trust", "-E", "UTF8", "--no-locale")
        self.start()

    def start(self) -> None:
        log, options = str(self._folder / "log"), f"-c listen_addresses='' -k {self._folder}"
        self._run("pg_ctl", "-D", str(self._folder / "data"), "-w", "-l", log, "-o", options, "start")

    def crash(self) -> None:
        """Ends the server without a checkpoint, as a crash does."""
        self._run("pg_ctl", "-D", str(self._folder / "data"), "-w", "-m", "immediate", "stop")

    def _run(self, program: str, *arguments: str) -> None:
        programs = _programs()
        assert programs is not None
        command = [str(programs / program), *arguments]
        subprocess.run(command, user=self._user, cwd=self._folder, check=True, capture_output=True, timeout=120)
