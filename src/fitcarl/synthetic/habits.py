"""Events without a cause: habits of two actors, and noise."""

from __future__ import annotations

import numpy as np

from fitcarl.synthetic.actors import Actors
from fitcarl.synthetic.events import Events
from fitcarl.synthetic.verbs import SEASONAL, usual_verbs

_FRIENDLY = np.array(
    [  # state, society, business, opposition, armed: probability that two actors of one country are friendly
        [0.90, 0.45, 0.80, 0.30, 0.45],
        [0.45, 0.80, 0.40, 0.70, 0.15],
        [0.80, 0.40, 0.80, 0.35, 0.30],
        [0.30, 0.70, 0.35, 0.55, 0.40],
        [0.45, 0.15, 0.30, 0.40, 0.20],
    ]
)
_ALLIES, _RIVALS = 0.85, 0.15
"""The same probability for actors of one bloc and of rival blocs."""
_AT_HOME, _IN_BLOC = 0.60, 0.82
"""Thresholds: 60 % of habits stay in the country, 22 % in the bloc, the others go to the rival bloc."""


def habit_events(actors: Actors, count: int, days: int, rng: np.random.Generator) -> Events:
    """About ``count`` events of pairs of actors that meet repeatedly; every established actor has at least one."""
    all_actors = np.arange(actors.established, dtype=np.int32)
    one = np.concatenate([all_actors, all_actors, actors.draw_any(2 * actors.established, rng)])
    scope = rng.random(len(one))
    rival = actors.bloc[one] ^ 1
    other = np.where(scope < _AT_HOME, actors.draw_near(one, rng), actors.draw_bloc(actors.bloc[one], rng))
    other = np.where(scope < _IN_BLOC, other, actors.draw_bloc(rival, rng))
    # An actor that drew itself is paired with the neighbouring id.
    other = np.where(other != one, other, np.where(one > 0, one - 1, one + 1))
    same_country = (actors.home[one] == actors.home[other]) & (actors.home[one] >= 0)
    same_bloc = actors.bloc[one] == actors.bloc[other]
    terms = np.where(same_bloc, _ALLIES, _RIVALS)
    terms = np.where(same_country, _FRIENDLY[actors.side[one], actors.side[other]], terms)
    friendly = rng.random(len(one)) < terms

    strength = np.sqrt(actors.weight[one] * actors.weight[other]) * rng.lognormal(sigma=0.8, size=len(one))
    times = rng.multinomial(max(count - actors.established, 0), strength / strength.sum())
    times[: actors.established] += 1
    length = np.where(rng.random(len(one)) < 0.3, days, rng.integers(30, min(180, days) + 1, size=len(one)))
    start = (rng.random(len(one)) * (days - length + 1)).astype(np.int64)

    tie = np.repeat(np.arange(len(one)), times)
    turned = rng.random(len(tie)) < 0.3
    subject, object_ = np.where(turned, other[tie], one[tie]), np.where(turned, one[tie], other[tie])
    favourite = usual_verbs(actors.side[one], friendly, rng)
    verb = usual_verbs(actors.side[subject], friendly[tie], rng)
    verb = np.where(~turned & (rng.random(len(tie)) < 0.5), favourite[tie], verb)
    time = start[tie] + (rng.random(len(tie)) * length[tie]).astype(np.int64)
    time[0] = 0  # the first day of a calendar is the day of its first fact
    return Events.of(subject, verb, object_, time)


def noise_events(actors: Actors, count: int, days: int, rng: np.random.Generator) -> Events:
    """``count`` random events between established actors."""
    plain = np.flatnonzero(~SEASONAL)
    subject, object_ = actors.draw_any(count, rng), actors.draw_any(count, rng)
    return Events.of(subject, rng.choice(plain, size=count), object_, rng.integers(days, size=count))
