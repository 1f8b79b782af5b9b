"""Quarrels of several actors with one, a friend of both sides beside them; and the new_entities who join."""

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
"""NewEntities appear after this part of the days."""
_LATEST = 0.8
FEWEST, MOST = 10, 25
"""Facts a newcomer ends with."""
_STATE = SIDES.index("state")


@dataclass(frozen=True, eq=False)
class Feuds:
    """Some actors against one, for some weeks."""

    target: NDArray[np.int32]
    """int32 [feuds]: whom the others are hostile to."""
    mediator: NDArray[np.int32]
    """int32 [feuds]: who is on friendly terms with the target and with some of the others."""
    start: NDArray[np.int64]
    """int64 [feuds], first day."""
    length: NDArray[np.int64]
    """int64 [feuds], in days."""
    member_feud: NDArray[np.int64]
    """int64 [members]."""
    member: NDArray[np.int32]
    """int32 [members]: who is hostile to the target."""

    def day(self, feud: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
        """int64 [draws]: a day on which each feud goes on."""
        return self.start[feud] + (rng.random(len(feud)) * self.length[feud]).astype(np.int64)


def make_feuds(actors: Actors, size: WorldSize, rng: np.random.Generator) -> Feuds:
    """Feuds among established actors, enough of them late for every newcomer to find one."""
    late = max(size.new_entities, actors.established // 12)
    count = late + late // 2
    # A hub has so many enemies that it says little who else is one: few targets are countries.
    target = rng.integers(actors.established, size=count).astype(np.int32)
    countries = actors.country_range[:, 0].astype(np.int32)
    target = np.where(rng.random(count) < 0.15, rng.choice(countries, size=count), target)

    feud = _several(np.arange(count), 3, 5, rng)
    at_home = rng.random(len(feud)) < 0.55
    foreign = np.where(rng.random(len(feud)) < 0.5, actors.bloc[target[feud]], actors.bloc[target[feud]] ^ 1)
    member = np.where(at_home, actors.draw_near(target[feud], rng), actors.draw_bloc(foreign, rng))
    # Half of them regardless of their weight, or the capitals would be in every feud.
    low, high = actors.bloc_range[foreign].T
    anybody = low + (rng.random(len(feud)) * (high - low)).astype(np.int64)
    member = np.where(rng.random(len(feud)) < 0.5, anybody, member).astype(np.int32)
    pairs = np.unique(feud * actors.established + member)
    feud, member = pairs // actors.established, (pairs % actors.established).astype(np.int32)
    # A ministry does not fight its own government.
    official = (actors.side[member] == _STATE) & (actors.side[target[feud]] == _STATE)
    own = official & (actors.home[member] == actors.home[target[feud]])
    fine = (member != target[feud]) & ~own
    feud, member = feud[fine], member[fine]

    organisation = np.flatnonzero(actors.kind[: actors.established] == kind_id("organisation")).astype(np.int32)
    mediator = np.where(rng.random(count) < 0.4, rng.choice(organisation, size=count), actors.draw_any(count, rng))
    mediator = np.where(mediator == target, organisation[0], mediator).astype(np.int32)

    length = rng.integers(min(50, size.days // 6), min(110, size.days // 5) + 1, size=count)
    start = rng.integers(int(LATE * size.days), int(_LATEST * size.days) + 1, size=count)
    start[late:] = rng.integers(size.days - length[late:])
    return Feuds(target, mediator, start, np.minimum(length, size.days - start), feud, member)


def feud_events(feuds: Feuds, actors: Actors, rng: np.random.Generator) -> Events:
    """The hostile deeds of the members, and the mediator's friendly relations with both sides."""
    everyone = np.arange(len(feuds.target))
    row = _several(np.arange(len(feuds.member)), 2, 3, rng)
    feud, member = feuds.member_feud[row], feuds.member[row]
    hostile = _deeds(member, feuds.target[feud], np.zeros(len(row), np.bool_), feuds.day(feud, rng), actors, rng)

    feud = _several(everyone, 2, 3, rng)
    met = feuds.start[feud] + (rng.random(len(feud)) * 0.5 * feuds.length[feud]).astype(np.int64)
    with_target = _deeds(feuds.mediator[feud], feuds.target[feud], np.ones(len(feud), np.bool_), met, actors, rng)

    row = np.flatnonzero(rng.random(len(feuds.member)) < 0.4)
    feud = feuds.member_feud[row]
    friendly = np.ones(len(row), np.bool_)
    with_member = _deeds(feuds.mediator[feud], feuds.member[row], friendly, feuds.day(feud, rng), actors, rng)
    return Events.concat([hostile, with_target, with_member])


@dataclass(frozen=True, eq=False)
class NewEntities:
    """Actors that appear when a feud goes on, and join it."""

    feud: NDArray[np.int64]
    """int64 [new_entities], the feud each of them joins."""
    start: NDArray[np.int64]
    """int64 [new_entities], the day from which it is there."""
    quota: NDArray[np.int64]
    """int64 [new_entities], the most facts it may have."""
    home: NDArray[np.int32]
    """int32 [new_entities], number of the country."""


def make_new_entities(feuds: Feuds, actors: Actors, size: WorldSize, rng: np.random.Generator) -> NewEntities:
    """A newcomer for each of the first (late) feuds, at home where the feud's target is."""
    feud = np.arange(size.new_entities)
    home = actors.home[feuds.target[feud]]
    home = np.where(home >= 0, home, rng.integers(size.countries, size=size.new_entities))
    start = feuds.start[feud] + (rng.random(size.new_entities) * 0.3 * feuds.length[feud]).astype(np.int64)
    return NewEntities(feud, start, rng.integers(FEWEST + 4, MOST + 1, size=size.new_entities), home.astype(np.int32))


def new_entity_events(new_entities: NewEntities, feuds: Feuds, actors: Actors, rng: np.random.Generator) -> Events:
    """How new_entities begin: against the feud's target, with its mediator and a patron, and one event by chance."""
    everyone = np.arange(len(new_entities.feud))
    identity = (actors.established + everyone).astype(np.int32)

    def meets(who: Rows, whom: NDArray[np.int32], friendly: NDArray[np.bool_], turn: float, part: float = 1) -> Events:
        turned = rng.random(len(who)) < turn
        subject, object_ = np.where(turned, whom, identity[who]), np.where(turned, identity[who], whom)
        feud = new_entities.feud[who]
        left = np.maximum(feuds.start[feud] + feuds.length[feud] - new_entities.start[who], 1)
        day = new_entities.start[who] + (rng.random(len(who)) * part * left).astype(np.int64)
        return _deeds(subject, object_, friendly, day, actors, rng)

    who = _several(everyone, 2, 3, rng)
    hostile = meets(who, feuds.target[new_entities.feud[who]], np.zeros(len(who), np.bool_), turn=0.1)
    envoy = meets(everyone, feuds.mediator[new_entities.feud], np.ones(len(everyone), np.bool_), turn=0.4, part=0.3)
    patron = actors.draw_near(identity, rng)
    who = _several(everyone, 1, 2, rng)
    helped = meets(who, patron[who], np.ones(len(who), np.bool_), turn=0.4)
    chance = meets(everyone, actors.draw_any(len(everyone), rng), rng.random(len(everyone)) < 0.5, turn=0.5)
    return Events.concat([hostile, envoy, helped, chance])


def _deeds(
    subject: NDArray[np.int32],
    object_: NDArray[np.int32],
    friendly: NDArray[np.bool_],
    time: NDArray[np.int64],
    actors: Actors,
    rng: np.random.Generator,
) -> Events:
    return Events.of(subject, usual_verbs(actors.side[subject], friendly, rng), object_, time)


def _several(rows: NDArray[np.int64], low: int, high: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Each of these rows ``low`` to ``high`` times."""
    return np.repeat(rows, rng.integers(low, high + 1, size=len(rows)))
