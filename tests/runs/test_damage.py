"""A run folder is untrusted input: damage is named in one line, or the answers are those of the undamaged run."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from fitcarl.config.schema import CONFIGS
from fitcarl.core.shards import Shard
from fitcarl.core.storage import read_tensors, write_tensors
from fitcarl.errors import InputError, UnusableRunError
from fitcarl.experiments.case_study import answer_probabilities, case_study, explain_query
from fitcarl.experiments.demo import write_demo_report
from fitcarl.predict import Predictor
from fitcarl.runs.evaluate import evaluate
from fitcarl.runs.evaluate_open import evaluate_open_relation
from fitcarl.runs.evaluate_parts import evaluate_part
from fitcarl.runs.manifest import make_manifest
from fitcarl.runs.run import Run
from fitcarl.runs.update import update
from fitcarl.synthetic import generate_world
from fitcarl.tasks.task import official_task
from fitcarl.training.api import train
from tests.runs.damage import Case, answers, cases, run_case, run_cases, summary
from tests.small import SMALL, SMALL_MODELS, SMALL_PAPER

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="cases run in forked processes")

DEFAULT = (
    "vocabulary.json missing",
    "calibration.json missing",
    "calibration.json of another run",
    "weights.safetensors of another run",
    "weights.safetensors pipe",
    "graph/time.npy flipped at 0.6",
    "entities rotated",
    "manifest missing",
    "manifest outside",
    "added junk tensors",
)
"""Cases that only the manifest shows."""
FORGED = (
    "statistics.safetensors event_target all 1073741824",
    "statistics.safetensors event_source middle -500000000",
    "statistics.safetensors event_relation all 1073741824",
    "statistics.safetensors event_time reversed",
    "statistics.safetensors object_entity middle 1073741824",
    "statistics.safetensors object_offsets middle 1152921504606846976",
    "statistics.safetensors relation_offsets middle -1099511627776",
    "statistics.safetensors object_times rolled",
    "statistics.safetensors object_first middle + 1",
    "statistics.safetensors rule_slots all 1152921504606846976",
    "statistics.safetensors pair_rate NaN",
    "statistics.safetensors embedding another type",
    "encoder.safetensors 20000 columns",
    "encoder.safetensors bias NaN",
    "weights.safetensors device",
    "snapshot-01.safetensors no tensors",
    "config.json nested",
    "graph/graph.json ('relations',) = 2^31",
    "graph/target.npy middle 1073741824",
    "graph/time.npy reversed",
    "graph/relation.npy archive",
    "graph/offsets.npy nested header",
    "calendar ticks = [0, 2147483647]",
    "all entities x",
    "concepts ids = [2147483648]",
)
"""Cases that must be refused although the manifest was written again after the damage."""


@pytest.fixture(scope="module", autouse=True)
def _one_thread() -> Iterator[None]:
    """Threads do not survive a fork."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FITCARL_THREADS", "1")
        yield


@pytest.fixture(scope="module")
def run(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "run"
    train(data, out=folder, episodes=2, settings=SMALL)
    return folder


@pytest.fixture(scope="module")
def other(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "other"
    train(data, out=folder, episodes=2, settings=SMALL, seed=1)
    return folder


@pytest.fixture(scope="module")
def expected(run: Path) -> str:
    return answers(run)


@pytest.fixture(scope="module")
def all_cases(run: Path, other: Path) -> dict[str, Case]:
    return {case.name: case for case in cases(run, other)}


def test_cases_are_many_and_deterministic(all_cases: dict[str, Case], run: Path, other: Path) -> None:
    assert len(all_cases) > 1400
    assert [case.name for case in cases(run, other)] == list(all_cases)


@pytest.mark.parametrize("name", DEFAULT)
def test_damage_is_named_by_the_manifest(
    all_cases: dict[str, Case], run: Path, tmp_path: Path, expected: str, name: str
) -> None:
    result = run_case(all_cases[name], run, tmp_path, forged=False, expected=expected)
    assert result.outcome == "refused", result
    assert "\n" not in result.message
    assert str(tmp_path) in result.message


@pytest.fixture(scope="module")
def changed(run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with weights that are too large for finite scores."""
    folder = tmp_path_factory.mktemp("runs") / "changed"
    shutil.copytree(run, folder)
    weights, about = read_tensors(folder / "weights.safetensors")
    write_tensors(folder / "weights.safetensors", {**weights, "gate.0.weight": weights["gate.0.weight"] + 3e38}, about)
    make_manifest(folder).write(folder)
    return folder


@pytest.fixture(scope="module")
def match(changed: Path) -> str:
    """What the message about that run begins with."""
    return f"^{re.escape(str(changed))}: the model gives scores that are not finite; expected the weights that"


def test_scores_that_are_not_finite_are_an_error_of_the_run(changed: Path, match: str) -> None:
    predictor = Predictor.load(changed)
    example = predictor.example()
    assert example is not None
    with pytest.raises(InputError, match=match):
        predictor.answer([example.query], example.facts)
    with pytest.raises(InputError, match=match):
        predictor.ask_many([example.query] * 3, facts=example.facts)
    with pytest.raises(InputError, match=match):
        predictor.explain(example.query, next(iter(predictor.entities)), example.facts)
    with pytest.raises(UnusableRunError, match=match):
        evaluate(changed)
    names, relations = predictor.run.vocabulary.entities, predictor.run.vocabulary.relations
    subject, relation, object, _ = next(iter(predictor.run.dataset().background))
    with pytest.raises(UnusableRunError, match=match):
        update(changed, [(names[subject], relations[relation], names[object], "2024-02-01")], dry_run=True)


def test_evaluations_name_the_run_whose_scores_are_not_finite(changed: Path, match: str, tmp_path: Path) -> None:
    run = Run.load(changed)
    dataset = run.dataset()
    task = official_task(dataset.test, run.config.shots, dataset.vocabulary.relation_ids)
    with pytest.raises(UnusableRunError, match=match):
        evaluate_open_relation(run)
    with pytest.raises(UnusableRunError, match=match):
        evaluate_part(run, Shard(), tmp_path)
    with pytest.raises(UnusableRunError, match=match):
        case_study(changed, changed, dataset)
    with pytest.raises(UnusableRunError, match=match):
        answer_probabilities(run, dataset, task)
    with pytest.raises(UnusableRunError, match=match):
        explain_query(run, "", dataset, task, 0)
    with pytest.raises(UnusableRunError, match=match):
        write_demo_report(run, dataset, generate_world("tiny", seed=7), tmp_path / "report.html")


@pytest.mark.parametrize("name", FORGED)
def test_damage_behind_a_forged_manifest_is_refused(
    all_cases: dict[str, Case], run: Path, tmp_path: Path, expected: str, name: str
) -> None:
    result = run_case(all_cases[name], run, tmp_path, forged=True, expected=expected)
    assert result.outcome == "refused", result
    assert "\n" not in result.message
    assert str(tmp_path) in result.message


@pytest.mark.slow
@pytest.mark.parametrize("model", [*CONFIGS, "forecast"])
def test_all_damage_is_refused_or_harmless(model: str, data: Path, tmp_path: Path) -> None:
    folder, other = tmp_path / "run", tmp_path / "other"
    train(data, out=other, episodes=2, settings=SMALL, setting="forecast", seed=1)
    if model == "forecast":
        train(data, out=folder, episodes=2, settings=SMALL, setting="forecast")
    else:
        settings = SMALL_MODELS.get(model) or (SMALL_PAPER if model == "fitcarl" else SMALL)
        train(data, out=folder, episodes=2, settings=settings, model=model)
    results = run_cases(folder, other, tmp_path, every=6 if model == "plus" else 20)
    wrong = [result for result in results if result.wrong]
    assert not wrong, json.dumps(summary(results)) + "".join(f"\n{result}" for result in wrong[:20])
