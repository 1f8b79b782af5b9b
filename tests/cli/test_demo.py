"""The command ``demo`` and its worked example."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fitcarl.cli.example import WorkedExample, find_worked_example
from fitcarl.config.plus import PretrainedSection
from fitcarl.data.bounds import BENCHMARK_BOUNDS
from fitcarl.data.dataset import Dataset
from fitcarl.data.split import split_facts
from fitcarl.synthetic import World, generate_world
from tests.cli.conftest import Command, Outcome


@pytest.fixture(scope="module")
def world() -> World:
    return generate_world()


@pytest.fixture(scope="module")
def dataset(world: World) -> Dataset:
    return split_facts(world.facts, name="demo", bounds=BENCHMARK_BOUNDS)


@pytest.fixture(scope="module")
def example(world: World, dataset: Dataset) -> WorkedExample:
    return find_worked_example(world, dataset)


def test_demo_prints_its_answers_and_writes_a_report(
    fitcarl: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(PretrainedSection, "updates", lambda _, edges: min(edges, 20))
    check_text(fitcarl("demo", "--episodes", 3, "--out", tmp_path / "demo"), tmp_path / "demo")
    assert fitcarl("verify", tmp_path / "demo" / "run").code == 0  # what the last lines suggest can be done


@pytest.mark.slow
def test_demo_output_is_reproducible(process: Command, fitcarl: Command, tmp_path: Path) -> None:
    """Of the text and the JSON of two demos, so that a third one is not needed."""
    first = process("demo", "--episodes", 3, "--out", tmp_path / "demo")
    check_text(first, tmp_path / "demo")
    outcome = fitcarl("demo", "--episodes", 3, "--out", tmp_path / "demo", "--json")
    assert outcome.code == 0
    found = json.loads(outcome.stdout)
    rows = [row for row in found["results"]["fitcarl (plus)"] if row["ranks"] == "realistic"]
    assert any(f"fitcarl (plus)      {row['mrr']:.3f} " in first.stdout for row in rows)
    for case in found["cases"]:
        assert f"{case['answers'][0]['entity']} ({case['answers'][0]['share']:.0%})" in first.stdout
    check_json(found, tmp_path / "demo", fitcarl)
    assert fitcarl("verify", tmp_path / "demo" / "run").code == 0


def check_text(first: Outcome, folder: Path) -> None:
    assert first.code == 0
    assert (folder / "data" / "background.tsv").is_file()
    assert "← the answer" in first.stdout
    assert first.stdout.rstrip().splitlines()[-1].endswith(f"serve {folder / 'run'}")
    page = (folder / "report.html").read_text(encoding="utf-8")
    for part in ("fitcarl (plus)", "mix", "data:image/svg+xml", "Are the explanations correct?"):
        assert part in page


def check_json(found: dict[str, Any], folder: Path, fitcarl: Command) -> None:
    assert {row["ranks"] for row in found["results"]["mix"]} == {"optimistic", "realistic", "pessimistic"}
    assert found["rule_made"]["right_with_cause_on_path"] <= found["rule_made"]["right_with_visible_cause"]
    assert sum(found["world"]["rules"].values()) == found["world"]["facts"]
    assert found["worked_example"]["answer"]
    stored = json.loads((folder / "run" / "example.json").read_text(encoding="utf-8"))
    if found["example"] is not None:  # after a few episodes there may be no confirmed prediction
        assert found["example"]["confirmed"]
        assert found["example"]["entity"] in (stored.get("subject"), stored.get("object"))
    assert (
        json.loads(fitcarl("data", "describe", folder / "data", "--json").stdout)["facts"]
        == (found["dataset"]["facts"])
    )


def test_hidden_fact_is_not_in_the_search_space(example: WorkedExample) -> None:
    [(entity, relation, answer, time)] = list(example.hidden)
    first = example.steps[0]
    seen = set(zip(first.relation[0].tolist(), first.entity[0].tolist(), first.time[0].tolist(), strict=True))
    assert int(first.entity[0, 0]) == entity
    assert (relation, answer, time) not in seen
    assert first.mask[0].sum() == 1 + len(example.support)


def test_worked_example_reaches_answer_through_its_causes(example: WorkedExample) -> None:
    middle = int(example.steps[1].entity[0, 0])
    ends = {*example.causes.subject.tolist(), *example.causes.object.tolist()}
    assert example.reached
    assert middle in ends
    assert {int(example.hidden.subject[0]), int(example.hidden.object[0])} <= ends
    assert (example.causes.time <= example.hidden.time).all()


def test_worked_example_is_deterministic(world: World, dataset: Dataset, example: WorkedExample) -> None:
    assert find_worked_example(world, dataset).lines() == example.lines()
