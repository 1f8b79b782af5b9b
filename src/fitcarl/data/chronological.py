"""The chronological split: the unseen entities are emerging entities, which first appear after a cut."""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray

from fitcarl.data.calendar import Calendar
from fitcarl.data.cuts import Cuts
from fitcarl.data.dataset import SPLITS, Dataset
from fitcarl.data.facts import Facts
from fitcarl.data.groups import check_parts, divide_facts
from fitcarl.data.pseudo_unseen import facts_of_each
from fitcarl.data.quadruples import Ids, Quadruples
from fitcarl.errors import InputError

BOUNDS = (4, 50)
"""Default minimum and maximum number of facts of an unseen entity: more than the support set of a 3-shot task, and so
few that no entity dominates the queries of its group."""
PARTS = (0.6, 0.2, 0.2)
"""Default shares of meta-train, meta-validation and meta-test among the emerging entities."""

_DEFAULT_CUTS = (0.5, 0.4, 0.3, 0.2, 0.1)
"""Shares of the facts before the first cut that are tried in this order."""
_ENOUGH_EMERGING = 500
_ROUNDING = 1e-9  # so that 0.7 of 10 is 7 although 0.4 + 0.3 may be slightly less in binary
_SHARE = re.compile(r"[0-9]*\.[0-9]*|[0-9]+(\.[0-9]*)?%")


def split_chronologically(
    facts: Facts,
    *,
    name: str,
    seed: int,
    bounds: tuple[int, int | None],
    parts: tuple[float, float, float],
    cut: str | float | None,
) -> Dataset:
    """Makes a dataset whose unseen entities first appear after a cut, divided by the time of their first fact.

    1. Emerging entities first appear at or after the cut and have at least the minimum number of facts. In order of
       their first fact they are divided by ``parts``; this gives the cuts of meta-validation and meta-test.
    2. The facts of a group end where the next group begins. An emerging entity is unseen if the number of its facts
       until then is within the bounds; all others stay in the background.
    3. Facts without an unseen entity are the background, whenever they happened. Facts between two groups and facts of
       an unseen entity at or after the next cut are dropped. A fact within one group is listed under its subject or its
       object, chosen at random.

    The facts of every part are sorted by time, then by their ids, so the order of the facts does not matter.

    Args:
        facts: The facts.
        name: Name of the dataset.
        seed: Random seed of the choice of subject or object.
        bounds: Minimum and maximum number of facts of an unseen entity; None for no maximum.
        parts: Shares of meta-train, meta-validation and meta-test among the emerging entities.
        cut: A time (text), a share of the facts (a number, or text with a decimal point or a percent sign), or three of
            them, joined by ``/``, for the cuts of all groups. By default the latest of 50, 40, 30, 20 and 10 % of the
            facts after which at least 500 emerging entities arrive, or 10 %.

    Raises:
        InputError: A cut is outside the data, or too few entities first appear after it.
    """
    given = facts.quadruples
    ordered = given.take(np.lexsort((given.object, given.relation, given.subject, given.time)))
    entities = len(facts.vocabulary.entities)
    arrival = first_appearance(ordered, entities)
    enough = facts_of_each(ordered, entities) >= bounds[0]
    cuts = _find_cuts(facts, ordered.time, arrival[enough], parts, cut)
    ends = cuts.ends(facts.calendar)
    groups = [_unseen(ordered, arrival, start, end, bounds) for start, end in zip(cuts.starts, ends, strict=True)]
    for split, group, start, end in zip(SPLITS, groups, cuts.starts, ends, strict=True):
        if not len(group):
            arrivals = int(np.count_nonzero((arrival >= start) & (arrival < end)))
            first, last = facts.calendar.label(start), facts.calendar.label(end - 1)
            raise InputError(
                f"too few entities for meta-{split}",
                file=facts.name,
                found=f"{arrivals} emerging entities from {first} to {last}",
                expected=f"some with {_range(bounds)} facts by then: use another cut, other parts or bounds",
            )
    found = divide_facts(ordered, groups, entities, seed, ends)
    check_parts(found, facts.name, "another cut, other parts or other bounds")
    return found.dataset(facts, name, cuts)


def first_appearance(facts: Quadruples, entities: int) -> NDArray[np.int64]:
    """int64 [entities]: the tick of the first fact of each entity; the largest integer for an entity without facts."""
    first = np.full(entities, np.iinfo(np.int64).max)
    np.minimum.at(first, facts.subject, facts.time)
    np.minimum.at(first, facts.object, facts.time)
    return first


def tick_at_share(times: Ids, share: float) -> int:
    """The tick of the fact before which there is this share of the facts; ``times`` are ascending."""
    return int(times[min(int(share * len(times)), len(times) - 1)])


def _unseen(facts: Quadruples, arrival: NDArray[np.int64], start: int, end: int, bounds: tuple[int, int | None]) -> Ids:
    """The entities that first appear within [start, end) and have a number of facts within the bounds by then."""
    count = facts_of_each(facts.take(facts.time < end), len(arrival))
    low, high = bounds
    suitable = (arrival >= start) & (arrival < end) & (count >= low)
    return np.flatnonzero(suitable if high is None else suitable & (count <= high)).astype(np.int32)


def _find_cuts(
    facts: Facts, times: Ids, arrivals: NDArray[np.int64], parts: tuple[float, float, float], cut: str | float | None
) -> Cuts:
    """The cuts of all groups: those that were given, and the others by the arrivals of emerging entities."""
    texts = [] if cut is None else f"{cut:f}".split() if isinstance(cut, float) else cut.split("/")
    given = [_parse_cut(text, facts, times) for text in texts]
    if len(given) not in (0, 1, 3):
        raise InputError("invalid cut", field="cut", found=str(cut), expected="one or three, joined by /")
    if len(given) == 3:
        if not given[0] < given[1] < given[2]:
            labels = "/".join(map(facts.calendar.label, given))
            raise InputError("cuts out of order", field="cut", found=labels, expected="each later than the one before")
        return Cuts(*given)
    start = given[0] if given else _default_cut(times, arrivals)
    after = np.sort(arrivals[arrivals >= start])
    if not len(after):
        raise InputError(
            "no entity can become unseen",
            file=facts.name,
            found=f"no emerging entity with enough facts from {facts.calendar.label(start)} on",
            expected="an earlier cut (--cut), or a smaller minimum number of facts (--low)",
        )
    shares = parts[0], parts[0] + parts[1]
    valid, test = (int(after[min(int(len(after) * share + _ROUNDING), len(after) - 1)]) for share in shares)
    if not start < valid < test:
        raise InputError(
            "too few entities for three groups",
            file=facts.name,
            found=f"emerging entities with enough facts at {len(np.unique(after))} times after the cut",
            expected="an earlier cut (--cut), or three cuts",
        )
    return Cuts(start, valid, test)


def _default_cut(times: Ids, arrivals: NDArray[np.int64]) -> int:
    """The latest cut after which enough emerging entities arrive, or the earliest one; never the first tick."""
    ticks = [max(tick_at_share(times, share), int(times[0]) + 1) for share in _DEFAULT_CUTS]
    return next((tick for tick in ticks if np.count_nonzero(arrivals >= tick) >= _ENOUGH_EMERGING), ticks[-1])


def _parse_cut(text: str, facts: Facts, times: Ids) -> int:
    """The tick of a cut."""
    text, calendar = text.strip(), facts.calendar
    if _SHARE.fullmatch(text) and text != ".":
        share = float(text.rstrip("%")) / (100 if text.endswith("%") else 1)
        if not 0 < share < 1:
            raise InputError("invalid cut", field="cut", found=text, expected="a share of the facts between 0 and 1")
        tick = tick_at_share(times, share)
        found = f"{text}, which is {calendar.label(tick)}"
    else:
        tick, found = _tick(text, calendar), text
    if not times[0] < tick <= times[-1]:
        after, until = calendar.label(int(times[0])), calendar.label(int(times[-1]))
        raise InputError(
            "outside the data", file=facts.name, field="cut", found=found, expected=f"after {after}, at most {until}"
        )
    return tick


def _tick(text: str, calendar: Calendar) -> int:
    try:
        return calendar.tick(text)
    except InputError as error:
        expected = f"{error.expected}, or a share of the facts such as 0.5"
        raise InputError("invalid cut", field="cut", found=text, expected=expected) from None


def _range(bounds: tuple[int, int | None]) -> str:
    low, high = bounds
    return f"at least {low}" if high is None else f"{low} to {high}"
