"""Stored snapshots of statistics: equal to computed ones, ignored for other facts, reported if damaged."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from fitcarl.config.schema import PlusConfig
from fitcarl.errors import InputError
from fitcarl.models.base import GraphContext
from fitcarl.models.plus.snapshots import artifact_name, snapshot_ticks
from fitcarl.models.plus.statistics import GraphStatistics
from fitcarl.models.plus.trainable import PlusModel
from fitcarl.runs.run import Run
from fitcarl.tasks.task import NO_LIMIT
from fitcarl.training.api import train
from tests.small import SMALL, write_tiny


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("snapshots")
    train(write_tiny(path / "tiny"), out=path / "run", shots=3, preset="plus", episodes=1, settings=SMALL)
    return path / "run"


def model_of(run: Run) -> PlusModel:
    assert isinstance(run.model, PlusModel)
    return run.model


def same_rates(one: GraphStatistics, other: GraphStatistics) -> bool:
    arrays, others = one.arrays(), other.arrays()
    return all(np.array_equal(arrays[name], others[name]) for name in arrays)


def test_ticks_are_at_doublings_of_the_facts() -> None:
    times = np.sort(np.random.default_rng(0).integers(0, 50, 5000)).astype(np.int32)
    ticks = snapshot_ticks(times)
    for size, tick in zip((1000, 2000, 4000), ticks, strict=True):
        assert (times < tick).sum() >= size
        assert (times < tick - 1).sum() < size


def test_stored_snapshots_equal_computed_ones(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    loaded, computed = model_of(Run.load(folder)), model_of(Run.load(folder))
    computed = computed.refit_statistics(computed._background)
    assert len(loaded.snapshots.ticks) > 1

    def fail(*_: object, **__: object) -> None:
        raise AssertionError("computed instead of read")

    for number, tick in enumerate(loaded.snapshots.ticks.tolist(), start=1):
        expected = computed.timeline.at(tick)
        with monkeypatch.context() as patch:
            patch.setattr("fitcarl.models.plus.trainable.compute_statistics", fail)
            found = loaded.timeline.at(tick)
        assert same_rates(found, expected), number
        assert not same_rates(found, loaded.timeline.at(NO_LIMIT))


def test_snapshots_of_other_facts_are_computed_again(folder: Path) -> None:
    run = Run.load(folder)
    model = model_of(run)
    artifacts, name = run.folder.artifacts, artifact_name(1)
    tensors, about = artifacts.read(name)
    assert about["edges"] >= 1000
    tick = int(model.snapshots.ticks[0])
    expected = model.timeline.at(tick)
    artifacts.write(name, {key: torch.zeros_like(part) for key, part in tensors.items()}, {**about, "edges": 5})
    run.folder.write_manifest()
    try:
        assert same_rates(model_of(Run.load(folder)).timeline.at(tick), expected)
    finally:
        artifacts.write(name, tensors, about)
        run.folder.write_manifest()


def test_damaged_snapshot_is_reported(folder: Path) -> None:
    run = Run.load(folder)
    artifacts, name = run.folder.artifacts, artifact_name(1)
    tensors, about = artifacts.read(name)
    tick = int(model_of(run).snapshots.ticks[0])
    shorter = {**tensors, "excitation": tensors["excitation"][:10]}
    without = {key: part for key, part in tensors.items() if key != "excitation"}
    for damaged in (shorter, without):
        artifacts.write(name, damaged, about)
        run.folder.write_manifest()
        try:
            with pytest.raises(InputError, match=r"snapshot-01\.safetensors: is damaged"):
                model_of(Run.load(folder)).timeline.at(tick)
        finally:
            artifacts.write(name, tensors, about)
            run.folder.write_manifest()


def test_timelines_with_capacity_share_snapshots(folder: Path) -> None:
    run = Run.load(folder)
    model, tick = model_of(run), int(model_of(run).snapshots.ticks[0])
    wider = model.with_capacity(run.context.with_capacity(5))
    assert wider.snapshots is model.snapshots
    narrow, wide = model.timeline.at(tick), wider.timeline.at(tick)
    assert wide.entities == narrow.entities + 5
    assert wide.excitation is narrow.excitation
    assert np.array_equal(wide.embedding[:-5], narrow.embedding)
    assert not wide.embedding[-5:].any()
    assert replace(wide).degree.tolist() == wider.statistics.degree.tolist()


def test_statistics_are_the_same_after_the_background_was_dropped(context: GraphContext) -> None:
    model = PlusModel(PlusConfig(), context)
    expected = model.refit_statistics(context.graph)
    model.drop_background()
    assert len(model.statistics.event_time) == len(model.statistics.embedding) == 0
    found = model.refit_statistics(context.graph)
    arrays = found.statistics.arrays()
    for name, array in expected.statistics.arrays().items():
        np.testing.assert_array_equal(arrays[name], array)
    np.testing.assert_array_equal(found.statistics.scaling.scale, expected.statistics.scaling.scale)
    assert found.snapshots.ticks.tolist() == expected.snapshots.ticks.tolist()
