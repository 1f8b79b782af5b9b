"""The commands that list, describe, download and make datasets."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from fitcarl.cli.data import parse_parts
from fitcarl.data.io.dataset_folder import read_dataset
from fitcarl.errors import InputError
from tests.cli.conftest import Command, fact_lines
from tests.cli.test_train import assert_one_line

FILES = {
    *("background.tsv", "meta_train.tsv", "meta_valid.tsv", "meta_test.tsv"),
    *("entities.tsv", "relations.tsv", "times.tsv", "concepts.tsv"),
}


def _contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_split_writes_a_dataset_and_prints_its_statistics(fitcarl: Command, facts: Path, tmp_path: Path) -> None:
    outcome = fitcarl("data", "split", "--facts", facts, "--out", tmp_path / "made", "--seed", 3)
    assert outcome.code == 0
    assert set(_contents(tmp_path / "made")) >= FILES - {"concepts.tsv"}
    assert "720 rows, 0 exact duplicates merged, 0 facts with equal subject and object kept" in outcome.stdout
    assert "made: 66 entities, 3 relations" in outcome.stdout
    assert outcome.stdout.rstrip().endswith(f"written to {tmp_path / 'made'}")


def test_split_warns_about_few_entities_and_proposes_options_that_work(
    fitcarl: Command, facts: Path, tmp_path: Path
) -> None:
    hubs = [
        f"hub {a}\tConsult\thub {b}\t2024-{month:02d}-01" for a in range(6) for b in range(6) for month in range(1, 13)
    ]
    facts.write_text("\n".join([*fact_lines(), *hubs]) + "\n")
    outcome = fitcarl("data", "split", "--facts", facts, "--out", tmp_path / "made")
    lines = outcome.stderr.splitlines()
    assert lines[0].startswith("Only 3 entities for validation: the 95 % interval of an MRR is about ± .27")
    assert lines[1].startswith("Only 3 entities for test")
    proposal = lines[2].split()
    assert proposal[:2] == ["More", "entities:"]
    again = fitcarl("data", "split", "--facts", facts, "--out", tmp_path / "more", *proposal[2:8], "--json")
    unseen = json.loads(again.stdout)["dataset"]["unseen"]
    assert (str(unseen["valid"]), str(unseen["test"])) == (proposal[9], proposal[-3])
    assert json.loads(again.stdout)["few_entities"]["test"] == unseen["test"] > 3
    assert lines[-1] == "To test every suitable entity once: 'fitcarl crossvalidate'."


def test_split_reports_duplicates_and_self_loops(fitcarl: Command, facts: Path, tmp_path: Path) -> None:
    lines = fact_lines()
    lines += [lines[0], lines[0], "hub 0\tAccuse\thub 0\t2024-01-01"]
    facts.write_text("\n".join(lines) + "\n")
    outcome = fitcarl("data", "split", "--facts", facts, "--out", tmp_path / "made", "--json")
    counts = {"rows": 723, "duplicates": 2, "self_loops": 1, "times_truncated": 0, "merged_by_truncation": 0}
    source = json.loads(outcome.stdout)["source"]
    assert {name: source[name] for name in counts} == counts
    assert (source["concept_rows"], source["concept_rows_used"]) == (0, 0)
    columns = {"subject": "column 1", "relation": "column 2", "object": "column 3", "time": "column 4"}
    assert (source["mapping"], source["warnings"]) == (columns, [])


def test_split_reports_truncated_times_and_matching_concepts(fitcarl: Command, facts: Path, tmp_path: Path) -> None:
    lines = [f"{line}T10:{minute}" for line in fact_lines() for minute in ("00", "30")]
    facts.write_text("\n".join([*lines, lines[0]]) + "\n")
    (tmp_path / "kinds.tsv").write_text("entity\tkind\nhub 1\tplace\nactor 3\tperson\n")
    outcome = fitcarl(
        *("data", "split", "--facts", facts, "--out", tmp_path / "made", "--concepts", tmp_path / "kinds.tsv")
    )
    assert outcome.stdout.splitlines()[1] == (
        f"{facts}: 1,441 rows, 1 exact duplicate merged, 0 facts with equal subject and object kept, "
        "720 times truncated to the hour, 720 facts merged that became equal by truncation, "
        "2 of 3 rows of concepts match an entity"
    )


def test_dataset_can_be_split_again(fitcarl: Command, facts: Path, tmp_path: Path) -> None:
    first, again, other = (tmp_path / name for name in ("first", "again", "other"))
    assert fitcarl("data", "split", "--facts", facts, "--out", first).code == 0
    outcome = fitcarl("data", "split", "--data", first, "--out", again, "--seed", 1)
    assert outcome.code == 0
    assert f"{first}: 720 rows, 0 exact duplicates merged" in outcome.stdout
    assert fitcarl("data", "split", "--data", first, "--out", other, "--seed", 2).code == 0
    sets = [read_dataset(folder) for folder in (first, again, other)]
    everything = [{tuple(row) for row in one.everything.rows().tolist()} for one in sets]
    assert everything[0] == everything[1] == everything[2]
    assert len({tuple(sorted(one.test.entities.tolist())) for one in sets}) > 1
    for given in ([], ["--facts", facts, "--data", first]):
        assert_one_line(fitcarl("data", "split", *given, "--out", tmp_path / "x"), "either --facts or --data")
    columns = fitcarl("data", "split", "--data", first, "--columns", "1,2,3,4", "--out", tmp_path / "x")
    assert_one_line(columns, "--columns", "applies to a file of facts only")


def test_split_depends_on_its_seed(fitcarl: Command, facts: Path, tmp_path: Path) -> None:
    for name, seed in (("one", 1), ("again", 1), ("other", 2)):
        assert fitcarl("data", "split", "--facts", facts, "--out", tmp_path / name, "--seed", seed).code == 0
    assert _contents(tmp_path / "one") == _contents(tmp_path / "again")
    assert _contents(tmp_path / "one") != _contents(tmp_path / "other")


def test_split_accepts_columns_header_concepts_and_bounds(fitcarl: Command, tmp_path: Path) -> None:
    rows = [line.split("\t") for line in fact_lines()]
    table = ["when,note,b,verb,a", *(f"{t},x,{o},{r},{s}" for s, r, o, t in rows)]
    (tmp_path / "facts.csv").write_text("\n".join(table) + "\n")
    (tmp_path / "kinds.json").write_text(json.dumps({"actor 1": ["person"], "hub 2": ["place", "state"]}))
    outcome = fitcarl(
        *("data", "split", "--facts", tmp_path / "facts.csv", "--out", tmp_path / "made", "--columns", "a,verb,b,when"),
        *("--header", "--concepts", tmp_path / "kinds.json", "--low", 12, "--high", 12, "--share", 0.4),
        *("--parts", "50/25/25", "--granularity", "month", "--json"),
    )
    assert "Only 6 entities for test" in outcome.stderr
    dataset = json.loads(outcome.stdout)["dataset"]
    assert dataset["unseen"] == {"train": 12, "valid": 6, "test": 6}
    assert dataset["time"]["granularity"] == "month"
    assert (dataset["times"], dataset["concepts"]["names"]) == (12, 3)


def _truncated_parquet(path: Path) -> None:
    import polars as pl

    pl.DataFrame(
        {"subject": ["a"] * 99, "relation": ["r"] * 99, "object": ["b"] * 99, "time": ["2024-01-01"] * 99}
    ).write_parquet(path)
    path.write_bytes(path.read_bytes()[:-40])


def _text(*lines: str) -> Callable[[Path], None]:
    return lambda path: path.write_text("\n".join(lines), encoding="utf-8") and None


BAD = {
    "missing.tsv": lambda _: None,
    "empty.tsv": _text(),
    "narrow.tsv": _text("a\tr\tb"),
    "ragged.tsv": _text("a\tr\tb\t2024-01-01", "a\tr\tb"),
    "date.tsv": _text("a\tr\tb\t2024-01-01", "a\tr\tb\t2024-02-31"),
    "name.tsv": _text("a\tr\tb\t2024-01-01", "\tr\tb\t2024-01-02"),
    "few.tsv": _text("a\tr\tb\t2024-01-01", "a\tr\tb\t2024-01-02"),
    "header.csv": _text("who,did,what", "a,r,b"),
    "latin.tsv": lambda path: path.write_bytes("é\tr\tb\t2024-01-01\n".encode("latin-1")) and None,
    "line.jsonl": _text('{"subject": "a"'),
    "cut.parquet": _truncated_parquet,
    "unknown.xyz": _text("a\tr\tb\t2024-01-01"),
}


@pytest.mark.parametrize("name", BAD)
def test_invalid_file_is_reported_in_one_line_and_writes_nothing(fitcarl: Command, tmp_path: Path, name: str) -> None:
    BAD[name](tmp_path / name)
    before = {*tmp_path.iterdir()}
    outcome = fitcarl("data", "split", "--facts", tmp_path / name, "--out", tmp_path / "made", "--seed", 1)
    assert outcome.code == 2
    assert outcome.stdout == ""
    assert outcome.stderr.startswith("error: ")
    assert outcome.stderr.count("\n") == 1
    assert name in outcome.stderr
    assert {*tmp_path.iterdir()} == before


def test_invalid_row_is_reported_with_number_and_field(fitcarl: Command, tmp_path: Path) -> None:
    BAD["date.tsv"](tmp_path / "date.tsv")
    outcome = fitcarl("data", "split", "--facts", tmp_path / "date.tsv", "--out", tmp_path / "made")
    assert f"{tmp_path / 'date.tsv'}, row 2, field time" in outcome.stderr
    assert "'2024-02-31'" in outcome.stderr


@pytest.mark.parametrize(
    "options",
    [
        ["--parts", "80/10"],
        ["--parts", "80/20/0"],
        ["--parts", "a/b/c"],
        ["--low", "30"],
        ["--share", "0"],
        ["--seed", "-1"],
        ["--granularity", "fortnight"],
        ["--format", "xml"],
        ["--columns", "a,b"],
        ["--columns", "1,2,3"],
        ["--concepts", "nowhere.json"],
    ],
)
def test_invalid_option_is_reported_in_one_line(
    fitcarl: Command, facts: Path, tmp_path: Path, options: list[str]
) -> None:
    outcome = fitcarl("data", "split", "--facts", facts, "--out", tmp_path / "made", *options)
    assert (outcome.code, outcome.stdout, outcome.stderr.count("\n")) == (2, "", 1)
    assert not (tmp_path / "made").exists()


def test_split_does_not_overwrite_by_default(fitcarl: Command, facts: Path, tmp_path: Path) -> None:
    (tmp_path / "made").mkdir()
    (tmp_path / "made" / "mine.txt").write_text("keep me")
    outcome = fitcarl("data", "split", "--facts", facts, "--out", tmp_path / "made")
    assert outcome.code == 2
    assert str(tmp_path / "made") in outcome.stderr
    assert _contents(tmp_path / "made") == {"mine.txt": b"keep me"}


@pytest.mark.parametrize("text", ["80/10/10", "8/1/1", "0.8/0.1/0.1"])
def test_parts_accept_percentages_and_fractions(text: str) -> None:
    assert parse_parts(text) == pytest.approx((0.8, 0.1, 0.1))


@pytest.mark.parametrize("text", ["nan/1/1", "inf/1/1", "-1/1/1", ""])
def test_invalid_parts_are_rejected(text: str) -> None:
    with pytest.raises(InputError, match="invalid parts"):
        parse_parts(text)


def test_describe_prints_the_documented_json(fitcarl: Command, facts: Path, tmp_path: Path) -> None:
    fitcarl("data", "split", "--facts", facts, "--out", tmp_path / "made")
    found = json.loads(fitcarl("data", "describe", tmp_path / "made", "--json").stdout)
    assert (found["entities"], found["relations"]) == (66, 3)
    assert found["unseen"] == {"train": 24, "valid": 3, "test": 3}
    assert found["facts"] == {"background": 360, "train": 288, "valid": 36, "test": 36}
    assert found["name"] == "made"


def test_describe_profiles_a_file_of_facts(fitcarl: Command, facts: Path, tmp_path: Path) -> None:
    table = tmp_path / "events.csv"
    rows = [line.split("\t") for line in facts.read_text().splitlines()]
    table.write_text("when,a,verb,b\n" + "".join(f"{t},{s},{r},{o}\n" for s, r, o, t in [*rows, rows[0]]))
    options = ("--columns", "a,verb,b,when", "--granularity", "month")
    found = json.loads(fitcarl("data", "describe", table, *options, "--json").stdout)
    assert (found["facts"], found["entities"], found["relations"]) == (720, 66, 3)
    assert (found["rows"], found["duplicates"], found["granularity"]) == (721, 1, "month")
    assert {"mapping", "time_scale", "two_sided", "repeats", "periods", "busiest"} <= set(found)
    assert "unseen" not in found
    text = fitcarl("data", "describe", table, *options).stdout
    assert "720 facts, 66 entities, 3 relations (721 rows, 1 duplicate)" in text
    assert "facts per month" in text


def test_normalise_merges_similar_names_in_every_command_that_reads_facts(
    fitcarl: Command, facts: Path, tmp_path: Path
) -> None:
    lines = fact_lines()
    lines[0] = lines[0].replace("actor 0", " Actor  0", 1)
    facts.write_text("\n".join(lines) + "\n")
    plain = json.loads(fitcarl("data", "describe", facts, "--json").stdout)
    assert plain["similar_names"]["entities"] == [["actor 0", " Actor  0"]]
    merged = fitcarl("data", "describe", facts, "--normalise", "--json")
    assert json.loads(merged.stdout)["entities"] == plain["entities"] - 1 == 66
    assert f"{facts}: 1 name merged with a similar one: ' Actor  0' → 'actor 0'" in merged.stderr
    split = fitcarl("data", "split", "--facts", facts, "--normalise", "--out", tmp_path / "made", "--json")
    assert json.loads(split.stdout)["dataset"]["entities"] == 66
    assert "1 name merged with a similar one" in split.stderr


def test_describe_rejects_reading_options_for_a_dataset(fitcarl: Command) -> None:
    for option in ("--normalise", "--no-header"):
        outcome = fitcarl("data", "describe", "demo", option)
        assert outcome.code == 2
        assert "applies to a file of facts only" in outcome.stderr


def test_describe_prints_the_same_text_as_split(fitcarl: Command, facts: Path, tmp_path: Path) -> None:
    made = fitcarl("data", "split", "--facts", facts, "--out", tmp_path / "made").stdout
    assert fitcarl("data", "describe", tmp_path / "made").stdout.strip() in made


def test_unknown_dataset_error_suggests_the_nearest_name(fitcarl: Command) -> None:
    outcome = fitcarl("data", "describe", "icews14-og")
    assert outcome.code == 2
    assert "'icews14-oog'" in outcome.stderr


def test_list_shows_local_datasets(fitcarl: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert "fitcarl data get icews14-oog" in fitcarl("data", "list").stdout
    (tmp_path / "icews14-oog").mkdir()
    (tmp_path / "icews14-oog" / "background.tsv").touch()
    monkeypatch.setenv("FITCARL_DATA", str(tmp_path))
    found = {entry["name"]: entry for entry in json.loads(fitcarl("data", "list", "--json").stdout)}
    assert found["icews14-oog"]["folder"] == str(tmp_path / "icews14-oog")
    assert found["icews18-oog"]["folder"] is None
    assert found["demo"]["generated"]
    assert str(tmp_path / "icews14-oog") in fitcarl("data", "list").stdout


def test_get_generates_the_demo_world_without_network(fitcarl: Command, tmp_path: Path) -> None:
    outcome = fitcarl("data", "get", "demo", "--out", tmp_path / "world", "--json")
    assert outcome.code == 0
    assert json.loads(outcome.stdout)["folder"] == str(tmp_path / "world")
    assert set(_contents(tmp_path / "world")) >= FILES
    assert fitcarl("data", "get", "demo", "--out", tmp_path / "world").code == 2
    assert fitcarl("data", "get", "demo", "--out", tmp_path / "world", "--overwrite").code == 0


def test_get_from_a_folder_without_raw_files_writes_nothing(fitcarl: Command, tmp_path: Path) -> None:
    (tmp_path / "raw").mkdir()
    outcome = fitcarl("data", "get", "icews14-oog", "--from", tmp_path / "raw", "--out", tmp_path / "made")
    assert (outcome.code, outcome.stderr.count("\n")) == (2, 1)
    assert not (tmp_path / "made").exists()


@pytest.mark.data
def test_get_from_local_raw_files_writes_the_official_dataset(
    process: Command, benchmarks: Path, tmp_path: Path
) -> None:
    raw = benchmarks / "raw" / "icews14"
    outcome = process("data", "get", "icews14-oog", "--from", raw, "--out", tmp_path / "made")
    assert (outcome.code, outcome.stderr) == (0, "")
    for name in FILES:
        assert (tmp_path / "made" / name).read_bytes() == (benchmarks / "icews14-oog" / name).read_bytes(), name


def test_index_of_a_file(facts: Path, tmp_path: Path, fitcarl: Command) -> None:
    done = fitcarl("data", "index", facts, "--out", tmp_path / "index", "--memory", 1)
    assert done.code == 0, done.stderr
    assert "720 facts of 720 rows, 66 entities, 3 relations" in done.stdout
    assert "subject = column 1" in done.stderr
    shown = json.loads(fitcarl("data", "index", facts, "--out", tmp_path / "other", "--json").stdout)
    assert (shown["facts"], shown["folder"]) == (720, str(tmp_path / "other"))
    again = fitcarl("data", "index", facts, "--out", tmp_path / "index")
    assert (again.code, again.stderr.count("\n")) == (2, 1)
    assert "exists already" in again.stderr
    wrong = fitcarl("data", "index", facts, "--out", tmp_path / "new", "--columns", "1,2,3,9")
    assert (wrong.code, wrong.stderr.count("\n")) == (2, 1)
    assert "no such column; found '9'" in wrong.stderr
    assert not (tmp_path / "new").exists()
