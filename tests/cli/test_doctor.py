"""The report of ``fitcarl doctor``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fitcarl.cli import doctor
from tests.cli.conftest import Command


def test_doctor_reports_versions_machine_and_data(fitcarl: Command, tmp_path: Path) -> None:
    outcome = fitcarl("doctor", "--json")
    found = json.loads(outcome.stdout)
    assert (outcome.code, found["problems"]) == (0, [])
    assert set(found["packages"]) == set(doctor.PACKAGES)
    assert found["torch"]["threads"] >= 1
    assert 1 <= found["cores"]["usable"] <= found["cores"]["machine"]
    assert found["memory_mb"]["total"] > 0
    assert found["data"]["cache_dir"] == str(tmp_path / "home")
    text = fitcarl("doctor").stdout
    assert "no problems found" in text
    assert found["packages"]["torch"] in text


def test_missing_package_is_reported_as_a_problem(fitcarl: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "PACKAGES", (*doctor.PACKAGES, "no-such-package"))
    outcome = fitcarl("doctor")
    assert outcome.code == 1
    assert "problem: not installed: no-such-package" in outcome.stdout


def test_unwritable_cache_directory_is_reported_as_a_problem(
    fitcarl: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("FITCARL_HOME", str(tmp_path / "file" / "home"))
    outcome = fitcarl("doctor")
    assert outcome.code == 1
    assert f"problem: {tmp_path / 'file' / 'home'} is not writable" in outcome.stdout


@pytest.mark.parametrize("threads", ["many", "-2", "²"])
def test_invalid_thread_count_is_reported_as_a_problem(
    fitcarl: Command, monkeypatch: pytest.MonkeyPatch, threads: str
) -> None:
    monkeypatch.setenv("FITCARL_THREADS", threads)
    assert f"problem: FITCARL_THREADS is '{threads}', which is not a number" in fitcarl("doctor").stdout
