"""Heuristic baselines on ICEWS14-OOG: reference metrics measured independently of this code, official test draw."""

from __future__ import annotations

from pathlib import Path

import pytest

from fitcarl.data.dataset import Dataset
from fitcarl.data.io.dataset_folder import read_dataset
from fitcarl.evaluation import evaluate_scorer
from fitcarl.models.registry import heuristic

pytestmark = pytest.mark.data


@pytest.fixture(scope="module")
def icews14(benchmarks: Path) -> Dataset:
    return read_dataset(benchmarks / "icews14-oog")


def test_copy_support_reproduces_reference_metrics(icews14):
    report = evaluate_scorer(heuristic("copy", icews14), icews14, "test", 3)
    assert (report.realistic.queries, report.realistic.entities) == (
        560,
        48,
    )  # one of the 49 entities has a single fact
    optimistic, realistic = (report.results[kind, "time-unaware"] for kind in ("optimistic", "realistic"))
    assert (round(optimistic.mrr, 3), round(realistic.mrr, 3)) == (0.598, 0.275)
    assert (round(optimistic.hits[1], 3), round(realistic.hits[1], 3)) == (0.379, 0.166)
    assert (optimistic.hits[3], realistic.hits[3]) == pytest.approx((0.787, 0.370), abs=0.0006)
    assert (optimistic.hits[10], round(realistic.hits[10], 3)) == (1.0, 0.370)
    assert report.tie_alarm.alarm


@pytest.mark.parametrize(("shots", "queries", "share"), [(1, 656, 0.178), (3, 560, 0.370)])
def test_fraction_of_answers_in_support_matches_reference(icews14, shots, queries, share):
    report = evaluate_scorer(heuristic("copy", icews14), icews14, "test", shots)
    rows = {row["value"]: row for row in report.to_json()["slices"] if row["by"] == "answer"}
    assert report.realistic.queries == queries
    assert round(rows["in support"]["queries"] / queries, 3) == share
    assert report.coverage == rows["in support"]["queries"] / queries


@pytest.mark.parametrize(("shots", "measured"), [(3, 0.401), (1, 0.291)])
def test_mixture_reproduces_reference_mrr(icews14, shots, measured):
    report = evaluate_scorer(heuristic("mix", icews14), icews14, "test", shots)
    assert measured - 0.005 < report.results["realistic", "time-unaware"].mrr < measured + 0.04
    assert report.seconds < 30
    assert not report.tie_alarm.alarm


def test_two_hop_coverage_matches_reference(icews14):
    # Reference: 74 % of the answers are within two hops (one or two steps) at 3 shots.
    covered = [
        evaluate_scorer(heuristic(name, icews14), icews14, "test", 3).official.ranks for name in ("two-hop", "copy")
    ]
    two, one = (ranks["time-aware"].covered for ranks in covered)
    assert round(float((two | one).mean()), 2) == 0.74
