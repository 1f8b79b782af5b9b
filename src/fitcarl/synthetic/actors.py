"""Entities of the demo world: countries in blocs, institutions, parties, companies, people, and new entities."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from fitcarl.data.concepts import Concepts
from fitcarl.synthetic import names
from fitcarl.synthetic.kinds import (
    BODIES,
    EMERGING,
    INSTITUTIONS,
    KINDS,
    MIN_INSTITUTIONS,
    MIX,
    SIDE,
    VARIANTS,
    WEIGHT,
    kind_id,
)
from fitcarl.synthetic.size import WorldSize


@dataclass(frozen=True, eq=False)
class Actors:
    """All actors (entities of the world) by id: bloc by bloc, organisations before countries; new entities last.

    The established actors of a country, and those of a bloc, therefore have contiguous ids.
    """

    kind: NDArray[np.int8]
    """int8 [actors], index into KINDS."""
    variant: NDArray[np.int8]
    """int8 [actors], index into the variants of the kind."""
    home: NDArray[np.int32]
    """int32 [actors], number of the country, -1 for international organisations."""
    bloc: NDArray[np.int32]
    """int32 [actors]. Blocs 0 and 1 are rivals, 2 and 3, and so on: the rival of b is b ^ 1."""
    weight: NDArray[np.float64]
    """float64 [established]: sampling weight of an actor."""
    country_range: NDArray[np.int64]
    """int64 [countries, 2]: first id and end of the id range of a country; the first id is the country itself."""
    bloc_range: NDArray[np.int64]
    """int64 [blocs, 2]."""

    def __len__(self) -> int:
        return len(self.kind)

    @property
    def established(self) -> int:
        """Number of actors that exist from the start; larger ids are new entities."""
        return len(self.weight)

    @cached_property
    def side(self) -> NDArray[np.int8]:
        """int8 [actors], index into SIDES."""
        sides: NDArray[np.int8] = SIDE[self.kind]
        return sides

    @cached_property
    def _cumulative_weight(self) -> NDArray[np.float64]:
        return np.concatenate(([0.0], np.cumsum(self.weight)))

    def draw(self, first: NDArray[np.int64], end: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int32]:
        """int32 [draws]: an established actor with first ≤ id < end, sampled by weight."""
        low, high = self._cumulative_weight[first], self._cumulative_weight[end]
        point = low + rng.random(len(first)) * (high - low)
        found = np.searchsorted(self._cumulative_weight, point, side="right") - 1
        return np.clip(found, first, end - 1).astype(np.int32)

    def draw_any(self, count: int, rng: np.random.Generator) -> NDArray[np.int32]:
        """int32 [count]: established actors, sampled by weight."""
        return self.draw(np.zeros(count, np.int64), np.full(count, self.established), rng)

    def draw_near(self, actor: NDArray[np.int32], rng: np.random.Generator) -> NDArray[np.int32]:
        """int32 [draws]: an established actor from the country of each actor, or from the bloc of an organisation."""
        home = self.home[actor]
        place = np.where((home >= 0)[:, None], self.country_range[home], self.bloc_range[self.bloc[actor]])
        return self.draw(place[:, 0], place[:, 1], rng)

    def draw_bloc(self, bloc: NDArray[np.int32], rng: np.random.Generator) -> NDArray[np.int32]:
        """int32 [draws]: an established actor from each bloc."""
        return self.draw(self.bloc_range[bloc, 0], self.bloc_range[bloc, 1], rng)

    def with_new_entities(self, home: NDArray[np.int32], rng: np.random.Generator) -> Actors:
        """These actors and one new entity in each of these countries."""
        kind = rng.choice(len(KINDS), size=len(home), p=EMERGING).astype(np.int8)
        variant = (rng.random(len(home)) * VARIANTS[kind]).astype(np.int8)
        return Actors(
            np.concatenate([self.kind, kind]),
            np.concatenate([self.variant, variant]),
            np.concatenate([self.home, home]),
            np.concatenate([self.bloc, self.bloc[self.country_range[home, 0]]]),
            self.weight,
            self.country_range,
            self.bloc_range,
        )


def make_actors(size: WorldSize, rng: np.random.Generator) -> Actors:
    """Generates the established actors of a world: all except the new entities."""
    organisations = np.full(size.blocs, BODIES)
    residents = size.actors - size.new_entities - size.countries * MIN_INSTITUTIONS - int(organisations.sum())
    spread = rng.lognormal(sigma=0.4, size=size.countries)
    people = MIN_INSTITUTIONS + rng.multinomial(residents, spread / spread.sum())

    bloc_of_country = np.sort(np.arange(size.countries) % size.blocs)
    # Segments in the order of ids: a bloc's organisations, then its countries one after the other.
    home_of_segment = np.concatenate([np.full(size.blocs, -1), np.arange(size.countries)])
    bloc_of_segment = np.concatenate([np.arange(size.blocs), bloc_of_country])
    order = np.lexsort((home_of_segment, bloc_of_segment))
    length = np.concatenate([organisations, people])[order]
    home = np.repeat(home_of_segment[order], length)
    bloc = np.repeat(bloc_of_segment[order], length)
    ends = np.cumsum(length)
    position = np.arange(len(home)) - np.repeat(ends - length, length)

    kind = rng.choice(len(KINDS), size=len(home), p=MIX)
    variant = (rng.random(len(home)) * VARIANTS[kind]).astype(np.int64)
    bodies = np.array(INSTITUTIONS)
    institutions = np.clip(np.repeat(length, length) // 4, MIN_INSTITUTIONS, len(bodies))
    fixed = (home >= 0) & (position < institutions)
    kind[fixed], variant[fixed] = bodies[position[fixed]].T
    kind[home < 0], variant[home < 0] = kind_id("organisation"), position[home < 0]

    # A few countries take part in most events: the weight falls with the rank, as in real event data.
    rank = rng.permutation(size.countries)
    weight = WEIGHT[kind] * rng.lognormal(sigma=0.35, size=len(home))
    capital = fixed & (position == 0)
    weight[capital] = 60 / (1 + rank[home[capital]]) ** 0.7 * np.sqrt(np.repeat(length, length)[capital] / 40)
    ranges = np.stack([ends - length, ends], axis=1)
    is_country = home_of_segment[order] >= 0
    return Actors(
        kind.astype(np.int8),
        variant.astype(np.int8),
        home.astype(np.int32),
        bloc.astype(np.int32),
        weight,
        ranges[is_country],
        np.stack([[np.flatnonzero(bloc == b)[0], np.flatnonzero(bloc == b)[-1] + 1] for b in range(size.blocs)]),
    )


def actor_names(actors: Actors, rng: np.random.Generator) -> tuple[str, ...]:
    """A distinct name for every actor; names of institutions contain the place, as in real event data."""
    countries = names.country_names(len(actors.country_range), rng)
    blocs = names.bloc_names(len(actors.bloc_range))
    towns = names.town_names(1500, rng)
    stems = names.company_stems(2000, rng)
    persons = iter(names.person_names(len(actors) + 100, rng))
    draws = rng.integers(2**31, size=(len(actors), 3))

    taken: set[str] = set()

    def name_of(kind: int, variant: int, home: int, bloc: int, town: int, cause: int, stem: int) -> str:
        spec = KINDS[kind]
        for template, shift in _attempts(spec.template, spec.again):
            name = template.format(
                home=countries[home],
                bloc=blocs[bloc],
                variant=spec.variants[variant],
                town=towns[(town + shift) % len(towns)],
                cause=names.CAUSES[cause % len(names.CAUSES)],
                stem=stems[(stem + shift) % len(stems)],
                person=next(persons) if "{person}" in template else "",
            )
            if name not in taken:
                break
        taken.add(name)
        return name

    columns = (actors.kind, actors.variant, actors.home, actors.bloc, *draws.T)
    rows = zip(*(column.tolist() for column in columns), strict=True)
    return tuple(name_of(*row) for row in rows)


def _attempts(first: str, again: str) -> Iterator[tuple[str, int]]:
    """Templates to try, and the shift in the lists of towns and stems."""
    yield first, 0
    shift = 0
    while True:
        yield again, shift
        shift += 1


def actor_concepts(actors: Actors) -> Concepts:
    """One to four concepts for every actor, from its kind and variant."""
    profiles = [
        [level.format(variant=variant) for level in kind.concepts] for kind in KINDS for variant in kind.variants
    ]
    labels = tuple(sorted({label for profile in profiles for label in profile}))
    number = {label: i for i, label in enumerate(labels)}
    width = np.array([len(set(profile)) for profile in profiles])
    table = np.concatenate([sorted({number[label] for label in profile}) for profile in profiles])
    start = np.concatenate(([0], np.cumsum(width)[:-1]))

    first = np.concatenate(([0], np.cumsum(VARIANTS)[:-1]))
    profile = first[actors.kind] + actors.variant
    offsets = np.concatenate(([0], np.cumsum(width[profile])))
    ids = table[np.repeat(start[profile] - offsets[:-1], width[profile]) + np.arange(offsets[-1])]
    return Concepts(labels, offsets.astype(np.int64), ids.astype(np.int32))
