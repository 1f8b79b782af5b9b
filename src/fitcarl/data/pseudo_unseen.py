"""Pseudo-unseen entities: known entities that are held out during training, and the facts without them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import compress

import numpy as np
from numpy.typing import NDArray

from fitcarl.data.dataset import MetaSet
from fitcarl.data.quadruples import Ids, Quadruples
from fitcarl.errors import InputError

_MIN_QUERIES = 3
"""Minimum number of facts of a pseudo-unseen entity besides its support set."""
_MAX_FACTS = 40
"""Maximum number of facts of a pseudo-unseen entity, or three times the minimum if that is more."""
_MIN_GROUP_SIZE = 5
"""Entities that a group should have; if too few have a usual number of facts, others are added."""
_NO_GROUP = -1


@dataclass(frozen=True, eq=False)
class PseudoUnseen:
    """Groups of entities that can be made unseen, one group at a time; no entity is in two."""

    groups: tuple[Ids, ...]
    """int32 [entities of the group] each, in the order of the draw."""
    usual: tuple[int, int]
    """Minimum and maximum number of facts that a pseudo-unseen entity should have."""
    count: NDArray[np.int64]
    """int64 [entities]: number of facts of every entity."""

    @property
    def found(self) -> tuple[int, int]:
        """Minimum and maximum number of facts of the selected entities."""
        counts = self.count[np.concatenate(self.groups)]
        return int(counts.min()), int(counts.max())

    def merged(self, facts: int, share: float) -> PseudoUnseen:
        """All groups as one if they have at most a share of the facts together, otherwise the groups as they are.

        Few facts are missing then, and one background serves all tasks.

        Args:
            facts: The number of all facts.
            share: The share.
        """
        group = np.concatenate(self.groups)
        return replace(self, groups=(group,)) if self.count[group].sum() <= share * facts else self

    def __str__(self) -> str:
        sizes = sorted({len(group) for group in self.groups})
        size = f"{sizes[0]:,}" if len(sizes) == 1 else f"{sizes[0]:,} to {sizes[-1]:,}"
        groups = "" if len(self.groups) == 1 else f"{len(self.groups)} groups of "
        low, high = self.found
        stretched = low < self.usual[0] or high > self.usual[1]
        note = f" (too few have {self.usual[0]} to {self.usual[1]})" if stretched else ""
        return f"{groups}{size} entities with {low} to {high} facts{note}"


@dataclass(frozen=True, eq=False)
class Holdout:
    """The facts while a group is held out."""

    background: Quadruples
    """Facts without an entity of the group, in the original order."""
    hidden: MetaSet
    """All other facts. A fact within the group is listed under its subject or object, chosen at random."""


def select_pseudo_unseen(
    facts: Quadruples,
    entities: int,
    shots: int,
    rng: np.random.Generator,
    *,
    groups: int = 4,
    max_entities: int = 400,
    share: float = 0.1,
    name: str | None = None,
    bounds: tuple[int, int] | None = None,
    strict: bool = False,
) -> PseudoUnseen:
    """Selects groups of entities with few facts, like those of official meta-train splits.

    Entities with an unusual number of facts are selected only if there are too few others.

    Args:
        facts: All facts.
        entities: Number of entities.
        shots: Support facts per entity, K.
        rng: Random generator.
        groups: Maximum number of groups.
        max_entities: Maximum number of entities per group.
        share: Maximum share of all facts that a group with more than one entity may have.
        name: Name of the facts for error messages.
        bounds: Minimum and maximum number of facts that an entity should have; the usual ones by default.
        strict: Never select an entity with another number of facts.

    Returns:
        The groups.

    Raises:
        InputError: No entity can be held out.
    """
    count = facts_of_each(facts, entities)
    usual = bounds or usual_number_of_facts(shots)
    drawn = _eligible(count, shots, usual, 0 if strict else groups * _MIN_GROUP_SIZE, rng)
    parts = [drawn[number::groups] for number in range(min(groups, len(drawn)))]
    parts = [_within(part, count, max_entities, share * len(facts)) for part in parts]
    parts = list(compress(parts, _can_be_hidden(facts, parts, entities, shots)))
    if not parts:
        raise InputError(
            "no entity can be held out",
            file=name,
            found=f"{int((count > shots).sum())} entities with more than {shots} facts, of {int((count > 0).sum())}",
            expected=f"some with {usual[0]} to {usual[1]} facts, and other facts without them",
        )
    return PseudoUnseen(tuple(parts), usual, count)


def hold_out_entities(facts: Quadruples, group: Ids, entities: int, rng: np.random.Generator) -> Holdout:
    """Removes every fact of a group; the facts of each of its entities are in random order."""
    return Holdout(facts_without(facts, group, entities), hidden_facts(facts, group, entities, rng))


def facts_without(facts: Quadruples, group: Ids, entities: int) -> Quadruples:
    """The facts without an entity of a group, in their order."""
    unseen = _members(group, entities)
    return facts.take(~(unseen[facts.subject] | unseen[facts.object]))


def hidden_facts(facts: Quadruples, group: Ids, entities: int, rng: np.random.Generator) -> MetaSet:
    """The facts with an entity of a group; those of each entity are in random order."""
    unseen = _members(group, entities)
    hidden = facts.take(rng.permutation(np.flatnonzero(unseen[facts.subject] | unseen[facts.object])))
    at_subject, at_object = unseen[hidden.subject], unseen[hidden.object]
    pick_subject = rng.random(len(hidden)) < 0.5
    entity = np.where(at_subject & (pick_subject | ~at_object), hidden.subject, hidden.object)
    order = np.argsort(entity, kind="stable")
    return MetaSet(entity[order], hidden.take(order))


def _members(group: Ids, entities: int) -> NDArray[np.bool_]:
    """bool [entities]: which entities are in a group."""
    members = np.zeros(entities, dtype=np.bool_)
    members[group] = True
    return members


def usual_number_of_facts(shots: int) -> tuple[int, int]:
    """Minimum and maximum number of facts that a pseudo-unseen entity should have."""
    low = shots + _MIN_QUERIES
    return low, max(_MAX_FACTS, 3 * low)


def facts_of_each(facts: Quadruples, entities: int) -> NDArray[np.int64]:
    """int64 [entities]: number of facts of each entity; a self-loop counts once."""
    count = np.bincount(facts.subject, minlength=entities) + np.bincount(facts.object, minlength=entities)
    return count - np.bincount(facts.subject[facts.subject == facts.object], minlength=entities)


def _eligible(
    count: NDArray[np.int64], shots: int, usual: tuple[int, int], needed: int, rng: np.random.Generator
) -> Ids:
    """Entities with a usual number of facts, or the ``needed`` ones nearest to it, in random order."""
    distance = np.maximum(usual[0] - count, 0) + np.maximum(count - usual[1], 0)
    eligible = rng.permutation(np.flatnonzero(count > shots))
    nearest = eligible[np.argsort(distance[eligible], kind="stable")]
    selected = nearest[: max(needed, int((distance[eligible] == 0).sum()))]
    return rng.permutation(selected).astype(np.int32)


def _within(group: Ids, count: NDArray[np.int64], max_entities: int, facts: float) -> Ids:
    """The first entities of a group with at most ``facts`` facts together; at least one."""
    fits = int((np.cumsum(count[group]) <= facts).sum())
    return group[: max(1, min(max_entities, fits))]


def _can_be_hidden(facts: Quadruples, groups: list[Ids], entities: int, shots: int) -> list[bool]:
    """For each group, whether facts remain for the background, and one of its entities has a fact left as a query."""
    group_of = np.full(entities, _NO_GROUP, dtype=np.int32)
    for number, group in enumerate(groups):
        group_of[group] = number
    of_subject, of_object = group_of[facts.subject], group_of[facts.object]
    hidden = np.flatnonzero((of_subject != _NO_GROUP) | (of_object != _NO_GROUP))
    subject, object, of_subject, of_object = (
        part[hidden] for part in (facts.subject, facts.object, of_subject, of_object)
    )
    found = []
    for number in range(len(groups)):
        at_subject, at_object = of_subject == number, of_object == number
        outward = np.where(at_subject, subject, object)[at_subject != at_object]
        remaining = len(facts) - np.count_nonzero(at_subject | at_object)
        found.append(bool(remaining and (np.bincount(outward, minlength=1) > shots).any()))
    return found
