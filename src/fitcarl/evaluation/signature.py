"""The evaluation protocol behind a number, in one line."""

from __future__ import annotations

from dataclasses import dataclass

import fitcarl
from fitcarl.config.base import Setting
from fitcarl.data.dataset import Split
from fitcarl.evaluation.filtering import Filter
from fitcarl.evaluation.ranks import RankType


@dataclass(frozen=True)
class Signature:
    """Everything that must be equal for two numbers to be comparable."""

    ranks: RankType
    filter: Filter
    split: Split
    shots: int
    draws: int
    """Resampled supports in addition to the official ones."""
    seeds: int
    """Training runs that the number is averaged over."""
    data: str
    digest: str
    """sha256 of the content of the dataset."""
    setting: Setting = "completion"
    extra: tuple[tuple[str, str], ...] = ()
    """Further inputs of the scorer, such as ``("names", "on")``."""

    def __str__(self) -> str:
        parts = [
            ("ranks", self.ranks),
            ("filter", self.filter),
            ("cand", "all"),
            ("split", self.split),
            ("setting", self.setting),
            ("shots", str(self.shots)),
            ("draws", f"1+{self.draws}"),
            ("seeds", str(self.seeds)),
            ("data", f"{self.data}@{self.digest[:12]}"),
            *self.extra,
            ("fitcarl", fitcarl.__version__),
        ]
        return "|".join(f"{key}:{value}" for key, value in parts)
