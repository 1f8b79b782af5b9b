"""Known entities that play newcomers: who they are, and what is left of the facts when theirs are hidden."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fitcarl.data.dataset import MetaSet
from fitcarl.data.quadruples import Ids, Quadruples
from fitcarl.errors import InputError

_TO_ASK = 3
"""Facts beyond its support that a newcomer should have at least."""
_FEW = 40
"""Facts that a newcomer should have at most, or three times the least where that is more."""
_LEAST = 5
"""Entities that a group should have; where there are not so many with a usual number of facts, others are taken."""


@dataclass(frozen=True, eq=False)
class PseudoUnseen:
    """Groups of entities that can be made unseen, one group at a time; no entity is in two."""

    groups: tuple[Ids, ...]
    """int32 [entities of the group] each, in the order of the draw."""
    usual: tuple[int, int]
    """The fewest and the most facts that a newcomer should have."""
    count: NDArray[np.int64]
    """int64 [entities]: how many facts each entity has, in a group or not."""

    @property
    def found(self) -> tuple[int, int]:
        """The fewest and the most facts that one of these has."""
        theirs = self.count[np.concatenate(self.groups)]
        return int(theirs.min()), int(theirs.max())

    def __str__(self) -> str:
        sizes = sorted({len(group) for group in self.groups})
        size = f"{sizes[0]:,}" if len(sizes) == 1 else f"{sizes[0]:,} to {sizes[-1]:,}"
        groups = "" if len(self.groups) == 1 else f"{len(self.groups)} groups of "
        few, many = self.found
        stretched = few < self.usual[0] or many > self.usual[1]
        wanted = f" (too few have {self.usual[0]} to {self.usual[1]})" if stretched else ""
        return f"{groups}{size} actors with {few} to {many} facts{wanted}"


@dataclass(frozen=True, eq=False)
class Holdout:
    """Facts as they are while a group is unseen."""

    background: Quadruples
    """Facts without an entity of the group, in their order."""
    hidden: MetaSet
    """All the others. One within the group is listed under one of its ends, chosen at random, as in official splits."""


def select_pseudo_unseen(
    facts: Quadruples,
    entities: int,
    shots: int,
    rng: np.random.Generator,
    *,
    groups: int = 4,
    most: int = 400,
    share: float = 0.1,
    name: str | None = None,
) -> PseudoUnseen:
    """Draws groups of entities that have few facts, as those of official meta-train splits do.

    A group has at most ``most`` entities and, unless it is a single one, at most ``share`` of all facts. There are
    fewer groups where there are fewer entities. Entities with other than the usual number of facts are only taken
    where there would be too few; ``name`` is that of the facts in the error where nobody can be hidden.
    """
    count = _facts_of_each(facts, entities)
    low = shots + _TO_ASK
    usual = low, max(_FEW, 3 * low)
    drawn = _candidates(count, shots, usual, groups * _LEAST, rng)
    parts = [drawn[number::groups] for number in range(min(groups, len(drawn)))]
    parts = [_within(part, count, most, share * len(facts)) for part in parts]
    parts = [part for part in parts if _can_be_hidden(facts, part, entities, shots)]
    if not parts:
        raise InputError(
            "nobody can play a newcomer",
            file=name,
            found=f"{int((count > shots).sum())} entities with more than {shots} facts, of {int((count > 0).sum())}",
            expected=f"some with {usual[0]} to {usual[1]} facts, and others that have nothing to do with them",
        )
    return PseudoUnseen(tuple(parts), usual, count)


def hold_out_entities(facts: Quadruples, group: Ids, entities: int, rng: np.random.Generator) -> Holdout:
    """Takes every fact of a group out; the facts of each of its entities are in random order."""
    unseen = np.zeros(entities, dtype=np.bool_)
    unseen[group] = True
    theirs = unseen[facts.subject] | unseen[facts.object]
    hidden = facts.take(rng.permutation(np.flatnonzero(theirs)))
    at_subject, at_object = unseen[hidden.subject], unseen[hidden.object]
    heads = rng.random(len(hidden)) < 0.5
    owner = np.where(at_subject & (heads | ~at_object), hidden.subject, hidden.object)
    order = np.argsort(owner, kind="stable")
    return Holdout(facts.take(~theirs), MetaSet(owner[order], hidden.take(order)))


def _facts_of_each(facts: Quadruples, entities: int) -> NDArray[np.int64]:
    """int64 [entities]: how many facts each has; one with itself counts once."""
    others = facts.object[facts.object != facts.subject]
    return np.bincount(facts.subject, minlength=entities) + np.bincount(others, minlength=entities)


def _candidates(
    count: NDArray[np.int64], shots: int, usual: tuple[int, int], needed: int, rng: np.random.Generator
) -> Ids:
    """Entities with a usual number of facts, or so many as are needed of those nearest to it, in random order."""
    off = np.maximum(usual[0] - count, 0) + np.maximum(count - usual[1], 0)
    able = rng.permutation(np.flatnonzero(count > shots))
    nearest = able[np.argsort(off[able], kind="stable")]
    taken = nearest[: max(needed, int((off[able] == 0).sum()))]
    return rng.permutation(taken).astype(np.int32)


def _within(group: Ids, count: NDArray[np.int64], most: int, facts: float) -> Ids:
    """The first of a group that have so many facts together, one at least."""
    fits = int((np.cumsum(count[group]) <= facts).sum())
    return group[: max(1, min(most, fits))]


def _can_be_hidden(facts: Quadruples, group: Ids, entities: int, shots: int) -> bool:
    """Whether facts are left for a background, and somebody of the group surely has one to ask about."""
    unseen = np.zeros(entities, dtype=np.bool_)
    unseen[group] = True
    at_subject, at_object = unseen[facts.subject], unseen[facts.object]
    outward = facts.take(at_subject != at_object)
    owner = np.where(unseen[outward.subject], outward.subject, outward.object)
    return not (at_subject | at_object).all() and bool((np.bincount(owner, minlength=1) > shots).any())
