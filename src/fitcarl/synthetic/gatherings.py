"""Seasonal events: yearly gatherings where certain actors meet."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fitcarl.synthetic.actors import Actors
from fitcarl.synthetic.events import EventLog, Events
from fitcarl.synthetic.feuds import NewEntities
from fitcarl.synthetic.rules import Rule
from fitcarl.synthetic.verbs import ATTEND, CONVENE, TALK

YEAR = 365
NOTICE = 10
"""Days between the announcement and the gathering."""
DURATION = 2
"""Days on which guests arrive; two guests talk on the day after the later arrival."""
_HOSTS = 3
"""Actors of a country that host one yearly gathering each: the second to fourth (head, commission, chamber)."""
_SUMMIT_GUESTS, _HOME_GUESTS = 14, 9
_NEW = 120
"""Days after its appearance during which a new entity attends gatherings."""


@dataclass(frozen=True, eq=False)
class Gatherings:
    """Yearly gatherings and their guests."""

    host: NDArray[np.int32]
    """int32 [gatherings]: the host."""
    convened: NDArray[np.int32]
    """int32 [gatherings]: object of the announcement (the country of the host, or the council of its bloc)."""
    home: NDArray[np.int32]
    """int32 [gatherings]: country whose new entities may attend, -1 for summits."""
    day: NDArray[np.int64]
    """int64 [gatherings]: day of the year."""
    guest_gathering: NDArray[np.int64]
    """int64 [guests]."""
    guest: NDArray[np.int32]
    """int32 [guests]."""


def make_gatherings(actors: Actors, rng: np.random.Generator) -> Gatherings:
    """Generates one summit per bloc and three gatherings per country, more for large countries."""
    blocs, countries = len(actors.bloc_range), len(actors.country_range)
    council = actors.bloc_range[:, 0].astype(np.int32)
    capital = actors.country_range[:, 0].astype(np.int32)
    bloc_of_country = actors.bloc[capital]
    summit_host = np.array([capital[np.flatnonzero(bloc_of_country == b)[0]] for b in range(blocs)], dtype=np.int32)

    rounds = max(1, int(np.median(np.diff(actors.country_range)) // 60))
    home = np.tile(np.repeat(np.arange(countries), _HOSTS), rounds)
    host = np.tile((capital[:, None] + 1 + np.arange(_HOSTS)).ravel(), rounds)
    count = blocs + len(home)
    everywhere = np.concatenate([np.full(blocs, -1), home]).astype(np.int32)
    gathering = np.repeat(np.arange(count), np.where(everywhere < 0, _SUMMIT_GUESTS, _HOME_GUESTS))
    hosts = np.concatenate([summit_host, host]).astype(np.int32)
    at_home = everywhere[gathering] >= 0
    near = actors.draw_near(hosts[gathering], rng)
    guest = np.where(at_home, near, actors.draw_bloc(actors.bloc[hosts[gathering]], rng))
    pairs = np.unique(gathering * actors.established + guest)
    gathering, guest = pairs // actors.established, (pairs % actors.established).astype(np.int32)
    valid = guest != hosts[gathering]
    return Gatherings(
        hosts,
        np.concatenate([council, capital[home]]).astype(np.int32),
        everywhere,
        rng.integers(NOTICE + 5, YEAR - 15, size=count),
        gathering[valid],
        guest[valid],
    )


def add_gatherings(
    log: EventLog, gatherings: Gatherings, new_entities: NewEntities, actors: Actors, rng: np.random.Generator
) -> None:
    """Adds the events of all gatherings to the log.

    An announcement is caused by that of the previous year, an arrival by the announcement, talks by two arrivals.
    """
    last = np.full(len(gatherings.host), -1, dtype=np.int64)
    for first_day in range(0, log.days, YEAR):
        date = first_day + gatherings.day
        rule = np.where(last >= 0, Rule.SEASON, Rule.NONE)
        announcements = Events.of(gatherings.host, CONVENE, gatherings.convened, date - NOTICE, rule, [last])
        announced = log.add(announcements, rng)
        _add_year(log, gatherings, new_entities, actors, date, announced, rng)
        last = announced


def _add_year(
    log: EventLog,
    gatherings: Gatherings,
    new_entities: NewEntities,
    actors: Actors,
    date: NDArray[np.int64],
    announced: NDArray[np.int64],
    rng: np.random.Generator,
) -> None:
    """Adds the arrivals and talks of one year."""
    attending = rng.random(len(gatherings.guest)) < 0.8
    new_guest, new_gathering = _new_guests(gatherings, new_entities, actors, date, rng)
    guest = np.concatenate([gatherings.guest[attending], new_guest])
    gathering = np.concatenate([gatherings.guest_gathering[attending], new_gathering])
    known = announced[gathering] >= 0
    guest, gathering = guest[known], gathering[known]
    day = date[gathering] + rng.integers(DURATION, size=len(guest))
    arrivals = Events.of(guest, ATTEND, gatherings.host[gathering], day, Rule.SEASON, [announced[gathering]])
    arrival = log.add(arrivals, rng)

    arrived = np.flatnonzero(arrival >= 0)
    for _ in range(2):
        # Neighbours in a random order of the guests of a gathering talk to each other.
        order = arrived[np.lexsort((rng.random(len(arrived)), gathering[arrived]))]
        one, other = order[:-1:2], order[1::2]
        together = gathering[one] == gathering[other]
        one, other = one[together], other[together]
        time = np.maximum(day[one], day[other]) + 1
        log.add(Events.of(guest[one], TALK, guest[other], time, Rule.SEASON, [arrival[one], arrival[other]]), rng)


def _new_guests(
    gatherings: Gatherings,
    new_entities: NewEntities,
    actors: Actors,
    date: NDArray[np.int64],
    rng: np.random.Generator,
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """New entities that attend gatherings of their country, and the gatherings."""
    order = np.argsort(gatherings.home, kind="stable")
    # Every country has at least as many gatherings as it has hosts.
    first = np.searchsorted(gatherings.home[order], new_entities.home)
    row = np.repeat(np.arange(len(first)), _HOSTS)
    gathering = order[(first[:, None] + np.arange(_HOSTS)).ravel()]
    age = date[gathering] - new_entities.start[row]
    attends = (age >= 0) & (age <= _NEW) & (rng.random(len(row)) < 0.8)
    return (actors.established + row[attends]).astype(np.int32), gathering[attends]
