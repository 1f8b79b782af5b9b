"""The thread benchmark: its table, and the whole command."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from fitcarl.bench.threads import ThreadScaling, ThreadTimes, speedups
from fitcarl.reporting.scale_table import thread_table


def test_speedup_is_the_wall_clock_of_the_first_over_the_second() -> None:
    assert speedups({"encoder": 6.0, "empty": 0.0}, {"encoder": 4.0, "empty": 0.0}) == {"encoder": 1.5, "empty": None}


def test_table_shows_both_numbers_of_threads_and_the_speedup() -> None:
    one = ThreadTimes(
        1, {"encoder": 6.0, "empty": 0.0}, {"encoder": 6.0, "empty": 0.0}, {"encoder": 1.0, "empty": None}
    )
    two = ThreadTimes(
        2, {"encoder": 4.0, "empty": 0.0}, {"encoder": 7.0, "empty": 0.0}, {"encoder": 1.5, "empty": None}
    )
    lines = thread_table(ThreadScaling(20_000, "completion", [one, two]).to_json())
    assert lines[0].split() == ["wall-clock", "seconds", "1", "thread", "2", "threads", "speed-up"]
    assert lines[1].split() == ["encoder", "6.00", "4.00", "1.50"]
    assert lines[2].split() == ["empty", "0.00", "0.00"]
    assert "20,000 generated facts" in lines[-2]


@pytest.mark.slow
def test_command_compares_one_thread_with_two() -> None:
    command = [sys.executable, "-m", "fitcarl", "benchmark", "threads", "--facts", "10000", "--threads", "2", "--json"]
    limits = ["--episodes", "2", "--updates", "5", "--questions", "50"]
    found = subprocess.run([*command, *limits], capture_output=True, text=True, check=True, env=os.environ.copy())
    result = json.loads(found.stdout)
    assert [times["threads"] for times in result["times"]] == [1, 2]
    for times in result["times"]:
        assert {"encoder", "episodes", "evaluation", "bulk prediction", "whole training", "independent work"} <= times[
            "speedup"
        ].keys()
        assert times["wall_seconds"]["encoder"] > 0
    assert result["times"][0]["speedup"]["encoder"] == 1
