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

from fitcarl.core.compiled import cache_problem
from fitcarl.core.progress import OnProgress, Progress
from fitcarl.errors import FitcarlError, InputError


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

    Raises:
        InputError: If compiled code is not cached in the temporary folder.
        FitcarlError: If a demo fails.
    """
    seconds: list[float] = []
    with tempfile.TemporaryDirectory(prefix="fitcarl-compile-") as temporary:
        folder = Path(temporary)
        code = folder / "code"
        code.mkdir()
        if problem := cache_problem(code):
            raise _not_cached(code, problem)
        for number, name in enumerate(("without cached code", "with cached code")):
            on_progress(Progress(f"demo {name}", number, 2))
            home = folder / f"home-{number}"  # a new one: results that the first demo cached would save the second work
            environment = {"NUMBA_CACHE_DIR": str(code), "FITCARL_HOME": str(home)}
            seconds.append(_demo_seconds(name, folder / f"demo-{number}", episodes, environment))
            if not (versions := cached_versions(code)):
                raise _not_cached(code)
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


def _not_cached(folder: Path, reason: str | None = None) -> InputError:
    """The error about a folder without cached code, with which both demos compile the same."""
    expected = "a temporary folder, TMPDIR, that this user alone can write"
    problem = "compiled code is not cached here"
    return InputError(problem if reason is None else f"{problem}: {reason}", file=folder, expected=expected)


def _demo_seconds(name: str, out: Path, episodes: int, environment: dict[str, str]) -> float:
    """Processor seconds of a demo, those of its child processes included."""
    command = [sys.executable, "-m", "fitcarl", "demo", "--out", str(out), "--episodes", str(episodes), "--json"]
    before = os.times()
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", env=os.environ | environment)
    after = os.times()
    if done.returncode:
        reason = (done.stderr.strip() or "no message").splitlines()[-1].removeprefix("error: ")
        raise FitcarlError(f"the demo {name} ended with exit code {done.returncode} ({reason})")
    return after.children_user + after.children_system - before.children_user - before.children_system
