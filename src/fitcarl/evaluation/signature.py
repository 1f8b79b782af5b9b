"""How a number was obtained, in one line that travels with it."""

from __future__ import annotations

from dataclasses import dataclass

import fitcarl
from fitcarl.data.dataset import Split
from fitcarl.evaluation.filtering import Filter
from fitcarl.evaluation.ranks import RankType


@dataclass(frozen=True)
class Signature:
    """All that has to be equal before two numbers may be compared."""

    ranks: RankType
    filter: Filter
    split: Split
    shots: int
    draws: int
    """Resampled supports beside the official draw."""
    seeds: int
    """Training runs that the number is a mean of."""
    data: str
    digest: str
    """sha256 of the dataset's content."""
    extra: tuple[tuple[str, str], ...] = ()
    """What else the scorer was given, such as ``("names", "on")``."""

    def __str__(self) -> str:
        parts = [
            ("ranks", self.ranks),
            ("filter", self.filter),
            ("cand", "all"),
            ("split", self.split),
            ("shots", str(self.shots)),
            ("draws", f"1+{self.draws}"),
            ("seeds", str(self.seeds)),
            ("data", f"{self.data}@{self.digest[:12]}"),
            *self.extra,
            ("fitcarl", fitcarl.__version__),
        ]
        return "|".join(f"{key}:{value}" for key, value in parts)
