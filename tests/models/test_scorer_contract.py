"""Trained models keep the contract of scorers."""

from __future__ import annotations

from pathlib import Path

import pytest

from fitcarl.config.presets import PRESETS
from fitcarl.config.settings import configure
from fitcarl.data.io.dataset_folder import read_dataset
from fitcarl.models.registry import TRAINABLE
from fitcarl.runs.run import Run
from fitcarl.testing import check_scorer
from fitcarl.training.api import train
from tests.small import SMALL_MODELS, data, home, small

__all__ = ["data", "home"]


@pytest.fixture(scope="module", params=[*PRESETS, *SMALL_MODELS])
def run(request: pytest.FixtureRequest, data: Path, tmp_path_factory: pytest.TempPathFactory) -> Run:
    name, out = request.param, tmp_path_factory.mktemp("contract") / "run"
    if name in PRESETS:
        return train(data, out=out, shots=2, preset=name, episodes=2, settings=small(name))
    return train(data, out=out, shots=2, model=name, episodes=2, settings=SMALL_MODELS[name])


def test_every_trainable_model_is_checked() -> None:
    assert {configure(preset).model for preset in PRESETS} | SMALL_MODELS.keys() == TRAINABLE.keys()


def test_trained_model_keeps_contract(run: Run, data: Path) -> None:
    dataset = read_dataset(data)
    scorer = run.scorer_for(dataset)
    other_draw = not run.config.official_supports_only
    check_scorer(scorer, dataset, shots=2, make=run.scorer_for, tolerance=1e-5, check_other_draw=other_draw)
