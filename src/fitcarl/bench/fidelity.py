"""Fidelity of explanations: the answer without the facts that they name, and with nothing else."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from fitcarl.bench.explanation_controls import OURS, SIZES, choices_of_facts, neighbourhood
from fitcarl.data.quadruples import Row
from fitcarl.predict.explainer import AnswerContext, propose_facts
from fitcarl.predict.explanation import Explanation

_SMALL = 3
"""Facts of a small necessary set."""


@dataclass(frozen=True)
class Fidelity:
    """What the answer loses without the first facts of each choice, and what it keeps with nothing else."""

    answers: int
    comprehensiveness: dict[str, dict[str, float]]
    """Choice of facts → number of facts (or ``area``, the mean) → nats of the share that are lost without them."""
    sufficiency: dict[str, dict[str, float]]
    """Choice of facts → number of facts → share of the answer with only them, relative to its share with all."""
    necessary_share: float
    """Answers with a necessary set of at most three facts."""
    additivity_error: float
    """Largest difference between the sum of all contributions and the score."""


@dataclass(frozen=True)
class FidelityCase:
    """One answer."""

    lost: dict[str, dict[int, float]]
    kept: dict[str, dict[int, float]]
    necessary: int | None
    error: float


def fidelity_case(context: AnswerContext, explanation: Explanation, rng: np.random.Generator) -> FidelityCase:
    """Left out and kept facts of one answer.

    At least one fact of the query entity is always kept: without any there is no answer, whatever the choice of facts.
    """
    own = list(context.support)
    universe = frozenset([*neighbourhood(context), *propose_facts(context)])
    [full] = context.answers.without([()])
    lost: dict[str, dict[int, float]] = {}
    kept: dict[str, dict[int, float]] = {}
    for name, lists in choices_of_facts(context, explanation, rng).items():
        removed = [[_leaving_one(facts, own)[:size] for size in SIZES] for facts in lists]
        alone = [[universe.difference(_with_one(facts[:size], own)) for size in SIZES] for facts in lists]
        without = [context.answers.without(sets) for sets in removed]
        with_only = [context.answers.without(sets) for sets in alone]
        lost[name] = {
            size: float(np.mean([full.log_ratio(row[place]) for row in without])) for place, size in enumerate(SIZES)
        }
        kept[name] = {
            size: float(np.mean([row[place].share / max(full.share, 1e-12) for row in with_only]))
            for place, size in enumerate(SIZES)
        }
    error = abs(sum(one.contribution for one in explanation.evidence) - (explanation.score or 0.0))
    necessary = len(explanation.necessary) if explanation.without_necessary is not None else None
    return FidelityCase(lost, kept, necessary, error)


def _leaving_one(facts: Sequence[Row], own: Sequence[Row]) -> list[Row]:
    """The facts without those that would leave nothing known about the query entity."""
    spare, out = len(set(own)) - 1, []
    for fact in facts:
        if fact in own:
            if not spare:
                continue
            spare -= 1
        out.append(fact)
    return out


def _with_one(facts: Sequence[Row], own: Sequence[Row]) -> list[Row]:
    """The facts and, if none of them is about the query entity, its latest fact."""
    return list(facts) if set(facts) & set(own) or not own else [*facts, max(own, key=lambda fact: (fact[3], fact))]


def mean_fidelity(cases: Sequence[FidelityCase]) -> Fidelity:
    """Means over answers."""
    names = list(cases[0].lost) if cases else [OURS]

    def means(of: Callable[[FidelityCase], dict[str, dict[int, float]]], name: str) -> dict[str, float]:
        by_size = (
            {str(size): float(np.mean([of(case)[name][size] for case in cases])) for size in SIZES} if cases else {}
        )
        return {**by_size, "area": float(np.mean(list(by_size.values()))) if by_size else 0.0}

    small = [case.necessary is not None and case.necessary <= _SMALL for case in cases]
    return Fidelity(
        len(cases),
        {name: means(lambda case: case.lost, name) for name in names},
        {name: means(lambda case: case.kept, name) for name in names},
        float(np.mean(small)) if small else 0.0,
        max((case.error for case in cases), default=0.0),
    )
