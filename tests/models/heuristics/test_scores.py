"""Scores of the heuristic baselines, computed by hand. The half-life is 30 days."""

from __future__ import annotations

import numpy as np
import pytest

from fitcarl.data.calendar import Calendar
from fitcarl.data.dataset import Dataset
from fitcarl.models.heuristics import (
    AllEqual,
    CopySupport,
    Mixture,
    RelationWindow,
    SimilarEntities,
    TwoHop,
    relation_window,
    similar_entities,
    two_hop,
)
from fitcarl.models.heuristics.decay import hyperbolic_decay
from fitcarl.scoring.scorer import Scorer
from fitcarl.tasks.task import Task
from tests.evaluation.reference import dataset_of, meta_set, queries_of, random_dataset


def scores(
    scorer: Scorer, support: list[tuple[int, int, int, int, int]], query: tuple[int, int, int]
) -> dict[int, float]:
    """Entity → score for the query (entity, relation, time)."""
    entity, relation, time = query
    queries = queries_of([(entity, relation, -1, time)])
    answers = scorer.score(Task(meta_set(support), queries), queries)
    return dict(zip(answers.entity.tolist(), answers.score.tolist(), strict=True))


def world(*background: tuple[int, int, int, int]) -> Dataset:
    return dataset_of(background, entities=10, relations=2)


def test_all_equal_lists_all_entities():
    assert scores(AllEqual(world((0, 0, 1, 0))), [(9, 9, 0, 1, 0)], (9, 0, 0)) == dict.fromkeys(range(10), 0.0)


def test_copy_counts_other_entities_of_support_facts():
    support = [(8, 8, 0, 5, 0), (9, 9, 0, 1, 0), (9, 1, 1, 9, 0), (9, 9, 0, 2, 0)]
    assert scores(CopySupport(world()), support, (9, 1, 50)) == {1: 2.0, 2: 1.0}


def test_copy_with_decay_prefers_recent_facts():
    support = [(9, 9, 0, 1, 0), (9, 9, 0, 2, 30)]
    assert scores(CopySupport(world(), half_life=30), support, (9, 1, 30)) == {1: 0.5, 2: 1.0}


def test_window_sums_decayed_weights_of_objects():
    background = world((0, 0, 1, 0), (3, 0, 1, 30), (0, 0, 2, 60), (0, 1, 4, 0))
    assert scores(RelationWindow(background), [], (9, 0, 0)) == pytest.approx({1: 1.5, 2: 1 / 3})


def test_window_of_inverse_relation_scores_subjects():
    background = world((0, 0, 1, 0), (3, 0, 1, 30))
    assert scores(RelationWindow(background), [], (9, 2, 0)) == {0: 1.0, 3: 0.5}


def test_two_hop_divides_by_degree_and_excludes_query_entity():
    background = world((1, 0, 2, 0), (3, 1, 1, 30))
    # From 9 to 1 on day 0; 1 has three edges: to 2, to 3, and back to 9.
    assert scores(TwoHop(background), [(9, 9, 1, 1, 0)], (9, 0, 0)) == pytest.approx({2: 1 / 3, 3: 1 / 6})


def test_two_hop_uses_supports_of_other_unseen_entities():
    support = [(9, 9, 1, 1, 0), (8, 8, 1, 1, 0)]
    assert scores(TwoHop(world((4, 0, 5, 0))), support, (9, 0, 0)) == {8: 0.5}


def test_similar_entities_share_relation_and_object():
    background = world((4, 0, 5, 0), (4, 1, 6, 0), (7, 1, 5, 0), (7, 1, 8, 0))
    # (4, r0, 5) is 30 days before the query (1/2), and so is (4, r1, 6) (1/2). 7 has another relation to 5.
    assert scores(SimilarEntities(background), [(9, 9, 0, 5, 2)], (9, 1, 30)) == {6: 0.25}


def test_frequent_pairs_are_weighted_down():
    background = world(*((other, 0, 5, 0) for other in (1, 2, 3, 4)), (1, 1, 6, 0))
    assert scores(SimilarEntities(background), [(9, 9, 0, 5, 0)], (9, 1, 0)) == {6: 0.5}


def test_mixture_sums_shares():
    background = world((4, 0, 5, 0), (4, 1, 6, 0), (1, 1, 6, 0), (1, 1, 5, 0))
    found = scores(Mixture(background), [(9, 9, 0, 5, 0)], (9, 1, 0))
    # copy: 5. Window: 6 twice, 5 once. Two-hop: 5 has edges to 4, 1 and 9. SimilarEntities: 4 has 6.
    assert found == pytest.approx({5: 1 + 1 / 3, 6: 2 / 3 + 1, 4: 1 / 2, 1: 1 / 2})


def test_batch_size_does_not_change_scores(monkeypatch):
    dataset = random_dataset()
    queries = queries_of([(39, relation, -1, time) for relation in range(10) for time in (0, 100)])
    task = Task(dataset.test, queries)
    before = [scorer(dataset).score(task, queries).score for scorer in (RelationWindow, TwoHop, SimilarEntities)]
    for module in (relation_window, two_hop, similar_entities):
        monkeypatch.setattr(module, "_PAIRS", 50)
    after = [scorer(dataset).score(task, queries).score for scorer in (RelationWindow, TwoHop, SimilarEntities)]
    for one, other in zip(before, after, strict=True):
        np.testing.assert_array_equal(one, other)


def test_decay_halves_after_half_life_in_both_directions():
    weight = hyperbolic_decay(np.array([0, 30, 60, 90], np.int32), np.array([30, 30, 30, 30], np.int32), 30)
    assert weight.tolist() == [0.5, 1.0, 0.5, 1 / 3]


def test_half_life_depends_on_granularity():
    assert Calendar.of_granules("day", [0, 900]).half_life == 30
    assert Calendar.of_granules("hour", [0, 900]).half_life == 720
    assert Calendar.of_granules("integer", [0, 1199]).half_life == 100
