"""Plant one fault after the other and report those that no test detects: ``make mutants``.

    python tests/mutants/run.py [--only TEXT] [--workers N] [--list]

Each worker has a copy of the checkout. All tests that a mutant names must pass there without any mutant, otherwise
nothing is examined; a mutant counts as caught if one of its tests fails. Exit code 1 if a mutant survives.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from time import perf_counter

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.mutants.catalog import MUTANTS
from tests.mutants.mutant import ROOT, Mutant

_COPIED = ("src", "tests", "pyproject.toml", "README.md", "docs", "examples", "web/openapi.json")
_TIMEOUT = 600
_TESTS_FAILED = 1
"""pytest's exit code for failed tests; any other non-zero code means that the tests could not be run."""


@dataclass(frozen=True)
class Outcome:
    """The test result of a mutant."""

    mutant: Mutant
    caught: bool
    seconds: float
    note: str = ""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="mutants whose name or file contains this text")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--list", action="store_true", help="list the mutants and stop")
    options = parser.parse_args()
    chosen = [mutant for mutant in MUTANTS if options.only in mutant.name or options.only in mutant.file]
    if options.list:
        print("\n".join(f"{mutant.file}: {mutant.name}" for mutant in chosen))
        return 0
    if stale := [f"{mutant.name}: {problem}" for mutant in chosen if (problem := mutant.problem())]:
        print("\n".join(stale))
        return 1
    with tempfile.TemporaryDirectory(prefix="fitcarl-mutants-") as scratch:
        copies = [copy_checkout(Path(scratch) / f"worker-{number}") for number in range(options.workers)]
        tests = tuple(dict.fromkeys(test for mutant in chosen for test in mutant.tests))
        if run_tests(tests, copies[0], own_cache=False) != 0:
            print("the tests fail without any mutant; run them first: " + " ".join(f"tests/{test}" for test in tests))
            return 1
        outcomes = examine(chosen, copies)
    survivors = [outcome for outcome in outcomes if not outcome.caught]
    print(f"{len(outcomes)} mutants: {len(outcomes) - len(survivors)} caught, {len(survivors)} survived")
    for outcome in survivors:
        print(f"survived: {outcome.mutant.file}: {outcome.mutant.name} {outcome.note}".rstrip())
    return bool(survivors)


def examine(mutants: list[Mutant], copies: list[Path]) -> list[Outcome]:
    """Run every mutant's tests, one mutant per copy of the checkout at a time."""
    free: SimpleQueue[Path] = SimpleQueue()
    for copy in copies:
        free.put(copy)

    def one(mutant: Mutant) -> Outcome:
        copy = free.get()
        try:
            outcome = examine_one(mutant, copy)
        finally:
            free.put(copy)
        verdict = "caught" if outcome.caught else "SURVIVED"
        print(f"{verdict:9}{outcome.seconds:5.0f} s  {mutant.file}: {mutant.name} {outcome.note}".rstrip(), flush=True)
        return outcome

    with ThreadPoolExecutor(len(copies)) as pool:
        return list(pool.map(one, mutants))


def examine_one(mutant: Mutant, copy: Path) -> Outcome:
    """Plant a mutant in a copy of the checkout, run its tests, and restore the copy."""
    began = perf_counter()
    compiled = "fitcarl.core.compiled" in mutant.source.read_text(encoding="utf-8")
    mutant.plant(copy)
    try:
        code = run_tests(mutant.tests, copy, own_cache=compiled)
    finally:
        mutant.remove(copy)
    note = "" if code in (0, _TESTS_FAILED) else f"(pytest ended with {code})"
    return Outcome(mutant, code == _TESTS_FAILED, perf_counter() - began, note)


def run_tests(tests: tuple[str, ...], copy: Path, *, own_cache: bool) -> int:
    """pytest's exit code, which stops at the first failure.

    Numba caches compiled functions by file and does not notice a change in a function of another file: a mutant of
    compiled code gets its own cache directory.
    """
    environment = os.environ | {"PYTHONPATH": str(copy / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
    environment |= {"FITCARL_DATA": os.environ.get("FITCARL_DATA", str(ROOT.parent / "shared" / "data"))}
    cache = Path(tempfile.mkdtemp(dir=copy)) if own_cache else copy / "numba"
    environment |= {"NUMBA_CACHE_DIR": str(cache)}
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "-m", "not slow"]
    command += [str(Path("tests") / test) for test in tests]
    try:
        done = subprocess.run(command, cwd=copy, env=environment, capture_output=True, timeout=_TIMEOUT, check=False)
        return done.returncode
    except subprocess.TimeoutExpired:
        return _TESTS_FAILED  # an endless loop counts as detected
    finally:
        if own_cache:
            shutil.rmtree(cache, ignore_errors=True)


def copy_checkout(target: Path) -> Path:
    """A copy of what the tests need."""
    skip = shutil.ignore_patterns("__pycache__", "node_modules")
    for name in _COPIED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, target / name, ignore=skip)
        elif source.is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target / name)
    return target


if __name__ == "__main__":
    raise SystemExit(main())
