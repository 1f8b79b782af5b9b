"""The out-of-graph split: some entities become unseen, and all their facts are removed from the background."""

from __future__ import annotations

import logging
import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from fitcarl.data.bounds import (
    BENCHMARK_BOUNDS,
    BENCHMARK_PARTS,
    BENCHMARK_SHARE,
    ENOUGH_ENTITIES,
    ROUNDING,
    Proposal,
    choose_bounds,
    group_sizes,
    propose_options,
)
from fitcarl.data.calendar import MAX_SPAN
from fitcarl.data.chronological import BOUNDS, PARTS, split_chronologically
from fitcarl.data.dataset import Dataset
from fitcarl.data.facts import Facts
from fitcarl.data.groups import check_parts, divide_facts, first_rows
from fitcarl.data.quadruples import Ids, Quadruples
from fitcarl.errors import InputError

_log = logging.getLogger(__name__)

_LARGEST_SEED = 2**32 - 1


def split_facts(
    facts: Facts,
    *,
    name: str | None = None,
    seed: int = 42,
    bounds: tuple[int, int | None] | None = None,
    share: float | None = None,
    parts: tuple[float, float, float] | None = None,
    swap: bool = False,
    chronological: bool = False,
    cut: str | float | None = None,
) -> Dataset:
    """Makes a dataset from facts: by the recipe of the published benchmarks, or by the arrival of new entities.

    With the bounds 10 and 25 it rebuilds ICEWS14-OOG and ICEWS0515-OOG from their raw facts, order included, and with
    ``swap`` ICEWS18-OOG. The result depends on the order of the facts and on the seed, but not on the ids of entities
    and relations.

    1. The facts are shuffled.
    2. The seed is set again, and the unseen entities are drawn. They are divided into meta-train, meta-validation and
       meta-test entities in the order of the draw.
    3. Facts without an unseen entity are the background; facts between two groups are dropped; a fact within one
       group is listed under its subject or its object, chosen at random.

    With ``chronological`` the unseen entities are those that first appear after a cut, divided into the three groups by
    the time of their first fact; see ``fitcarl.data.chronological``.

    Args:
        facts: The facts.
        name: Name of the dataset; by default the name of the facts.
        seed: Random seed.
        bounds: Minimum and maximum number of facts of an unseen entity, None for no maximum; by default 10 and 25 if
            that gives enough entities, otherwise chosen by the data (``fitcarl.data.bounds.choose_bounds``) and logged;
            in a chronological split 4 and 50.
        share: Share of the entities within the bounds that become unseen; 0.5 by default. Not for a chronological
            split.
        parts: Shares of meta-train, meta-validation and meta-test among the unseen entities; by default 0.8, 0.1 and
            0.1, in a chronological split 0.6, 0.2 and 0.2.
        swap: Exchange the meta-validation and meta-test groups. Not for a chronological split.
        chronological: Make a chronological split.
        cut: The cut of a chronological split: a time as text, or a share of the facts such as 0.5; three of them as
            text, joined by ``/``, are the cuts of the three groups. By default the latest of 50, 40, 30, 20 and 10 % of
            the facts after which at least 500 suitable entities first appear, or 10 %.

    Returns:
        The dataset.

    Raises:
        InputError: An option is invalid, or there are too few facts or entities.
    """
    _check_kind(chronological, share, swap, parts, cut)
    share = BENCHMARK_SHARE if share is None else share
    parts = parts or (PARTS if chronological else BENCHMARK_PARTS)
    _check_options(seed, bounds or BENCHMARK_BOUNDS, share, parts)
    if facts.calendar.span > MAX_SPAN:
        raise InputError(
            "the time span is too long",
            file=facts.name,
            found=f"{facts.calendar.span} ticks",
            expected=f"at most {MAX_SPAN}: use a coarser --granularity (86400 converts seconds to days)",
        )
    name = facts.name if name is None else name
    bounds = bounds or default_bounds(facts, share, parts, chronological=chronological)
    if chronological:
        return split_chronologically(facts, name=name, seed=seed, bounds=bounds, parts=parts, cut=cut)
    try:
        return _split_at_random(facts, name, seed, bounds, share, parts, swap=swap)
    except InputError as error:
        found = working_proposals(facts, seed, parts)
        hint = found[0].describe() if found else ""
        raise InputError(
            error.problem, file=error.file, found=error.found, expected=error.expected, hint=hint
        ) from None


def working_proposals(facts: Facts, seed: int, parts: tuple[float, float, float] | None) -> list[Proposal]:
    """Options that give enough evaluation entities, or else as many as possible, best first.

    Each was tried: the facts were split with it, the entities counted, and at least half of the facts stay in the
    background.

    Args:
        facts: The facts to split.
        seed: Seed of the split.
        parts: Shares of the three groups; None for the default.
    """
    parts = parts or BENCHMARK_PARTS
    found = []
    for proposal in propose_options(entity_frequency(facts), parts):
        bounds = proposal.low, proposal.high
        try:
            dataset = _split_at_random(facts, facts.name, seed, bounds, proposal.share, parts)
        except InputError:
            continue
        if 2 * len(dataset.background) < len(facts.quadruples):
            continue
        found.append(replace(proposal, valid=len(dataset.valid.entities), test=len(dataset.test.entities)))
    enough = [proposal for proposal in found if proposal.smallest >= ENOUGH_ENTITIES]
    return enough or sorted(found, key=lambda proposal: -proposal.smallest)[:1]


def _split_at_random(
    facts: Facts,
    name: str,
    seed: int,
    bounds: tuple[int, int | None],
    share: float,
    parts: tuple[float, float, float],
    *,
    swap: bool = False,
) -> Dataset:
    shuffled = facts.quadruples.take(np.random.RandomState(seed).permutation(len(facts.quadruples)))
    groups = _draw_groups(facts, shuffled, seed, bounds, share, parts)
    if swap:
        groups = [groups[0], groups[2], groups[1]]
    found = divide_facts(shuffled, groups, len(facts.vocabulary.entities), seed)
    check_parts(found, facts.name, "more facts, a smaller share or other bounds")
    return found.dataset(facts, name)


def default_bounds(
    facts: Facts, share: float | None, parts: tuple[float, float, float] | None, *, chronological: bool = False
) -> tuple[int, int]:
    """Minimum and maximum number of facts of an unseen entity if none are given; logs bounds other than 10 and 25.

    Args:
        facts: The facts to split.
        share: Share of the entities within the bounds that become unseen; None for the default.
        parts: Shares of the three groups; None for the default.
        chronological: Whether the split is chronological.
    """
    if chronological:
        return BOUNDS
    counts = entity_frequency(facts)
    share, parts = BENCHMARK_SHARE if share is None else share, parts or BENCHMARK_PARTS
    chosen = choose_bounds(counts, share, parts)
    if chosen != BENCHMARK_BOUNDS:
        usual, now = (_test_entities(counts, bounds, share, parts) for bounds in (BENCHMARK_BOUNDS, chosen))
        _log.info(
            f"{facts.name}: unseen entities have {chosen[0]} to {chosen[1]} facts (--low {chosen[0]} --high "
            f"{chosen[1]}): {now} for test, instead of {usual} with 10 to 25"
        )
    return chosen


def entity_frequency(facts: Facts) -> NDArray[np.int64]:
    """int64 [entities], number of facts per entity; a self-loop counts twice."""
    return _frequency(facts.quadruples, len(facts.vocabulary.entities))


def _draw_groups(
    facts: Facts,
    shuffled: Quadruples,
    seed: int,
    bounds: tuple[int, int | None],
    share: float,
    parts: tuple[float, float, float],
) -> list[Ids]:
    """The unseen entities of the three groups, in the order of the draw."""
    frequency = _frequency(shuffled, len(facts.vocabulary.entities))
    low, high = bounds[0], bounds[1] or int(frequency.max())
    candidates = _eligible_entities(shuffled, (frequency >= low) & (frequency <= high))
    if not len(candidates):
        fewer, more = int(np.count_nonzero(frequency < low)), int(np.count_nonzero(frequency > high))
        raise InputError(
            f"no entity can become unseen: none of {len(frequency)} has {low} to {high} facts",
            file=facts.name,
            found=f"{fewer} with fewer facts and {more} with more",
            expected="other bounds (--low, --high)",
        )
    train, valid, test = group_sizes(len(candidates), share, parts)
    # The rounding remainder goes to test, so only train and valid can be empty.
    if min(train, valid, test) < 1:
        needed = math.ceil(math.ceil(1 / min(parts[:2]) - ROUNDING) / share - ROUNDING)
        raise InputError(
            "too few entities for three groups",
            file=facts.name,
            found=f"{len(candidates)} with {low} to {high} facts",
            expected=f"at least {needed} for a share of {share:g} in parts {'/'.join(f'{part:g}' for part in parts)}",
        )
    drawn = np.random.RandomState(seed).choice(candidates, train + valid + test, replace=False)
    return [drawn[:train], drawn[train : train + valid], drawn[train + valid :]]


def _test_entities(
    counts: NDArray[np.int64], bounds: tuple[int, int], share: float, parts: tuple[float, float, float]
) -> int:
    candidates = int(np.count_nonzero((counts >= bounds[0]) & (counts <= bounds[1])))
    return group_sizes(candidates, share, parts)[2]


def _frequency(facts: Quadruples, entities: int) -> NDArray[np.int64]:
    """int64 [entities], number of facts per entity; a self-loop counts twice."""
    return np.bincount(facts.subject, minlength=entities) + np.bincount(facts.object, minlength=entities)


def _eligible_entities(facts: Quadruples, eligible: NDArray[np.bool_]) -> Ids:
    """Eligible entities in order of their first fact as subject, followed by the others by their first fact as object.

    The draw depends on this order.
    """
    ends = np.concatenate([facts.subject, facts.object])
    ends = ends[eligible[ends]]
    candidates: Ids = ends[np.sort(first_rows(ends, len(eligible))[eligible])]
    return candidates


def _check_kind(
    chronological: bool,
    share: float | None,
    swap: bool,
    parts: tuple[float, float, float] | None,
    cut: str | float | None,
) -> None:
    """Raises an InputError for options that the kind of split does not have."""
    if not chronological and cut is not None:
        raise InputError("applies to a chronological split only", field="cut", expected="--chronological, or no cut")
    for name, given in (("share", share is not None), ("swap", swap)):
        if chronological and given:
            raise InputError("does not apply to a chronological split", field=name, expected="a split without it")
    if parts is not None and isinstance(cut, str) and "/" in cut:
        raise InputError("does not apply if all cuts are given", field="parts", expected="one cut, or no parts")


def _check_options(seed: int, bounds: tuple[int, int | None], share: float, parts: tuple[float, float, float]) -> None:
    if not 0 <= seed <= _LARGEST_SEED:
        raise InputError("invalid seed", found=seed, expected=f"an integer from 0 to {_LARGEST_SEED}")
    low, high = bounds
    if low < 1 or (high is not None and high < low):
        raise InputError("invalid bounds", found=f"{low} to {high}", expected="1 <= minimum <= maximum number of facts")
    if not 0 < share <= 1:
        raise InputError("invalid share", found=share, expected="a number above 0 and at most 1")
    if len(parts) != 3 or not all(part > 0 for part in parts) or abs(sum(parts) - 1) > 1e-6:
        written = "/".join(f"{part:g}" for part in parts)
        raise InputError(
            "invalid parts", found=written, expected="three positive numbers that sum to 1, like 0.8/0.1/0.1"
        )
