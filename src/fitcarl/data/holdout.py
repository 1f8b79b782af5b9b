"""A dataset from plain facts: some entities are held out for validation, and others for a test of the chosen model."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from fitcarl.data.bounds import ENOUGH_ENTITIES, portion
from fitcarl.data.chronological import first_appearance, tick_at_share
from fitcarl.data.cuts import Cuts
from fitcarl.data.dataset import Dataset
from fitcarl.data.facts import Facts
from fitcarl.data.groups import divide_facts
from fitcarl.data.pseudo_unseen import PseudoUnseen, facts_of_each, select_pseudo_unseen, usual_number_of_facts
from fitcarl.data.quadruples import Ids, Quadruples
from fitcarl.errors import InputError

_PARTS = 6
"""Groups that the suitable entities are divided into; one is held out for validation, one for test."""
_HELD_OUT, _FACTS = 100, 0.05
"""Maximum number of entities of either group, and maximum share of the facts."""
_MIN_SUITABLE = 12
"""With fewer suitable entities no test group is held out: training needs them."""
_LATE = (0.7, 0.5)
"""Shares of the facts before the held-out emerging entities: the second one if too few appear after the first."""
_MIN_EMERGING = 5
_TEST_CUTS = (0.5, 0.6, 0.7, 0.8)
"""Shares of the suitable emerging entities that appear before the first one for test; those are tried."""
_LARGER_SHARES = (0.3, 0.5, 0.7)
"""Shares that are proposed if few entities are held out, in this order."""
_STREAM = (0, 0, 1)


@dataclass(frozen=True)
class HoldoutRule:
    """Which entities are held out of plain facts for validation and test; None is chosen by default."""

    low: int | None = None
    """Minimum number of facts; by default three more than the support set, for emerging entities one more."""
    high: int | None = None
    """Maximum number of facts; by default 40, or three times the minimum if that is more."""
    share: float | None = None
    """Share of the entities within the bounds that are held out, half for validation and half for test; by default a
    third, but at most 100 entities and 5 % of the facts for each. Of emerging entities it is the share of each group,
    the most recent ones; by default all, but at most 100."""

    def __str__(self) -> str:
        """The options of ``fitcarl train``."""
        given = {"low": self.low, "high": self.high, "share": self.share}
        return " ".join(f"--{name} {value:g}" for name, value in given.items() if value is not None)

    def bounds(self, shots: int, *, emerging: bool = False) -> tuple[int, int]:
        """Minimum and maximum number of facts of a held-out entity.

        Args:
            shots: Support facts per entity, K.
            emerging: Whether they are entities that first appear late in the data.

        Raises:
            InputError: The bounds do not leave a query, or are in the wrong order.
        """
        low, high = usual_number_of_facts(shots)
        low = (shots + 1 if emerging else low) if self.low is None else self.low
        high = max(high, 3 * low) if self.high is None else self.high
        if not shots < low <= high:
            raise InputError(
                "invalid bounds", found=f"{low} to {high}", expected=f"more than {shots} facts, minimum <= maximum"
            )
        return low, high

    @property
    def parts(self) -> int:
        """Groups that the suitable entities are divided into."""
        return _PARTS if self.share is None else max(2, round(2 / self.share))

    def check(self) -> None:
        """Raises an InputError if the share is not one."""
        if self.share is not None and not 0 < self.share <= 1:
            raise InputError("invalid share", found=self.share, expected="a number above 0 and at most 1")


@dataclass(frozen=True, eq=False)
class HeldOut:
    """The entities that were held out."""

    valid: PseudoUnseen
    """The group that selects the model and calibrates its shares."""
    test: PseudoUnseen | None
    """The group that only judges it; None if too few entities are suitable."""


def dataset_from_facts(
    facts: Facts,
    shots: int,
    seed: int,
    *,
    meta_train: bool = False,
    chronological: bool = False,
    rule: HoldoutRule | None = None,
) -> tuple[Dataset, HeldOut]:
    """Makes a dataset with meta-validation and meta-test sets from plain facts.

    Facts of held-out entities are not in the background; those between two groups are dropped.

    Args:
        facts: The facts.
        shots: Support facts per entity, K.
        seed: Seed of the selection of entities.
        meta_train: Also hold out a meta-train set, as in an official split. Otherwise the meta-train set is empty, and
            training holds out other entities of the background in turn.
        chronological: Hold out the most recent emerging entities, the later ones for test, and record the times from
            which on they appear as cuts. If too few entities first appear late in the data, random ones are held out.
        rule: Which entities are held out.

    Returns:
        The dataset, and the entities of its meta-validation and meta-test sets.

    Raises:
        InputError: No entity can be held out.
    """
    rule = rule or HoldoutRule()
    rule.check()
    rng = np.random.default_rng([seed, *_STREAM])
    entities = len(facts.vocabulary.entities)
    emerging = _emerging(facts, shots, rule) if chronological else None
    held_out, cuts = emerging or (_at_random(facts, shots, rule, rng), None)
    known = facts.quadruples
    order = rng.permutation(len(known)) if cuts is None else np.argsort(known.time, kind="stable")
    valid = held_out.valid.groups[0]
    test = held_out.test.groups[0] if held_out.test is not None else np.empty(0, dtype=np.int32)
    train = _meta_train(facts, np.concatenate([valid, test]), cuts, shots, rng) if meta_train else np.empty(0, np.int32)
    ends = None if cuts is None else cuts.ends(facts.calendar)
    found = divide_facts(known.take(order), [train, valid, test], entities, seed, ends)
    if not len(found.background):
        expected = "a smaller --share, or other bounds (--low, --high)"
        raise InputError("no facts would remain for the background", file=facts.name, expected=expected)
    dataset = found.dataset(replace(facts, concepts=facts.concepts.used()), facts.name, cuts)
    return dataset, held_out


def larger_holdout(
    facts: Facts,
    shots: int,
    seed: int,
    fewest: int,
    *,
    meta_train: bool = False,
    chronological: bool = False,
    emerging: bool = False,
) -> str:
    """Options that hold out more entities, with the numbers that they gave when tried; empty if none do.

    At least half of the facts stay in the background.

    Args:
        facts: The facts.
        shots: Support facts per entity, K.
        seed: Seed of the selection of entities.
        fewest: The number of entities of the smaller group so far.
        meta_train: As for ``dataset_from_facts``.
        chronological: As for ``dataset_from_facts``.
        emerging: Whether the entities held out so far are emerging ones; others are not proposed instead.
    """
    most, best = fewest, ""
    for rule in _larger_rules(shots, emerging=emerging):
        try:
            found, _ = dataset_from_facts(
                facts, shots, seed, meta_train=meta_train, chronological=chronological, rule=rule
            )
        except InputError:
            continue
        valid, test = len(found.valid.entities), len(found.test.entities)
        same_kind = (found.cuts is not None) == emerging
        if same_kind and min(valid, test) > most and 2 * len(found.background) >= len(facts.quadruples):
            most, best = min(valid, test), f"{rule} gives {valid} entities for validation and {test} for test"
        if most >= ENOUGH_ENTITIES:
            break
    return best


def _larger_rules(shots: int, *, emerging: bool) -> Iterator[HoldoutRule]:
    """Rules that may hold out more entities, in the order in which they are tried."""
    if emerging:
        yield HoldoutRule(share=1.0)
        yield HoldoutRule(high=4 * usual_number_of_facts(shots)[1], share=1.0)
        return
    for share in _LARGER_SHARES:
        yield HoldoutRule(share=share)
        yield HoldoutRule(low=shots + 2, share=share)


def _at_random(facts: Facts, shots: int, rule: HoldoutRule, rng: np.random.Generator) -> HeldOut:
    """Random entities with a suitable number of facts."""
    entities = len(facts.vocabulary.entities)
    given = rule.share is not None
    found = select_pseudo_unseen(
        facts.quadruples,
        entities,
        shots,
        rng,
        groups=rule.parts,
        max_entities=entities if given else _HELD_OUT,
        share=1.0 if given else _FACTS,
        name=facts.name,
        bounds=rule.bounds(shots),
        strict=rule.low is not None or rule.high is not None,
    )
    valid, *others = found.groups
    suitable = int(np.count_nonzero((found.count >= found.usual[0]) & (found.count <= found.usual[1])))
    test = others[:1] if suitable >= _MIN_SUITABLE else []
    return HeldOut(replace(found, groups=(valid,)), replace(found, groups=tuple(test)) if test else None)


def _meta_train(facts: Facts, others: Ids, cuts: Cuts | None, shots: int, rng: np.random.Generator) -> Ids:
    """The entities of a meta-train set, selected from the facts without the other groups and before the first cut."""
    known, entities = facts.quadruples, len(facts.vocabulary.entities)
    visible = ~(np.isin(known.subject, others) | np.isin(known.object, others))
    if cuts is not None:
        visible &= known.time < cuts.valid
    return select_pseudo_unseen(known.take(visible), entities, shots, rng, groups=2, name=facts.name).groups[0]


def _emerging(facts: Facts, shots: int, rule: HoldoutRule) -> tuple[HeldOut, Cuts] | None:
    """The entities with a few facts that appeared most recently, the later ones for test; None if too few appear late.

    The facts of validation end where the first test entity appears. This time is chosen so that the smaller of the two
    groups is as large as possible.
    """
    known, entities = facts.quadruples, len(facts.vocabulary.entities)
    bounds = rule.bounds(shots, emerging=True)
    arrival, times = first_appearance(known, entities), np.sort(known.time)
    suitable = _is_suitable(known, entities, shots, bounds)
    for late in _LATE:
        start = max(tick_at_share(times, late), int(times[0]) + 1)
        arrivals = np.sort(arrival[suitable & (arrival >= start)])
        best: tuple[Ids, Ids] | None = None
        for share in _TEST_CUTS if len(arrivals) >= 2 * _MIN_EMERGING else ():
            cut = int(arrivals[portion(len(arrivals), share)])
            before = _is_suitable(known.take(known.time < cut), entities, shots, bounds)
            valid = _most_recent(before & (arrival >= start) & (arrival < cut), arrival, rule.share)
            test = _most_recent(suitable & (arrival >= cut), arrival, rule.share)
            if min(len(valid), len(test)) >= (_MIN_EMERGING if best is None else min(map(len, best)) + 1):
                best = valid, test
        if best is not None:
            valid, test = best
            cuts = Cuts(0, int(arrival[valid].min()), int(arrival[test].min()))
            counts = (facts_of_each(part, entities) for part in (known.take(known.time < cuts.test), known))
            groups = (PseudoUnseen((group,), bounds, count) for group, count in zip(best, counts, strict=True))
            return HeldOut(*groups), cuts
    return None


def _most_recent(chosen: NDArray[np.bool_], arrival: NDArray[np.int64], share: float | None) -> Ids:
    """The chosen entities that appeared last: at most 100, or this share of them."""
    found = np.flatnonzero(chosen)
    limit = _HELD_OUT if share is None else portion(len(found), share)
    return found[np.argsort(-arrival[found], kind="stable")][:limit].astype(np.int32)


def _is_suitable(facts: Quadruples, entities: int, shots: int, bounds: tuple[int, int]) -> NDArray[np.bool_]:
    """bool [entities]: whether an entity has a suitable number of facts, one of them later than its first K facts."""
    count = facts_of_each(facts, entities)
    return (count >= bounds[0]) & (count <= bounds[1]) & _is_asked_later(facts, entities, shots)


def _is_asked_later(facts: Quadruples, entities: int, shots: int) -> NDArray[np.bool_]:
    """bool [entities]: whether an entity has a fact later than its first K facts."""
    entity, time = np.concatenate([facts.subject, facts.object]), np.concatenate([facts.time, facts.time])
    order = np.lexsort((time, entity))
    entity, time = entity[order], time[order]
    start = np.searchsorted(entity, np.arange(entities))
    end = np.searchsorted(entity, np.arange(entities), side="right")
    enough = end - start > shots
    later = np.zeros(entities, dtype=np.bool_)
    later[enough] = time[end[enough] - 1] > time[start[enough] + shots - 1]
    return later
