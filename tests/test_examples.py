"""The scripts in examples/ run and print the expected output."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import fitcarl
from fitcarl.testing import check_scorer

EXAMPLES = Path(__file__).parents[1] / "examples"


def _run(name: str) -> str:
    done = subprocess.run([sys.executable, EXAMPLES / name], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_custom_scorer_prints_report_and_comparison() -> None:
    lines = _run("custom_scorer.py").splitlines()
    assert lines[0].startswith("most frequent objects on demo, meta-test, 3-shot: ")
    assert any(line.startswith("realistic   MRR .") for line in lines)
    assert any(line.startswith("mix ") and "difference +" in line for line in lines)


def test_custom_scorer_keeps_contract() -> None:
    namespace: dict[str, type] = {}
    exec((EXAMPLES / "custom_scorer.py").read_text().replace("__main__", "__nowhere__"), namespace)
    make = namespace["MostFrequentObjects"]
    dataset = fitcarl.load_dataset("demo")
    check_scorer(make(dataset), dataset, make=make)
