"""Evaluations that leave relation or time open: ranks by hand, base rates beside, and only earlier facts."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from fitcarl.data.io.registry import load_dataset
from fitcarl.errors import InputError
from fitcarl.models.open_queries.event_index import EventIndex
from fitcarl.models.open_queries.history import Histories
from fitcarl.runs.evaluate_open import (
    evaluate_open_relation,
    evaluate_open_time,
    rank_among,
    relation_distributions,
)
from fitcarl.runs.layout import RunFolder
from fitcarl.runs.open_answers import RELATION_MASS, joint_probabilities, score_relations
from fitcarl.runs.run import Run
from fitcarl.tasks.task import official_task
from fitcarl.training.api import train
from tests.small import SMALL, SMALL_MODELS

SHOTS = 2


@pytest.fixture(scope="module", params=["plus", "mean"])
def run(request: pytest.FixtureRequest, data: Path, tmp_path_factory: pytest.TempPathFactory) -> Run:
    out = tmp_path_factory.mktemp("runs") / request.param
    settings = SMALL_MODELS.get(request.param, SMALL)
    return train(data, out=out, shots=SHOTS, model=request.param, episodes=2, settings=settings)


def test_rank_among_alternatives_is_as_worked_by_hand() -> None:
    """Ten alternatives, four listed; 2 and 9 are true as well and removed: 2 is listed, 9 is not."""
    key, probability = np.array([1, 2, 3, 4]), np.array([0.3, 0.4, 0.1, 0.1])
    true = np.array([2, 3, 9], dtype=np.int32)
    found = rank_among(key, probability, 3, true, 10)
    total = 0.3 + 0.1 + 0.1 + 0.1 * 5 / 6  # the unlisted rest loses the part of alternative 9
    assert found.probability[0] == pytest.approx(0.1 / total)
    assert found.ranks.of("realistic")[0] == 2.5  # behind 1 and tied with 4
    assert found.ranks.candidates[0] == 8
    assert found.top.share[0] == pytest.approx(0.3 / total)
    assert found.top.right[0] == 0


def test_unlisted_alternative_shares_the_rest_and_is_tied_last() -> None:
    key, probability = np.array([1, 2]), np.array([0.6, 0.3])
    found = rank_among(key, probability, 7, np.array([7], dtype=np.int32), 10)
    assert found.probability[0] == pytest.approx(0.1 / 8)
    assert found.ranks.of("optimistic")[0] == 3
    assert found.ranks.of("pessimistic")[0] == 10
    assert not found.ranks.covered[0]


def test_probabilities_of_all_relations_and_answers(run: Run, data: Path) -> None:
    dataset = load_dataset(str(data))
    relations = dataset.vocabulary.relation_ids
    task = official_task(dataset.valid, SHOTS, relations, "forecast")
    histories, _ = Histories.of_queries(task.support, task.queries, relations)
    index = EventIndex.from_graph(run.context.graph)
    distributions = relation_distributions(run, index, histories)
    for distribution in distributions.values():
        np.testing.assert_allclose(np.exp(distribution).sum(axis=1), 1)
    fitted = distributions["fitted"]
    scored = score_relations(run.model.scorer(), task, histories, [fitted], run.calibration_for("forecast"))
    assert np.array_equal(scored.queries.visible_before, histories.before[scored.history])
    offsets, probability = joint_probabilities(scored, fitted, len(histories))
    assert (probability >= 0).all()
    for row in range(len(histories)):
        relation = scored.queries.relation[scored.history == row]
        mass = np.exp(fitted[row, relation])
        assert mass.sum() >= RELATION_MASS
        assert mass.sum() - mass.min() < RELATION_MASS, "no more relations than needed"
        assert probability[offsets[row] : offsets[row + 1]].sum() <= mass.sum() + 1e-9


def test_relation_report_has_base_rates_and_intervals(run: Run) -> None:
    report = evaluate_open_relation(run, split="valid")
    document = report.to_json()
    assert json.loads(json.dumps(document)) == document
    assert [row["relation_model"] for row in document["rows"]] == ["fitted", "popularity", "support"]
    for row in document["rows"]:
        for part in (row["answer"], row["relation"]):
            assert part["ci_low"] - 1e-12 <= part["mrr"] <= part["ci_high"] + 1e-12  # equal if all ranks are
            assert part["log_loss"]["mean"] > 0
            assert 0 <= part["ece"] <= 1
        assert row["answer"]["mrr"] <= row["relation"]["mrr"] + 1e-9, "relation and entity are harder than relation"
    assert "fitted_minus_this" not in document["rows"][0]
    assert set(document["rows"][1]["fitted_minus_this"]) == {
        *("answer_mrr", "answer_log_loss", "relation_mrr", "relation_log_loss")
    }
    assert "setting:forecast" in document["signature"]
    assert "open:relation" in document["signature"]


def test_time_report_is_beside_the_base_rate(run: Run) -> None:
    report = evaluate_open_time(run, split="valid", draws=1)
    np.testing.assert_allclose(report.fitted.sum(axis=1), 1)
    document = report.to_json()
    assert json.loads(json.dumps(document)) == document
    assert [row["time_model"] for row in document["rows"]] == ["fitted", "base-rate"]
    losses = [row["log_loss"]["mean"] for row in document["rows"]]
    assert document["fitted_minus_base_rate"]["log_loss"]["mean"] == pytest.approx(losses[0] - losses[1])
    assert document["better_than_base_rate"] == (document["fitted_minus_base_rate"]["log_loss"]["ci_high"] < 0)
    assert sum(part["events"] for part in document["intervals"]) == document["events"]
    row = np.arange(len(report.interval))
    assert losses[0] == pytest.approx(-np.log(report.fitted[row, report.interval]).mean())


def test_run_of_an_earlier_version_fits_the_models_itself(run: Run, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(run.folder.path, copy)
    (copy / "open_queries.json").unlink()
    RunFolder(copy).write_manifest()
    first, second = Run.load(copy).open_models, Run.load(copy).open_models
    assert first == second
    assert first.relation.weights == pytest.approx(run.open_models.relation.weights)
    assert first.relation.temperature == 1
    assert not (copy / "open_queries.json").exists()


def test_damaged_models_are_reported(run: Run, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(run.folder.path, copy)
    (copy / "open_queries.json").write_text('{"relation": {}}')
    RunFolder(copy).write_manifest()
    with pytest.raises(InputError, match=r"open_queries\.json"):
        _ = Run.load(copy).open_models
