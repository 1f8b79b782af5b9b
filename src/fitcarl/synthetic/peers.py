"""The rule of imitation: an actor repeats what its peer did."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fitcarl.synthetic.dated_events import DatedEvents
from fitcarl.synthetic.events import Events, Rows
from fitcarl.synthetic.rules import TIMING, Rule, draw_delay, first_per_pair
from fitcarl.synthetic.verbs import SEASONAL


def imitation(
    events: Events,
    chance: float,
    eager: NDArray[np.bool_],
    eager_chance: float,
    rng: np.random.Generator,
    reach: int = 6,
) -> Events:
    """Proposals: an actor does what its peer did towards another actor.

    Two actors are peers if both were the subject of the same relation to the same contact within the window. ``eager``
    (bool [actors]) marks imitators for which ``eager_chance`` applies. The last ``reach`` events with the same relation
    and contact, and the first ``reach`` events of the peer after that, are considered.
    """
    window = TIMING[Rule.IMITATION].window
    plain = np.flatnonzero(~SEASONAL[events.relation])
    by_subject = DatedEvents.of_subjects(events, plain)

    parts: list[Events] = [events.take(slice(0, 0))]
    for own, shared in _peers(events, plain, window, reach):
        imitator, peer, contact = events.subject[own], events.subject[shared], events.object[own]
        met = np.maximum(events.time[own], events.time[shared])
        until = np.minimum(events.time[own], events.time[shared]) + window
        for place in range(1, reach + 1):
            model = by_subject.next(peer, met, until, place)
            target = events.object[model]
            applies = (model >= 0) & (target != contact) & (target != imitator)
            applies &= rng.random(len(applies)) < np.where(eager[imitator], eager_chance, chance)
            model = model[applies]
            parts.append(
                Events.of(
                    imitator[applies],
                    events.relation[model],
                    target[applies],
                    events.time[model] + draw_delay(Rule.IMITATION, len(model), rng),
                    Rule.IMITATION,
                    [own[applies], shared[applies], model],
                )
            )
    return first_per_pair(Events.concat(parts), len(eager))


def _peers(events: Events, rows: Rows, window: int, reach: int) -> list[tuple[Rows, Rows]]:
    """Pairs of events of two subjects with the same relation and object within the window, in both orders."""
    order = np.lexsort((rows, events.time[rows], events.relation[rows], events.object[rows]))
    row = rows[order]
    pairs: list[tuple[Rows, Rows]] = []
    for lag in range(1, min(reach, len(row) - 1) + 1):
        earlier, later = row[:-lag], row[lag:]
        alike = (events.object[earlier] == events.object[later]) & (events.relation[earlier] == events.relation[later])
        alike &= events.subject[earlier] != events.subject[later]
        alike &= events.time[later] - events.time[earlier] <= window
        pairs += [(later[alike], earlier[alike]), (earlier[alike], later[alike])]
    return pairs
