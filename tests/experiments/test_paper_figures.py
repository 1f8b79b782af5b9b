"""Figures 4 and 5: the numbers behind them, missing runs, and the rule that chooses the explained query."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from fitcarl.data.io.dataset_folder import read_dataset
from fitcarl.errors import FitcarlError, InputError
from fitcarl.evaluation.slices import answer_in_support
from fitcarl.experiments.case_study import (
    CaseStudy,
    answer_probabilities,
    case_study,
    reproduce_case_study,
    write_case_study,
)
from fitcarl.experiments.over_time import reproduce_over_time
from fitcarl.experiments.reproduce import ReproductionPlan
from fitcarl.experiments.system_rows import protocol_ranks
from fitcarl.runs.evaluate import evaluate
from fitcarl.runs.run import Run
from fitcarl.tasks.task import official_task
from tests.experiments.test_reproduce import train_in_process
from tests.small import SMALL_PAPER

SETTINGS = tuple(f"paper:{setting}" for setting in (*SMALL_PAPER, "training.episodes=2"))
RANKS = 60  # an untrained model rarely has the answer among its first three


@pytest.fixture(scope="module")
def plan(data: Path) -> ReproductionPlan:
    return ReproductionPlan((str(data),), (1, 2), ("paper", "filt", "mix"), (0,), SETTINGS)


@pytest.fixture(scope="module")
def out(plan: ReproductionPlan, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the 2-shot runs of the full model and of ablation B."""
    from fitcarl.experiments.reproduce import table_systems

    folder = tmp_path_factory.mktemp("figures")
    two_shot = replace(plan, shots=(2,), models=("paper",))
    systems = [system for system in table_systems(two_shot, "3") if system.name in ("paper", "B")]
    for cell in two_shot.cells(folder, systems):
        train_in_process(cell.jobs[0], -1)
    return folder


@pytest.fixture(scope="module")
def study(out: Path, data: Path) -> CaseStudy:
    runs = out / "tiny-2shot-paper-0", out / "tiny-2shot-paper-B-0"
    return case_study(*runs, str(data), rank_limit=RANKS)


@pytest.mark.parametrize("protocol", ["realistic", "paper"])
def test_lines_are_means_over_the_queries_of_a_period(plan: ReproductionPlan, out: Path, protocol: str) -> None:
    document = reproduce_over_time(plan, out, protocol)  # type: ignore[arg-type]
    assert [(panel["shots"], len(panel["lines"])) for panel in document["panels"]] == [(1, 3), (2, 3)]
    panel = document["panels"][1]
    [paper, filt, mix] = panel["lines"]
    report = evaluate(out / "tiny-2shot-paper-0")
    ranks = protocol_ranks(report, protocol)  # type: ignore[arg-type]
    months = [part for part in report.slices if part.by == panel["by"]]
    assert list(panel["periods"]) == [part.value for part in months]
    assert list(panel["queries"]) == [part.mask.sum() for part in months]
    assert paper["mrr"] == pytest.approx([float((1 / ranks[part.mask]).mean()) for part in months])
    assert paper["overall"] == pytest.approx(float((1 / ranks).mean()))
    assert mix["mrr"] is not None
    assert filt["mrr"] is None


def test_missing_runs_are_marked_in_the_picture(plan: ReproductionPlan, out: Path) -> None:
    document = reproduce_over_time(plan, out)
    assert [line["mrr"] is None for line in document["panels"][0]["lines"]] == [True, True, False]
    picture = Path(document["image"])
    assert ET.parse(picture).getroot().tag.endswith("svg")
    assert json.loads((out / "figure4-realistic.json").read_text())["panels"][0]["periods"]
    before = picture.read_bytes()
    reproduce_over_time(plan, out)
    assert picture.read_bytes() == before


def test_query_is_chosen_by_the_rule(study: CaseStudy, out: Path, data: Path) -> None:
    dataset = read_dataset(data)
    task = official_task(dataset.test, 2, dataset.vocabulary.relation_ids)
    folders = [out / f"tiny-2shot-paper{part}-0" for part in ("", "-B")]
    reports = [evaluate(folder) for folder in folders]
    covered = [report.official.ranks["time-aware"].covered for report in reports]
    novel = ~answer_in_support(task.support, task.queries, dataset.vocabulary.relation_ids)
    close = reports[0].official.ranks["time-aware"].of("realistic") <= RANKS
    allowed = covered[0] & covered[1] & novel & close
    first, second = (answer_probabilities(Run.load(folder), dataset, task) for folder in folders)
    assert np.array_equal(~np.isnan(first), covered[0])
    best = max(np.flatnonzero(allowed).tolist(), key=lambda number: first[number] - second[number])
    assert (study.position, study.candidates) == (best, int(allowed.sum()))
    assert study.answer == dataset.vocabulary.entities[task.queries.answer[best]]
    shares = [one.shown[0].share for one in study.explanations]
    assert shares == pytest.approx([first[best], second[best]])


def test_both_runs_explain_the_true_answer(study: CaseStudy) -> None:
    full, without = study.explanations
    for one in (full, without):
        assert one.shown[0].entity == study.answer
        assert one.shown[0].paths
    assert any(step.confidence is not None for path in full.shown[0].paths for step in path.steps)
    assert all(step.confidence is None for path in without.shown[0].paths for step in path.steps)
    assert len(study.support) == 2


def test_case_study_is_written_as_picture_page_and_json(study: CaseStudy, tmp_path: Path) -> None:
    write_case_study(study, tmp_path)
    root = ET.parse(tmp_path / "figure5.svg").getroot()
    texts = [element.text for element in root.iter() if element.tag.endswith("text")]
    assert "With the confidence learner" in texts
    assert "Without the confidence learner (ablation B)" in texts
    page = (tmp_path / "figure5.html").read_text(encoding="utf-8")
    assert "How the query was chosen" in page
    assert "data:image/svg+xml" in page
    assert json.loads((tmp_path / "figure5.json").read_text()) == json.loads(json.dumps(study.to_json()))
    assert study.lines()[0] == f"Query: {study.query}"


def test_missing_run_and_missing_query_are_reported(plan: ReproductionPlan, out: Path, data: Path) -> None:
    with pytest.raises(InputError, match=r"tiny-1shot-paper-0: is not a finished run.*--table 3"):
        reproduce_case_study(replace(plan, shots=(1,), models=("paper",)), out)
    runs = out / "tiny-2shot-paper-0", out / "tiny-2shot-paper-B-0"
    with pytest.raises(FitcarlError, match="no test query fulfils"):
        case_study(*runs, str(data), rank_limit=0)
