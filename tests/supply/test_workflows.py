"""Workflows: valid, few permissions, pinned actions, and only targets that exist."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def load(file: Path) -> dict[Any, Any]:
    found: dict[Any, Any] = yaml.safe_load(file.read_text(encoding="utf-8"))
    return found


def steps(workflow: dict[Any, Any]) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """Every step with the job it belongs to."""
    return [(job, step) for job in workflow["jobs"].values() for step in job["steps"]]


def called_targets(workflow: dict[Any, Any]) -> set[str]:
    """Targets after ``make``; an expression of the matrix stands for all its values."""
    found: set[str] = set()
    for job, step in steps(workflow):
        for target in re.findall(r"^\s*make (\$\{\{ [\w.]+ \}\}|[\w-]+)", step.get("run", ""), re.MULTILINE):
            variable = re.fullmatch(r"\$\{\{ matrix\.(\w+) \}\}", target)
            found |= set(job["strategy"]["matrix"][variable[1]]) if variable else {target}
    return found


def test_workflows_exist() -> None:
    assert {file.stem for file in WORKFLOWS} == {"ci", "weekly"}


@pytest.mark.parametrize("file", WORKFLOWS, ids=lambda file: file.stem)
def test_called_make_targets_exist(file: Path) -> None:
    targets = called_targets(load(file))
    assert targets
    for target in sorted(targets):
        done = subprocess.run(["make", "-n", target], cwd=ROOT, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, f"make {target}: {done.stderr}"


def test_workflows_call_every_check() -> None:
    called = set().union(*(called_targets(load(file)) for file in WORKFLOWS))
    checks = {"lint", "test", "test-wheel", "wheel", "web", "docs", "image", "fuzz", "fuzz-files", "chaos", "audit"}
    assert checks <= called


@pytest.mark.parametrize("file", WORKFLOWS, ids=lambda file: file.stem)
def test_jobs_may_only_read_and_have_a_time_limit(file: Path) -> None:
    workflow = load(file)
    assert workflow["permissions"] == {"contents": "read"}
    for job in workflow["jobs"].values():
        assert "permissions" not in job
        assert job["timeout-minutes"] <= 180
        assert re.fullmatch(r"ubuntu-\d\d\.\d\d", job["runs-on"])


@pytest.mark.parametrize("file", WORKFLOWS, ids=lambda file: file.stem)
def test_actions_are_pinned_and_keep_no_credentials(file: Path) -> None:
    for _, step in steps(load(file)):
        if "uses" not in step:
            continue
        assert re.fullmatch(r"actions/[a-z-]+@(v\d+(\.\d+){0,2}|[0-9a-f]{40})", step["uses"]), step["uses"]
        if step["uses"].startswith("actions/checkout@"):
            assert step["with"]["persist-credentials"] is False


def test_tests_run_on_every_supported_python() -> None:
    matrix = load(ROOT / ".github" / "workflows" / "ci.yml")["jobs"]["test"]["strategy"]["matrix"]["include"]
    classifiers = re.findall(r"Python :: (3\.\d+)\"", (ROOT / "pyproject.toml").read_text())
    assert [entry["python"] for entry in matrix] == classifiers
