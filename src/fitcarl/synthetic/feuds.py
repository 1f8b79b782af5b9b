"""Feuds: several actors against one target, with a mediator; and the new entities that join them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fitcarl.synthetic.actors import Actors
from fitcarl.synthetic.events import Events, Rows
from fitcarl.synthetic.kinds import kind_id
from fitcarl.synthetic.size import WorldSize
from fitcarl.synthetic.verbs import SIDES, usual_verbs

LATE = 0.5
"""New entities appear after this share of the days."""
_LATEST = 0.8
MIN_FACTS, MAX_FACTS = 10, 25
"""Minimum and maximum number of facts of a new entity."""
_MIN_QUOTA = 21
"""Most new entities have at least this number of facts."""
_STATE = SIDES.index("state")


@dataclass(frozen=True, eq=False)
class Feuds:
    """Feuds of several members against one target that last some weeks."""

    target: NDArray[np.int32]
    """int32 [feuds]: the target of the hostile events."""
    mediator: NDArray[np.int32]
    """int32 [feuds]: an actor with friendly events with the target and with some members."""
    start: NDArray[np.int64]
    """int64 [feuds], first day."""
    length: NDArray[np.int64]
    """int64 [feuds], in days."""
    member_feud: NDArray[np.int64]
    """int64 [members]."""
    member: NDArray[np.int32]
    """int32 [members]: an actor that is hostile to the target."""

    def day(self, feud: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
        """int64 [draws]: a day within each feud."""
        return self.start[feud] + (rng.random(len(feud)) * self.length[feud]).astype(np.int64)


def late_feuds(actors: Actors, size: WorldSize) -> int:
    """Number of the feuds that new entities can join: one per new entity, at most two per five established actors."""
    return max(min(size.new_entities, actors.established * 2 // 5), actors.established // 12)


def make_feuds(actors: Actors, size: WorldSize, rng: np.random.Generator) -> Feuds:
    """Generates feuds among established actors, with a late feud per new entity unless new entities are very many."""
    late = late_feuds(actors, size)
    count = late + late // 2
    # Countries are hubs with many enemies, which carry little information: few targets are countries.
    target = rng.integers(actors.established, size=count).astype(np.int32)
    countries = actors.country_range[:, 0].astype(np.int32)
    target = np.where(rng.random(count) < 0.15, rng.choice(countries, size=count), target)

    feud = _repeat_randomly(np.arange(count), 3, 5, rng)
    at_home = rng.random(len(feud)) < 0.55
    foreign = np.where(rng.random(len(feud)) < 0.5, actors.bloc[target[feud]], actors.bloc[target[feud]] ^ 1)
    member = np.where(at_home, actors.draw_near(target[feud], rng), actors.draw_bloc(foreign, rng))
    # Half of them are sampled uniformly; otherwise capitals would be in every feud.
    low, high = actors.bloc_range[foreign].T
    uniform = low + (rng.random(len(feud)) * (high - low)).astype(np.int64)
    member = np.where(rng.random(len(feud)) < 0.5, uniform, member).astype(np.int32)
    pairs = np.unique(feud * actors.established + member)
    feud, member = pairs // actors.established, (pairs % actors.established).astype(np.int32)
    # State actors of one country are not hostile to each other.
    official = (actors.side[member] == _STATE) & (actors.side[target[feud]] == _STATE)
    own = official & (actors.home[member] == actors.home[target[feud]])
    valid = (member != target[feud]) & ~own
    feud, member = feud[valid], member[valid]

    organisation = np.flatnonzero(actors.kind[: actors.established] == kind_id("organisation")).astype(np.int32)
    mediator = np.where(rng.random(count) < 0.4, rng.choice(organisation, size=count), actors.draw_any(count, rng))
    mediator = np.where(mediator == target, organisation[0], mediator).astype(np.int32)

    length = rng.integers(min(50, size.days // 6), min(110, size.days // 5) + 1, size=count)
    start = rng.integers(int(LATE * size.days), int(_LATEST * size.days) + 1, size=count)
    start[late:] = rng.integers(size.days - length[late:])
    return Feuds(target, mediator, start, np.minimum(length, size.days - start), feud, member)


def feud_events(feuds: Feuds, actors: Actors, rng: np.random.Generator) -> Events:
    """Hostile events of the members, and friendly events of the mediator with both sides."""
    all_rows = np.arange(len(feuds.target))
    row = _repeat_randomly(np.arange(len(feuds.member)), 1, 2, rng)
    feud, member = feuds.member_feud[row], feuds.member[row]
    hostile = _usual_events(member, feuds.target[feud], np.zeros(len(row), np.bool_), feuds.day(feud, rng), actors, rng)

    feud = _repeat_randomly(all_rows, 2, 3, rng)
    met = feuds.start[feud] + (rng.random(len(feud)) * 0.5 * feuds.length[feud]).astype(np.int64)
    with_target = _usual_events(
        feuds.mediator[feud], feuds.target[feud], np.ones(len(feud), np.bool_), met, actors, rng
    )

    row = np.flatnonzero(rng.random(len(feuds.member)) < 0.4)
    feud = feuds.member_feud[row]
    friendly = np.ones(len(row), np.bool_)
    with_member = _usual_events(feuds.mediator[feud], feuds.member[row], friendly, feuds.day(feud, rng), actors, rng)
    return Events.concat([hostile, with_target, with_member])


@dataclass(frozen=True, eq=False)
class NewEntities:
    """Entities that appear during a feud and join it."""

    feud: NDArray[np.int64]
    """int64 [new entities], the feud that each entity joins."""
    start: NDArray[np.int64]
    """int64 [new entities], first day of the entity."""
    quota: NDArray[np.int64]
    """int64 [new entities], maximum number of facts."""
    home: NDArray[np.int32]
    """int32 [new entities], number of the country."""


def make_new_entities(feuds: Feuds, actors: Actors, size: WorldSize, rng: np.random.Generator) -> NewEntities:
    """Generates new entities that join the first (late) feuds in turn, in the country of the feud's target."""
    feud = np.arange(size.new_entities) % late_feuds(actors, size)
    home = actors.home[feuds.target[feud]]
    home = np.where(home >= 0, home, rng.integers(size.countries, size=size.new_entities))
    start = feuds.start[feud] + (rng.random(size.new_entities) * 0.3 * feuds.length[feud]).astype(np.int64)
    return NewEntities(
        feud, start, rng.integers(_MIN_QUOTA, MAX_FACTS + 1, size=size.new_entities), home.astype(np.int32)
    )


def new_entity_events(new_entities: NewEntities, feuds: Feuds, actors: Actors, rng: np.random.Generator) -> Events:
    """First events of new entities: against the target, with the mediator, and one random event."""
    all_rows = np.arange(len(new_entities.feud))
    entity = (actors.established + all_rows).astype(np.int32)

    def events_with(
        rows: Rows, other: NDArray[np.int32], friendly: NDArray[np.bool_], turn: float, part: float = 1
    ) -> Events:
        turned = rng.random(len(rows)) < turn
        subject, object_ = np.where(turned, other, entity[rows]), np.where(turned, entity[rows], other)
        feud = new_entities.feud[rows]
        left = np.maximum(feuds.start[feud] + feuds.length[feud] - new_entities.start[rows], 1)
        day = new_entities.start[rows] + (rng.random(len(rows)) * part * left).astype(np.int64)
        return _usual_events(subject, object_, friendly, day, actors, rng)

    rows = np.repeat(all_rows, 2)
    hostile = events_with(rows, feuds.target[new_entities.feud[rows]], np.zeros(len(rows), np.bool_), turn=0.1)
    mediator = events_with(
        all_rows, feuds.mediator[new_entities.feud], np.ones(len(all_rows), np.bool_), turn=0.4, part=0.3
    )
    chance = events_with(all_rows, actors.draw_any(len(all_rows), rng), rng.random(len(all_rows)) < 0.5, turn=0.5)
    return Events.concat([hostile, mediator, chance])


def _usual_events(
    subject: NDArray[np.int32],
    object_: NDArray[np.int32],
    friendly: NDArray[np.bool_],
    time: NDArray[np.int64],
    actors: Actors,
    rng: np.random.Generator,
) -> Events:
    return Events.of(subject, usual_verbs(actors.side[subject], friendly, rng), object_, time)


def _repeat_randomly(rows: NDArray[np.int64], low: int, high: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Repeats each row ``low`` to ``high`` times."""
    return np.repeat(rows, rng.integers(low, high + 1, size=len(rows)))
