"""Comparison of heuristic baselines and custom scorers in Python."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import fitcarl
from fitcarl.core.progress import Progress
from fitcarl.data.io.dataset_folder import read_dataset
from fitcarl.experiments.compare import Comparison, Entry
from fitcarl.models.heuristics import CopySupport
from fitcarl.models.registry import HEURISTIC
from tests.core.test_display import ESCAPED, HOSTILE


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


def test_frame_has_one_row_per_scorer(comparison: Comparison) -> None:
    frame = comparison.to_frame()
    assert frame["scorer"].to_list() == [entry.label for entry in comparison.entries]
    assert frame["reference"].to_list() == [entry is comparison.reference for entry in comparison.entries]
    for row, source in zip(frame.rows(named=True), comparison.to_json()["rows"], strict=True):
        assert (row["mrr"], row["ci_low"]) == (source["draws"]["mean"], pytest.approx(source["draws"]["ci_low"]))
        if row["reference"]:
            assert row["difference"] is None
        else:
            gain = source["difference"]
            found = (row["difference"], row["difference_low"], row["difference_high"])
            assert found == (gain["mrr"], gain["ci_low"], gain["ci_high"])


def test_repr_is_one_short_line(comparison: Comparison) -> None:
    assert repr(comparison).startswith("Comparison('tiny, meta-test, completion, 2-shot: ")
    assert repr(comparison).endswith(f"{len(comparison.entries)} scorers, reference 'custom')")
    assert "\n" not in repr(comparison)


def test_notebook_shows_all_scorers_with_the_reference_in_bold(comparison: Comparison) -> None:
    rows = comparison._repr_html_().split("<tr>")[2:]
    assert len(rows) == len(comparison.entries)
    for entry, row in zip(comparison.entries, rows, strict=True):
        assert f">{entry.label}<" in row
        assert ("font-weight:bold" in row) == (entry is comparison.reference)


def test_notebook_escapes_names_of_scorers(comparison: Comparison) -> None:
    report = replace(comparison.entries[0].report, scorer=HOSTILE)
    shown = Comparison((Entry(report), *comparison.entries[1:]))._repr_html_()
    assert ESCAPED in shown
    assert "<script" not in shown
