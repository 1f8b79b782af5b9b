"""The out-of-graph split: some entities are made unseen, and all their facts are taken out of the background."""

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

_OUTSIDE = -1  # the group of an entity that was not drawn
_LARGEST_SEED = 2**32 - 1
_ROUNDING = 1e-9  # so that 0.29 of 100 is 29, although 0.29 * 100 is a little less in binary


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
    """A dataset whose unseen entities are ``share`` of those that have from ``bounds[0]`` to ``bounds[1]`` facts.

    This is the recipe of the published benchmarks: with the defaults it rebuilds ICEWS14-OOG and ICEWS0515-OOG from
    their raw facts, order included, and with ``swap`` (valid and test change places) ICEWS18-OOG. It depends on the
    order of the facts and on the seed, but not on how entities and relations are numbered.

    1. The facts are shuffled.
    2. The seed is set again, and the unseen entities are drawn. ``parts`` of them, in the order of the draw, are for
       meta-train, meta-valid and meta-test.
    3. Facts without an unseen entity are the background; facts between two groups are dropped; a fact within one
       group is listed under one of its ends, chosen at random.
    """
    _check_options(seed, bounds, share, parts)
    if facts.calendar.span > MAX_SPAN:
        raise InputError(
            "times too far apart",
            file=facts.name,
            found=f"{facts.calendar.span} ticks",
            expected=f"at most {MAX_SPAN}, as with a coarser --granularity (86400 makes days of seconds)",
        )
    shuffled = facts.quadruples.take(np.random.RandomState(seed).permutation(len(facts.quadruples)))
    groups = _draw(facts, shuffled, seed, bounds, share, parts)
    if swap:
        groups = [groups[0], groups[2], groups[1]]

    group_of = np.full(len(facts.vocabulary.entities), _OUTSIDE, dtype=np.int8)
    for number, group in enumerate(groups):
        group_of[group] = number
    of_subject, of_object = group_of[shuffled.subject], group_of[shuffled.object]

    # A fact belongs to the group of its unseen end or ends; max() finds it, because outside is the smallest.
    group = np.maximum(of_subject, of_object)
    across = (of_subject != of_object) & (of_subject != _OUTSIDE) & (of_object != _OUTSIDE)
    within = (of_subject == of_object) & (of_subject != _OUTSIDE)
    owner = np.where(of_subject != _OUTSIDE, shuffled.subject, shuffled.object)
    owner[within] = _random_ends(shuffled.take(within), seed)

    background = shuffled.take(group == _OUTSIDE)
    metas = [_meta_set(shuffled, owner, (group == number) & ~across, len(group_of)) for number in range(len(groups))]
    left = {"the background": len(background)} | {f"meta-{s}": len(m) for s, m in zip(SPLITS, metas, strict=True)}
    for place, count in left.items():
        if not count:
            expected = "more facts, a smaller share or other bounds"
            raise InputError(f"no fact would be left for {place}", file=facts.name, expected=expected)
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


def _draw(
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
    candidates = _candidates(shuffled, (frequency >= low) & (frequency <= high))
    if not len(candidates):
        fewer, more = int(np.count_nonzero(frequency < low)), int(np.count_nonzero(frequency > high))
        raise InputError(
            f"no entity can be made unseen: none of {len(frequency)} has {low} to {high} facts",
            file=facts.name,
            found=f"{fewer} with fewer and {more} with more",
            expected="bounds (--low, --high) that some entities meet",
        )
    count = _portion(len(candidates), share)
    train, valid = _portion(count, parts[0]), _portion(count, parts[1])
    # What rounding leaves over goes to test, so only train and valid can come out empty when anything is drawn.
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
    """int64 [entities], the number of facts of each; a self-loop counts twice, once for each end."""
    return np.bincount(facts.subject, minlength=entities) + np.bincount(facts.object, minlength=entities)


def _candidates(facts: Quadruples, eligible: NDArray[np.bool_]) -> Ids:
    """Eligible entities in order of their first fact as subject, then, if they never are, of their first as object.

    The draw depends on this order.
    """
    ends = np.concatenate([facts.subject, facts.object])
    ends = ends[eligible[ends]]
    candidates: Ids = ends[np.sort(_first_rows(ends, len(eligible))[eligible])]
    return candidates


def _first_rows(ids: Ids, count: int) -> NDArray[np.int64]:
    """int64 [count]: the first row of each id in [0, count), and the number of rows for ids that do not occur."""
    first = np.full(count, len(ids), dtype=np.int64)
    first[ids[::-1]] = np.arange(len(ids) - 1, -1, -1)  # of repeated indices the last assignment stays
    return first


def _random_ends(facts: Quadruples, seed: int) -> Ids:
    """int32 [facts]: for each fact its subject or its object."""
    coin = random.Random(seed)
    at_object = np.array([coin.randrange(0, 4, 2) == 2 for _ in range(len(facts))], dtype=np.bool_)
    return np.where(at_object, facts.object, facts.subject)


def _meta_set(shuffled: Quadruples, owner: Ids, mask: NDArray[np.bool_], entities: int) -> MetaSet:
    """The facts of one group: entities in order of appearance, the facts of each in shuffled order."""
    owner, facts = owner[mask], shuffled.take(mask)
    order = np.argsort(_first_rows(owner, entities)[owner], kind="stable")
    return MetaSet(owner[order], facts.take(order))


def _portion(count: int, share: float) -> int:
    return int(count * share + _ROUNDING)


def _check_options(seed: int, bounds: tuple[int, int], share: float, parts: tuple[float, float, float]) -> None:
    if not 0 <= seed <= _LARGEST_SEED:
        raise InputError("not a seed", found=seed, expected=f"an integer from 0 to {_LARGEST_SEED}")
    low, high = bounds
    if not 1 <= low <= high:
        raise InputError("not bounds", found=f"{low} to {high}", expected="1 <= lowest <= highest number of facts")
    if not 0 < share <= 1:
        raise InputError("not a share", found=share, expected="a number above 0 and at most 1")
    if len(parts) != 3 or not all(part > 0 for part in parts) or abs(sum(parts) - 1) > 1e-6:
        written = "/".join(f"{part:g}" for part in parts)
        raise InputError("not parts", found=written, expected="three numbers above 0 that sum to 1, like 0.8/0.1/0.1")
