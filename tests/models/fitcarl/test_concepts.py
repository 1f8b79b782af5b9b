from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from fitcarl.data.concepts import Concepts
from fitcarl.models.fitcarl.concepts import concept_divergence, concept_fit
from tests.models.fitcarl.paper.reference import concept_probability, concepts_given_relation, divergence
from tests.models.fitcarl.paper.tiny import random_task

# The paper's figure: P(c1 | r_q) = .3, P(c2 | r_q) = .1, P(c3 | r_q) = .6; a1 leads to an entity with c1 and c2,
# a2 to one with c3. exp(.4) / (exp(.4) + exp(.6)) = .45
FIGURE = Concepts.from_pairs(3, [(0, "c1"), (0, "c2"), (1, "c3")])
GIVEN = np.array([[0.0, 0.0, 0.0], [0.3, 0.1, 0.6]])


def fit_of(entities: list[list[int]]) -> torch.Tensor:
    rows = np.array(entities, dtype=np.int32)
    return concept_fit(GIVEN, FIGURE, np.ones(len(rows), np.int32), rows)


def test_concept_fit_equals_equation_10() -> None:
    assert fit_of([[0, 1, 2]])[0].tolist() == pytest.approx([0.4, 0.6, 0.0])


def test_concept_probabilities_of_the_papers_example() -> None:
    actual = fit_of([[0, 1]]).softmax(-1)[0].tolist()
    literal = concept_probability([{"c1", "c2"}, {"c3"}], {"c1": 0.3, "c2": 0.1, "c3": 0.6}, [0, 1]).tolist()
    assert [round(p, 2) for p in actual] == [0.45, 0.55]
    assert actual == pytest.approx(literal, rel=1e-12)


def test_divergence_equals_equation_11() -> None:
    # π = (.9, .1) against (.450166, .549834): .9 ln(.9 / .450166) + .1 ln(.1 / .549834) = .4530559; the reverse
    # divergence would be .6252972.
    log_policy = torch.tensor([[0.9, 0.1]], dtype=torch.float64).log()
    kl = concept_divergence(log_policy, fit_of([[0, 1]]), torch.ones(1, 2).bool())
    assert kl.tolist() == pytest.approx([0.4530559], abs=1e-6)


def test_policy_equal_to_the_concept_distribution_has_zero_divergence() -> None:
    fit = fit_of([[0, 1, 2]])
    assert concept_divergence(fit.log_softmax(-1), fit, torch.ones(1, 3).bool()).item() == pytest.approx(0, abs=1e-15)


@given(st.integers(1, 3), st.lists(st.floats(-5, 5), min_size=3, max_size=3))
def test_padding_does_not_change_the_divergence(count: int, scores: list[float]) -> None:
    mask = (torch.arange(3) < count).unsqueeze(0)
    logit = torch.tensor([scores], dtype=torch.float64, requires_grad=True)
    log_policy = logit.masked_fill(~mask, -math.inf).log_softmax(-1)
    kl = concept_divergence(log_policy, fit_of([[0, 1, 2]]), mask)
    literal = divergence(logit[0, :count].softmax(-1), fit_of([list(range(count))])[0].softmax(-1))
    assert kl.item() == pytest.approx(literal.item(), rel=1e-9, abs=1e-12)
    assert kl.item() >= -1e-15
    kl.sum().backward()
    assert logit.grad is not None
    assert torch.isfinite(logit.grad).all()
    assert not logit.grad[~mask].any()


def test_concept_distribution_counts_distinct_objects_of_a_relation() -> None:
    task = random_task(0)
    concept_prior = task.concept_prior()
    for relation in range(2 * task.relations):
        given_relation = concepts_given_relation(task, relation)
        assert sum(given_relation.values()) == pytest.approx(1)
        expected = [given_relation[name] for name in concept_prior.concepts.names]
        assert concept_prior.probability[relation].tolist() == pytest.approx(expected)
