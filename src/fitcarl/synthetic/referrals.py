"""The rule of referral: a message that is passed on twice leads to a meeting of its first sender and last receiver."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fitcarl.synthetic.dated_events import DatedEvents
from fitcarl.synthetic.events import Events
from fitcarl.synthetic.rules import TIMING, Rule, draw_delay, first_per_pair
from fitcarl.synthetic.verbs import MESSAGE, verb_id


def referral(
    events: Events,
    chance: float,
    eager: NDArray[np.bool_],
    eager_chance: float,
    rng: np.random.Generator,
    reach: int = 3,
) -> Events:
    """Proposals: an actor meets the receiver of a message that was passed on from it over two other actors.

    ``eager`` (bool [actors]) marks actors for which ``eager_chance`` applies as first sender. Of every actor the first
    ``reach`` messages after the day on which it received one are considered.
    """
    window = TIMING[Rule.REFERRAL].window
    message = np.flatnonzero(MESSAGE[events.relation])
    by_sender = DatedEvents.of_subjects(events, message)
    limit = events.time[message] + window

    parts: list[Events] = []
    for second_place in range(1, reach + 1):
        second = by_sender.next(events.object[message], events.time[message], limit, second_place)
        passed = np.flatnonzero((second >= 0) & (events.object[second] != events.subject[message]))
        first, second, until = message[passed], second[passed], limit[passed]
        for third_place in range(1, reach + 1):
            third = by_sender.next(events.object[second], events.time[second], until, third_place)
            sender, receiver = events.subject[first], events.object[third]
            applies = (third >= 0) & (receiver != sender) & (receiver != events.object[first])
            applies &= rng.random(len(applies)) < np.where(eager[sender], eager_chance, chance)
            chain = [first[applies], second[applies], third[applies]]
            last = chain[2]
            parts.append(
                Events.of(
                    sender[applies],
                    _meeting(events.relation[last]),
                    receiver[applies],
                    events.time[last] + draw_delay(Rule.REFERRAL, len(last), rng),
                    Rule.REFERRAL,
                    chain,
                )
            )
    return first_per_pair(Events.concat(parts), len(eager))


def _meeting(message: NDArray[np.int32]) -> NDArray[np.int32]:
    """int32 [events]: relation of the meeting, given the last message of the chain."""
    aid = message == verb_id("Appeal for aid")
    return np.where(aid, verb_id("Sign formal agreement"), verb_id("Make a visit")).astype(np.int32)
