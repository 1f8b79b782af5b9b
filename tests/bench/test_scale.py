"""The growth benchmark: exponents, computed trainings, its table, and the whole command."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from fitcarl.bench.scale import MeasuredSize, MeasuredStage, ScaleTimes, _with_growth, whole_training
from fitcarl.bench.scale_stages import AnswerCost
from fitcarl.core.stages import StageCost
from fitcarl.reporting.scale_table import plot_growth, scale_table


def size(facts: int, **cpu: float) -> MeasuredSize:
    stages = {name: MeasuredStage(seconds, seconds, 100.0) for name, seconds in cpu.items()}
    return MeasuredSize(facts, facts // 30, 1.0, 2.0, 3.0, 4.0, AnswerCost(1.0, 2.0, 3.0, 4.0, 5.0, 6.0), stages)


def test_growth_is_the_exponent_since_the_size_before() -> None:
    first, second = _with_growth(
        [size(1000, linear=1, square=1, short=0.01), size(10_000, linear=10, square=100, short=5)]
    )
    assert [stage.growth for stage in first.stages.values()] == [None, None, None]
    assert second.stages["linear"].growth == pytest.approx(1)
    assert second.stages["square"].growth == pytest.approx(2)
    assert second.stages["short"].growth is None  # too short at the first size


def test_a_whole_training_is_computed_from_the_cost_per_unit() -> None:
    costs = {
        "encoder": StageCost(10, 5),
        "episodes": StageCost(6, 3),
        "index": StageCost(2, 2),
        "asking": StageCost(9, 9),
    }
    costs["validation"] = StageCost(7, 4)
    units = {"encoder updates": (100, 4000), "episodes": (3, 300), "validations": (1, 6)}
    stages = ["encoder", "episodes", "validation", "index"]
    assert whole_training(costs, stages, units, "cpu") == 10 * 40 + 6 * 100 + 7 * 6 + 2
    assert whole_training(costs, stages, units, "wall") == 5 * 40 + 3 * 100 + 4 * 6 + 2


def test_table_and_picture_show_every_stage(tmp_path: Path) -> None:
    sizes = _with_growth([size(20_000, reading=1.5, asking=0.2), size(200_000, reading=15, asking=0.2)])
    result = ScaleTimes(sizes, whole=False, setting="completion", threads=2).to_json()
    lines = scale_table(result)
    assert lines[0].split() == ["CPU", "seconds", "20,000", "facts", "200,000", "facts", "growth"]
    assert lines[1].split() == ["reading", "1.50", "15.00", "1.00"]
    assert lines[2].split() == ["asking", "0.20", "0.20", "0.00"]
    assert any("computed" in line for line in lines)
    matplotlib = pytest.importorskip("matplotlib")
    with matplotlib.rc_context({"svg.fonttype": "none"}):
        plot_growth(result, tmp_path / "growth.svg")
    text = (tmp_path / "growth.svg").read_text(encoding="utf-8")
    assert all(f">{name}<" in text for name in ("reading", "asking", "linear"))


@pytest.mark.slow
def test_command_prints_costs_of_every_stage(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "fitcarl", "benchmark", "scale", "--facts", "10000,20000", "--json"]
    limits = ["--episodes", "2", "--updates", "5", "--folder", str(tmp_path / "kept")]
    found = subprocess.run([*command, *limits], capture_output=True, text=True, check=True, env=os.environ.copy())
    result = json.loads(found.stdout)
    assert [size["facts"] for size in result["sizes"]] == [10_000, 20_000]
    for measured in result["sizes"]:
        assert {"generating", "reading", "encoder", "episodes", "evaluation", "loading", "asking"} <= measured[
            "stages"
        ].keys()
        for stage in measured["stages"].values():
            assert stage.keys() == {"cpu_seconds", "wall_seconds", "peak_mb", "growth"}
        assert (tmp_path / "kept" / str(measured["facts"]) / "run" / "result.json").exists()
        assert measured["answers"]["ask_p50_ms"] > 0
