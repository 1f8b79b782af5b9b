"""Measured effects of facts on an answer: what changes if a fact, or several facts, are left out.

All numbers are recomputed answers (``Counterfactuals``). Which sets of facts are tried is a search: all single facts of
a pool, all pairs of the most promising ones, facts that state the same at several times, and growing sets.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations

from fitcarl.data.quadruples import Row
from fitcarl.predict.counterfactuals import Counterfactuals, RecomputedAnswer

PAIRED = 8
"""Facts of which all pairs are tried."""
_MIN_BEYOND = 0.02
"""Nats per fact from which a joint effect is reported: less is not worth a reader's time."""
_PREFIXES = (1, 2, 3, 4, 5, 6, 8, 10, 13, 17, 24, 32, 48, 64)
"""Sizes of the sets that are tried in order of effect."""


@dataclass(frozen=True)
class MeasuredFact:
    """A fact and what the answer would be without it."""

    fact: Row
    without: RecomputedAnswer
    effect: float
    """Nats of the answer's share: what is lost if the fact is left out, and its part of what is lost beyond the single
    losses if it is left out with the facts in ``together``; all of them have equal parts."""
    together: tuple[Row, ...] = ()
    """Facts without which more is lost than by both alone; empty if no such set was found."""


@dataclass(frozen=True)
class FactSet:
    """A set of facts and the place of the answer without it, or with nothing else of the pool."""

    facts: tuple[Row, ...]
    outcome: RecomputedAnswer


def measure_effects(answers: Counterfactuals, pool: Sequence[Row], paired: int = PAIRED) -> list[MeasuredFact]:
    """The facts of a pool, largest effect first.

    Args:
        answers: Recomputes the answer.
        pool: Distinct facts, the most promising ones first.
        paired: Number of facts of which all pairs are left out.
    """
    if not pool:
        return []
    full, *alone = answers.without([(), *((fact,) for fact in pool)])
    lost = {fact: full.log_ratio(outcome) for fact, outcome in zip(pool, alone, strict=True)}
    promising = sorted(pool, key=lambda fact: -lost[fact])[: paired // 2]
    promising = list(dict.fromkeys([*promising, *pool]))[:paired]
    sets = list(dict.fromkeys([*_repetitions(pool), *combinations(promising, 2)]))
    further: dict[Row, tuple[float, tuple[Row, ...]]] = {}
    for facts, outcome in zip(sets, answers.without(sets), strict=True):
        if not outcome.answered:  # nothing would be known about the entity
            continue
        beyond = (full.log_ratio(outcome) - sum(max(lost[fact], 0.0) for fact in facts)) / len(facts)
        for fact in facts:
            if beyond > max(_MIN_BEYOND, further.get(fact, (0.0,))[0]):
                further[fact] = beyond, tuple(other for other in facts if other != fact)
    measured = []
    for fact, outcome in zip(pool, alone, strict=True):
        beyond, together = further.get(fact, (0.0, ()))
        measured.append(MeasuredFact(fact, outcome, lost[fact] + beyond, together))
    return sorted(measured, key=lambda one: (-one.effect, pool.index(one.fact)))


def _repetitions(pool: Sequence[Row]) -> list[tuple[Row, ...]]:
    """Facts of the pool with the same subject, relation and object."""
    groups: dict[tuple[int, int, int], list[Row]] = {}
    for fact in pool:
        groups.setdefault(fact[:3], []).append(fact)
    return [tuple(group) for group in groups.values() if len(group) > 1]


def necessary_set(
    answers: Counterfactuals, measured: Sequence[MeasuredFact], own: Collection[Row], paired: int = PAIRED
) -> FactSet | None:
    """A small set without which the answer loses its place, or None if no set that was tried does that.

    Sets without which nothing is known about the entity, so that there are no answers at all, do not count.

    Single facts are tried exhaustively, then pairs, then facts in the order of their effects. No fact of the result can
    be spared.

    Args:
        answers: Recomputes the answer.
        measured: The facts of the pool, largest effect first.
        own: Facts of the query entity; growing sets leave the weakest of them, so that there are answers.
        paired: Number of facts of which all pairs are tried.
    """
    ordered = [one.fact for one in measured]
    [full] = answers.without([()])
    found = _costliest(answers, full, [(fact,) for fact in ordered])
    found = found or _costliest(answers, full, list(combinations(ordered[:paired], 2)))
    if found is not None:
        return found
    weakest = [fact for fact in ordered if fact in own][-1:]
    growing = [fact for fact in ordered if fact not in weakest]
    prefixes = [tuple(growing[:size]) for size in _sizes(len(growing))]
    for facts, outcome in zip(prefixes, answers.without(prefixes), strict=True):
        if outcome.below(full):
            kept = _spare(facts, lambda part: answers.without([part])[0].below(full))
            return FactSet(kept, answers.without([kept])[0])
    return None


def sufficient_set(answers: Counterfactuals, measured: Sequence[MeasuredFact], own: Collection[Row]) -> FactSet | None:
    """A small set that keeps the answer at its place if all other facts of the pool are left out.

    Args:
        answers: Recomputes the answer.
        measured: The facts of the pool, largest effect first.
        own: Facts of the query entity; without any of them there is no answer.
    """
    ordered = [one.fact for one in measured]
    everything = frozenset(ordered)
    [full] = answers.without([()])

    def keeps(part: Iterable[Row]) -> bool:
        [outcome] = answers.without([everything.difference(part)])
        return outcome.answered and not outcome.below(full)

    first = next((fact for fact in ordered if fact in own), None)
    if first is None:
        return None
    ranked = [first, *(fact for fact in ordered if fact != first)]
    prefixes = [tuple(ranked[:size]) for size in _sizes(len(ranked))]
    outcomes = answers.without([everything.difference(part) for part in prefixes])
    for facts, outcome in zip(prefixes, outcomes, strict=True):
        if outcome.answered and not outcome.below(full):
            kept = _spare(facts, keeps)
            return FactSet(kept, answers.without([everything.difference(kept)])[0])
    return None


def _costliest(answers: Counterfactuals, full: RecomputedAnswer, sets: Sequence[tuple[Row, ...]]) -> FactSet | None:
    """Of the sets without which the answer loses its place, the one that leaves it the smallest share."""
    lost = [
        (outcome.share, index, outcome) for index, outcome in enumerate(answers.without(sets)) if outcome.below(full)
    ]
    if not lost:
        return None
    _, index, outcome = min(lost, key=lambda one: one[:2])
    return FactSet(sets[index], outcome)


def _sizes(count: int) -> list[int]:
    return sorted({min(size, count) for size in _PREFIXES} if count else set())


def _spare(facts: tuple[Row, ...], holds: Callable[[list[Row]], bool]) -> tuple[Row, ...]:
    """The facts without those that can be spared, weakest first, one after the other."""
    kept = list(facts)
    for fact in reversed(facts):
        rest = [other for other in kept if other != fact]
        if rest and holds(rest):
            kept = rest
    return tuple(kept)
