"""The time unit of a run is fixed when it is started, and stays with it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from fitcarl.data.facts import named_facts
from fitcarl.data.io.registry import load_dataset
from fitcarl.errors import InputError
from fitcarl.predict import Predictor, Query
from fitcarl.predict.fact import Fact
from fitcarl.runs.layout import RunFolder
from fitcarl.runs.run import Run
from fitcarl.runs.update import update
from fitcarl.tasks.task import NO_LIMIT
from fitcarl.training.api import resume, train
from tests.small import SMALL, data, home

__all__ = ["data", "home"]

SETTINGS = (*SMALL, "training.validate_every=1")


@pytest.fixture(scope="module")
def trained(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("runs") / "run"
    train(data, out=out, shots=2, episodes=1, setting="forecast", settings=(*SETTINGS, "time_unit=5d"))
    return out


@pytest.fixture
def run(trained: Path, tmp_path: Path) -> Path:
    return shutil.copytree(trained, tmp_path / "run")


def units_per_tick(run: Run) -> set[float]:
    """Of all statistics that queries read: of the whole background and of its past."""
    model: Any = run.model
    span = run.calendar.span
    ticks = (1, span // 4, span // 2, span, NO_LIMIT)
    return {model.statistics.units_per_tick, *(model.timeline.at(tick).units_per_tick for tick in ticks)}


def test_chosen_unit_is_stored_and_read(run: Path) -> None:
    assert json.loads((run / "data.json").read_text())["time_unit"] == 5
    loaded = Run.load(run)
    assert loaded.context.time_unit == 5
    assert units_per_tick(loaded) == {0.2}


def test_unit_is_estimated_by_default_and_logged(data: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", "fitcarl")
    run = train(data, out=tmp_path / "run", shots=2, episodes=1, settings=SETTINGS)
    assert run.context.time_unit == load_dataset(data).time_unit == 1
    assert caplog.messages[0] == "time unit: 1 day (from the facts; --set time_unit=DURATION changes it)"


def test_unit_stays_after_an_update(run: Path, tmp_path: Path) -> None:
    loaded = Run.load(run)
    known = named_facts(loaded.context.facts, loaded.vocabulary, loaded.calendar)[:5]
    facts = [(*fact[:3], "2030-01-01") for fact in known]  # years later: an estimate would change
    update(run, facts, out=tmp_path / "other")
    update(run, facts)
    for folder in (run, tmp_path / "other"):
        assert Run.load(folder).context.time_unit == 5
        assert units_per_tick(Run.load(folder)) == {0.2}


def test_unit_stays_on_another_dataset(run: Path, data: Path) -> None:
    loaded, dataset = Run.load(run), load_dataset(data)
    scorer: Any = loaded.scorer_for(dataset.before(dataset.calendar.span // 2))
    assert scorer._timeline.at(NO_LIMIT).units_per_tick == 0.2


@pytest.mark.parametrize("hindsight", [True, False])
def test_stored_unit_is_used_for_predictions_without_facts(run: Path, hindsight: bool) -> None:
    """Forecasts and counterfactuals: another stored unit leads to other scores."""

    def answers() -> list[Any]:
        loaded = Run.load(run)
        known = named_facts(loaded.context.facts, loaded.vocabulary, loaded.calendar)
        subject, relation, _, time = known[len(known) // 2]
        hidden = tuple(Fact(*fact) for fact in known if fact[0] == subject)[:3]
        queries = [Query(subject, None, relation, time, top=20, without=hidden, hindsight=hindsight)]
        return [one.to_json()["answers"] for one in Predictor.load(run).answer(queries, [])]

    before = answers()
    assert answers() == before
    _change(run, time_unit=40.0)
    assert answers() != before


def test_run_without_a_stored_unit_counts_days(run: Path) -> None:
    _change(run, time_unit=None)
    assert units_per_tick(Run.load(run)) == {1.0}


@pytest.mark.parametrize("value", [0, -1, "often", [1]])
def test_damaged_unit_is_refused(run: Path, value: object) -> None:
    _change(run, time_unit=value)
    with pytest.raises(InputError, match="is damaged"):
        Run.load(run)


def test_resumed_training_keeps_the_unit(data: Path, tmp_path: Path) -> None:
    settings = (*SETTINGS, "time_unit=5d")
    train(data, out=tmp_path / "run", shots=2, episodes=1, settings=settings)
    _change(tmp_path / "run", time_unit=6.0)
    assert resume(tmp_path / "run", episodes=2).context.time_unit == 6


def test_wrong_duration_is_refused_before_anything_is_written(data: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="not a duration of this dataset; found '12h'"):
        train(data, out=tmp_path / "run", settings=("time_unit=12h",))
    assert not (tmp_path / "run").exists()


def _change(run: Path, **values: object) -> None:
    file = run / "data.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | values))
    RunFolder(run).write_manifest()
