"""Where the features of a family are."""

from __future__ import annotations

from fitcarl.models.plus.features.normalise import FAMILIES


def columns_of(family: str) -> slice:
    before = 0
    for name, size in FAMILIES.items():
        if name == family:
            return slice(before, before + size)
        before += size
    raise KeyError(family)
