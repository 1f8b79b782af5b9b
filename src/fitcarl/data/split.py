"""The out-of-graph split: some entities become unseen, and all their facts are removed from the background."""

from __future__ import annotations

import math
import random

import numpy as np
from numpy.typing import NDArray

from fitcarl.data.calendar import MAX_SPAN
from fitcarl.data.dataset import SPLITS, Dataset, MetaSet
from fitcarl.data.facts import Facts
from fitcarl.data.quadruples import Ids, Quadruples
from fitcarl.errors import InputError

_OUTSIDE = -1  # the group of an entity that is not unseen
_LARGEST_SEED = 2**32 - 1
_ROUNDING = 1e-9  # so that 0.29 of 100 is 29 although 0.29 * 100 is slightly less in binary


def split_facts(
    facts: Facts,
    *,
    name: str | None = None,
    seed: int = 42,
    bounds: tuple[int, int] = (10, 25),
    share: float = 0.5,
    parts: tuple[float, float, float] = (0.8, 0.1, 0.1),
    swap: bool = False,
) -> Dataset:
    """Makes a dataset from facts by the recipe of the published benchmarks.

    With the defaults it rebuilds ICEWS14-OOG and ICEWS0515-OOG from their raw facts, order included, and with ``swap``
    ICEWS18-OOG. The result depends on the order of the facts and on the seed, but not on the ids of entities and
    relations.

    1. The facts are shuffled.
    2. The seed is set again, and the unseen entities are drawn. They are divided into meta-train, meta-validation and
       meta-test entities in the order of the draw.
    3. Facts without an unseen entity are the background; facts between two groups are dropped; a fact within one
       group is listed under its subject or its object, chosen at random.

    Args:
        facts: The facts.
        name: Name of the dataset; by default the name of the facts.
        seed: Random seed.
        bounds: Minimum and maximum number of facts of an unseen entity.
        share: Share of the entities within the bounds that become unseen.
        parts: Shares of meta-train, meta-validation and meta-test among the unseen entities.
        swap: Exchange the meta-validation and meta-test groups.

    Returns:
        The dataset.

    Raises:
        InputError: An option is invalid, or there are too few facts or entities.
    """
    _check_options(seed, bounds, share, parts)
    if facts.calendar.span > MAX_SPAN:
        raise InputError(
            "the time span is too long",
            file=facts.name,
            found=f"{facts.calendar.span} ticks",
            expected=f"at most {MAX_SPAN}: use a coarser --granularity (86400 converts seconds to days)",
        )
    shuffled = facts.quadruples.take(np.random.RandomState(seed).permutation(len(facts.quadruples)))
    groups = _draw_groups(facts, shuffled, seed, bounds, share, parts)
    if swap:
        groups = [groups[0], groups[2], groups[1]]

    group_of = np.full(len(facts.vocabulary.entities), _OUTSIDE, dtype=np.int8)
    for number, group in enumerate(groups):
        group_of[group] = number
    of_subject, of_object = group_of[shuffled.subject], group_of[shuffled.object]

    # A fact belongs to the group of its unseen entities; max() finds it, because _OUTSIDE is the smallest value.
    group = np.maximum(of_subject, of_object)
    across = (of_subject != of_object) & (of_subject != _OUTSIDE) & (of_object != _OUTSIDE)
    within = (of_subject == of_object) & (of_subject != _OUTSIDE)
    entity = np.where(of_subject != _OUTSIDE, shuffled.subject, shuffled.object)
    entity[within] = _random_ends(shuffled.take(within), seed)

    background = shuffled.take(group == _OUTSIDE)
    metas = [_meta_set(shuffled, entity, (group == number) & ~across, len(group_of)) for number in range(len(groups))]
    left = {"the background": len(background)} | {f"meta-{s}": len(m) for s, m in zip(SPLITS, metas, strict=True)}
    for part, count in left.items():
        if not count:
            expected = "more facts, a smaller share or other bounds"
            raise InputError(f"no facts would remain for {part}", file=facts.name, expected=expected)
    return Dataset(
        name=facts.name if name is None else name,
        vocabulary=facts.vocabulary,
        calendar=facts.calendar,
        background=background,
        train=metas[0],
        valid=metas[1],
        test=metas[2],
        dropped=shuffled.take(across),
        concepts=facts.concepts,
    )


def _draw_groups(
    facts: Facts,
    shuffled: Quadruples,
    seed: int,
    bounds: tuple[int, int],
    share: float,
    parts: tuple[float, float, float],
) -> list[Ids]:
    """The unseen entities of the three groups, in the order of the draw."""
    low, high = bounds
    frequency = _frequency(shuffled, len(facts.vocabulary.entities))
    candidates = _eligible_entities(shuffled, (frequency >= low) & (frequency <= high))
    if not len(candidates):
        fewer, more = int(np.count_nonzero(frequency < low)), int(np.count_nonzero(frequency > high))
        raise InputError(
            f"no entity can become unseen: none of {len(frequency)} has {low} to {high} facts",
            file=facts.name,
            found=f"{fewer} with fewer facts and {more} with more",
            expected="other bounds (--low, --high)",
        )
    count = _portion(len(candidates), share)
    train, valid = _portion(count, parts[0]), _portion(count, parts[1])
    # The rounding remainder goes to test, so only train and valid can be empty.
    if min(train, valid, count - train - valid) < 1:
        needed = math.ceil(math.ceil(1 / min(parts[:2]) - _ROUNDING) / share - _ROUNDING)
        raise InputError(
            "too few entities for three groups",
            file=facts.name,
            found=f"{len(candidates)} with {low} to {high} facts",
            expected=f"at least {needed} for a share of {share:g} in parts {'/'.join(f'{part:g}' for part in parts)}",
        )
    drawn = np.random.RandomState(seed).choice(candidates, count, replace=False)
    return [drawn[:train], drawn[train : train + valid], drawn[train + valid :]]


def _frequency(facts: Quadruples, entities: int) -> NDArray[np.int64]:
    """int64 [entities], number of facts per entity; a self-loop counts twice."""
    return np.bincount(facts.subject, minlength=entities) + np.bincount(facts.object, minlength=entities)


def _eligible_entities(facts: Quadruples, eligible: NDArray[np.bool_]) -> Ids:
    """Eligible entities in order of their first fact as subject, followed by the others by their first fact as object.

    The draw depends on this order.
    """
    ends = np.concatenate([facts.subject, facts.object])
    ends = ends[eligible[ends]]
    candidates: Ids = ends[np.sort(_first_rows(ends, len(eligible))[eligible])]
    return candidates


def _first_rows(ids: Ids, count: int) -> NDArray[np.int64]:
    """int64 [count]: the first row of each id in [0, count); the number of rows for ids that do not occur."""
    first = np.full(count, len(ids), dtype=np.int64)
    first[ids[::-1]] = np.arange(len(ids) - 1, -1, -1)  # the last assignment to a repeated index wins
    return first


def _random_ends(facts: Quadruples, seed: int) -> Ids:
    """int32 [facts]: subject or object of each fact, chosen at random."""
    rng = random.Random(seed)
    at_object = np.array([rng.randrange(0, 4, 2) == 2 for _ in range(len(facts))], dtype=np.bool_)
    return np.where(at_object, facts.object, facts.subject)


def _meta_set(shuffled: Quadruples, entity: Ids, mask: NDArray[np.bool_], entities: int) -> MetaSet:
    """The facts of one group: entities in order of appearance, the facts of each in shuffled order."""
    entity, facts = entity[mask], shuffled.take(mask)
    order = np.argsort(_first_rows(entity, entities)[entity], kind="stable")
    return MetaSet(entity[order], facts.take(order))


def _portion(count: int, share: float) -> int:
    return int(count * share + _ROUNDING)


def _check_options(seed: int, bounds: tuple[int, int], share: float, parts: tuple[float, float, float]) -> None:
    if not 0 <= seed <= _LARGEST_SEED:
        raise InputError("invalid seed", found=seed, expected=f"an integer from 0 to {_LARGEST_SEED}")
    low, high = bounds
    if not 1 <= low <= high:
        raise InputError("invalid bounds", found=f"{low} to {high}", expected="1 <= minimum <= maximum number of facts")
    if not 0 < share <= 1:
        raise InputError("invalid share", found=share, expected="a number above 0 and at most 1")
    if len(parts) != 3 or not all(part > 0 for part in parts) or abs(sum(parts) - 1) > 1e-6:
        written = "/".join(f"{part:g}" for part in parts)
        raise InputError(
            "invalid parts", found=written, expected="three positive numbers that sum to 1, like 0.8/0.1/0.1"
        )
