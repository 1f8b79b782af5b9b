"""Trains models in turn. Tests start it with torchrun, and call ``train_case`` for the result of one process.

Usage: torchrun … -m tests.training.ranks DATA OUT STOP CASE …; rank 1 requests a stop after STOP episodes, if not 0.
"""

from __future__ import annotations

import sys
from contextlib import suppress
from pathlib import Path

from fitcarl.core.distributed import launched_rank
from fitcarl.training.api import TrainingInterrupted, train
from tests.small import SMALL, SMALL_MODELS, SMALL_PAPER

_SMALL_PLUS = (*SMALL, "encoder.max_updates=8", "reach.max_updates=8", "policy.train_candidates=10")
_BASELINE = ("training.baseline=standardise", "training.reward=return", "training.entropy_coef=0.1")

CASES: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "plus": ("plus", "completion", _SMALL_PLUS),
    "plus-forecast": ("plus", "forecast", (*_SMALL_PLUS, "features.names=true")),
    "fitcarl": ("fitcarl", "completion", SMALL_PAPER),
    "fitcarl-baseline": ("fitcarl", "completion", (*SMALL_PAPER, *_BASELINE)),
    **{name: (name, "completion", SMALL_MODELS[name]) for name in SMALL_MODELS},
    "complex-sampled": ("complex", "completion", (*SMALL_MODELS["complex"], "training.negatives=20")),
    "gen-transductive": ("gen", "completion", (*SMALL_MODELS["gen"], "network.transductive=true")),
}
"""Model, setting and further settings by name."""

EPISODES = 4


def train_case(case: str, data: Path, out: Path, stop_after: int = 0) -> None:
    """Trains one model; rank 1 requests a stop after some episodes."""
    model, setting, settings = CASES[case]
    polled = 0

    def should_stop() -> bool:
        nonlocal polled
        polled += 1
        return launched_rank()[0] == 1 and polled == stop_after

    given = {"model": model, "setting": setting, "settings": settings, "should_stop": should_stop}
    train(data, out=out / case, shots=3, episodes=EPISODES, seed=1, **given)  # type: ignore[arg-type]


if __name__ == "__main__":
    for name in sys.argv[4:]:
        with suppress(TrainingInterrupted):
            train_case(name, Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]))
