"""Metrics and their intervals."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fitcarl.evaluation import bootstrap
from fitcarl.evaluation.bootstrap import mean_interval, paired_difference
from fitcarl.evaluation.metrics import amri, mrr, summarise


def test_metrics_of_four_ranks():
    row = summarise(np.array([1.0, 2.0, 4.0, 10.5]), np.full(4, 21), np.array([7, 7, 8, 9], np.int32))
    assert row.mrr == pytest.approx((1 + 1 / 2 + 1 / 4 + 1 / 10.5) / 4)
    assert row.hits == {1: 0.25, 3: 0.5, 10: 0.75}
    assert row.amri == pytest.approx(1 - (4.375 - 1) / (11 - 1))
    assert (row.queries, row.entities) == (4, 3)


def test_amri_is_1_for_perfect_0_for_random_and_negative_for_worst():
    candidates = np.array([9, 21])
    assert amri(np.array([1.0, 1.0]), candidates) == 1
    assert amri(np.array([5.0, 11.0]), candidates) == 0
    assert amri(candidates.astype(float), candidates) == pytest.approx(-1)


def test_amri_of_single_candidate_is_zero():
    assert amri(np.array([1.0]), np.array([1])) == 0


def test_metrics_need_at_least_one_query():
    with pytest.raises(ValueError, match="no query"):
        summarise(np.empty(0), np.empty(0, np.int64), np.empty(0, np.int32))


def sample(seed: int, entities: int = 40) -> tuple[np.ndarray, np.ndarray]:
    """Queries whose ranks depend more on the entity than on chance."""
    rng = np.random.default_rng(seed)
    entity = np.repeat(np.arange(entities), rng.integers(1, 20, entities)).astype(np.int32)
    level = rng.integers(1, 12, entities)
    return entity, (level[entity] + rng.integers(0, 2, len(entity))).astype(float)


@given(seed=st.integers(0, 30))
def test_interval_contains_mean_and_is_reproducible(seed):
    entity, ranks = sample(seed)
    found = mean_interval(entity, 1 / ranks, seed=seed)
    assert found.low < found.mean < found.high
    assert found.mean == pytest.approx(mrr(ranks))
    assert found == mean_interval(entity, 1 / ranks, seed=seed)
    assert found != mean_interval(entity, 1 / ranks, seed=seed + 1)


def test_interval_equals_plain_bootstrap_over_entities():
    entity, ranks = sample(3)
    value = 1 / ranks
    rng = np.random.default_rng(0)
    means = []
    for _ in range(4000):
        drawn = rng.integers(0, 40, 40)
        means.append(np.concatenate([value[entity == e] for e in drawn]).mean())
    found = mean_interval(entity, value, resamples=4000)
    assert found.low == pytest.approx(np.quantile(means, 0.025), abs=0.006)
    assert found.high == pytest.approx(np.quantile(means, 0.975), abs=0.006)


def test_bootstrap_resamples_entities_not_queries():
    entity, ranks = sample(5)
    by_query = mean_interval(np.arange(len(ranks), dtype=np.int32), 1 / ranks)
    by_entity = mean_interval(entity, 1 / ranks)
    assert by_entity.high - by_entity.low > 2 * (by_query.high - by_query.low)


def test_block_size_does_not_change_interval(monkeypatch):
    entity, ranks = sample(6)
    interval = mean_interval(entity, 1 / ranks)
    monkeypatch.setattr(bootstrap, "_CELLS", 40 * 7)
    blocks = mean_interval(entity, 1 / ranks)
    assert (blocks.low, blocks.high) == pytest.approx((interval.low, interval.high), rel=1e-12)


def test_constant_difference_has_interval_of_zero_width():
    entity, _ = sample(1)
    gain = paired_difference(entity, np.full(len(entity), 2.0), np.full(len(entity), 4.0))
    assert (gain.mean, gain.low, gain.high) == (0.25, 0.25, 0.25)


def test_paired_interval_is_narrower_than_unpaired():
    entity, ranks = sample(2)
    better = np.maximum(1, ranks - 1)
    gain = paired_difference(entity, better, ranks)
    assert gain.mean == pytest.approx(mrr(better) - mrr(ranks))
    assert gain.low > 0
    alone, other = mean_interval(entity, 1 / better), mean_interval(entity, 1 / ranks)
    assert alone.low < other.high


def test_swapping_sides_negates_difference():
    entity, ranks = sample(4)
    other = ranks[::-1].copy()
    forward, swapped = paired_difference(entity, ranks, other), paired_difference(entity, other, ranks)
    assert forward.mean == -swapped.mean
    assert (forward.low, forward.high) == pytest.approx((-swapped.high, -swapped.low))


def test_paired_difference_rejects_different_queries():
    with pytest.raises(ValueError, match="same queries"):
        paired_difference(np.zeros(2, np.int32), np.ones(2), np.ones(3))
