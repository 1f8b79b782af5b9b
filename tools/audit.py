"""Looks for known vulnerabilities in what is installed and bundled: ``python tools/audit.py PIP_AUDIT``.

Exit code 0: none known; 1: some; 2: a database could not be reached, so that nothing is known.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def audit_python(program: str, lock: Path) -> int:
    """The exit code for a lock file.

    Args:
        program: The pip-audit program.
        lock: The lock file.
    """
    command = [program, "--disable-pip", "--require-hashes", "--progress-spinner", "off", "--format", "json"]
    done = subprocess.run([*command, "-r", str(lock)], capture_output=True, text=True)
    try:
        found = json.loads(done.stdout)["dependencies"]
    except (ValueError, KeyError):
        print(f"{lock.name}: not checked: pip-audit failed ({last_line(done.stderr)})")
        return 2
    skipped = [package["name"] for package in found if "skip_reason" in package]
    if len(skipped) == len(found):
        print(f"{lock.name}: not checked: the database does not answer")
        return 2
    known = [(package["name"], each["id"]) for package in found for each in package.get("vulns", ())]
    for name, identity in known:
        print(f"{lock.name}: {name}: {identity}")
    without = f", {len(skipped)} not in the database" if skipped else ""
    print(f"{lock.name}: {len(known)} known vulnerabilities in {len(found)} packages{without}")
    return 1 if known else 0


def audit_npm(folder: Path) -> int:
    """The exit code for the packages that the explorer is built with."""
    npm = shutil.which("npm")
    if npm is None:
        print("package-lock.json: not checked: npm is not installed")
        return 2
    command = [npm, "audit", "--json", "--package-lock-only"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    try:
        counts = json.loads(done.stdout)["metadata"]["vulnerabilities"]
    except (ValueError, KeyError):
        print(f"package-lock.json: not checked: the registry does not answer ({first_error(done.stderr)})")
        return 2
    print(f"package-lock.json: {counts['total']} known vulnerabilities")
    return 1 if counts["total"] else 0


def last_line(text: str) -> str:
    """The last line that says something, shortened."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1][:200] if lines else "no message"


def first_error(text: str) -> str:
    """The first line of npm that says what is wrong."""
    lines = [line.removeprefix("npm error").strip() for line in text.splitlines() if line.startswith("npm error")]
    return lines[0][:200] if lines else last_line(text)


def main(program: str) -> int:
    codes = [audit_python(program, ROOT / "requirements" / name) for name in ("service.lock", "ci.lock")]
    codes.append(audit_npm(ROOT / "web"))
    return 1 if 1 in codes else max(codes)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
