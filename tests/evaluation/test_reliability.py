"""The calibration error is small for shares that keep their word, and says by how much others do not."""

from __future__ import annotations

import numpy as np
import pytest

from fitcarl.evaluation import evaluate_scorer
from fitcarl.evaluation.calibration import UNCALIBRATED, Calibration
from fitcarl.evaluation.filtering import KnownAnswers
from fitcarl.evaluation.reliability import TopPredictions, bins, calibration_error, error_by_chance
from fitcarl.models.heuristics import CopySupport
from fitcarl.reporting.figures import reliability
from tests.evaluation.reference import answers_of, queries_of, random_dataset
from tests.evaluation.test_calibration import spoken

NOBODY = KnownAnswers.of_facts(random_dataset().background.take(slice(0, 0)), random_dataset().vocabulary.relation_ids)


def firsts_of(calibration: Calibration, answers, answer) -> TopPredictions:
    queries = queries_of([(99, 0, int(one), 0) for one in answer])
    return TopPredictions.of(answers, queries, NOBODY.filtered_answers(queries, "time-aware"), calibration)


def test_shares_that_keep_their_word_have_next_to_no_error():
    truth = Calibration(1.3, 0.15)
    firsts = firsts_of(truth, *spoken(truth, queries=20_000))
    assert calibration_error(firsts) < 0.015
    assert calibration_error(firsts) == pytest.approx(error_by_chance(firsts), abs=0.008)


@pytest.mark.parametrize("temperature", [0.4, 4.0])
def test_too_sure_or_too_shy_is_an_error(temperature):
    firsts = firsts_of(Calibration(temperature, 0.15), *spoken(Calibration(1.3, 0.15), queries=4000))
    assert calibration_error(firsts) > 0.1 > 3 * error_by_chance(firsts)


def test_the_error_by_hand():
    firsts = TopPredictions(np.repeat([0.2, 0.9], 50), np.repeat([0.3, 0.7], 50))
    assert calibration_error(firsts) == pytest.approx((0.1 + 0.2) / 2)


def test_bins_hold_equally_many_queries_in_order():
    rng = np.random.default_rng(0)
    found = bins(TopPredictions(rng.random(107), np.ones(107)))
    assert sum(part.queries for part in found) == 107
    assert {part.queries for part in found} == {10, 11}
    assert [part.share for part in found] == sorted(part.share for part in found)
    assert len(bins(TopPredictions(np.array([0.5, 0.6]), np.ones(2)))) == 2


def test_another_true_answer_at_that_time_is_no_mistake():
    facts = [(0, 0, 1, 5), (0, 0, 2, 5), (0, 0, 3, 6)]
    dataset = random_dataset()
    quadruples = dataset.background.from_rows(np.array(facts, dtype=np.int32))
    known = KnownAnswers.of_facts(quadruples, dataset.vocabulary.relation_ids)
    queries = queries_of([(0, 0, 1, 5), (0, 0, 3, 6)])
    answers = answers_of([{1: np.log(0.2), 2: np.log(0.6), 4: np.log(0.2)}, {2: np.log(0.7), 3: np.log(0.3)}])
    firsts = TopPredictions.of(answers, queries, known.filtered_answers(queries, "time-aware"), UNCALIBRATED)
    assert firsts.share == pytest.approx([0.5, 0.7])  # 2 is true at 5 and stands aside, at 6 it is not true
    assert firsts.right == pytest.approx([0.5, 0.0])  # 1 and 4 share the first place


def test_the_actor_itself_is_never_the_answer():
    queries = queries_of([(0, 0, 1, 5)])
    answers = answers_of([{0: np.log(0.8), 1: np.log(0.15), 2: np.log(0.05)}])
    firsts = TopPredictions.of(answers, queries, NOBODY.filtered_answers(queries, "time-aware"), UNCALIBRATED)
    assert (firsts.share.tolist(), firsts.right.tolist()) == (pytest.approx([0.75]), [1])


def test_nothing_said_is_no_claim():
    firsts = firsts_of(UNCALIBRATED, answers_of([{}, {3: -1.0}]), [3, 3])
    assert (firsts.share.tolist(), firsts.right.tolist()) == ([0, 1], [0, 1])


def test_a_report_has_an_error_only_where_scores_are_calibrated():
    dataset = random_dataset()
    plain = evaluate_scorer(CopySupport(dataset), dataset, "test", 3)
    assert plain.calibration_report is None
    assert plain.to_json()["ece"] is None
    told = evaluate_scorer(CopySupport(dataset), dataset, "test", 3, calibration=Calibration(1.0, 0.2), chunk=7)
    whole = evaluate_scorer(CopySupport(dataset), dataset, "test", 3, calibration=Calibration(1.0, 0.2))
    assert told.calibration_report == whole.calibration_report
    assert told.to_json()["ece"] == pytest.approx(
        sum(part.gap * part.queries for part in told.calibration_report.bins) / told.realistic.queries
    )
    assert "expected calibration error" in str(told)
    assert "expected calibration error" not in str(plain)


def test_without_ties_rightness_is_hits_at_1():
    dataset = random_dataset()

    class Jittered(CopySupport):
        def score(self, task, queries):
            said = super().score(task, queries)
            jitter = np.random.default_rng(len(queries)).random(len(said.score))
            return type(said)(said.offsets, said.entity, said.score + 1e-3 * jitter)

    report = evaluate_scorer(Jittered(dataset), dataset, "test", 3, calibration=UNCALIBRATED)
    assert report.official.top_predictions.right.mean() == pytest.approx(report.realistic.hits[1])


def test_the_picture_is_the_same_each_time_and_needs_shares(tmp_path):
    dataset = random_dataset()
    report = evaluate_scorer(CopySupport(dataset), dataset, "test", 3, calibration=UNCALIBRATED)
    for name in ("one.svg", "two.svg"):
        reliability(report, tmp_path / name)
    assert (tmp_path / "one.svg").read_bytes() == (tmp_path / "two.svg").read_bytes()
    with pytest.raises(ValueError, match="gives no shares"):
        reliability(evaluate_scorer(CopySupport(dataset), dataset, "test", 3), tmp_path / "three.svg")
