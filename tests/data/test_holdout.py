"""Training on plain facts: held-out entities, facts of the trained run, and no leakage into validation."""

from __future__ import annotations

import json
import logging
import shutil
from pathlib import Path

import numpy as np
import pytest

from fitcarl.data.facts import Facts
from fitcarl.data.holdout import HoldoutRule, dataset_from_facts, larger_holdout
from fitcarl.data.io.dataset_folder import read_dataset, validate
from fitcarl.errors import InputError
from fitcarl.predict.predictor import Predictor
from fitcarl.runs.evaluate import evaluate
from fitcarl.runs.run import Run
from fitcarl.synthetic import generate_world
from fitcarl.training.api import TrainingInterrupted, resume, train
from tests.small import SMALL, SMALL_PAPER
from tests.training.test_loop import assert_same_weights

WAYS = {"shots": 2, "episodes": 4, "settings": SMALL, "seed": 3}


@pytest.fixture(scope="module")
def facts() -> Facts:
    return generate_world("tiny").facts


@pytest.fixture(scope="module")
def messages() -> list[str]:
    return []


@pytest.fixture(scope="module")
def run(facts: Facts, messages: list[str], tmp_path_factory: pytest.TempPathFactory) -> Run:
    handler = logging.Handler()
    handler.emit = lambda record: messages.append(record.getMessage())  # type: ignore[method-assign]
    logger = logging.getLogger("fitcarl")
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        return train(facts, out=tmp_path_factory.mktemp("plain") / "run", **WAYS)
    finally:
        logger.removeHandler(handler)
        logger.setLevel(logging.NOTSET)


@pytest.mark.parametrize("meta_train", [False, True])
def test_plain_facts_become_a_valid_dataset_with_the_same_facts(facts: Facts, meta_train: bool) -> None:
    dataset, held_out = dataset_from_facts(facts, 2, 0, meta_train=meta_train)
    validate(dataset)
    assert sorted(dataset.everything) == sorted(facts.quadruples)
    assert held_out.test is not None
    groups = [set(group.groups[0].tolist()) for group in (held_out.valid, held_out.test)]
    assert set(dataset.valid.entities.tolist()) <= groups[0]
    assert set(dataset.test.entities.tolist()) <= groups[1]
    assert not groups[0] & groups[1]
    assert len(dataset.valid.entities) >= 2
    assert len(dataset.test.entities) >= 2
    assert bool(len(dataset.train)) == meta_train


@pytest.mark.parametrize("meta_train", [False, True])
@pytest.mark.parametrize("chronological", [False, True])
@pytest.mark.parametrize("rule", [None, HoldoutRule(5, 60, 0.5)])
def test_no_fact_of_a_held_out_entity_is_in_the_background_or_in_another_group(
    facts: Facts, meta_train: bool, chronological: bool, rule: HoldoutRule | None
) -> None:
    dataset, held_out = dataset_from_facts(facts, 2, 0, meta_train=meta_train, chronological=chronological, rule=rule)
    assert held_out.test is not None
    valid, test = (set(group.groups[0].tolist()) for group in (held_out.valid, held_out.test))
    for others, quadruples in (
        (valid | test, dataset.background),
        (valid | test, dataset.train.facts),
        (test, dataset.valid.facts),
        (valid, dataset.test.facts),
    ):
        assert not others & {*quadruples.subject.tolist(), *quadruples.object.tolist()}


def test_rule_sets_bounds_and_share(facts: Facts) -> None:
    usual, _ = dataset_from_facts(facts, 2, 0)
    dataset, held_out = dataset_from_facts(facts, 2, 0, rule=HoldoutRule(8, 30, 0.6))
    count = held_out.valid.count
    assert held_out.test is not None
    for group in (held_out.valid, held_out.test):
        assert count[group.groups[0]].min() >= 8
        assert count[group.groups[0]].max() <= 30
    suitable = int(np.count_nonzero((count >= 8) & (count <= 30)))
    chosen = len(held_out.valid.groups[0]) + len(held_out.test.groups[0])
    assert abs(chosen - 2 / round(2 / 0.6) * suitable) <= 2
    assert len(dataset.valid.entities) > len(usual.valid.entities)


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        (HoldoutRule(low=2), "invalid bounds; found '2 to 40'; expected more than 2 facts"),
        (HoldoutRule(low=9, high=8), "invalid bounds; found '9 to 8'"),
        (HoldoutRule(share=0), "invalid share"),
        (HoldoutRule(low=5000, high=6000), "no entity can be held out"),
    ],
)
def test_invalid_rule_is_rejected(facts: Facts, rule: HoldoutRule, message: str) -> None:
    with pytest.raises(InputError, match=message):
        dataset_from_facts(facts, 2, 0, rule=rule)


def test_larger_holdout_gives_what_it_says(facts: Facts) -> None:
    text = larger_holdout(facts, 2, 0, 3)
    words = text.split()
    low = int(words[words.index("--low") + 1]) if "--low" in words else None
    share = float(words[words.index("--share") + 1])
    dataset, _ = dataset_from_facts(facts, 2, 0, rule=HoldoutRule(low=low, share=share))
    valid, test = len(dataset.valid.entities), len(dataset.test.entities)
    assert text.endswith(f"gives {valid} entities for validation and {test} for test")
    assert min(valid, test) > 3
    assert larger_holdout(facts, 2, 0, 1000) == ""


def test_held_out_entities_depend_on_the_seed(facts: Facts) -> None:
    one, again, other = (dataset_from_facts(facts, 2, seed)[0] for seed in (1, 1, 2))
    assert one.digest == again.digest != other.digest


def test_training_logs_the_held_out_entities(run: Run, messages: list[str]) -> None:
    stages = [line.partition(":")[0] for line in messages]
    warnings = ["Only", "Only", "More", "To"]
    stages = [line for line in stages if line.split()[0] not in warnings]
    assert [line.split()[0] for line in messages[2:6]] == warnings
    assert stages[:4] == ["demo-tiny", "held out for validation", "time unit", "pseudo-unseen for training"]
    assert {line.split(" on ")[0] for line in stages[4:]} <= {"pre-training the encoder"}
    assert f"{len(run.context.facts):,} facts" in messages[0]
    assert "3,000 facts of 110 entities" in messages[0]
    assert "4 groups of" in messages[7]


def test_trained_run_contains_every_fact(run: Run, facts: Facts) -> None:
    assert run.config.training.tasks == "pseudo"
    assert sorted(run.context.facts) == sorted(facts.quadruples)


def test_held_out_entities_are_hidden_during_evaluation(run: Run) -> None:
    best = json.loads(run.folder.result.read_text())["best_valid_mrr"]
    report = evaluate(run.folder.path, split="valid").to_json()
    realistic = [row for row in report["results"] if (row["ranks"], row["filter"]) == ("realistic", "time-aware")]
    assert realistic[0]["mrr"] == pytest.approx(best, abs=1e-12)
    assert "unseen-in-training-background" not in report["signature"]


def test_test_entities_judge_and_were_used_for_nothing_else(run: Run) -> None:
    report = evaluate(run.folder.path)
    dataset = read_dataset(run.folder.dataset)
    assert report.signature.split == "test"
    assert set(np.unique(report.official.queries.entity)) <= set(dataset.test.entities.tolist())
    assert not set(run.origin.training_entities) & set(dataset.test.entities.tolist())
    assert "unseen-in-training" not in str(report.signature)


def test_example_is_about_an_unknown_entity(run: Run) -> None:
    example = Predictor.load(run).example()
    assert example is not None
    assert example.query.entity not in run.vocabulary.entity_index


def test_moved_run_is_evaluated_and_resumed_without_the_facts_file(run: Run, tmp_path: Path) -> None:
    moved = tmp_path / "moved"
    shutil.copytree(run.folder.path, moved)
    assert Run.load(moved).source == str(moved / "dataset")
    assert resume(moved, episodes=5).keep_all_facts


def test_interrupted_run_resumes_with_equal_results(run: Run, facts: Facts, tmp_path: Path) -> None:
    seen: list[int] = []
    with pytest.raises(TrainingInterrupted):
        train(
            facts,
            out=tmp_path / "run",
            **WAYS,
            on_progress=lambda now: seen.append(now.done) if now.stage == "training" else None,
            should_stop=lambda: len(seen) == 2,
        )
    resume(tmp_path / "run")
    assert_same_weights(run.folder.path, tmp_path / "run")


def test_preset_paper_gets_a_meta_train_group(facts: Facts, tmp_path: Path) -> None:
    run = train(facts, out=tmp_path / "run", shots=2, episodes=2, preset="paper", settings=SMALL_PAPER)
    dataset = read_dataset(run.folder.dataset)
    assert run.config.task_source == "meta"
    assert len(dataset.train.entities) >= 5
    assert sorted(run.context.facts) == sorted(facts.quadruples)
    rows = run.model.module.entity_rows
    assert not np.asarray(rows[dataset.train.entities]).any()  # they have no trained embeddings


def test_dataset_without_meta_train_split_can_be_trained(facts: Facts, tmp_path: Path) -> None:
    dataset, _ = dataset_from_facts(facts, 2, 0)
    run = train(dataset, out=tmp_path / "run", shots=2, episodes=1, settings=SMALL)
    assert run.config.training.tasks == "pseudo"
    assert not run.keep_all_facts
    assert sorted(run.context.facts) == sorted(dataset.background)
    with pytest.raises(InputError, match=r"training\.tasks=pseudo"):
        train(dataset, out=tmp_path / "other", shots=2, settings=["training.tasks=meta"])
