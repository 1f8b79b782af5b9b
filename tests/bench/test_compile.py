"""The compile benchmark: what it counts, and the whole command."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from fitcarl.bench.compile import cached_versions, compile_times


def test_seconds_of_compiling_are_those_that_the_demo_with_cached_code_saves() -> None:
    found = compile_times(40.0, 25.0, [1, 3, 2])
    assert found.compile_cpu_seconds == 15.0
    assert (found.functions, found.versions) == (3, 6)


def test_versions_are_counted_by_function(tmp_path: Path) -> None:
    files = {"graph": ["kernels._hash-1.py311.nbi", "kernels._hash-1.py311.1.nbc"]}
    files["core"] = ["sorting.sort-9.py311.nbi", "sorting.sort-9.py311.1.nbc", "sorting.sort-9.py311.2.nbc"]
    files["core"] += ["sorting.sort-90.py311.nbi", "sorting.sort-90.py311.1.nbc"]
    for folder, names in files.items():
        (tmp_path / folder).mkdir()
        for name in names:
            (tmp_path / folder / name).touch()
    assert sorted(cached_versions(tmp_path)) == [1, 1, 2]
    assert cached_versions(tmp_path / "absent") == []


@pytest.mark.slow
def test_command_measures_both_demos_and_counts_what_was_compiled() -> None:
    command = [sys.executable, "-m", "fitcarl", "benchmark", "compile", "--episodes", "1", "--json"]
    found = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    assert found["compile_cpu_seconds"] == pytest.approx(found["cold_cpu_seconds"] - found["warm_cpu_seconds"])
    assert found["compile_cpu_seconds"] > 0
    assert found["versions"] >= found["functions"] > 50
