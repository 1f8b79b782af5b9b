"""Search for hyper-parameters: meta-validation only, resumable, shared, with the best settings as a preset."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fitcarl.config.settings import configure
from fitcarl.data.dataset import Dataset
from fitcarl.data.io.dataset_folder import read_dataset
from fitcarl.errors import InputError
from fitcarl.experiments import study as studies
from fitcarl.experiments import tuning
from fitcarl.experiments.search_spaces import GRID_108, Choice, Range, SearchSpace, find_search_space, search_spaces
from fitcarl.experiments.study import StudyResult, TuningPlan, open_study, write_study
from fitcarl.experiments.systems import find_systems
from fitcarl.experiments.tuning import tune, without_test
from fitcarl.models.registry import TRAINABLE
from fitcarl.runs.evaluate import evaluate
from fitcarl.training.api import TrainingInterrupted, train
from tests.small import SMALL_PAPER

pytest.importorskip("optuna")

SETTINGS = (*SMALL_PAPER, "training.episodes=4", "training.validate_every=2")
SPACE = SearchSpace("default", {"network.hops": Choice((1, 2)), "training.gamma": Range(0.8, 1.0)})
GRID = SearchSpace("default", {"network.hops": Choice((1, 2)), "training.gamma": Choice((0.9, 0.95))}, grid=True)


@pytest.fixture(autouse=True)
def space(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(studies, "find_search_space", lambda _model, _study: SPACE)


@pytest.fixture(scope="module")
def plan(data: Path) -> TuningPlan:
    return TuningPlan(str(data), preset="paper", shots=2, draws=1, settings=SETTINGS)


@pytest.fixture(scope="module")
def study(plan: TuningPlan, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, StudyResult]:
    storage = tmp_path_factory.mktemp("study") / "tiny.journal"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(studies, "find_search_space", lambda _model, _study: SPACE)
        return storage, tune(plan, storage, 3)


def never(*_arguments: Any, **_options: Any) -> None:
    raise AssertionError("trained or evaluated again")


@pytest.mark.parametrize("model", TRAINABLE)
def test_every_space_has_settings_of_its_model(model: str) -> None:
    for one in search_spaces(model).values():
        assert one.parameters
        for name, parameter in one.parameters.items():
            bounds = parameter.values if isinstance(parameter, Choice) else (parameter.low, parameter.high)
            for value in bounds:
                configure(None, [f"{name}={value}"], model=model)
    assert any(name == "training.learning_rate" for name in search_spaces(model)["default"].parameters)


def test_grid_of_the_paper_has_108_points_and_its_best_setting() -> None:
    assert GRID_108.size == 108
    best = configure("paper").model_dump()
    for name, parameter in GRID_108.parameters.items():
        section, field = name.split(".")
        assert isinstance(parameter, Choice)
        assert best[section][field] in parameter.values


def test_unknown_study_is_rejected() -> None:
    with pytest.raises(InputError, match="no such study of model plus"):
        find_search_space("plus", "grid108")
    with pytest.raises(InputError, match="did you mean 'grid108'"):
        find_search_space("fitcarl", "grid18")


def test_value_is_the_mean_over_draws_on_meta_validation(
    plan: TuningPlan, study: tuple[Path, StudyResult], tmp_path: Path, data: Path
) -> None:
    best = study[1].best
    assert best is not None
    settings = [*SETTINGS, *(f"{name}={value}" for name, value in best.settings.items())]
    dataset = without_test(read_dataset(data))
    train(dataset, out=tmp_path / "run", preset="paper", shots=2, settings=settings)
    report = evaluate(tmp_path / "run", split="valid", data=dataset, draws=plan.draws)
    assert best.value == pytest.approx(report.over_draws.mean, abs=1e-12)


def test_test_split_is_out_of_reach(plan: TuningPlan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Dataset] = []

    def spy(dataset: Dataset, **_options: Any) -> None:
        seen.append(dataset)
        raise InputError("enough")

    monkeypatch.setattr(tuning, "train", spy)
    with pytest.raises(InputError, match="enough"):
        tune(plan, tmp_path / "study.journal", 1)
    full = read_dataset(Path(plan.data))
    [dataset] = seen
    assert len(dataset.test) == len(dataset.dropped) == 0
    entities = np.concatenate([dataset.everything.subject, dataset.everything.object])
    assert not np.isin(full.test.entities, entities).any()


def test_second_call_trains_nothing(
    plan: TuningPlan, study: tuple[Path, StudyResult], monkeypatch: pytest.MonkeyPatch
) -> None:
    storage, result = study
    monkeypatch.setattr(tuning, "train", never)
    monkeypatch.setattr(tuning, "evaluate", never)
    assert tune(plan, storage, 3) == result
    assert len(result.trials) == 3


def test_study_with_another_plan_is_rejected(plan: TuningPlan, study: tuple[Path, StudyResult]) -> None:
    with pytest.raises(InputError, match="is a study with other draws"):
        tune(replace(plan, draws=2), study[0], 3)


def test_interrupted_trial_is_continued(plan: TuningPlan, study: tuple[Path, StudyResult], tmp_path: Path) -> None:
    storage = tmp_path / "study.journal"
    with pytest.raises(TrainingInterrupted, match="run the same command again"):
        tune(plan, storage, 3, should_stop=lambda: True)
    assert list((tmp_path / "study.journal.trials").glob("*/trial-0/seed-0/state.safetensors"))
    again = tune(plan, storage, 1)
    assert [trial.settings for trial in again.trials] == [study[1].trials[0].settings]
    assert again.trials[0].value == pytest.approx(study[1].trials[0].value)
    assert not list((tmp_path / "study.journal.trials").glob("*/trial-*"))


def test_trial_of_a_killed_process_is_queued_again(plan: TuningPlan, tmp_path: Path, data: Path) -> None:
    import socket

    storage = tmp_path / "study.journal"
    lost = open_study(plan, storage, without_test(read_dataset(data))).ask()
    SPACE.settings(lost)
    lost.set_user_attr("folder", "trial-0")
    lost.set_user_attr("process", f"{socket.gethostname()}:{2**22 + 1}")  # above the largest process id
    result = tune(plan, storage, 1)
    assert [trial.settings for trial in result.trials] == [lost.params]


def test_grid_tries_every_point_once(plan: TuningPlan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(studies, "find_search_space", lambda _model, _study: GRID)
    monkeypatch.setattr(tuning.TrialObjective, "_evaluate", lambda self, trial: len(str(self.space.settings(trial))))
    result = tune(plan, tmp_path / "study.journal")
    points = {tuple(trial.settings.values()) for trial in result.trials}
    assert points == {(1, 0.9), (1, 0.95), (2, 0.9), (2, 0.95)}
    assert len(result.trials) == 4


def test_poor_trial_is_pruned(plan: TuningPlan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(studies, "_STARTUP_TRIALS", 1)
    values = iter([0.5, 0.1])

    def report(self: Any, update: Any) -> None:
        if "valid_mrr" in update.metrics:
            update.metrics["valid_mrr"] = self.value
        original(self, update)

    original = tuning._TrialWatch.on_progress
    monkeypatch.setattr(tuning._TrialWatch, "on_progress", report)
    monkeypatch.setattr(tuning._TrialWatch, "value", property(lambda self: current[self._trial.number]), raising=False)
    current = dict(enumerate(values))
    result = tune(plan, tmp_path / "study.journal", 2)
    assert [trial.state for trial in result.trials] == ["complete", "pruned"]
    assert result.trials[1].value == 0.1
    assert result.best == result.trials[0]


def test_best_settings_are_a_preset_that_training_accepts(
    plan: TuningPlan, study: tuple[Path, StudyResult], data: Path, tmp_path: Path
) -> None:
    storage, result = study
    files = write_study(result, plan, storage)
    assert result.best is not None
    assert json.loads(files["trials"].read_text())["best"]["value"] == result.best.value
    assert ET.parse(files["figure"]).getroot().tag.endswith("svg")
    config = configure(str(files["preset"]), shots=2)
    assert (config.model, config.preset) == ("fitcarl", "tiny")
    expected = configure("paper", [*SETTINGS, *(f"{k}={v}" for k, v in result.best.settings.items())], shots=2)
    assert config == expected.model_copy(update={"preset": "tiny"})
    run = train(str(data), out=tmp_path / "run", preset=str(files["preset"]), shots=2)
    assert run.config == config
    [system] = find_systems([str(files["preset"])])
    assert (system.name, system.model_name, system.stem) == ("tiny", "fitcarl", "tiny")


@pytest.mark.parametrize("content", ["no json", "[]", '{"model": 3}', '{"model": "plus", "settings": 1}'])
def test_file_that_is_no_preset_is_rejected(tmp_path: Path, content: str) -> None:
    file = tmp_path / "mine.json"
    file.write_text(content)
    with pytest.raises(InputError, match=r"mine\.json: (is not a preset|cannot be read)"):
        configure(str(file))
    with pytest.raises(InputError, match=r"other\.json: no such file"):
        configure(str(tmp_path / "other.json"))


def test_given_setting_is_fixed_and_not_searched(plan: TuningPlan) -> None:
    fixed = replace(plan, settings=(*plan.settings, "network.hops=2"))
    assert list(fixed.space.parameters) == ["training.gamma"]
    with pytest.raises(InputError, match="fixes every setting"):
        replace(fixed, settings=(*fixed.settings, "training.gamma=0.9")).space  # noqa: B018


def test_study_is_kept_in_a_database(plan: TuningPlan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    url = f"sqlite:///{tmp_path / 'study.db'}"
    first = tune(plan, url, 1, folder=tmp_path / "trials")
    monkeypatch.setattr(tuning, "train", never)
    again = tune(plan, url, 1, folder=tmp_path / "trials")
    assert (tmp_path / "study.db").exists()
    assert again.trials == first.trials
    assert first.best is not None


def test_database_that_cannot_be_opened_is_one_line(plan: TuningPlan, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be opened") as caught:
        tune(plan, f"sqlite:///{tmp_path / 'missing' / 'study.db'}", 1, folder=tmp_path)
    assert "\n" not in str(caught.value)


def test_study_whose_trials_all_failed_is_an_error_in_every_call(
    plan: TuningPlan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_arguments: Any, **_options: Any) -> None:
        raise InputError("no such thing", expected="another")

    monkeypatch.setattr(tuning, "train", fail)
    for _ in range(2):
        with pytest.raises(InputError, match="no such thing"):
            tune(plan, tmp_path / "failing.journal", 1)


@pytest.mark.parametrize("model", ["complex", "tero"])
def test_settings_of_a_factorization_model_are_chosen_on_several_draws(data: Path, model: str) -> None:
    plan = TuningPlan(str(data), model=model, shots=2, draws=3)
    assert plan.trial_settings == ("sees=fold-in",)
    assert plan.config.sees == "fold-in"  # type: ignore[attr-defined]
    assert replace(plan, settings=("sees=paper",)).trial_settings == ("sees=paper",)
    support = replace(plan, settings=("sees=support",))
    with pytest.raises(InputError, match="cannot resample support facts that weights are trained on") as caught:
        _ = support.config
    assert "--draws" in str(caught.value)
    assert replace(support, draws=0).config.official_supports_only


def test_models_without_rows_are_tuned_as_they_are(data: Path) -> None:
    assert TuningPlan(str(data), model="filt", shots=2).trial_settings == ()
