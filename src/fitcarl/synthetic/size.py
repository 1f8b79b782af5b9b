"""How large a demo world is."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, get_args

from fitcarl.errors import InputError, did_you_mean
from fitcarl.synthetic.kinds import BODIES, LEAST_INSTITUTIONS

SizeName = Literal["tiny", "small", "default", "large", "huge"]
SIZE_NAMES: tuple[SizeName, ...] = get_args(SizeName)

LONGEST = 32_000
"""Days a world may last: days are sorted as 16-bit numbers."""


@dataclass(frozen=True)
class WorldSize:
    """The counts a world is made to."""

    actors: int
    """All actors, new_entities included."""
    new_entities: int
    """Actors that appear in the second half and end with 10 to 25 facts each."""
    facts: int
    """Facts in all. Noise fills up to it, so it is met exactly unless the rules alone make more."""
    days: int
    countries: int
    blocs: int
    """Alliances of countries; an even number, since each has a rival."""

    def __post_init__(self) -> None:
        established = self.actors - self.new_entities
        least = LEAST_INSTITUTIONS * self.countries + BODIES * self.blocs
        checks = (
            (self.blocs >= 2 and self.blocs % 2 == 0, "blocs", self.blocs, "an even number of at least 2"),
            (self.countries >= self.blocs, "countries", self.countries, f"at least one for each of {self.blocs} blocs"),
            (established >= least, "actors", self.actors, f"at least {least} besides the new_entities"),
            (self.new_entities >= 0, "new_entities", self.new_entities, "0 or more"),
            (90 <= self.days <= LONGEST, "days", self.days, f"90 to {LONGEST}"),
            (self.facts >= 5 * self.actors, "facts", self.facts, "at least 5 an actor"),
        )
        for fine, field, found, expected in checks:
            if not fine:
                raise InputError("no world of this size", field=field, found=found, expected=expected)


SIZES: dict[SizeName, WorldSize] = {
    "tiny": WorldSize(actors=110, new_entities=32, facts=3_000, days=365, countries=4, blocs=2),
    "small": WorldSize(actors=360, new_entities=90, facts=9_000, days=730, countries=8, blocs=2),
    "default": WorldSize(actors=700, new_entities=190, facts=19_000, days=730, countries=14, blocs=4),
    "large": WorldSize(actors=20_000, new_entities=3_000, facts=500_000, days=1_095, countries=80, blocs=6),
    "huge": WorldSize(actors=400_000, new_entities=40_000, facts=15_000_000, days=1_826, countries=240, blocs=10),
}


def world_size(size: str | int | WorldSize) -> WorldSize:
    """The counts behind a name or a number of facts; an unknown name raises an InputError that suggests near ones."""
    if isinstance(size, WorldSize):
        return size
    if isinstance(size, int):
        return _of_facts(size)
    for name in SIZE_NAMES:
        if size == name:
            return SIZES[name]
    hint = did_you_mean(size, SIZE_NAMES)
    raise InputError("unknown size of world", found=size, expected="one of " + ", ".join(SIZE_NAMES), hint=hint)


def _of_facts(facts: int) -> WorldSize:
    """A believable world with so many facts; that of the presets where one of them has as many."""
    for preset in SIZES.values():
        if preset.facts == facts:
            return preset
    if not 3_000 <= facts <= 50_000_000:
        raise InputError("no world of this size", field="facts", found=facts, expected="3000 to 50000000")
    actors = facts // 30
    return WorldSize(
        actors=actors,
        new_entities=min(actors // 4, 40_000),
        facts=facts,
        days=365 if facts < 6_000 else 730 if facts < 300_000 else 1_095 if facts < 3_000_000 else 1_826,
        countries=min(max(math.isqrt(facts) // 10, 4), 240),
        blocs=2 if facts < 10_000 else 4 if facts < 100_000 else 6,
    )
