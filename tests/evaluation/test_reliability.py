"""The calibration error is small for calibrated shares and large for others."""

from __future__ import annotations

import numpy as np
import pytest

from fitcarl.evaluation import evaluate_scorer
from fitcarl.evaluation.calibration import UNCALIBRATED, Calibration
from fitcarl.evaluation.filtering import KnownAnswers
from fitcarl.evaluation.reliability import TopPredictions, bins, calibration_error, error_by_chance
from fitcarl.models.heuristics import CopySupport
from fitcarl.reporting.figures import reliability_diagram
from tests.evaluation.reference import queries_of, random_dataset, scores_of
from tests.evaluation.test_calibration import sampled_answers

NO_FACTS = KnownAnswers.of_facts(
    random_dataset().background.take(slice(0, 0)), random_dataset().vocabulary.relation_ids
)


def top_predictions_of(calibration: Calibration, scores, answer) -> TopPredictions:
    queries = queries_of([(99, 0, int(one), 0) for one in answer])
    return TopPredictions.of(scores, queries, NO_FACTS.filtered_answers(queries, "time-aware"), calibration)


def test_calibrated_shares_have_small_error():
    truth = Calibration(1.3, 0.15)
    top = top_predictions_of(truth, *sampled_answers(truth, queries=20_000))
    assert calibration_error(top) < 0.015
    assert calibration_error(top) == pytest.approx(error_by_chance(top), abs=0.008)


@pytest.mark.parametrize("temperature", [0.4, 4.0])
def test_wrong_temperature_increases_error(temperature):
    top = top_predictions_of(Calibration(temperature, 0.15), *sampled_answers(Calibration(1.3, 0.15), queries=4000))
    assert calibration_error(top) > 0.1 > 3 * error_by_chance(top)


def test_error_of_two_bins():
    top = TopPredictions(np.repeat([0.2, 0.9], 50), np.repeat([0.3, 0.7], 50))
    assert calibration_error(top) == pytest.approx((0.1 + 0.2) / 2)


def test_bins_have_equal_sizes_in_order_of_share():
    rng = np.random.default_rng(0)
    found = bins(TopPredictions(rng.random(107), np.ones(107)))
    assert sum(part.queries for part in found) == 107
    assert {part.queries for part in found} == {10, 11}
    assert [part.share for part in found] == sorted(part.share for part in found)
    assert len(bins(TopPredictions(np.array([0.5, 0.6]), np.ones(2)))) == 2


def test_other_true_answers_at_query_time_are_filtered():
    facts = [(0, 0, 1, 5), (0, 0, 2, 5), (0, 0, 3, 6)]
    dataset = random_dataset()
    quadruples = dataset.background.from_rows(np.array(facts, dtype=np.int32))
    known = KnownAnswers.of_facts(quadruples, dataset.vocabulary.relation_ids)
    queries = queries_of([(0, 0, 1, 5), (0, 0, 3, 6)])
    scores = scores_of([{1: np.log(0.2), 2: np.log(0.6), 4: np.log(0.2)}, {2: np.log(0.7), 3: np.log(0.3)}])
    top = TopPredictions.of(scores, queries, known.filtered_answers(queries, "time-aware"), UNCALIBRATED)
    assert top.share == pytest.approx([0.5, 0.7])  # 2 is a true answer at time 5 only, where it is filtered
    assert top.right == pytest.approx([0.5, 0.0])  # 1 and 4 are tied


def test_query_entity_is_filtered():
    queries = queries_of([(0, 0, 1, 5)])
    scores = scores_of([{0: np.log(0.8), 1: np.log(0.15), 2: np.log(0.05)}])
    top = TopPredictions.of(scores, queries, NO_FACTS.filtered_answers(queries, "time-aware"), UNCALIBRATED)
    assert (top.share.tolist(), top.right.tolist()) == (pytest.approx([0.75]), [1])


def test_empty_scores_have_share_0():
    top = top_predictions_of(UNCALIBRATED, scores_of([{}, {3: -1.0}]), [3, 3])
    assert (top.share.tolist(), top.right.tolist()) == ([0, 1], [0, 1])


def test_report_has_calibration_error_only_with_calibration():
    dataset = random_dataset()
    plain = evaluate_scorer(CopySupport(dataset), dataset, "test", 3)
    assert plain.calibration_report is None
    assert plain.to_json()["ece"] is None
    calibrated = evaluate_scorer(CopySupport(dataset), dataset, "test", 3, calibration=Calibration(1.0, 0.2), chunk=7)
    whole = evaluate_scorer(CopySupport(dataset), dataset, "test", 3, calibration=Calibration(1.0, 0.2))
    assert calibrated.calibration_report == whole.calibration_report
    assert calibrated.to_json()["ece"] == pytest.approx(
        sum(part.gap * part.queries for part in calibrated.calibration_report.bins) / calibrated.realistic.queries
    )


def test_top_prediction_accuracy_is_hits_at_1_without_ties():
    dataset = random_dataset()

    class Jittered(CopySupport):
        def score(self, task, queries):
            scores = super().score(task, queries)
            jitter = np.random.default_rng(len(queries)).random(len(scores.score))
            return type(scores)(scores.offsets, scores.entity, scores.score + 1e-3 * jitter)

    report = evaluate_scorer(Jittered(dataset), dataset, "test", 3, calibration=UNCALIBRATED)
    assert report.official.top_predictions.right.mean() == pytest.approx(report.realistic.hits[1])


def test_reliability_diagram_is_deterministic_and_needs_calibration(tmp_path):
    dataset = random_dataset()
    report = evaluate_scorer(CopySupport(dataset), dataset, "test", 3, calibration=UNCALIBRATED)
    for name in ("one.svg", "two.svg"):
        reliability_diagram(report, tmp_path / name)
    assert (tmp_path / "one.svg").read_bytes() == (tmp_path / "two.svg").read_bytes()
    with pytest.raises(ValueError, match="has no calibration"):
        reliability_diagram(evaluate_scorer(CopySupport(dataset), dataset, "test", 3), tmp_path / "three.svg")
