"""Comparison of heuristic baselines and custom scorers in Python."""

from __future__ import annotations

from pathlib import Path

import pytest

import fitcarl
from fitcarl.core.progress import Progress
from fitcarl.data.io.dataset_folder import read_dataset
from fitcarl.experiments.compare import Comparison
from fitcarl.models.heuristics import CopySupport
from fitcarl.models.registry import HEURISTIC


class Custom(CopySupport):
    name = "custom"


@pytest.fixture(scope="module")
def comparison(data: Path) -> Comparison:
    return fitcarl.compare(data, shots=2, scorers=[Custom(read_dataset(data))])


def test_custom_scorer_is_last_row_and_reference(comparison: Comparison) -> None:
    assert [entry.label for entry in comparison.entries] == [*HEURISTIC, "custom"]
    assert comparison.reference is comparison.entries[-1]
    rows = comparison.to_json()["rows"]
    assert (rows[-1]["run"], rows[-1]["difference"]["mrr"]) == (None, 0)


def test_differences_are_paired_with_the_reference(comparison: Comparison) -> None:
    gain = {entry.label: comparison.difference(entry) for entry in comparison.entries}
    assert (gain["copy"].low, gain["copy"].high) == (0, 0)  # the same scores
    assert gain["mix"].mean != 0
    reports = {entry.label: entry.report for entry in comparison.entries}
    expected = reports["mix"].over_draws.mean - reports["custom"].over_draws.mean
    assert gain["mix"].mean == pytest.approx(expected)


def test_text_has_one_line_per_scorer_and_the_signature(comparison: Comparison) -> None:
    *lines, signature = str(comparison).splitlines()
    assert [line.split()[0] for line in lines] == [*HEURISTIC, "custom"]
    assert signature == str(comparison.reference.report.signature)


def test_stage_of_progress_is_the_name_of_the_scorer(data: Path) -> None:
    updates: list[Progress] = []
    fitcarl.compare(data, shots=2, scorers=[Custom(read_dataset(data))], on_progress=updates.append)
    assert list(dict.fromkeys(update.stage for update in updates)) == [*HEURISTIC, "custom"]


def test_comparison_needs_data_or_a_run() -> None:
    with pytest.raises(fitcarl.InputError, match="no dataset to compare on"):
        fitcarl.compare()


def test_evaluate_scorer_accepts_dataset_folder_and_path(data: Path) -> None:
    scorer = Custom(read_dataset(data))
    reports = [fitcarl.evaluate_scorer(scorer, given, shots=2) for given in (read_dataset(data), data, str(data))]
    assert len({str(report.signature) for report in reports}) == 1
    assert "|split:test|setting:completion|shots:2|" in str(reports[0].signature)
