"""Kinds of actors in the demo world: name templates, concepts, sides and activity."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fitcarl.synthetic.names import IDEAS, PAPERS, TRADES
from fitcarl.synthetic.verbs import SIDES


@dataclass(frozen=True)
class Kind:
    """One kind of actor. Templates may use home, town, bloc, cause, stem, person and variant."""

    name: str
    side: str
    weight: float
    """Mean sampling weight of such an actor."""
    concepts: tuple[str, ...]
    """Concepts from general to specific; one to four levels."""
    template: str
    again: str = "{person}"
    """The template if the first one gives a name that is already used."""
    variants: tuple[str, ...] = ("",)
    mix: int = 0
    """Relative frequency among the actors of a country that are not institutions."""
    emerging: int = 0
    """Relative frequency among new entities."""


_MINISTRIES = (
    *("Defence", "Foreign Affairs", "Interior", "Finance", "Trade", "Justice", "Energy", "Health"),
    *("Education", "Agriculture", "Transport", "Labour", "Environment", "Culture"),
)
_PEOPLE = ("Citizens", "Students", "Farmers", "Miners", "Teachers", "Dock Workers", "Doctors", "Pensioners")
_BODIES = ("Council", "Development Bank", "Observer Mission", "Court of Arbitration")

KINDS: tuple[Kind, ...] = (
    Kind("country", "state", 30, ("Country",), "{home}"),
    Kind("head", "state", 6, ("Government", "Executive", "Head of Government"), "{person}"),
    Kind("commission", "state", 2, ("Government", "Electoral Body"), "Electoral Commission ({home})"),
    Kind("chamber", "business", 2, ("Business", "Trade Association"), "Chamber of Commerce ({home})"),
    Kind(
        "ministry",
        "state",
        3,
        ("Government", "Executive", "Ministry", "{variant}"),
        "Ministry of {variant} ({home})",
        variants=_MINISTRIES,
    ),
    Kind("army", "armed", 4, ("Government", "Military"), "Armed Forces ({home})"),
    Kind("police", "state", 4, ("Government", "Police"), "Police ({home})"),
    Kind("people", "society", 4, ("Society", "{variant}"), "{variant} ({home})", variants=_PEOPLE),
    Kind("court", "state", 2, ("Government", "Judiciary"), "High Court ({home})"),
    Kind(
        "media",
        "society",
        1.6,
        ("Society", "Media", "{variant}"),
        "{town} {variant} ({home})",
        "{cause} {variant} of {town} ({home})",
        variants=PAPERS,
        mix=3,
    ),
    Kind(
        "party",
        "opposition",
        1.8,
        ("Party", "{variant}"),
        "{variant} Party ({home})",
        "{variant} Party of {town} ({home})",
        variants=IDEAS,
        mix=4,
        emerging=3,
    ),
    Kind(
        "movement",
        "opposition",
        1.5,
        ("Dissident", "Movement"),
        "{cause} Movement ({home})",
        "{cause} Movement of {town} ({home})",
        mix=4,
        emerging=6,
    ),
    Kind(
        "rebels",
        "armed",
        1.5,
        ("Dissident", "Armed Group"),
        "{cause} Front ({home})",
        "{cause} Front of {town} ({home})",
        mix=2,
        emerging=2,
    ),
    Kind(
        "company",
        "business",
        1.4,
        ("Business", "{variant}"),
        "{stem} {variant} ({home})",
        "{stem} {variant} of {town} ({home})",
        variants=TRADES,
        mix=6,
        emerging=4,
    ),
    Kind(
        "relief",
        "society",
        1.3,
        ("Society", "Aid Organisation"),
        "{cause} Relief ({home})",
        "{cause} Relief of {town} ({home})",
        mix=2,
        emerging=2,
    ),
    Kind("town", "state", 1.2, ("Government", "Local"), "Administration of {town} ({home})", mix=2),
    Kind("official", "state", 1.2, ("Government", "Executive", "Official"), "{person}", mix=3),
    Kind("legislator", "opposition", 1.1, ("Government", "Legislature"), "{person}", mix=4),
    Kind("activist", "opposition", 1, ("Dissident", "Activist"), "{person}", mix=3, emerging=4),
    Kind("manager", "business", 1, ("Business", "Business Person"), "{person}", mix=2, emerging=1),
    Kind(
        "organisation",
        "state",
        8,
        ("International Organisation", "Regional", "{variant}"),
        "{variant} of the {bloc}",
        variants=_BODIES,
    ),
)

_NUMBER = {kind.name: number for number, kind in enumerate(KINDS)}
BODIES = len(_BODIES)
"""International organisations per bloc."""


def kind_id(name: str) -> int:
    """The number of a kind."""
    return _NUMBER[name]


SIDE: NDArray[np.int8] = np.array([SIDES.index(kind.side) for kind in KINDS], dtype=np.int8)
"""int8 [kinds]: index into SIDES."""
WEIGHT: NDArray[np.float64] = np.array([kind.weight for kind in KINDS])
VARIANTS: NDArray[np.int64] = np.array([len(kind.variants) for kind in KINDS])
MIX: NDArray[np.float64] = np.array([kind.mix for kind in KINDS]) / sum(kind.mix for kind in KINDS)
EMERGING: NDArray[np.float64] = np.array([kind.emerging for kind in KINDS]) / sum(kind.emerging for kind in KINDS)

INSTITUTIONS: tuple[tuple[int, int], ...] = tuple(
    (kind_id(kind), variant)
    for kind, variant in (
        *(("country", 0), ("head", 0), ("commission", 0), ("chamber", 0)),
        *(("ministry", 0), ("ministry", 1), ("ministry", 2), ("ministry", 3)),
        *(("army", 0), ("police", 0), ("people", 0), ("people", 1)),
        *(("court", 0), *(("people", i) for i in range(2, len(_PEOPLE)))),
        *(("ministry", i) for i in range(4, len(_MINISTRIES))),
    )
)
"""(kind, variant) of the institutions of a country; the country itself is the first."""
MIN_INSTITUTIONS = 12
"""Minimum number of institutions per country."""
