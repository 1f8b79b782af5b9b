"""``fitcarl ablate``: errors, JSON and progress messages."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Command
from tests.cli.test_train import assert_one_line
from tests.small import SMALL_PAPER, write_tiny


@pytest.mark.parametrize(
    ("option", "value", "hint"),
    [("--preset", "papers", "did you mean 'paper'"), ("--set", "policy.hiden=1", "did you mean 'policy.hidden'")],
)
def test_invalid_option_is_one_line_error(fitcarl: Command, tmp_path: Path, option: str, value: str, hint: str) -> None:
    data = write_tiny(tmp_path / "tiny")
    assert_one_line(fitcarl("ablate", data, option, value, "--out", tmp_path / "runs"), hint)
    assert not (tmp_path / "runs").exists()


@pytest.mark.slow
def test_paper_ablations_run_with_one_command(fitcarl: Command, tmp_path: Path) -> None:
    data = write_tiny(tmp_path / "tiny")
    settings = [part for setting in SMALL_PAPER for part in ("--set", setting)]
    ways = ["--shots", 2, "--preset", "paper", "--seeds", 1, "--draws", 1, "--episodes", 2, "--json"]
    outcome = fitcarl("ablate", data, *ways, "--out", tmp_path / "runs", *settings)
    assert outcome.code == 0
    rows = json.loads(outcome.stdout)["rows"]
    assert [row["name"] for row in rows] == ["full", "A1", "A2", "B", "C", "D", "E"]
    assert rows[0]["difference"] is None
    for row in rows[1:]:
        assert row["difference"]["ci_low"] <= row["difference"]["mrr"] <= row["difference"]["ci_high"]
    assert "run 7 of 7" in outcome.stderr
    assert "evaluating" in outcome.stderr
