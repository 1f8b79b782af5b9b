"""The Dirichlet distribution over lags, by hand."""

from __future__ import annotations

from math import lgamma

import numpy as np
import pytest

from fitcarl.data.quadruples import Quadruples
from fitcarl.models.titer.lag_distribution import LagDistribution, count_lags, fit_dirichlet
from tests.models.titer.tiny import FACTS, RELATIONS, graph_of

ALPHA = LagDistribution(np.array([[0.0, 1.0, 3.0], [0.0, 0.0, 2.0]]))


def ids(*values: int) -> np.ndarray:
    return np.array(values, dtype=np.int32)


def log_likelihood(counts: np.ndarray, alpha: np.ndarray) -> float:
    """The Dirichlet-multinomial log-likelihood without its constant."""
    total, used = 0.0, alpha > 0
    for row in counts:
        total += lgamma(alpha.sum()) - lgamma(row.sum() + alpha.sum())
        total += sum(lgamma(n + a) - lgamma(a) for n, a in zip(row[used], alpha[used], strict=True))
    return total


def test_occurrences_before_a_time_are_counted_by_lag() -> None:
    # Entity 2 occurs at 2, 1, 7 and 4.
    counts = count_lags(graph_of(FACTS).base.columns, ids(2, 2, 2), ids(7, 4, 1), 5)
    assert counts.tolist() == [[0, 0, 0, 1, 0], [0, 0, 1, 1, 0], [0, 0, 0, 0, 0]]


def test_likelihood_is_at_its_maximum() -> None:
    rng = np.random.default_rng(0)
    counts = np.stack([rng.multinomial(20, rng.dirichlet([1.0, 2.0, 4.0])) for _ in range(300)])
    counts = np.concatenate([np.zeros((300, 1), np.int64), counts], axis=1)
    alpha = fit_dirichlet(counts)
    assert alpha[0] == 0
    assert alpha[1:] == pytest.approx([1, 2, 4], rel=0.35)
    best = log_likelihood(counts, alpha)
    for k in range(1, 4):
        for factor in (0.98, 1.02):
            moved = alpha.copy()
            moved[k] *= factor
            assert log_likelihood(counts, moved) < best


def test_without_occurrences_all_parameters_are_0() -> None:
    assert not fit_dirichlet(np.zeros((3, 4), np.int64)).any()


def test_mean_by_hand() -> None:
    mean = ALPHA.mean(ids(0, 0, 0, 0, 1, 1), ids(0, 1, 2, 3, 2, 1000))
    assert mean.tolist() == [0, 0.25, 0.75, 0, 1, 0]


def test_samples_have_the_mean_and_the_variance_of_the_distribution() -> None:
    drawn = ALPHA.sample(np.zeros(20_000, np.int32), np.ones(20_000, np.int32), np.random.default_rng(0))
    assert drawn.mean() == pytest.approx(0.25, abs=0.01)
    assert drawn.var() == pytest.approx(0.25 * 0.75 / 5, rel=0.05)
    assert ALPHA.sample(ids(0, 0, 1), ids(0, 3, 2), np.random.default_rng(0)).tolist() == [0, 0, 1]


@pytest.mark.parametrize("bins", [1, 3, 1000])
def test_fit_works_for_any_number_of_bins(bins: int) -> None:
    facts = Quadruples.from_rows(FACTS).both_directions(RELATIONS)
    alpha = LagDistribution.fit(graph_of(FACTS), facts, bins, seed=0).alpha
    assert alpha.shape == (RELATIONS.directed, bins)
    assert np.all(np.isfinite(alpha))
    assert not alpha[:, 0].any()
    assert alpha.any() == (bins > 1)
