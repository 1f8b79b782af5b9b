"""``--shard`` of ``fitcarl evaluate`` and ``fitcarl predict``, ``--merge``, and parts of something else."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from fitcarl.core.shards import Shard
from fitcarl.core.tables import read_record
from fitcarl.runs.layout import RunFolder
from fitcarl.training.api import train
from tests.cli.conftest import Command, Outcome
from tests.small import SMALL, write_tiny


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("shards")
    train(write_tiny(folder / "tiny"), out=folder / "run", shots=3, preset="plus", episodes=2, settings=SMALL)
    return folder / "run"


@pytest.fixture
def questions(run: Path, tmp_path: Path) -> Path:
    example = json.loads((run / "example.json").read_text(encoding="utf-8"))
    pl.DataFrame(example["facts"]).write_csv(tmp_path / "new.csv")
    row = {name: example[name] for name in ("subject", "relation", "at")}
    pl.DataFrame([row] * 4).write_csv(tmp_path / "q.csv")
    return tmp_path / "q.csv"


def one_line(outcome: Outcome, *parts: str) -> bool:
    is_usage_error = (outcome.code, outcome.stdout, outcome.stderr.count("\n")) == (2, "", 1)
    return is_usage_error and all(part in outcome.stderr for part in parts)


def without_costs(text: str) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(text)
    return {key: value for key, value in document.items() if key not in ("seconds", "peak_mb")}


def test_evaluation_in_parts_prints_the_same_report(run: Path, tmp_path: Path, fitcarl: Command) -> None:
    options = ["--split", "valid", "--draws", 1, "--seed", 3]
    for number in (2, 1):
        done = fitcarl("evaluate", run, *options, "--shard", f"{number}/2", "--out", tmp_path / "parts")
        assert (done.code, done.stdout) == (0, "")
        assert f"part {number}/2: {tmp_path / 'parts' / f'evaluation-{number}-of-2.safetensors'} written" in done.stderr
    merged = fitcarl("evaluate", run, "--merge", tmp_path / "parts", "--json")
    assert merged.code == 0, merged.stderr
    assert without_costs(merged.stdout) == without_costs(fitcarl("evaluate", run, *options, "--json").stdout)
    again = fitcarl("evaluate", run, *options, "--shard", "1/2", "--out", tmp_path / "parts")
    assert "exists and is complete" in again.stderr
    other = fitcarl("evaluate", run, "--shard", "1/2", "--out", tmp_path / "parts")
    assert one_line(
        other, "evaluation-1-of-2.safetensors, field split: was computed from something else", "--overwrite"
    )
    for option, value in (("--split", "test"), ("--draws", 2), ("--seed", 4), ("--setting", "forecast")):
        other = fitcarl("evaluate", run, option, value, "--merge", tmp_path / "parts")
        assert one_line(other, f"field {option[2:]}: was computed from something else")


def test_part_of_a_launched_process(
    run: Path, tmp_path: Path, questions: Path, fitcarl: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RANK", "1")
    monkeypatch.setenv("WORLD_SIZE", "2")
    assert Shard.from_environment() == Shard(2, 2)
    assert one_line(fitcarl("evaluate", run), "--out", "a folder for part 2/2")
    assert one_line(fitcarl("evaluate", run, "--open", "time"), "--open", "not available for part 2/2")
    assert fitcarl("evaluate", run, "--out", tmp_path / "parts").code == 0
    assert fitcarl("evaluate", run, "--out", tmp_path / "parts", "--shard", "1/3").code == 0
    names = ["evaluation-1-of-3.safetensors", "evaluation-2-of-2.safetensors"]
    assert sorted(file.name for file in (tmp_path / "parts").iterdir()) == names
    answers = ["--facts", tmp_path / "new.csv", "--questions", questions, "--out", tmp_path / "a.parquet"]
    assert fitcarl("predict", run, *answers).code == 0
    assert pl.read_parquet(tmp_path / "a-2-of-2.parquet")["question"].unique().to_list() == [3, 4]


@pytest.mark.parametrize(
    ("rank", "world"), [("", ""), ("0", "1"), ("2", "2"), ("-1", "2"), ("x", "2"), ("0", ""), ("²", "4")]
)
def test_environment_without_several_processes_is_no_part(
    rank: str, world: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RANK", rank)
    monkeypatch.setenv("WORLD_SIZE", world)
    assert Shard.from_environment() == Shard(1, 1)


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (["--out", "parts"], "--out"),
        (["--overwrite"], "--overwrite"),
        (["--shard", "1/2"], "--out"),
        (["--shard", "0/2", "--out", "parts"], "--shard"),
        (["--shard", "1/2", "--out", "file"], "a folder for the parts"),
        (["--shard", "1/2", "--out", "parts", "--json"], "--json"),
        (["--shard", "1/2", "--out", "parts", "--figure", "a.svg"], "--figure"),
        (["--shard", "1/2", "--out", "parts", "--open", "time"], "--open"),
        (["--shard", "1/2", "--merge", "parts"], "not available with --merge"),
        (["--merge", "parts", "--open", "time"], "--open"),
        (["--merge", "missing"], "missing: no parts"),
        (["other", "--merge", "parts"], "one run is evaluated in parts"),
    ],
)
def test_options_that_do_not_fit_together(
    run: Path, tmp_path: Path, fitcarl: Command, monkeypatch: pytest.MonkeyPatch, options: list[str], problem: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").touch()
    assert one_line(fitcarl("evaluate", run, *options), problem)


@pytest.mark.parametrize("suffix", ["parquet", "csv", "jsonl"])
def test_answers_computed_from_something_else_are_refused(
    run: Path, questions: Path, tmp_path: Path, fitcarl: Command, suffix: str
) -> None:
    new, out = tmp_path / "new.csv", tmp_path / f"a.{suffix}"

    def answer(*more: object, run: Path = run) -> Outcome:
        files = ["--facts", new, "--questions", questions, "--out", out]
        return fitcarl("predict", run, *files, "--shard", "1/2", *more)

    assert answer("--top", 2).code == 0
    part = tmp_path / f"a-1-of-2.{suffix}"
    content = part.read_bytes()
    assert "exists and is complete" in answer("--top", 2).stderr
    problem = "was computed from something else"
    assert one_line(answer("--top", 3), part.name, "field options", problem, "--overwrite")
    assert one_line(answer("--top", 2, "--errors", "skip"), "field errors", problem)
    copy = tmp_path / "copy"
    shutil.copytree(run, copy)
    assert answer("--top", 2, run=copy).code == 0  # the same run in another place
    (copy / "calibration.json").write_text('{"temperature": 2.0, "unlisted_mass": 0.25}', encoding="utf-8")
    assert one_line(answer("--top", 2, run=copy), "calibration.json", "has changed")
    RunFolder(copy).write_manifest()
    assert one_line(answer("--top", 2, run=copy), "field run", problem)
    for file, field in ((questions, "questions"), (new, "facts")):
        text = file.read_text(encoding="utf-8")
        file.write_text(text + text.splitlines()[-1] + "\n", encoding="utf-8")
        assert one_line(answer("--top", 2), f"field {field}", problem)
        file.write_text(text, encoding="utf-8")
    assert part.read_bytes() == content
    assert answer("--top", 3, "--overwrite").code == 0
    assert part.read_bytes() != content
    assert "exists and is complete" in answer("--top", 3).stderr


def test_part_without_a_record_is_refused(run: Path, questions: Path, tmp_path: Path, fitcarl: Command) -> None:
    command = ["predict", run, "--facts", tmp_path / "new.csv", "--questions", questions, "--shard", "1/2", "--out"]
    for name in ("a.parquet", "a.csv"):
        part = Shard(1, 2).path(tmp_path / name)
        part.write_bytes(b"from somewhere else")
        assert read_record(part) is None
        assert one_line(fitcarl(*command, tmp_path / name), part.name, "does not say what it was computed from")
        assert part.read_bytes() == b"from somewhere else"


def test_standard_input_has_no_parts(run: Path, tmp_path: Path, fitcarl: Command) -> None:
    command = ["predict", run, "--questions", "-", "--out", tmp_path / "a.parquet", "--shard", "1/2"]
    assert one_line(fitcarl(*command), "--questions", "standard input has no parts")
