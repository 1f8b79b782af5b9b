"""Runs are calibrated on meta-validation only, and reports state what differs from training."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from fitcarl.data.io.registry import load_dataset
from fitcarl.data.quadruples import Quadruples
from fitcarl.errors import InputError
from fitcarl.evaluation.calibration import Calibration
from fitcarl.runs.evaluate import calibrate, evaluate
from fitcarl.runs.layout import RunFolder
from fitcarl.runs.run import Run
from fitcarl.training.api import train
from tests.small import SMALL, small

SHOTS = 2


@pytest.fixture(scope="module", params=["plus", "paper"])
def run(request: pytest.FixtureRequest, data: Path, tmp_path_factory: pytest.TempPathFactory) -> Run:
    out = tmp_path_factory.mktemp("runs") / request.param
    return train(data, out=out, shots=SHOTS, preset=request.param, episodes=4, settings=small(request.param))


def test_run_is_calibrated_at_the_end_of_training(run: Run, data: Path) -> None:
    assert run.calibration is not None
    stored = json.loads(run.folder.calibration.read_text())
    assert stored == {setting: found.to_json() for setting, found in run.calibrations.items()}
    dataset, scorer, seed = load_dataset(str(data)), run.model.scorer(), run.config.seed
    assert calibrate(scorer, dataset, SHOTS, seed=seed) == run.calibration == run.calibration_for("completion")
    forecast = calibrate(scorer, dataset, SHOTS, setting="forecast", seed=seed, max_queries=500)
    assert forecast == run.calibration_for("forecast") != run.calibration


def test_calibration_of_an_earlier_version_belongs_to_the_setting_of_the_run(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path)
    folder.calibration.write_text('{"temperature": 2.0, "unlisted_mass": 0.25}')
    assert folder.read_calibrations("forecast") == {"forecast": Calibration(2.0, 0.25)}
    folder.calibration.write_text('{"forecast": {"temperature": -1, "unlisted_mass": 0}}')
    with pytest.raises(InputError, match="is damaged"):
        folder.read_calibrations("forecast")


def test_calibration_does_not_depend_on_test_facts(run: Run, data: Path) -> None:
    dataset = load_dataset(str(data))
    other = replace(dataset, test=dataset.train)
    assert calibrate(run.model.scorer(), other, SHOTS, seed=run.config.seed) == run.calibration


def test_report_has_the_calibration_of_the_run(run: Run) -> None:
    report = evaluate(run, split="valid")
    assert report.calibration_report is not None
    assert report.calibration_report.calibration == run.calibration


def test_signature_has_the_shots_of_the_training(run: Run) -> None:
    assert "trained" not in str(evaluate(run).signature)
    assert "|shots:1|" in str(evaluate(run, shots=1).signature)
    assert "|trained-shots:2|" in str(evaluate(run, shots=1).signature)


def test_signature_counts_entities_seen_in_training(run: Run, data: Path) -> None:
    dataset = load_dataset(str(data))
    turned = replace(dataset, valid=dataset.test, test=dataset.valid)
    sign = str(evaluate(run, data=turned).signature)
    assert f"|unseen-in-training-tasks:{len(dataset.valid.entities)}|" in sign
    assert "unseen-in-training-background" not in sign
    assert "unseen-in-training" not in str(evaluate(run, data=turned, split="valid").signature)


def test_damaged_calibration_is_reported(run: Run, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(run.folder.path, copy)
    (copy / "calibration.json").write_text('{"temperature": -1, "unlisted_mass": 0}')
    RunFolder(copy).write_manifest()
    with pytest.raises(InputError, match=r"calibration\.json"):
        Run.load(copy)
    (copy / "calibration.json").unlink()
    with pytest.raises(InputError, match=r"calibration\.json: is missing"):
        Run.load(copy)


def test_dataset_with_unseen_entities_in_the_background_is_rejected(run: Run, data: Path, tmp_path: Path) -> None:
    dataset = load_dataset(str(data))
    shown = Quadruples.concat([dataset.background, dataset.test.facts])
    leaky = replace(dataset, background=shown)
    row = r"tiny/background\.tsv, row \d+, field subject: an unseen entity"
    with pytest.raises(InputError, match=row):
        evaluate(run, data=leaky)
    with pytest.raises(InputError, match=row):
        train(leaky, out=tmp_path / "run", shots=SHOTS, settings=SMALL)
    assert not (tmp_path / "run").exists()
