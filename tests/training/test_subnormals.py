"""Where a training takes subnormal numbers as 0, and that its callbacks compute with them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from fitcarl.core.progress import Interrupted, Progress
from fitcarl.core.subnormals import subnormals_are_zero
from fitcarl.data.io.registry import load_dataset
from fitcarl.models.base import Episode, EpisodeResult
from fitcarl.training import api
from fitcarl.training.api import TrainingInterrupted, train
from fitcarl.training.setup import Callbacks
from tests.small import SMALL_PAPER
from tests.training.test_guards import Parabola, run, setup_of

pytestmark = pytest.mark.skipif(
    not torch.set_flush_denormal(True) or torch.set_flush_denormal(False) is None,
    reason="the processor cannot take subnormal numbers as 0",
)


def test_subnormal_numbers_are_zero_in_an_episode(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    treated: list[bool] = []

    class Recording(Parabola):
        def training_step(self, episode: Episode) -> EpisodeResult:
            treated.append(subnormals_are_zero())
            return super().training_step(episode)

    run(setup_of(load_dataset(data), episodes=2), Recording(), tmp_path, monkeypatch)
    assert treated == [True] * 2
    assert not subnormals_are_zero()


def test_subnormal_numbers_are_zero_in_preparation_but_not_in_callbacks(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads = torch.get_num_threads()
    rows = torch.full((1_000_000,), 2.0**-100)
    found: list[float] = []

    def kept() -> float:
        """The share of subnormal products of an operation that several threads compute."""
        return float(torch.count_nonzero(rows * 2.0**-30)) / len(rows)

    def prepare(_setup: object, _context: object, _folder: object, callbacks: Callbacks, *_: Any) -> None:
        found.append(kept())
        callbacks.on_progress(Progress("encoder", 1, 2))
        if callbacks.should_stop():
            found.append(kept())
            raise Interrupted

    def on_progress(_: Progress) -> None:
        found.append(kept())

    def should_stop() -> bool:
        found.append(kept())
        return True

    monkeypatch.setattr(api, "_prepared_model", prepare)
    callbacks = {"on_progress": on_progress, "should_stop": should_stop}
    torch.set_num_threads(2)
    try:
        with pytest.raises(TrainingInterrupted):
            train(data, out=tmp_path / "run", preset="paper", settings=SMALL_PAPER, **callbacks)  # type: ignore[arg-type]
    finally:
        torch.set_num_threads(threads)
    assert found == [0, 1, 1, 0]
    assert not subnormals_are_zero()
