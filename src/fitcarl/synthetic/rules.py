"""The planted rules: which events call forth which others, and after how many days."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from fitcarl.synthetic.events import Events, Rows
from fitcarl.synthetic.verbs import ESCALATION, FRIENDLY, HOSTILE, REPLY, SEASONAL, TONE, TWIN, verb_id


class Rule(IntEnum):
    """What made an event; its number is what ``Truth.rule`` holds."""

    NONE = 0
    REPETITION = 1
    RECIPROCITY = 2
    ENEMY_OF_ENEMY = 3
    MEDIATION = 4
    SEASON = 5

    @property
    def title(self) -> str:
        """The rule's name for actors_rng, such as ``enemy of enemy``."""
        return self.name.replace("_", " ").lower()


@dataclass(frozen=True)
class Timing:
    """Days between causes and effect."""

    shortest: int
    """From the latest cause to the effect."""
    longest: int
    window: int
    """How far apart the causes may be."""


DESCRIPTIONS: dict[Rule, str] = {
    Rule.NONE: "No rule: a habit of two actors, or noise.",
    Rule.REPETITION: "Who did something to somebody does it again some days later, or goes a step further.",
    Rule.RECIPROCITY: "A deed is answered by its object: some days later, or the same day when the answer is the "
    "other side of one event (a visit made, a visit hosted).",
    Rule.ENEMY_OF_ENEMY: "Two actors that were hostile to the same third one begin to work together.",
    Rule.MEDIATION: "When two actors quarrel, a third one, friendly with both, steps in with one of them.",
    Rule.SEASON: "A yearly gathering: its host calls it around the same date each year, guests come, guests talk.",
}
"""Each rule in plain words."""

TIMING: dict[Rule, Timing] = {
    Rule.REPETITION: Timing(shortest=3, longest=20, window=0),
    Rule.RECIPROCITY: Timing(shortest=1, longest=7, window=0),
    Rule.ENEMY_OF_ENEMY: Timing(shortest=1, longest=5, window=14),
    Rule.MEDIATION: Timing(shortest=1, longest=6, window=75),
}

_ARMED = np.isin(np.arange(len(TONE)), [verb_id("Use armed force"), verb_id("Threaten with force")])
_COSTLY = np.isin(np.arange(len(TONE)), [verb_id("Impose sanctions"), verb_id("Threaten with sanctions")])


def repetition(events: Events, rows: Rows, chance: float, rng: np.random.Generator) -> Events:
    """Proposals: these events once more between the same two, six in ten the same, the others a step further.

    What belongs to a gathering is not repeated before the next one; it can only lead further.
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
        events.time[rows] + _delay(Rule.REPETITION, len(rows), rng),
        Rule.REPETITION,
        [rows],
    )


def reciprocity(events: Events, rows: Rows, chance: float, twin_chance: float, rng: np.random.Generator) -> Events:
    """Proposals: the answers to these events."""
    reply = REPLY[events.relation[rows]]
    twin = TWIN[events.relation[rows]]
    happens = (reply >= 0) & (rng.random(len(rows)) < np.where(twin, twin_chance, chance))
    rows, reply, twin = rows[happens], reply[happens], twin[happens]
    delay = np.where(twin, 0, _delay(Rule.RECIPROCITY, len(rows), rng))
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
    """Proposals: whoever was hostile to somebody joins one of the last others who were.

    ``eager`` (bool [actors]) marks actors that do so with ``eager_chance``. The last ``reach`` hostile events
    against the same target are looked at; of an actor that was hostile more than once, only its latest.
    """
    hostile = np.flatnonzero(events.tone == HOSTILE)
    order = np.lexsort((hostile, events.time[hostile], events.object[hostile]))
    row = hostile[order]
    actor, target, time = events.subject[row], events.object[row], events.time[row]

    parts: list[Events] = []
    for lag in range(1, min(reach, len(row) - 1) + 1):
        later, earlier = slice(lag, None), slice(None, -lag)
        fires = (target[later] == target[earlier]) & (actor[later] != actor[earlier])
        fires &= time[later] - time[earlier] <= TIMING[Rule.ENEMY_OF_ENEMY].window
        for nearer in range(1, lag):
            fires &= actor[earlier] != actor[lag - nearer : len(actor) - nearer]
        keen = eager[actor[later]] | eager[actor[earlier]]
        fires &= rng.random(len(fires)) < np.where(keen, eager_chance, chance)
        last = np.flatnonzero(fires) + lag
        first = last - lag
        swap = rng.random(len(last)) < 0.5
        parts.append(
            Events.of(
                np.where(swap, actor[first], actor[last]),
                _common_cause(events.relation[row[last]], rng),
                np.where(swap, actor[last], actor[first]),
                time[last] + _delay(Rule.ENEMY_OF_ENEMY, len(last), rng),
                Rule.ENEMY_OF_ENEMY,
                [row[first], row[last]],
            )
        )
    return _once_a_pair(Events.concat(parts), len(eager)) if parts else events.take(slice(0, 0))


def _once_a_pair(proposals: Events, actors: int) -> Events:
    """The earliest proposal of every two actors, whichever of them is the subject."""
    pair = _pair(proposals.subject, proposals.object, actors)
    order = np.argsort((pair << 15) + proposals.time, kind="stable")
    pair = pair[order]
    return proposals.take(order[np.append(True, pair[1:] != pair[:-1])[: len(pair)]])


def _common_cause(deed: NDArray[np.int32], rng: np.random.Generator) -> NDArray[np.int32]:
    """int32 [deeds]: how two actors join against a third, given what the last of them did to it."""
    plain = np.where(
        rng.random(len(deed)) < 0.6, verb_id("Form an alliance"), verb_id("Share intelligence or information")
    )
    armed, costly = verb_id("Cooperate militarily"), verb_id("Cooperate economically")
    return np.where(_ARMED[deed], armed, np.where(_COSTLY[deed], costly, plain)).astype(np.int32)


def mediation(
    events: Events,
    chance: float,
    eager: NDArray[np.bool_],
    eager_chance: float,
    rng: np.random.Generator,
    reach: int = 3,
) -> Events:
    """Proposals: a common friend of two quarrelling actors mediates with one of them.

    The last ``reach`` friends of the one who quarrels are asked, latest first; whoever was friendly with the
    other within the window as well is the mediator.
    """
    window = TIMING[Rule.MEDIATION].window
    quarrel = np.flatnonzero(events.tone == HOSTILE)
    keen = eager[events.subject[quarrel]] | eager[events.object[quarrel]]
    quarrel = quarrel[rng.random(len(quarrel)) < np.where(keen, eager_chance, chance)]
    one, other, time = events.subject[quarrel], events.object[quarrel], events.time[quarrel]

    friendly = np.flatnonzero(events.tone == FRIENDLY)
    by_actor = _EventIndex.of_actors(events, friendly)
    by_pair = _EventIndex.of_pairs(events, friendly, len(eager))
    mediator = np.full(len(quarrel), -1, dtype=np.int32)
    with_one = np.full(len(quarrel), -1, dtype=np.int64)
    with_other = np.full(len(quarrel), -1, dtype=np.int64)
    open_ = np.arange(len(quarrel))
    for back in range(1, reach + 1):
        first = by_actor.latest(one[open_].astype(np.int64), time[open_], window, back)
        friend = np.where(events.subject[first] == one[open_], events.object[first], events.subject[first])
        pair = _pair(friend, other[open_], len(eager))
        second = by_pair.latest(pair, time[open_], window, 1)
        found = (first >= 0) & (second >= 0) & (friend != other[open_])
        hit = open_[found]
        mediator[hit], with_one[hit], with_other[hit] = friend[found], first[found], second[found]
        open_ = open_[~found]

    done = mediator >= 0
    mediator, quarrel, one, other = mediator[done], quarrel[done], one[done], other[done]
    verb = np.where(rng.random(len(quarrel)) < 0.6, verb_id("Engage in mediation"), verb_id("Offer to mediate"))
    return Events.of(
        mediator,
        verb,
        np.where(rng.random(len(quarrel)) < 0.5, one, other),
        time[done] + _delay(Rule.MEDIATION, len(quarrel), rng),
        Rule.MEDIATION,
        [quarrel, with_one[done], with_other[done]],
    )


@dataclass(frozen=True, eq=False)
class _EventIndex:
    """Events by owner and then time, to look up what an owner did last before some day."""

    key: NDArray[np.int64]
    """int64 [entries], ascending: owner · 2¹⁵ + day, since a world has fewer than 2¹⁵ days."""
    row: Rows

    @classmethod
    def of_actors(cls, events: Events, rows: Rows) -> _EventIndex:
        owner = np.concatenate([events.subject[rows], events.object[rows]])
        return cls._sorted(owner.astype(np.int64), np.concatenate([rows, rows]), events)

    @classmethod
    def of_pairs(cls, events: Events, rows: Rows, actors: int) -> _EventIndex:
        return cls._sorted(_pair(events.subject[rows], events.object[rows], actors), rows, events)

    @classmethod
    def _sorted(cls, owner: NDArray[np.int64], rows: Rows, events: Events) -> _EventIndex:
        key = (owner << 15) + events.time[rows]
        order = np.argsort(key, kind="stable")
        return cls(key[order], rows[order])

    def latest(self, owner: NDArray[np.int64], day: NDArray[np.int32], window: int, back: int) -> Rows:
        """int64 [asked]: the owner's ``back``-th last event up to a day and within the window; -1 for none."""
        if not len(self.key):
            return np.full(len(owner), -1, dtype=np.int64)
        now = (owner << 15) + day
        place = np.searchsorted(self.key, now, side="right") - back
        key = self.key[np.maximum(place, 0)]
        fine = (place >= 0) & (key >> 15 == owner) & (now - key <= window)
        return np.where(fine, self.row[np.maximum(place, 0)], -1)


def _pair(one: NDArray[np.int32], other: NDArray[np.int32], actors: int) -> NDArray[np.int64]:
    """int64 [pairs]: the same number for two actors whichever comes first."""
    return np.minimum(one, other).astype(np.int64) * actors + np.maximum(one, other)


def _delay(rule: Rule, count: int, rng: np.random.Generator) -> NDArray[np.int64]:
    return rng.integers(TIMING[rule].shortest, TIMING[rule].longest + 1, size=count)
