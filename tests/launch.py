"""Starts Python modules with torchrun."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def torchrun_command(ranks: int, *arguments: object) -> list[str]:
    """The command line; ``torchrun`` is a script that runs this module."""
    return [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", str(ranks), *map(str, arguments)]


def environment() -> dict[str, str]:
    """One thread per rank, and a free port, as with the option ``--standalone``."""
    path = os.pathsep.join([str(ROOT / "src"), str(ROOT), os.environ.get("PYTHONPATH", "")])
    return {**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1", "FITCARL_THREADS": "1", "PET_STANDALONE": "1"}


def torchrun(ranks: int, *arguments: object) -> subprocess.CompletedProcess[str]:
    """Runs a command line to its end."""
    command = torchrun_command(ranks, *arguments)
    return subprocess.run(command, env=environment(), cwd=ROOT, capture_output=True, text=True, timeout=300)
