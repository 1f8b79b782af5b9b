"""Every trainable model on a device that is not the CPU, and with PyTorch operations instead of compiled loops."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from fitcarl.config.presets import PRESETS
from fitcarl.config.schema import ReachConfig
from fitcarl.config.settings import configure
from fitcarl.core.device import CPU, device_of, torch_operations
from fitcarl.core.progress import ignore_progress
from fitcarl.core.storage import Artifacts
from fitcarl.core.tensors import array_of
from fitcarl.data.dataset import Dataset
from fitcarl.data.io.dataset_folder import read_dataset
from fitcarl.models.base import Episode, GraphContext, Preparation, TrainableModel
from fitcarl.models.plus.reach.network import ReachNetwork
from fitcarl.models.plus.reach.training import train_reach
from fitcarl.models.registry import TRAINABLE, trainable_class
from fitcarl.tasks.task import Task, official_task
from fitcarl.training.setup import never_stop, prepare_data
from tests.pretend_device import DEVICE, PretendDevice, PretendTensor, with_fused_optimizers
from tests.small import SMALL_MODELS, data, home, small

__all__ = ["data", "home"]

CASES = {
    **{name: ({"model": name}, SMALL_MODELS[name]) for name in SMALL_MODELS},
    **{name: ({"preset": name}, small(name)) for name in ("paper", "paper-product", "authors")},
    "paper, tuned embeddings": ({"preset": "paper"}, (*small("paper"), "network.finetune=true")),
    "plus": ({"preset": "plus"}, small("plus")),
    "plus, forecast": ({"preset": "plus", "setting": "forecast"}, small("plus")),
    "plus, names": ({"preset": "plus"}, (*small("plus"), "features.names=true")),
    "gen, transductive": ({"model": "gen"}, (*SMALL_MODELS["gen"], "network.transductive=true")),
    "titer, inductive mean": ({"model": "titer"}, (*SMALL_MODELS["titer"], "search.inductive_mean=true")),
    "complex, sampled": ({"model": "complex"}, (*SMALL_MODELS["complex"], "training.negatives=20")),
    "complex, fold-in": ({"model": "complex"}, (*SMALL_MODELS["complex"], "sees=fold-in")),
    "telm, fold-in": ({"model": "telm"}, (*SMALL_MODELS["telm"], "sees=fold-in", "training.first_stage=1")),
    "tero, fold-in": ({"model": "tero"}, (*SMALL_MODELS["tero"], "sees=fold-in")),
}
"""Model or preset, and settings."""


@dataclass(frozen=True)
class Prepared:
    """An untrained model with a dataset and training episodes."""

    model: TrainableModel
    dataset: Dataset
    episodes: tuple[Episode, ...]
    test: Task


def prepare(name: str, data: Path, folder: Path, device: torch.device = CPU) -> Prepared:
    chosen, settings = CASES[name]
    config = configure(chosen.get("preset"), settings, model=chosen.get("model"), shots=2, seed=0)
    if "setting" in chosen:
        config = config.model_copy(update={"setting": chosen["setting"]})
    dataset = read_dataset(data)
    setup = prepare_data(dataset, config, "tiny")
    context = GraphContext.from_dataset(dataset, setup.time_unit)
    visible, artifacts = setup.sampler.always_visible_facts, Artifacts(folder)
    preparation = Preparation(dataset, config, context, visible, artifacts, ignore_progress, never_stop, device)
    model = trainable_class(config.model).prepare(preparation)
    episodes = tuple(Episode(setup.sampler.sample(number).task, number, number) for number in (1, 2))
    test = official_task(dataset.test, 2, dataset.vocabulary.relation_ids, config.setting)
    return Prepared(model, dataset, episodes, test)


@pytest.fixture(scope="module", params=CASES)
def prepared(request: pytest.FixtureRequest, data: Path, tmp_path_factory: pytest.TempPathFactory) -> Prepared:
    return prepare(request.param, data, tmp_path_factory.mktemp("model"))


def gradients(model: TrainableModel, episodes: tuple[Episode, ...]) -> dict[str, NDArray[np.float32]]:
    """The losses of the episodes, and the gradients of their sum by parameter."""
    model.module.zero_grad(set_to_none=True)
    before = {name: value.clone() for name, value in model.module.state_dict().items()}
    losses = []
    for episode in episodes:
        loss = model.training_step(episode).loss
        loss.backward()
        losses.append(float(loss.detach()))
    named = {name: value for name, value in model.module.named_parameters() if value.requires_grad}
    found = {name: np.zeros(1) if value.grad is None else array_of(value.grad).copy() for name, value in named.items()}
    model.module.load_state_dict(before)  # some models change their tables where a stage of training begins
    return {**found, "loss": np.array(losses)}


def assert_close(found: dict[str, NDArray[np.float32]], expected: dict[str, NDArray[np.float32]]) -> None:
    """Compares to 1e-5 of each parameter's largest gradient; some gradients are 0 but for rounding."""
    assert found.keys() == expected.keys()
    floor = 1e-2 * max(float(np.abs(value).max()) for name, value in expected.items() if name != "loss")
    for name, value in expected.items():
        largest = max(float(np.abs(value).max()), floor)
        assert np.abs(found[name] - value).max() <= 1e-5 * largest, name


def test_every_trainable_model_is_checked() -> None:
    assert {configure(preset).model for preset in PRESETS} | SMALL_MODELS.keys() == TRAINABLE.keys()
    assert SMALL_MODELS.keys() | {"paper", "plus"} <= CASES.keys()


def test_torch_operations_give_the_loss_and_gradients_of_compiled_loops(prepared: Prepared) -> None:
    expected = gradients(prepared.model, prepared.episodes)
    with torch_operations():
        assert_close(gradients(prepared.model, prepared.episodes), expected)


def test_model_on_another_device_gives_the_same_loss_and_gradients(prepared: Prepared) -> None:
    expected = gradients(prepared.model, prepared.episodes)
    with PretendDevice():
        moved = prepared.model.to(DEVICE)
        assert device_of(moved.module) == DEVICE
        assert_close(gradients(moved, prepared.episodes), expected)
        assert all(isinstance(value, PretendTensor) for value in moved.module.parameters())
    assert device_of(prepared.model.module) == CPU


def test_scorer_on_another_device_gives_the_same_scores(prepared: Prepared) -> None:
    task = prepared.test
    queries = task.queries.take(slice(0, 12))
    expected = prepared.model.scorer().score(task, queries)
    with PretendDevice():
        found = prepared.model.to(DEVICE).scorer().score(task, queries)
    assert np.array_equal(found.offsets, expected.offsets)
    assert np.array_equal(found.entity, expected.entity)
    assert np.allclose(found.score, expected.score, rtol=1e-4, atol=1e-4)


def test_model_returns_to_the_cpu_unchanged(prepared: Prepared) -> None:
    with PretendDevice():
        returned = prepared.model.to(DEVICE).to(CPU)
    for name, value in prepared.model.module.named_parameters():
        assert torch.equal(value, returned.module.get_parameter(name)), name
    assert_close(gradients(returned, prepared.episodes), gradients(prepared.model, prepared.episodes))


@pytest.mark.parametrize("name", ["gen", "plus"])
def test_pretraining_runs_on_the_device(name: str, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = []
    for device in (CPU, DEVICE):
        monkeypatch.setenv("FITCARL_HOME", str(tmp_path / device.type / "home"))  # nothing is cached
        with with_fused_optimizers(), PretendDevice() as pretend:
            prepare(name, data, tmp_path / device.type, device)
        assert (pretend.operations > 100) == (device == DEVICE)
        artifact = "encoder" if name == "plus" else "embeddings"
        found.append(Artifacts(tmp_path / device.type).read(artifact)[0])
    assert_similar(found[1], found[0])


def assert_similar(found: dict[str, torch.Tensor], expected: dict[str, torch.Tensor]) -> None:
    """Compares trained tensors: rounding differs, and optimizers divide small gradients by their size."""
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        if value.numel():
            change = (found[name].double() - value.double()).abs().mean()
            assert change <= 1e-3 * max(float(value.double().abs().mean()), 1e-2), name


def test_reach_network_is_trained_on_the_device(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    devices = []

    def train(*arguments: Any) -> ReachNetwork:
        devices.append(arguments[-2])
        return train_reach(*arguments)

    monkeypatch.setattr("fitcarl.models.plus.parts.train_reach", train)
    with with_fused_optimizers(), PretendDevice():
        prepared = prepare("plus, forecast", data, tmp_path, DEVICE)
        context = GraphContext.from_dataset(prepared.dataset)
        arguments = context.graph, context.units_per_tick, ReachConfig(max_updates=5, min_updates=1), 0, 2, None
        found, expected = (train_reach(*arguments, device).state_dict() for device in (DEVICE, CPU))
    assert devices == [DEVICE]
    assert_similar(found, expected)


def test_large_encoder_is_trained_and_scores_on_the_device(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With updates of single rows, and with a pool instead of all entities."""
    monkeypatch.setattr("fitcarl.models.plus.encoder.optimizer.ROW_WISE_FROM", 1)
    monkeypatch.setattr("fitcarl.models.plus.encoder.scorer.POOL_FROM", 1)
    found = []
    for device in (CPU, DEVICE):
        monkeypatch.setenv("FITCARL_HOME", str(tmp_path / device.type / "home"))  # nothing is cached
        with with_fused_optimizers(), PretendDevice():
            prepared = prepare("plus", data, tmp_path / device.type, device)
            scores = prepared.model.to(device).scorer().score(prepared.test, prepared.test.queries)
        found.append((Artifacts(tmp_path / device.type).read("encoder")[0], scores))
    [(expected, on_cpu), (weights, on_device)] = found
    assert_similar(weights, expected)
    assert len(on_device.entity) == pytest.approx(len(on_cpu.entity), rel=0.01)
    assert on_device.score.mean() == pytest.approx(on_cpu.score.mean(), rel=0.01)
