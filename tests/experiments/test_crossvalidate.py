"""Cross-validation: one run per fold, pooled results, resumable."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from fitcarl.data.facts import Facts
from fitcarl.data.io.dataset_folder import read_dataset
from fitcarl.errors import InputError
from fitcarl.experiments.crossvalidate import CrossValidation, CrossValidationPlan, crossvalidate
from fitcarl.runs.evaluate import evaluate
from fitcarl.synthetic import generate_world
from tests.experiments.test_reproduce import never_train, train_in_process
from tests.small import SMALL

PLAN = CrossValidationPlan(folds=3, shots=2, settings=(*SMALL, "training.episodes=2"))


@pytest.fixture(scope="module")
def facts() -> Facts:
    return generate_world("tiny").facts


@pytest.fixture(scope="module")
def finished(facts: Facts, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, CrossValidation]:
    out = tmp_path_factory.mktemp("folds")
    return out, crossvalidate(facts, PLAN, out, train=train_in_process)


def test_results_of_all_folds_are_pooled(finished: tuple[Path, CrossValidation]) -> None:
    out, found = finished
    reports = [evaluate(out / f"fold-{number}" / "run", split="test") for number in (1, 2, 3)]
    ranks = np.concatenate([report.official.ranks["time-aware"].of("realistic") for report in reports])
    own = found.results[-1]
    assert own.trained
    assert own.mrr.mean == pytest.approx(float(np.mean(1 / ranks)))
    assert own.mrr.low <= own.mrr.mean <= own.mrr.high
    assert own.mrr_by_fold == tuple(report.realistic.mrr for report in reports)
    assert own.hits[10] == pytest.approx(float(np.mean(ranks <= 10)))
    assert found.queries == len(ranks)
    assert "unseen-in-training" not in "".join(str(report.signature) for report in reports)


def test_every_entity_is_tested_once(finished: tuple[Path, CrossValidation]) -> None:
    out, found = finished
    tested = [read_dataset(out / f"fold-{number}" / "data").test.entities for number in (1, 2, 3)]
    every = np.concatenate(tested)
    assert len(np.unique(every)) == len(every) == found.entities >= found.asked > 0


def test_baselines_have_paired_differences(finished: tuple[Path, CrossValidation]) -> None:
    _, found = finished
    *baselines, own = found.results
    assert {"copy", "peers", "mix"} <= {result.scorer for result in baselines}
    for result in baselines:
        assert result.difference is not None
        assert result.difference.mean == pytest.approx(result.mrr.mean - own.mrr.mean)


def test_finished_folds_are_not_trained_again(facts: Facts, finished: tuple[Path, CrossValidation]) -> None:
    out, found = finished
    again = crossvalidate(facts, PLAN, out, train=never_train)
    assert again.to_json() == found.to_json() == json.loads((out / "crossvalidation.json").read_text())
    assert "3 folds" in (out / "crossvalidation.md").read_text()


def test_other_facts_or_options_in_the_folder_are_rejected(
    facts: Facts, finished: tuple[Path, CrossValidation]
) -> None:
    out, _ = finished
    other = CrossValidationPlan(folds=4, shots=2, settings=PLAN.settings)
    with pytest.raises(InputError, match=r"is a run on other data|is the dataset of other facts or options"):
        crossvalidate(facts, other, out, train=never_train)


def test_model_with_meta_train_tasks_gets_a_meta_train_group(facts: Facts, tmp_path: Path) -> None:
    jobs = CrossValidationPlan(folds=3, shots=2, preset="paper").jobs(facts, tmp_path)
    assert all(len(dataset.train.entities) for _, dataset in jobs)
    assert not any(len(dataset.train.entities) for _, dataset in PLAN.jobs(facts, tmp_path))
