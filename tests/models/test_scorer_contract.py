"""Trained models keep the contract of scorers."""

from __future__ import annotations

from pathlib import Path

import pytest

from fitcarl.config.presets import PRESETS
from fitcarl.config.settings import configure
from fitcarl.data.io.dataset_folder import read_dataset
from fitcarl.errors import InputError
from fitcarl.models.registry import TRAINABLE
from fitcarl.runs.evaluate import evaluate
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


def test_forecast_uses_no_fact_at_or_after_the_query(run: Run, data: Path) -> None:
    dataset = read_dataset(data)
    if run.config.official_supports_only:  # the earliest facts are others than those it was trained on
        with pytest.raises(InputError, match="leak"):
            evaluate(run, setting="forecast")
        return
    scorer = run.scorer_for(dataset)
    check_scorer(scorer, dataset, shots=2, setting="forecast", make=run.scorer_for, tolerance=1e-5)


@pytest.mark.parametrize("name", ["plus", "paper", "filt", "complex", "titer", "mean"])
def test_model_trained_for_forecast_keeps_contract(name: str, data: Path, tmp_path: Path) -> None:
    chosen = {"preset": name} if name in PRESETS else {"model": name}
    settings = small(name) if name in PRESETS else SMALL_MODELS[name]
    run = train(data, out=tmp_path / "run", shots=2, setting="forecast", episodes=2, settings=settings, **chosen)
    assert run.config.setting == "forecast"
    report = evaluate(run)
    assert report.signature.setting == "forecast"
    assert "trained-setting" not in dict(report.signature.extra)
    if not run.config.official_supports_only:
        assert dict(evaluate(run, setting="completion").signature.extra)["trained-setting"] == "forecast"
    dataset = read_dataset(data)
    other_draw = not run.config.official_supports_only
    check_scorer(
        run.scorer_for(dataset),
        dataset,
        shots=2,
        setting="forecast",
        make=run.scorer_for,
        tolerance=1e-5,
        check_other_draw=other_draw,
    )
