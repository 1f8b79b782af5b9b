"""The compile benchmark: what it counts, and the whole command."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from fitcarl.bench.compile import cached_versions, compile_times, measure_compile
from fitcarl.errors import FitcarlError, InputError


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


def _replace_demo(monkeypatch: pytest.MonkeyPatch, code: str) -> None:
    """Lets Python run other code in place of the demo."""
    run = subprocess.run
    monkeypatch.setattr(subprocess, "run", lambda _, **options: run([sys.executable, "-c", code], **options))


@pytest.mark.skipif(os.name != "posix", reason="folders have no modes")
def test_folder_for_code_that_others_can_write_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tmp_path.chmod(0o777)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with pytest.raises(InputError, match=f"^{tmp_path}.*: compiled code is not cached here: {tmp_path} can be written"):
        measure_compile(1, on_progress=lambda _: pytest.fail("a demo began"))


def test_no_cached_code_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    _replace_demo(monkeypatch, "")
    with pytest.raises(InputError, match="compiled code is not cached here; expected a temporary folder"):
        measure_compile(1)


@pytest.mark.parametrize(
    ("given", "reported"), [("'loading\\nerror: the reason'", r"1 \(the reason\)"), ("3", r"3 \(no message\)")]
)
def test_failure_of_a_demo_is_one_line_with_its_reason(
    given: str, reported: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    _replace_demo(monkeypatch, f"import sys; sys.exit({given})")
    with pytest.raises(FitcarlError, match=f"^the demo without cached code ended with exit code {reported}$"):
        measure_compile(1)


@pytest.mark.slow
def test_command_measures_both_demos_and_counts_what_was_compiled() -> None:
    command = [sys.executable, "-m", "fitcarl", "benchmark", "compile", "--episodes", "1", "--json"]
    found = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    assert found["compile_cpu_seconds"] == pytest.approx(found["cold_cpu_seconds"] - found["warm_cpu_seconds"])
    assert found["compile_cpu_seconds"] > 0
    assert found["versions"] >= found["functions"] > 50
