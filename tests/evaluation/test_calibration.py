"""Calibration: shares keep the order of scores, and fitting recovers the calibration that generated the answers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fitcarl.evaluation.calibration import UNCALIBRATED, Calibration, fit_calibration
from fitcarl.scoring.scores import Scores
from tests.evaluation.reference import scores_of

SCORES = st.lists(st.dictionaries(st.integers(0, 30), st.floats(-700, 0), max_size=12), min_size=1, max_size=6)


def sampled_answers(calibration: Calibration, queries: int = 3000, entities: int = 30, seed: int = 0):
    """Random scores, and answers drawn from the shares of a calibration; -1 for unlisted entities."""
    rng = np.random.default_rng(seed)
    scores = Scores.from_dense(2 * rng.normal(size=(queries, entities)))
    shares = calibration.shares(scores).score.reshape(queries, entities)
    drawn = (shares.cumsum(axis=1) < rng.random((queries, 1))).sum(axis=1)
    return scores, np.where(drawn < entities, drawn, -1).astype(np.int32)


@given(SCORES, st.floats(0.05, 20), st.floats(0, 1))
def test_shares_sum_to_listed_mass_and_keep_order(listed, temperature, unlisted_mass):
    scores = scores_of(listed)
    shares = Calibration(temperature, unlisted_mass).shares(scores)
    np.testing.assert_array_equal(shares.entity, scores.entity)
    for query in range(len(scores)):
        part = slice(scores.offsets[query], scores.offsets[query + 1])
        share = shares.score[part][np.argsort(scores.score[part])]
        assert (np.diff(share) >= 0).all()
        if len(share):
            assert share.sum() == pytest.approx(1 - unlisted_mass)


def test_uncalibrated_shares_are_softmax_of_scores():
    assert UNCALIBRATED.shares(scores_of([{1: np.log(0.6), 4: np.log(0.3)}])).score == pytest.approx([2 / 3, 1 / 3])


@pytest.mark.parametrize("truth", [Calibration(0.5, 0.02), Calibration(1.0, 0.3), Calibration(3.0, 0.1)])
def test_fit_recovers_generating_calibration(truth):
    found = fit_calibration(*sampled_answers(truth))
    assert found.temperature == pytest.approx(truth.temperature, rel=0.1)
    assert found.unlisted_mass == pytest.approx(truth.unlisted_mass, abs=0.03)


def test_fitted_temperature_maximises_likelihood():
    scores, answer = sampled_answers(Calibration(1.7, 0.2), queries=400)
    right = np.flatnonzero(scores.entity == answer[scores.query])
    best = fit_calibration(scores, answer)

    def log_likelihood(temperature: float) -> float:
        return float(np.log(Calibration(temperature, best.unlisted_mass).shares(scores).score[right]).sum())

    assert log_likelihood(best.temperature) >= max(log_likelihood(t) for t in np.geomspace(0.3, 10, 60))


def test_shares_are_invariant_to_shift_and_scale_of_scores():
    scores, answer = sampled_answers(Calibration(1.0, 0.1), queries=500)
    other = Scores(scores.offsets, scores.entity, 4 * scores.score - 7)
    np.testing.assert_allclose(
        fit_calibration(other, answer).shares(other).score,
        fit_calibration(scores, answer).shares(scores).score,
        rtol=1e-3,
    )


@pytest.mark.parametrize("listed", [[{}, {}], [{1: -1.0}, {2: -2.0}]])
def test_unlisted_answers_increase_unlisted_mass(listed):
    found = fit_calibration(scores_of(listed), np.array([5, 6], dtype=np.int32))
    assert (found.temperature, found.unlisted_mass) == (1.0, 0.75)


def test_calibration_json_round_trip():
    made = Calibration(1.25, 0.07)
    assert Calibration.from_json(made.to_json()) == made


@pytest.mark.parametrize(
    "values", [{}, [], {"temperature": 0, "unlisted_mass": 0}, {"temperature": 1, "unlisted_mass": 2}]
)
def test_invalid_calibration_is_rejected(values):
    with pytest.raises(ValueError, match="no calibration"):
        Calibration.from_json(values)
