"""The processor time that the first demo spends on compiling: a demo without cached code minus one with it."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from glob import escape
from pathlib import Path

from fitcarl.core.progress import OnProgress, Progress


@dataclass(frozen=True)
class CompileTimes:
    """Processor seconds, user and system, of two demos; other work on the machine can add to them."""

    cold_cpu_seconds: float
    """The first demo: it compiles every loop that it calls."""
    warm_cpu_seconds: float
    """The second demo: it does the same with the code that the first one cached."""
    compile_cpu_seconds: float
    """The difference."""
    functions: int
    """Functions of the package that were compiled."""
    versions: int
    """Versions of these functions: each is compiled for every combination of argument types that it is called with."""


def measure_compile(episodes: int, on_progress: OnProgress = lambda _: None) -> CompileTimes:
    """Runs the demo twice in a temporary folder, first without, then with cached code.

    Args:
        episodes: Maximum number of training episodes. Both demos train as much, so few are enough for the difference.
        on_progress: Called before each demo.
    """
    seconds: list[float] = []
    with tempfile.TemporaryDirectory(prefix="fitcarl-compile-") as temporary:
        folder = Path(temporary)
        for number, name in enumerate(("without cached code", "with cached code")):
            on_progress(Progress(f"demo {name}", number, 2))
            home = folder / f"home-{number}"  # a new one: results that the first demo cached would save the second work
            environment = {"NUMBA_CACHE_DIR": str(folder / "code"), "FITCARL_HOME": str(home)}
            seconds.append(_demo_seconds(folder / f"demo-{number}", episodes, environment))
        versions = cached_versions(folder / "code")
    return compile_times(seconds[0], seconds[1], versions)


def compile_times(cold: float, warm: float, versions: Sequence[int]) -> CompileTimes:
    """The difference of two demos.

    Args:
        cold: Processor seconds of the demo without cached code.
        warm: Those of the demo with cached code.
        versions: Number of versions of every compiled function.
    """
    return CompileTimes(cold, warm, cold - warm, len(versions), sum(versions))


def cached_versions(folder: Path) -> list[int]:
    """The number of compiled versions of every function with code in a cache folder.

    numba writes one index NAME.nbi per function, and one file NAME.NUMBER.nbc per version.

    Args:
        folder: The value of ``NUMBA_CACHE_DIR``.
    """
    return [len(list(index.parent.glob(f"{escape(index.stem)}.*.nbc"))) for index in sorted(folder.rglob("*.nbi"))]


def _demo_seconds(out: Path, episodes: int, environment: dict[str, str]) -> float:
    """Processor seconds of a demo, those of its child processes included."""
    command = [sys.executable, "-m", "fitcarl", "demo", "--out", str(out), "--episodes", str(episodes), "--json"]
    before = os.times()
    subprocess.run(command, capture_output=True, check=True, env=os.environ | environment)
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system
