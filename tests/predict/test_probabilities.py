"""Shares are calibrated probabilities that leave mass for unlisted answers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fitcarl.evaluation.calibration import Calibration
from fitcarl.predict.probabilities import shares


@given(st.lists(st.floats(-700, 0), min_size=1, max_size=30), st.floats(0.2, 5), st.floats(0, 1))
def test_shares_keep_order_and_leave_mass_for_unlisted_answers(
    scores: list[float], temperature: float, unlisted_mass: float
) -> None:
    score = np.array(sorted(scores, reverse=True))
    found = shares(score, Calibration(temperature, unlisted_mass))
    assert found.sum() == pytest.approx(1 - unlisted_mass)
    assert (np.diff(found) <= 0).all()


def test_without_calibration_probabilities_are_normalised() -> None:
    assert shares(np.log([0.4, 0.2, 0.2])) == pytest.approx([0.5, 0.25, 0.25])


def test_temperature_above_one_flattens_shares() -> None:
    score = np.log([0.8, 0.2])
    assert shares(score, Calibration(2.0, 0.0)) == pytest.approx([2 / 3, 1 / 3])
    assert shares(np.empty(0)).tolist() == []
