"""Commands that leave relation or time open."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fitcarl.training.api import train
from tests.cli.conftest import Command
from tests.small import small, write_tiny


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("open")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FITCARL_HOME", str(folder / "home"))
        settings = small("plus")
        world = write_tiny(folder / "tiny")
        train(world, out=folder / "run", shots=2, preset="plus", setting="forecast", episodes=2, settings=settings)
    return folder / "run"


def test_evaluation_with_open_relation(fitcarl: Command, trained: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)  # lines are as long as needed
    done = fitcarl("evaluate", trained, "--open", "relation", "--split", "valid", "--json")
    assert done.code == 0, done.stderr
    document = json.loads(done.stdout)
    assert [row["relation_model"] for row in document["rows"]] == ["fitted", "popularity", "support"]
    assert document["filter"]
    shown = fitcarl("evaluate", trained, "--open", "relation", "--split", "valid")
    assert "relation, direction and entity" in shown.stdout
    assert "fitted minus popularity" in shown.stdout


def test_evaluation_with_open_time(fitcarl: Command, trained: Path) -> None:
    done = fitcarl("evaluate", trained, "--open", "time", "--split", "valid", "--draws", 1, "--json")
    assert done.code == 0, done.stderr
    assert [row["time_model"] for row in json.loads(done.stdout)["rows"]] == ["fitted", "base-rate"]
    shown = fitcarl("evaluate", trained, "--open", "time", "--split", "valid")
    assert "better than the base rate (log-loss)" in shown.stdout


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--open", "place"], "--open: unknown value; found 'place'; expected relation or time"),
        (["--open", "time", "--setting", "completion"], "--setting: open queries are forecasts"),
        (["--open", "relation", "--figure", "over.svg"], "--figure: not available with --open"),
    ],
)
def test_wrong_options_are_one_line(fitcarl: Command, trained: Path, options: list[str], message: str) -> None:
    done = fitcarl("evaluate", trained, *options)
    assert done.code == 2
    assert message in done.stderr.replace("field ", "")
    assert len(done.stderr.strip().splitlines()) == 1


@pytest.fixture(scope="module")
def example(trained: Path) -> dict[str, str]:
    """A new entity with a file of facts about it."""
    found = json.loads((trained / "example.json").read_text())
    file = trained.parent / "facts.tsv"
    rows = ("\t".join(fact[name] for name in ("subject", "relation", "object", "time")) for fact in found["facts"])
    file.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return {"facts": str(file), "subject": found["subject"], "at": found["at"], "relation": found["relation"]}


def test_prediction_without_a_relation(fitcarl: Command, trained: Path, example: dict[str, str]) -> None:
    options = ["--facts", example["facts"], "--subject", example["subject"], "--at", example["at"]]
    done = fitcarl("predict", trained, *options, "--json")
    assert done.code == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["query"]["relation"] is None
    assert document["setting"] == "forecast"
    assert len(document["answers"]) == 10
    for answer in document["answers"]:
        assert answer["relation"]
        assert answer["direction"] in ("out", "in")
        assert all(step["time"] < example["at"] for path in answer["paths"] for step in path["steps"])
    assert 0 <= document["left_out"] < 0.05
    shown = fitcarl("predict", trained, *options)
    assert "of the probability were scored" in shown.stdout
    assert "relation" in shown.stdout


def test_prediction_with_a_horizon(fitcarl: Command, trained: Path, example: dict[str, str]) -> None:
    options = ["--facts", example["facts"], "--subject", example["subject"], "--relation", example["relation"]]
    done = fitcarl("predict", trained, *options, "--horizon", "30d", "--json")
    assert done.code == 0, done.stderr
    when = json.loads(done.stdout)["when"]
    assert len(when["intervals"]) == 5
    assert sum(part["share"] for part in when["intervals"]) + when["none"] == pytest.approx(1)
    shown = fitcarl("predict", trained, *options, "--horizon", "30d")
    assert "none of these" in shown.stdout


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "--at: missing option"),
        (["--horizon", "30d"], "--horizon: horizon without a relation"),
        (["--at", "2023-05-01", "--hindsight"], "--hindsight: a query with open relation or time is a forecast"),
        (["--relation", "Consult", "--horizon", "later"], "--horizon: not a duration of this dataset"),
    ],
)
def test_wrong_queries_are_one_line(
    fitcarl: Command, trained: Path, example: dict[str, str], options: list[str], message: str
) -> None:
    done = fitcarl("predict", trained, "--facts", example["facts"], "--subject", example["subject"], *options)
    assert done.code == 2
    assert message in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
