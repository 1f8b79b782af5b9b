"""The planted rules: which events cause which others, and after how many days."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from fitcarl.synthetic.dated_events import DatedEvents, pair_key
from fitcarl.synthetic.events import Events, Rows
from fitcarl.synthetic.verbs import ESCALATION, FRIENDLY, HOSTILE, REPLY, SEASONAL, TONE, TWIN, verb_id


class Rule(IntEnum):
    """The rule that generated an event; ``Truth.rule`` contains its number."""

    NONE = 0
    REPETITION = 1
    RECIPROCITY = 2
    ENEMY_OF_ENEMY = 3
    MEDIATION = 4
    SEASON = 5
    REFERRAL = 6
    IMITATION = 7

    @property
    def title(self) -> str:
        """Name of the rule as text, such as ``enemy of enemy``."""
        return self.name.replace("_", " ").lower()


@dataclass(frozen=True)
class Timing:
    """Days between causes and effect."""

    shortest: int
    """From the latest cause to the effect."""
    longest: int
    window: int
    """Maximum distance between the causes."""


DESCRIPTIONS: dict[Rule, str] = {
    Rule.NONE: "No rule: a habit of two entities, or noise.",
    Rule.REPETITION: "The subject repeats or escalates its action towards the same object some days later.",
    Rule.RECIPROCITY: "The object responds to the subject some days later, or on the same day if the response is "
    "the other side of the same event (a visit made, a visit hosted).",
    Rule.ENEMY_OF_ENEMY: "Two entities that were hostile to the same third entity start to cooperate.",
    Rule.MEDIATION: "An entity that is friendly with both sides of a conflict mediates with one of them.",
    Rule.SEASON: "A yearly gathering: the host announces it around the same date each year, guests attend and talk.",
    Rule.REFERRAL: "A message is passed on: an entity turns to a second one, the second to a third, the third to a "
    "fourth; then the first visits the fourth or signs an agreement with it.",
    Rule.IMITATION: "An entity does what its peer did: two entities acted in the same way towards a third one, one of "
    "them then acts towards a fourth, and the other does the same some days later.",
}
"""Description of each rule."""

TIMING: dict[Rule, Timing] = {
    Rule.REPETITION: Timing(shortest=3, longest=20, window=0),
    Rule.RECIPROCITY: Timing(shortest=1, longest=7, window=0),
    Rule.ENEMY_OF_ENEMY: Timing(shortest=1, longest=5, window=14),
    Rule.MEDIATION: Timing(shortest=1, longest=6, window=75),
    Rule.REFERRAL: Timing(shortest=1, longest=6, window=30),
    Rule.IMITATION: Timing(shortest=1, longest=6, window=21),
}

_ARMED = np.isin(np.arange(len(TONE)), [verb_id("Use armed force"), verb_id("Threaten with force")])
_COSTLY = np.isin(np.arange(len(TONE)), [verb_id("Impose sanctions"), verb_id("Threaten with sanctions")])


def repetition(events: Events, rows: Rows, chance: float, rng: np.random.Generator) -> Events:
    """Proposals: these events again between the same two actors, 60 % with the same relation, the others escalated.

    Events of a gathering are not repeated before the next one; they can only be escalated.
    """
    rows = rows[rng.random(len(rows)) < chance]
    further = ESCALATION[events.relation[rows]]
    seasonal = SEASONAL[events.relation[rows]]
    escalates = (further >= 0) & (seasonal | (rng.random(len(rows)) < 0.4))
    relation = np.where(escalates, further, events.relation[rows])
    happens = escalates | ~seasonal
    rows, relation = rows[happens], relation[happens]
    return Events.of(
        events.subject[rows],
        relation,
        events.object[rows],
        events.time[rows] + draw_delay(Rule.REPETITION, len(rows), rng),
        Rule.REPETITION,
        [rows],
    )


def reciprocity(events: Events, rows: Rows, chance: float, twin_chance: float, rng: np.random.Generator) -> Events:
    """Proposals: the replies to these events."""
    reply = REPLY[events.relation[rows]]
    twin = TWIN[events.relation[rows]]
    happens = (reply >= 0) & (rng.random(len(rows)) < np.where(twin, twin_chance, chance))
    rows, reply, twin = rows[happens], reply[happens], twin[happens]
    delay = np.where(twin, 0, draw_delay(Rule.RECIPROCITY, len(rows), rng))
    return Events.of(
        events.object[rows], reply, events.subject[rows], events.time[rows] + delay, Rule.RECIPROCITY, [rows]
    )


def enemy_of_enemy(
    events: Events,
    chance: float,
    eager: NDArray[np.bool_],
    eager_chance: float,
    rng: np.random.Generator,
    reach: int = 6,
) -> Events:
    """Proposals: an actor that was hostile to a target cooperates with another recent enemy of the target.

    ``eager`` (bool [actors]) marks actors for which ``eager_chance`` applies. The last ``reach`` hostile events
    against the same target are considered; of several by one actor only the latest.
    """
    hostile = np.flatnonzero(events.tone == HOSTILE)
    order = np.lexsort((hostile, events.time[hostile], events.object[hostile]))
    row = hostile[order]
    actor, target, time = events.subject[row], events.object[row], events.time[row]

    parts: list[Events] = []
    for lag in range(1, min(reach, len(row) - 1) + 1):
        later, earlier = slice(lag, None), slice(None, -lag)
        applies = (target[later] == target[earlier]) & (actor[later] != actor[earlier])
        applies &= time[later] - time[earlier] <= TIMING[Rule.ENEMY_OF_ENEMY].window
        for nearer in range(1, lag):
            applies &= actor[earlier] != actor[lag - nearer : len(actor) - nearer]
        is_eager = eager[actor[later]] | eager[actor[earlier]]
        applies &= rng.random(len(applies)) < np.where(is_eager, eager_chance, chance)
        last = np.flatnonzero(applies) + lag
        first = last - lag
        swap = rng.random(len(last)) < 0.5
        parts.append(
            Events.of(
                np.where(swap, actor[first], actor[last]),
                _cooperation(events.relation[row[last]], rng),
                np.where(swap, actor[last], actor[first]),
                time[last] + draw_delay(Rule.ENEMY_OF_ENEMY, len(last), rng),
                Rule.ENEMY_OF_ENEMY,
                [row[first], row[last]],
            )
        )
    return first_per_pair(Events.concat(parts), len(eager)) if parts else events.take(slice(0, 0))


def first_per_pair(proposals: Events, actors: int) -> Events:
    """The earliest proposal per unordered pair of actors."""
    pair = pair_key(proposals.subject, proposals.object, actors)
    order = np.argsort((pair << 15) + proposals.time, kind="stable")
    pair = pair[order]
    return proposals.take(order[np.append(True, pair[1:] != pair[:-1])[: len(pair)]])


def _cooperation(hostile: NDArray[np.int32], rng: np.random.Generator) -> NDArray[np.int32]:
    """int32 [events]: relation of two actors that cooperate against a third, given the last hostile relation."""
    plain = np.where(
        rng.random(len(hostile)) < 0.6, verb_id("Form an alliance"), verb_id("Share intelligence or information")
    )
    armed, costly = verb_id("Cooperate militarily"), verb_id("Cooperate economically")
    return np.where(_ARMED[hostile], armed, np.where(_COSTLY[hostile], costly, plain)).astype(np.int32)


def mediation(
    events: Events,
    chance: float,
    eager: NDArray[np.bool_],
    eager_chance: float,
    rng: np.random.Generator,
    reach: int = 3,
) -> Events:
    """Proposals: a common friend of two actors in conflict mediates with one of them.

    The last ``reach`` friends of the subject are considered, latest first; the first one that was also friendly with
    the object within the window is the mediator.
    """
    window = TIMING[Rule.MEDIATION].window
    conflict = np.flatnonzero(events.tone == HOSTILE)
    is_eager = eager[events.subject[conflict]] | eager[events.object[conflict]]
    conflict = conflict[rng.random(len(conflict)) < np.where(is_eager, eager_chance, chance)]
    one, other, time = events.subject[conflict], events.object[conflict], events.time[conflict]

    friendly = np.flatnonzero(events.tone == FRIENDLY)
    by_actor = DatedEvents.of_actors(events, friendly)
    by_pair = DatedEvents.of_pairs(events, friendly, len(eager))
    mediator = np.full(len(conflict), -1, dtype=np.int32)
    with_one = np.full(len(conflict), -1, dtype=np.int64)
    with_other = np.full(len(conflict), -1, dtype=np.int64)
    open_ = np.arange(len(conflict))
    for back in range(1, reach + 1):
        first = by_actor.latest(one[open_].astype(np.int64), time[open_], window, back)
        friend = np.where(events.subject[first] == one[open_], events.object[first], events.subject[first])
        pair = pair_key(friend, other[open_], len(eager))
        second = by_pair.latest(pair, time[open_], window, 1)
        found = (first >= 0) & (second >= 0) & (friend != other[open_])
        hit = open_[found]
        mediator[hit], with_one[hit], with_other[hit] = friend[found], first[found], second[found]
        open_ = open_[~found]

    done = mediator >= 0
    mediator, conflict, one, other = mediator[done], conflict[done], one[done], other[done]
    verb = np.where(rng.random(len(conflict)) < 0.6, verb_id("Engage in mediation"), verb_id("Offer to mediate"))
    return Events.of(
        mediator,
        verb,
        np.where(rng.random(len(conflict)) < 0.5, one, other),
        time[done] + draw_delay(Rule.MEDIATION, len(conflict), rng),
        Rule.MEDIATION,
        [conflict, with_one[done], with_other[done]],
    )


def draw_delay(rule: Rule, count: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """int64 [count]: days from the latest cause of a rule to its effect."""
    return rng.integers(TIMING[rule].shortest, TIMING[rule].longest + 1, size=count)
