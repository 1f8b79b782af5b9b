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


def test_evaluation_with_open_relation(fitcarl: Command, trained: Path) -> None:
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
