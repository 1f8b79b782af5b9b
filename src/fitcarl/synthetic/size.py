"""Sizes of demo worlds."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, get_args

from fitcarl.errors import InputError, did_you_mean
from fitcarl.synthetic.kinds import BODIES, MIN_INSTITUTIONS

SizeName = Literal["tiny", "small", "default", "large", "huge"]
SIZE_NAMES: tuple[SizeName, ...] = get_args(SizeName)

MAX_DAYS = 32_000
"""Maximum number of days: days are sorted as 16-bit numbers."""


@dataclass(frozen=True)
class WorldSize:
    """Target counts of a world."""

    actors: int
    """All actors, new entities included."""
    new_entities: int
    """Entities that appear in the second half and have 10 to 25 facts each."""
    facts: int
    """Total number of facts. Noise is added up to this number; the rules may generate more."""
    days: int
    countries: int
    blocs: int
    """Alliances of countries; an even number, because each has a rival."""

    def __post_init__(self) -> None:
        established = self.actors - self.new_entities
        least = MIN_INSTITUTIONS * self.countries + BODIES * self.blocs
        checks = (
            (self.blocs >= 2 and self.blocs % 2 == 0, "blocs", self.blocs, "an even number of at least 2"),
            (self.countries >= self.blocs, "countries", self.countries, f"at least one for each of {self.blocs} blocs"),
            (established >= least, "actors", self.actors, f"at least {least} besides the new entities"),
            (self.new_entities >= 0, "new_entities", self.new_entities, "0 or more"),
            (90 <= self.days <= MAX_DAYS, "days", self.days, f"90 to {MAX_DAYS}"),
            (self.facts >= 5 * self.actors, "facts", self.facts, "at least 5 per actor"),
        )
        for valid, field, found, expected in checks:
            if not valid:
                raise InputError("unsupported world size", field=field, found=found, expected=expected)


SIZES: dict[SizeName, WorldSize] = {
    "tiny": WorldSize(actors=110, new_entities=32, facts=3_000, days=365, countries=4, blocs=2),
    "small": WorldSize(actors=360, new_entities=90, facts=9_000, days=730, countries=8, blocs=2),
    "default": WorldSize(actors=930, new_entities=420, facts=26_000, days=730, countries=14, blocs=4),
    "large": WorldSize(actors=20_000, new_entities=3_000, facts=500_000, days=1_095, countries=80, blocs=6),
    "huge": WorldSize(actors=400_000, new_entities=40_000, facts=15_000_000, days=1_826, countries=240, blocs=10),
}


def world_size(size: str | int | WorldSize) -> WorldSize:
    """The size for a name or a number of facts; an unknown name raises an InputError that suggests similar names."""
    if isinstance(size, WorldSize):
        return size
    if isinstance(size, int):
        return _of_facts(size)
    for name in SIZE_NAMES:
        if size == name:
            return SIZES[name]
    hint = did_you_mean(size, SIZE_NAMES)
    raise InputError("unknown world size", found=size, expected="one of " + ", ".join(SIZE_NAMES), hint=hint)


def _of_facts(facts: int) -> WorldSize:
    """A plausible world with this number of facts; a predefined size if one has the same number."""
    for preset in SIZES.values():
        if preset.facts == facts:
            return preset
    if not 3_000 <= facts <= 50_000_000:
        raise InputError("unsupported world size", field="facts", found=facts, expected="3000 to 50000000")
    actors = facts // 30
    return WorldSize(
        actors=actors,
        new_entities=min(actors // 4, 40_000),
        facts=facts,
        days=365 if facts < 6_000 else 730 if facts < 300_000 else 1_095 if facts < 3_000_000 else 1_826,
        countries=min(max(math.isqrt(facts) // 10, 4), 240),
        blocs=2 if facts < 10_000 else 4 if facts < 100_000 else 6,
    )
