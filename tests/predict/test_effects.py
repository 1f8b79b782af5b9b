"""Measured effects on models whose answers are known by hand."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest

from fitcarl.data.quadruples import Quadruples
from fitcarl.predict.counterfactuals import Counterfactuals, Row
from fitcarl.predict.effects import measure_effects, necessary_set, sufficient_set
from fitcarl.scoring.counterfactual import Counterfactual
from fitcarl.scoring.scores import Scores

POOL: list[Row] = [
    (0, 0, 9, 1),
    (0, 1, 9, 2),
    (7, 0, 0, 3),
    (0, 1, 6, 4),
    (5, 1, 8, 5),
    (4, 0, 9, 6),
    (3, 1, 9, 7),
    (2, 0, 9, 8),
]
OWN = {POOL[0], POOL[1], POOL[2], POOL[3]}
ANSWER, RIVAL = 9, 8


def answers(value: Callable[[set[Row]], float]) -> Counterfactuals:
    """The answer has score ``value(visible facts)``, its rival 0; without own facts there is no answer."""

    def score(variants: Sequence[Counterfactual]) -> Scores:
        rows = []
        for variant in variants:
            visible = set(POOL) - set(variant.hidden)
            entity = np.array([RIVAL, ANSWER], dtype=np.int32) if len(variant.support) else np.empty(0, np.int32)
            values = np.array([0.0, value(visible)]) if len(variant.support) else np.empty(0)
            rows.append(Scores(np.array([0, len(entity)]), entity, values))
        return Scores.concat(rows)

    def support_without(hidden: frozenset[Row]) -> Quadruples:
        return Quadruples.from_rows(sorted(OWN - hidden))

    return Counterfactuals(score, support_without, 0, ANSWER, None)


def test_single_facts_are_ordered_by_what_is_lost() -> None:
    weights = dict(zip(POOL, [0.1, 2.0, 0.0, 1.0, 0.0, 0.5, 0.0, 0.0], strict=True))
    found = answers(lambda visible: sum(weights[fact] for fact in visible))
    measured = measure_effects(found, POOL)
    assert [one.fact for one in measured[:4]] == [POOL[1], POOL[3], POOL[5], POOL[0]]
    full, without = (1 / (1 + np.exp(-total)) for total in (3.6, 1.6))
    assert measured[0].without.share == pytest.approx(without)
    assert measured[0].without.rank == 1
    assert measured[0].effect >= np.log(full / without) - 1e-9


def test_facts_that_replace_each_other_are_found_together() -> None:
    """Either of two facts is enough, so leaving out one alone changes nothing."""
    either = {POOL[1], POOL[6]}
    found = answers(lambda visible: 3.0 if visible & either else -3.0)
    measured = measure_effects(found, POOL)
    assert {one.fact for one in measured[:2]} == either
    assert measured[0].together == (measured[1].fact,)
    assert measured[0].effect > 1 > abs(measured[2].effect)
    assert measured[0].without.rank == 1
    necessary = necessary_set(found, measured, OWN)
    assert necessary is not None
    assert set(necessary.facts) == either
    assert necessary.outcome.rank == 2


def test_facts_that_only_count_together_are_each_necessary() -> None:
    both = {POOL[2], POOL[5]}
    found = answers(lambda visible: 2.0 if both <= visible else -1.0)
    measured = measure_effects(found, POOL)
    assert {one.fact for one in measured[:2]} == both
    necessary, sufficient = necessary_set(found, measured, OWN), sufficient_set(found, measured, OWN)
    assert necessary is not None
    assert len(necessary.facts) == 1
    assert sufficient is not None
    assert set(sufficient.facts) == both
    assert sufficient.outcome.rank == 1


def test_larger_sets_are_reduced_to_what_is_needed() -> None:
    needed = {POOL[0], POOL[4], POOL[7]}
    found = answers(lambda visible: 1.0 if len(visible & needed) else -1.0)
    necessary = necessary_set(found, measure_effects(found, POOL), OWN)
    assert necessary is not None
    assert set(necessary.facts) == needed


def test_no_set_if_nothing_takes_the_answer_from_its_place() -> None:
    found = answers(lambda _: 1.0)
    only_others = [fact for fact in POOL if fact not in OWN]
    measured = measure_effects(found, only_others)
    assert necessary_set(found, measured, OWN) is None
    assert sufficient_set(found, measured, OWN) is None
    assert all(abs(one.effect) < 1e-9 for one in measured)


def test_sufficient_set_keeps_a_fact_of_the_entity() -> None:
    found = answers(lambda visible: 1.0 if POOL[7] in visible else -1.0)
    sufficient = sufficient_set(found, measure_effects(found, POOL), OWN)
    assert sufficient is not None
    assert POOL[7] in sufficient.facts
    assert len(set(sufficient.facts) & OWN) == 1
    assert len(sufficient.facts) == 2


def test_every_set_is_answered_once() -> None:
    found = answers(len)  # type: ignore[arg-type]
    found.without([(), (POOL[0],), (POOL[0],), ()])
    assert found.recomputed == 2
    found.without([(POOL[1], POOL[0]), (POOL[0], POOL[1])])
    assert found.recomputed == 3


def test_empty_pool() -> None:
    assert measure_effects(answers(len), []) == []  # type: ignore[arg-type]
