"""How long-running functions report progress and are stopped."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Progress:
    """One progress update of a long-running function."""

    stage: str
    """User-visible name of the work: "training", "encoder", "reach", "embeddings", "evaluation", "download"."""
    done: int
    """Units finished so far."""
    total: int
    """Units in all; 0 if unknown."""
    unit: str = ""
    """What is counted: "episodes", "updates", "queries", "bytes"."""
    metrics: Mapping[str, float] = field(default_factory=dict)
    """Current values by name, such as loss or best_mrr."""
    seconds_left: float | None = None
    """Estimated remaining time."""


OnProgress = Callable[[Progress], None]
"""Called with every update; must return quickly."""


def ignore_progress(_progress: Progress) -> None:
    """Reports no progress."""


ShouldStop = Callable[[], bool]
"""Polled between units of work; returning True requests a clean stop."""


class Interrupted(Exception):  # noqa: N818 - the expected reaction to a stop request, as KeyboardInterrupt is
    """Work ended early because ``should_stop`` returned True."""
