"""Training, resuming, evaluating and predicting on a device that is not the CPU."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch

from fitcarl.config.presets import PRESETS
from fitcarl.core.device import CPU, device_of
from fitcarl.core.files import read_json
from fitcarl.core.storage import read_tensors
from fitcarl.predict import Predictor
from fitcarl.runs.evaluate import evaluate
from fitcarl.runs.evaluate_open import evaluate_open_relation
from fitcarl.runs.layout import RunFolder
from fitcarl.runs.run import Run
from fitcarl.training.api import TrainingInterrupted, resume, train
from tests.pretend_device import DEVICE, PretendDevice, with_fused_optimizers
from tests.small import SMALL_MODELS, data, home, small

__all__ = ["data", "home"]

pytestmark = pytest.mark.filterwarnings("ignore:for .* copying from a non-meta parameter")

NAMES = ("paper", "plus", "complex", "gen", "titer", "lan")


@pytest.fixture(autouse=True)
def _pretend_device() -> Iterator[None]:
    with with_fused_optimizers(), PretendDevice():
        yield


def trained(name: str, data: Path, out: Path, device: torch.device, setting: str = "completion") -> Run:
    chosen = {"preset": name} if name in PRESETS else {"model": name}
    settings = small(name) if name in PRESETS else SMALL_MODELS[name]
    options = {"shots": 2, "episodes": 4, "setting": setting, "settings": settings}
    return train(data, out=out, device=device, **options, **chosen)


def weights(run: Path) -> dict[str, torch.Tensor]:
    return read_tensors(RunFolder(run).weights)[0]


def assert_similar(found: Path, expected: Path, tolerance: float = 1e-3) -> None:
    """Rounding differs between devices, and Adam divides small gradients by their size."""
    one, other = weights(found), weights(expected)
    assert one.keys() == other.keys()
    for name, value in other.items():
        if name == "candidates.4.bias":  # plus: adds to all scores of a softmax, so its gradient is rounding only
            continue
        assert (one[name] - value).abs().mean() <= tolerance * max(float(value.abs().mean()), 1e-2), name


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_run_trained_on_a_device_resembles_that_of_the_cpu(
    name: str, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = trained(name, data, tmp_path / "cpu", CPU)
    monkeypatch.setenv("FITCARL_HOME", str(tmp_path / "home"))  # pre-training on the device, not from the cache
    run = trained(name, data, tmp_path / "device", DEVICE)
    assert device_of(run.model.module) == CPU
    assert read_json(run.folder.result)["device"] == "meta"
    assert run.folder.read_config() == expected.folder.read_config()
    assert_similar(run.folder.path, expected.folder.path)
    on_cpu, on_device = (evaluate(run, device=device) for device in (CPU, DEVICE))
    assert on_device.realistic.mrr == pytest.approx(on_cpu.realistic.mrr, rel=0.02)
    assert on_device.signature == on_cpu.signature


@pytest.mark.parametrize("name", ["paper", "complex"])  # fused Adam, and Adagrad, which counts steps on the CPU
@pytest.mark.parametrize(("first", "second"), [(DEVICE, CPU), (CPU, DEVICE), (DEVICE, DEVICE)])
def test_training_stopped_on_one_device_resumes_on_another(
    name: str, first: torch.device, second: torch.device, data: Path, tmp_path: Path
) -> None:
    whole = trained(name, data, tmp_path / "whole", CPU)
    chosen = {"preset": name} if name in PRESETS else {"model": name}
    settings = small(name) if name in PRESETS else SMALL_MODELS[name]
    episodes = []

    def stop_after_three() -> bool:
        return RunFolder(tmp_path / "parts").trace.exists() and len(episodes) >= 3

    def count(update: object) -> None:
        if getattr(update, "stage", "") == "training":
            episodes.append(update)

    options = {"shots": 2, "episodes": 4, "settings": settings, "on_progress": count, "should_stop": stop_after_three}
    with pytest.raises(TrainingInterrupted):
        train(data, out=tmp_path / "parts", device=first, **options, **chosen)
    run = resume(tmp_path / "parts", device=second)
    assert_similar(run.folder.path, whole.folder.path)


def test_forecast_of_plus_trains_and_evaluates_on_a_device(data: Path, tmp_path: Path) -> None:
    run = trained("plus", data, tmp_path / "run", DEVICE, "forecast")
    on_cpu, on_device = (evaluate(run, device=device) for device in (CPU, DEVICE))
    assert on_device.realistic.mrr == pytest.approx(on_cpu.realistic.mrr, rel=0.02)
    assert evaluate_open_relation(run, device=DEVICE).to_json()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["paper", "plus"])
def test_run_on_a_device_predicts_and_explains(name: str, data: Path, tmp_path: Path) -> None:
    run = trained(name, data, tmp_path / "run", CPU)
    [expected, found] = [_answers(Predictor(moved)) for moved in (run, run.to(DEVICE))]
    assert [entity for entity, _ in found] == [entity for entity, _ in expected]
    assert np.allclose([share for _, share in found], [share for _, share in expected], rtol=1e-3)


def _answers(predictor: Predictor) -> list[tuple[str, float]]:
    example = predictor.example()
    assert example is not None
    [prediction] = predictor.answer([example.query], example.facts)
    assert predictor.explain(example.query, prediction.answers[0].entity, example.facts)
    return [(answer.entity, answer.share) for answer in prediction.answers]
