"""``fitcarl predict --questions`` and ``--min-share``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from fitcarl.predict import Predictor
from fitcarl.training.api import train
from tests.cli.conftest import Command, Outcome
from tests.small import SMALL, write_tiny

FIRST = ["question", "rank", "entity", "share", "score", "explanation"]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("batch")
    train(write_tiny(folder / "tiny"), out=folder / "run", shots=3, preset="plus", episodes=2, settings=SMALL)
    return folder / "run"


@pytest.fixture(scope="module")
def example(run: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((run / "example.json").read_text(encoding="utf-8"))
    return found


@pytest.fixture
def new(example: dict[str, Any], tmp_path: Path) -> Path:
    pl.DataFrame(example["facts"]).write_csv(tmp_path / "new.csv")
    return tmp_path / "new.csv"


@pytest.fixture
def questions(run: Path, example: dict[str, Any], tmp_path: Path) -> Path:
    relations = Predictor.load(run).relations[:7]
    rows = [{"at": example["at"], "relation": relation, "subject": example["subject"]} for relation in relations]
    pl.DataFrame(rows).write_csv(tmp_path / "q.csv")
    return tmp_path / "q.csv"


def read(file: Path) -> pl.DataFrame:
    if file.suffix == ".parquet":
        return pl.read_parquet(file)
    if file.suffix == ".jsonl":
        return pl.read_ndjson(file)
    return pl.read_csv(file, separator="," if file.suffix == ".csv" else "\t")


def one_line(outcome: Outcome, *parts: str) -> bool:
    is_usage_error = (outcome.code, outcome.stdout, outcome.stderr.count("\n")) == (2, "", 1)
    return is_usage_error and all(part in outcome.stderr for part in parts)


@pytest.mark.parametrize("suffix", ["parquet", "csv", "tsv", "jsonl"])
def test_answers_to_a_file_equal_single_queries(
    run: Path, new: Path, questions: Path, tmp_path: Path, fitcarl: Command, suffix: str
) -> None:
    out = tmp_path / f"a.{suffix}"
    done = fitcarl("predict", run, "--facts", new, "--questions", questions, "--out", out, "--top", 3)
    assert done.code == 0, done.stderr
    assert f"answers to 7 queries written to {out}" in done.stderr
    found = read(out)
    assert found.columns[:6] == FIRST
    assert found["question"].to_list() == [number for number in range(1, 8) for _ in range(3)]
    for number, row in enumerate(pl.read_csv(questions).rows(named=True), 1):
        options = ["--subject", row["subject"], "--relation", row["relation"], "--at", row["at"], "--top", 3]
        single = json.loads(fitcarl("predict", run, "--facts", new, *options, "--json").stdout)["answers"]
        own = found.filter(pl.col("question") == number)
        assert own["entity"].to_list() == [answer["entity"] for answer in single]
        assert own["share"].to_list() == pytest.approx([answer["share"] for answer in single], abs=1e-5)
        assert own["explanation"].to_list() == [answer["paths"][0]["text"] for answer in single]


def test_parts_together_are_the_whole_and_complete_parts_are_kept(
    run: Path, new: Path, questions: Path, tmp_path: Path, fitcarl: Command
) -> None:
    command = ["predict", run, "--facts", new, "--questions", questions, "--top", 2]
    assert fitcarl(*command, "--out", tmp_path / "whole.parquet").code == 0
    (tmp_path / "parts").mkdir()
    for number in range(1, 11):  # more parts than rows: some are empty
        done = fitcarl(*command, "--out", tmp_path / "parts" / "a.parquet", "--shard", f"{number}/10")
        assert done.code == 0, done.stderr
    names = [f"a-{number:02}-of-10.parquet" for number in range(1, 11)]
    assert sorted(file.name for file in (tmp_path / "parts").iterdir()) == names
    parts, whole = pl.read_parquet(tmp_path / "parts"), pl.read_parquet(tmp_path / "whole.parquet")
    assert parts.select("question", "rank", "entity").equals(whole.select("question", "rank", "entity"))
    part = tmp_path / "parts" / names[4]
    written = part.stat().st_mtime_ns
    again = fitcarl(*command, "--out", tmp_path / "parts" / "a.parquet", "--shard", "5/10")
    assert (again.code, part.stat().st_mtime_ns) == (0, written)
    assert "exists and is complete" in again.stderr
    again = fitcarl(*command, "--out", tmp_path / "parts" / "a.parquet", "--shard", "5/10", "--overwrite")
    assert again.code == 0
    assert part.stat().st_mtime_ns != written


def test_existing_answers_are_not_replaced(
    run: Path, new: Path, questions: Path, tmp_path: Path, fitcarl: Command
) -> None:
    (tmp_path / "a.csv").write_text("mine", encoding="utf-8")
    command = ["predict", run, "--facts", new, "--questions", questions, "--out", tmp_path / "a.csv"]
    assert one_line(fitcarl(*command), "a.csv: exists already", "--overwrite")
    assert (tmp_path / "a.csv").read_text(encoding="utf-8") == "mine"
    assert fitcarl(*command, "--overwrite").code == 0
    assert read(tmp_path / "a.csv").columns[:6] == FIRST


def test_row_that_cannot_be_answered(
    run: Path, new: Path, questions: Path, example: dict[str, Any], tmp_path: Path, fitcarl: Command
) -> None:
    with questions.open("a", encoding="utf-8") as rows:
        rows.write(f'{example["at"]},No such relation,"{example["subject"]}"\n')
    command = ["predict", run, "--facts", new, "--questions", questions, "--out", tmp_path / "a.csv", "--top", 1]
    problem = f"{questions}, row 9, field relation: unknown relation; found 'No such relation'"
    assert one_line(fitcarl(*command), problem)
    assert not (tmp_path / "a.csv").exists()
    skipped = fitcarl(*command, "--errors", "skip")
    assert skipped.code == 0
    assert f"1 of 8 queries cannot be answered; the first: {problem}" in skipped.stderr
    assert read(tmp_path / "a.csv")["question"].to_list() == list(range(1, 8))
    assert fitcarl(*command, "--errors", "return", "--overwrite").code == 0
    last = read(tmp_path / "a.csv").row(-1, named=True)
    assert (last["question"], last["entity"], last["relation"]) == (8, None, "No such relation")
    assert last["error"].startswith(problem)


def test_interrupted_command_leaves_nothing(
    run: Path, new: Path, questions: Path, tmp_path: Path, fitcarl: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("fitcarl.predict.predictions.Predictions.to_frame", stop)
    before = sorted(tmp_path.iterdir())
    done = fitcarl("predict", run, "--facts", new, "--questions", questions, "--out", tmp_path / "a.parquet")
    assert done.code == 130
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (["--out", "a.csv"], "--out"),
        (["--shard", "1/2"], "--shard"),
        (["--errors", "skip"], "--errors"),
        (["--overwrite"], "--overwrite"),
        (["--questions", "q.csv"], "--out"),
        (["--questions", "q.csv", "--out", "a.xlsx"], "unknown format"),
        (["--questions", "q.csv", "--out", "no/such/a.csv"], "no such folder"),
        (["--questions", "q.csv", "--out", "a.csv", "--shard", "3/2"], "--shard"),
        (["--questions", "q.csv", "--out", "a.csv", "--errors", "ignore"], "--errors"),
        (["--questions", "q.csv", "--out", "a.csv", "--subject", "X"], "--subject"),
        (["--questions", "q.csv", "--out", "a.csv", "--json"], "--json"),
        (["--questions", "missing.csv", "--out", "a.csv"], "missing.csv: no such file"),
    ],
)
def test_wrong_options(
    run: Path, tmp_path: Path, fitcarl: Command, monkeypatch: pytest.MonkeyPatch, options: list[str], problem: str
) -> None:
    monkeypatch.chdir(tmp_path)
    assert one_line(fitcarl("predict", run, *options), problem)


def test_open_relations_and_times_from_options(
    run: Path, new: Path, example: dict[str, Any], tmp_path: Path, fitcarl: Command
) -> None:
    (tmp_path / "q.jsonl").write_text(json.dumps({"id": "x", "subject": example["subject"]}) + "\n", encoding="utf-8")
    command = ["predict", run, "--facts", new, "--questions", tmp_path / "q.jsonl", "--out", tmp_path / "a.jsonl"]
    assert one_line(fitcarl(*command), "no column for the time")
    assert fitcarl(*command, "--at", example["at"], "--top", 5, "--paths", 0).code == 0
    found = read(tmp_path / "a.jsonl")
    assert found["question"].to_list() == ["x"] * 5
    assert found["explanation"].null_count() == 5
    assert set(found["direction"]) <= {"in", "out"}


def test_min_share_abstains(run: Path, new: Path, example: dict[str, Any], fitcarl: Command) -> None:
    query = ["--subject", example["subject"], "--relation", example["relation"], "--at", example["at"]]
    command = ["predict", run, "--facts", new, *query]
    complete = json.loads(fitcarl(*command, "--json").stdout)
    assert complete["unlisted"] == pytest.approx(1 - sum(answer["share"] for answer in complete["answers"]))
    assert f"All other answers together: {complete['unlisted']:.1%}" in fitcarl(*command).stdout
    least = complete["answers"][1]["share"]
    some = json.loads(fitcarl(*command, "--min-share", least, "--json").stdout)
    assert [answer["rank"] for answer in some["answers"]] == [1, 2]
    none = fitcarl(*command, "--min-share", 0.999)
    assert none.code == 0
    best = complete["answers"][0]["share"]
    assert f"None of these is likely: the best answer has {best:.1%}, less than 99.9%" in none.stdout
    empty = json.loads(fitcarl(*command, "--min-share", 0.999, "--json").stdout)
    assert (empty["answers"], empty["unlisted"], empty["best_share"]) == ([], 1.0, pytest.approx(best))


def test_table_has_a_column_of_concepts_only_if_there_are_some(
    facts: Path, tmp_path: Path, run: Path, new: Path, example: dict[str, Any], fitcarl: Command
) -> None:
    query = ["--subject", example["subject"], "--relation", example["relation"], "--at", example["at"]]
    assert "concept" in fitcarl("predict", run, "--facts", new, *query).stdout
    train(facts, out=tmp_path / "plain", shots=1, preset="plus", episodes=2, settings=SMALL)
    shown = fitcarl("predict", tmp_path / "plain", "--subject", "actor 3", "--relation", "Praise", "--at", "2025-01-01")
    assert shown.code == 0
    assert "answer" in shown.stdout
    assert "concept" not in shown.stdout


def test_score_writes_and_prints(
    run: Path, new: Path, example: dict[str, Any], tmp_path: Path, fitcarl: Command
) -> None:
    predictor = Predictor.load(run)
    names = ("subject", "relation", "object", "time")
    events = [(example["subject"], example["relation"], entity, example["at"]) for entity in predictor.entities[:30]]
    pl.DataFrame(events, schema=names, orient="row").write_csv(tmp_path / "events.csv")
    command = ["score", run, "--facts", new, "--events", tmp_path / "events.csv"]
    done = fitcarl(*command, "--out", tmp_path / "s.csv", "--against-validation")
    assert done.code == 0, done.stderr
    assert f"scores of 30 facts written to {tmp_path / 's.csv'}" in done.stderr
    found = read(tmp_path / "s.csv")
    assert found.columns == ["event", *names, "share", "rank", "candidates", "percentile", "validation_percentile"]
    assert found["object"].to_list() == list(predictor.entities[:30])
    assert found["validation_percentile"].null_count() == 0
    listed = json.loads(fitcarl(*command, "--json").stdout)
    assert [row["rank"] for row in listed] == found["rank"].to_list()
    shown = fitcarl(*command).stdout
    assert "percentile" in shown
    assert "10 more; --out writes all of them" in shown
    assert one_line(fitcarl(*command, "--out", tmp_path / "s.csv"), "exists already")
    assert one_line(fitcarl(*command, "--predict", "both"), "--predict")


def test_embeddings_and_similar(run: Path, tmp_path: Path, fitcarl: Command) -> None:
    loaded = Predictor.load(run).run
    for suffix in ("parquet", "csv", "jsonl"):
        done = fitcarl("embeddings", run, "--out", tmp_path / f"e.{suffix}")
        assert done.code == 0, done.stderr
        assert "answer rows of the support encoder" in done.stderr
        found = read(tmp_path / f"e.{suffix}")
        first = found.row(0)
        vector = first[1:] if suffix == "csv" else first[1]
        assert list(vector) == pytest.approx(loaded.embedding(first[0]).tolist(), rel=1e-4)
    name = found["entity"][0]
    similar = json.loads(fitcarl("similar", run, name, "--top", 3, "--json").stdout)["similar"]
    assert [(row["entity"], row["similarity"]) for row in similar] == loaded.nearest(name, 3)
    assert similar[0]["entity"] in fitcarl("similar", run, name).stdout
    assert one_line(fitcarl("similar", run, "No such entity"), "unknown entity")
