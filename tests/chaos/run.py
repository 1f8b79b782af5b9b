"""Chaos on every kind of store that this machine has: ``python -m tests.chaos.run``.

``CHAOS_SECONDS`` is the duration of all phases together (1800), ``CHAOS_SEED`` the seed of all random choices (0).
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

from fitcarl.training.api import train
from tests.chaos import database
from tests.chaos.phase import Phase, from_json, run_phase, to_json
from tests.chaos.results import Results
from tests.small import SMALL, write_tiny

SHARES = {"sqlite": 0.4, "postgresql": 0.4, "full disk": 0.2}
"""Share of the time of each kind of store."""
_MOUNT = 'mount -t tmpfs -o size=16m tmpfs "$1" && shift && exec "$@"'
_RESULTS = "results: "


def missing(store: str) -> str:
    """Why a kind of store cannot be tested here; empty if it can."""
    if store == "postgresql":
        return database.missing()
    if store == "full disk":
        command = ["unshare", "-rm", "sh", "-c", "mount -t tmpfs -o size=16m tmpfs /mnt"]
        if shutil.which("unshare") is None or subprocess.run(command, capture_output=True).returncode != 0:
            return "no small file system can be mounted (unshare -rm)"
    return ""


def run_store(phase: Phase, run: Path, folder: Path) -> Results:
    """One phase; that of a full disk in a process with a file system of its own.

    Args:
        phase: What is done.
        run: Run folder.
        folder: An empty folder.
    """
    if phase.store != "full disk":
        return run_phase(phase, run, folder)
    command = ["unshare", "-rm", "sh", "-c", _MOUNT, "sh", str(folder), sys.executable, "-m", "tests.chaos.run"]
    command += [phase.store, str(phase.seconds), str(phase.seed), str(run), str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=phase.seconds + 600)
    lines = [line for line in done.stdout.splitlines() if line.startswith(_RESULTS)]
    if not lines:
        raise RuntimeError(f"the phase {phase.store} failed: {done.stderr[-2000:]}")
    return from_json(lines[0].removeprefix(_RESULTS))


def summary(results: Mapping[str, Results]) -> str:
    """A table with one row per kind of store, then faults and problems."""
    lines = [
        f"{'store':<12}{'requests':>10}{'errors':>9}{'p50':>8}{'p99':>8}{'max':>8}{'memory':>9}{'faults':>8}{'problems':>10}"
    ]
    for store, found in results.items():
        times = "".join(f"{found.percentile(share):>6.2f} s" for share in (0.5, 0.99, 1.0))
        memory = f"{max(found.memory_mb, default=0):>6.0f} MB"
        counts = f"{found.faults.total():>8}{len(found.problems):>10}"
        lines += [f"{store:<12}{found.responses.total():>10,}{found.share_of_errors():>9.1%}{times}{memory}{counts}"]
    for store, found in results.items():
        lines += [f"{store}: " + ", ".join(f"{name} {count}" for name, count in sorted(found.faults.items()))]
        lines += [f"{store}: " + ", ".join(f"{name} {count}" for name, count in sorted(found.responses.items()))]
        lines += [f"{store}: PROBLEM {problem}" for problem in found.problems]
    return "\n".join(lines)


def run_all(seconds: float, seed: int, run: Path, folder: Path) -> dict[str, Results]:
    """All phases that this machine allows.

    Args:
        seconds: Duration of all together.
        seed: Of all random choices.
        run: Run folder.
        folder: An empty folder.
    """
    reasons = {store: missing(store) for store in SHARES}
    usable = {store: share for store, share in SHARES.items() if not reasons[store]}
    results = {}
    for store, reason in reasons.items():
        if reason:
            print(f"{store}: skipped: {reason}", flush=True)
            continue
        place = folder / store.replace(" ", "-")
        place.mkdir()
        print(f"{store}: {seconds * usable[store] / sum(usable.values()):.0f} s", flush=True)
        results[store] = run_store(Phase(store, seconds * usable[store] / sum(usable.values()), seed), run, place)
    return results


def main() -> int:
    if len(sys.argv) == 6:  # in a file system of its own
        store, seconds, seed, run, folder = sys.argv[1:]
        print(_RESULTS + to_json(run_phase(Phase(store, float(seconds), int(seed)), Path(run), Path(folder))))
        return 0
    seconds, seed = float(os.environ.get("CHAOS_SECONDS", "1800")), int(os.environ.get("CHAOS_SEED", "0"))
    with TemporaryDirectory(prefix="fitcarl-chaos-") as scratch:
        folder = Path(scratch)
        data = write_tiny(folder / "tiny")
        train(data, out=folder / "run", shots=2, episodes=1, settings=(*SMALL, "training.validate_every=1"))
        results = run_all(seconds, seed, folder / "run", folder)
    print(summary(results))
    return 1 if any(found.problems for found in results.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
