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
from tests.small import data, home, small

__all__ = ["data", "home"]


@pytest.fixture(scope="module", params=list(PRESETS))
def run(request: pytest.FixtureRequest, data: Path, tmp_path_factory: pytest.TempPathFactory) -> Run:
    out = tmp_path_factory.mktemp("contract") / "run"
    return train(data, out=out, shots=2, preset=request.param, episodes=2, settings=small(request.param))


def test_every_trainable_model_is_checked() -> None:
    assert {configure(preset).model for preset in PRESETS} == set(TRAINABLE)


def test_trained_model_keeps_contract(run: Run, data: Path) -> None:
    dataset = read_dataset(data)
    scorer = run.scorer_for(dataset)
    check_scorer(scorer, dataset, shots=2, make=run.scorer_for, tolerance=1e-5)
