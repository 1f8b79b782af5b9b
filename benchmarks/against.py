"""This tree beside an earlier commit: the same benchmarks, run in turns, and their ratios."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
COMMANDS = {
    "actions": "microseconds_per_state",
    "episode": "cpu_seconds_per_episode",
    "evaluate": "cpu_seconds_per_pass",
}
ROUNDS = 3


def measure(tree: Path, command: str, data: str) -> float:
    """One figure of a tree's own benchmark command."""
    line = [sys.executable, "-m", "fitcarl", "benchmark", command, "--data", data, "--json"]
    environment = os.environ | {"PYTHONPATH": str(tree / "src")}
    done = subprocess.run(line, cwd=tree, env=environment, capture_output=True, text=True, check=True)
    return float(json.loads(done.stdout)[COMMANDS[command]])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("revision", nargs="?", default="HEAD~1")
    parser.add_argument("--data", default="demo")
    parser.add_argument("--only", choices=COMMANDS, default=None)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        before = Path(folder) / "before"
        subprocess.run(["git", "worktree", "add", "--detach", before, chosen.revision], cwd=ROOT, check=True)
        try:
            for command in [chosen.only] if chosen.only else COMMANDS:
                times = {tree: [] for tree in (before, ROOT)}
                for _ in range(ROUNDS):
                    for tree, found in times.items():
                        found.append(measure(tree, command, chosen.data))
                old, new = min(times[before]), min(times[ROOT])
                print(f"{command:<10} {COMMANDS[command]}: {old:.3f} before, {new:.3f} now, ratio {old / new:.2f}")
        finally:
            subprocess.run(["git", "worktree", "remove", "--force", before], cwd=ROOT, check=True)


if __name__ == "__main__":
    main()
