"""Answers of ``--engine ray`` with a local Ray."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import polars as pl
import pytest

from fitcarl.cli import run as run_command
from fitcarl.core.shards import Shard
from fitcarl.training.api import train
from tests.small import SMALL, write_tiny

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("ray") is None, reason="Ray is not installed: pip install 'fitcarl[ray]'"
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run, and queries with one that cannot be answered."""
    folder = tmp_path_factory.mktemp("ray")
    train(write_tiny(folder / "tiny"), out=folder / "run", shots=3, preset="plus", episodes=2, settings=SMALL)
    example = json.loads((folder / "run" / "example.json").read_text(encoding="utf-8"))
    pl.DataFrame(example["facts"]).write_csv(folder / "new.csv")
    names = json.loads((folder / "run" / "vocabulary.json").read_text(encoding="utf-8"))["relations"]
    asked = [*names[:9], "No such relation"]
    rows = [{"subject": example["subject"], "relation": name, "at": example["at"]} for name in asked]
    pl.DataFrame(rows).write_csv(folder / "q.csv")
    return folder


def answer(folder: Path, out: Path, *more: object) -> int:
    files = ["--facts", folder / "new.csv", "--questions", folder / "q.csv", "--out", out]
    return run_command([str(word) for word in ("predict", folder / "run", *files, "--top", 3, *more)])


@pytest.mark.parametrize("suffix", ["parquet", "csv"])
def test_answers_equal_those_of_one_process(
    folder: Path, tmp_path: Path, suffix: str, capsys: pytest.CaptureFixture[str]
) -> None:
    local, ray = tmp_path / f"local.{suffix}", tmp_path / f"ray.{suffix}"
    assert answer(folder, local, "--errors", "return") == 0
    capsys.readouterr()
    assert answer(folder, ray, "--errors", "return", "--engine", "ray", "--shards", 3) == 0
    assert "1 of 10 queries cannot be answered; the first: " in capsys.readouterr().err
    read = pl.read_parquet if suffix == "parquet" else pl.read_csv
    expected, found = read(local), read(ray)
    floats = ["share", "score", "unlisted"]
    assert found.drop(floats).equals(expected.drop(floats))
    for column in floats:
        assert found[column].to_list() == pytest.approx(expected[column].to_list(), abs=1e-5)
    assert sorted(file.name for file in tmp_path.iterdir()) == [local.name, ray.name]  # no part is left


def test_invalid_query_is_one_line(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert answer(folder, tmp_path / "a.parquet", "--engine", "ray", "--shards", 2) == 2
    shown = capsys.readouterr().err
    assert shown.count("\n") == 1
    assert "q.csv, row 11, field relation: unknown relation" in shown
    assert not (tmp_path / "a.parquet").exists()


def test_unreachable_cluster_is_one_line(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(address: str, **_: object) -> None:
        raise ConnectionError(f"Failed to connect to Ray cluster at {address}")

    monkeypatch.setenv("RAY_ADDRESS", "192.0.2.1:6379")
    monkeypatch.setattr("ray.init", refuse)
    assert answer(folder, tmp_path / "a.parquet", "--engine", "ray", "--shards", 2) == 2
    shown = capsys.readouterr().err
    assert shown.count("\n") == 1
    assert "RAY_ADDRESS: cannot connect to Ray (Failed to connect to Ray cluster at 192.0.2.1:6379)" in shown


@pytest.mark.parametrize(("top", "kept"), [(3, True), (2, False)])
def test_complete_part_of_the_same_queries_and_options_is_used(
    folder: Path, tmp_path: Path, top: int, kept: bool
) -> None:
    out, parts = tmp_path / "a.parquet", tmp_path / "a.parquet.parts"
    parts.mkdir()
    assert answer(folder, parts / out.name, "--errors", "skip", "--shard", "1/2", "--top", top) == 0
    part = Shard(1, 2).path(parts / out.name)
    record = {"fitcarl": pl.read_parquet_metadata(part)["fitcarl"]}
    pl.read_parquet(part).with_columns(pl.lit("kept").alias("explanation")).write_parquet(part, metadata=record)
    assert answer(folder, out, "--errors", "skip", "--engine", "ray", "--shards", 2) == 0
    found = pl.read_parquet(out)
    assert found["question"].unique().sort().to_list() == list(range(1, 10))
    marked = found.filter(pl.col("explanation") == "kept")["question"].unique().sort().to_list()
    assert marked == (list(range(1, 6)) if kept else [])
