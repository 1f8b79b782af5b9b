"""Generation of the demo world: actors, feuds, channels, habits, and the events that the rules add."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date

import numpy as np
from numpy.typing import NDArray

from fitcarl.data.calendar import Calendar, parse_granule
from fitcarl.data.facts import Facts
from fitcarl.data.quadruples import Quadruples
from fitcarl.data.vocabulary import Vocabulary
from fitcarl.synthetic import verbs
from fitcarl.synthetic.actors import Actors, actor_concepts, actor_names, make_actors
from fitcarl.synthetic.channels import channel_events, make_channels
from fitcarl.synthetic.events import EventLog, Events
from fitcarl.synthetic.feuds import MIN_FACTS, feud_events, make_feuds, make_new_entities, new_entity_events
from fitcarl.synthetic.gatherings import add_gatherings, make_gatherings
from fitcarl.synthetic.habits import habit_events, noise_events
from fitcarl.synthetic.peers import imitation
from fitcarl.synthetic.referrals import referral
from fitcarl.synthetic.rules import enemy_of_enemy, mediation, reciprocity, repetition
from fitcarl.synthetic.size import SIZES, WorldSize, world_size
from fitcarl.synthetic.truth import Truth

FIRST_DAY = date(2023, 1, 1)
_ROOTS = 0.35
"""Share of events without a cause (noise excluded); the rules generate the others from them."""


@dataclass(frozen=True)
class World:
    """Generated facts and their ground truth."""

    size: WorldSize
    seed: int
    facts: Facts
    truth: Truth

    def rows_of(self, facts: Quadruples, vocabulary: Vocabulary, calendar: Calendar) -> NDArray[np.int64]:
        """int64 [facts]: rows of facts given in another vocabulary and calendar; -1 for unknown facts."""
        entity = _translation(vocabulary.entities, self.facts.vocabulary.entity_index)
        relation = _translation(vocabulary.relations, self.facts.vocabulary.relation_index)
        shift = calendar.origin - self.facts.calendar.origin
        return self.truth.rows_of(
            Quadruples.of(entity[facts.subject], relation[facts.relation], entity[facts.object], facts.time + shift)
        )


def generate_world(size: str | int | WorldSize = "default", seed: int = 7) -> World:
    """Generates a world of events between invented actors that follow known rules.

    Args:
        size: ``tiny``, ``small``, ``default``, ``large`` or ``huge``, a number of facts, or a WorldSize.
        seed: Random seed; the same size and seed give the same world.

    Returns:
        The facts and their ground truth.
    """
    target_size = world_size(size)
    streams = np.random.SeedSequence(seed).spawn(3)
    actors_rng, events_rng, names_rng = (np.random.Generator(np.random.PCG64(stream)) for stream in streams)

    actors = make_actors(target_size, actors_rng)
    feuds = make_feuds(actors, target_size, actors_rng)
    new_entities = make_new_entities(feuds, actors, target_size, actors_rng)
    actors = actors.with_new_entities(new_entities.home, actors_rng)
    channels = make_channels(new_entities, actors, target_size, actors_rng)

    log = EventLog(len(actors), target_size.days)
    log.quota[actors.established :] = new_entities.quota
    log.add(new_entity_events(new_entities, feuds, actors, events_rng), events_rng)
    log.add(channel_events(channels, actors, events_rng), events_rng)
    log.add(feud_events(feuds, actors, events_rng), events_rng)
    add_gatherings(log, make_gatherings(actors, actors_rng), new_entities, actors, events_rng)
    log.add(habit_events(actors, int(_ROOTS * target_size.facts) - len(log), target_size.days, events_rng), events_rng)
    apply_rules(log, actors, events_rng)
    while (missing := target_size.facts - len(log)) > 0:
        log.add(noise_events(actors, missing, target_size.days, events_rng), events_rng)

    quadruples, truth = _by_time(log.events, actors)
    facts = Facts(
        name=_world_name(target_size),
        quadruples=quadruples,
        vocabulary=Vocabulary(actor_names(actors, names_rng), verbs.NAMES),
        calendar=_world_calendar(log.events.time),
        concepts=actor_concepts(actors),
        rows=len(quadruples),
        duplicates=0,
        self_loops=0,
    )
    return World(target_size, seed, facts, truth)


def _world_name(size: WorldSize) -> str:
    """``demo`` for the default size; other names contain the size."""
    if size == SIZES["default"]:
        return "demo"
    return next((f"demo-{name}" for name, known in SIZES.items() if known == size), f"demo-{size.facts}")


def apply_rules(log: EventLog, actors: Actors, rng: np.random.Generator) -> None:
    """Applies the rules to all events, and again to the events that they generate.

    Three passes: rules between two actors, rules with more actors, rules between two actors again. New entities keep
    most of their few facts for the second pass, so that their later facts are more than copies of earlier ones.
    """
    new = np.zeros(len(actors), dtype=np.bool_)
    new[actors.established :] = True

    rows = np.arange(len(log))
    log.add(_dyadic_rules(log.events, rows, rng), rng, share=0.05)

    events = log.events
    log.add(mediation(events, 0.45, new, 0.9, rng), rng, share=0.3)
    log.add(referral(events, 0.1, new, 0.9, rng), rng, share=0.5)
    log.add(imitation(events, 0.03, new, 0.9, rng), rng, share=0.6)
    log.add(enemy_of_enemy(events, 0.3, new, 0.9, rng), rng)

    rows = np.arange(len(rows), len(log))
    log.add(_dyadic_rules(log.events, rows, rng), rng)
    _add_missing_facts(log, new, rng)


def _dyadic_rules(events: Events, rows: NDArray[np.int64], rng: np.random.Generator) -> Events:
    return Events.concat([repetition(events, rows, 0.25, rng), reciprocity(events, rows, 0.3, 0.6, rng)])


def _add_missing_facts(log: EventLog, new: NDArray[np.bool_], rng: np.random.Generator) -> None:
    """Repeats events of new entities that have too few facts."""
    for _ in range(100):
        events = log.events
        degree = np.bincount(events.subject, minlength=len(new)) + np.bincount(events.object, minlength=len(new))
        short = new & (degree < MIN_FACTS)
        if not short.any():
            return
        log.quota[new] = np.where(short, MIN_FACTS - degree, 0)[new]
        rows = np.flatnonzero(short[events.subject] | short[events.object])
        log.add(repetition(events, rows, 1.0, rng), rng)


def _by_time(events: Events, actors: Actors) -> tuple[Quadruples, Truth]:
    """The facts sorted by time, and their ground truth; within a day causes precede effects."""
    order = np.argsort(events.time.astype(np.int16), kind="stable")
    row = np.empty(len(order), dtype=np.int32)
    row[order] = np.arange(len(order), dtype=np.int32)
    quadruples = Quadruples.of(events.subject[order], events.relation[order], events.object[order], events.time[order])

    causes = events.causes[order]
    has = causes >= 0
    offsets = np.concatenate(([0], np.cumsum(has.sum(axis=1))))
    causes[has] = row[causes[has]]
    causes.sort(axis=1)
    new_entities = np.arange(actors.established, len(actors), dtype=np.int32)
    return quadruples, Truth(
        quadruples, events.rule[order], offsets, causes[causes >= 0].astype(np.int64), new_entities
    )


def _world_calendar(days: NDArray[np.int32]) -> Calendar:
    return Calendar.of_granules("day", parse_granule("day", FIRST_DAY.isoformat()) + np.unique(days).astype(np.int64))


def _translation(names: tuple[str, ...], index: Mapping[str, int]) -> NDArray[np.int32]:
    """int32 [names]: id of each name in the world, -1 if unknown."""
    return np.array([index.get(name, -1) for name in names], dtype=np.int32)
