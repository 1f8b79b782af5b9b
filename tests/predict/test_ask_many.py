"""Tables of queries from Python: frames, records, errors and processes."""

from __future__ import annotations

import multiprocessing
import pickle
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from fitcarl.errors import InputError
from fitcarl.predict import Predictor, Query
from fitcarl.predict.questions import QueryRow, read_queries
from fitcarl.runs.run import Run
from tests.predict.conftest import UnseenEntity
from tests.predict.test_predictor import same

FIRST = ["question", "rank", "entity", "share", "score", "explanation"]


@pytest.fixture
def facts(unseen_entities: list[UnseenEntity]) -> list[Any]:
    return [fact for unseen in unseen_entities[:3] for fact in unseen.facts]


@pytest.fixture
def table(unseen_entities: list[UnseenEntity]) -> pl.DataFrame:
    rows = [unseen.query for unseen in unseen_entities[:3]]
    names = ("at", "object", "relation", "subject")  # in any order
    return pl.DataFrame({name: [getattr(query, name) for query in rows] for name in names})


def test_frame_has_one_row_per_answer(predictor: Predictor, facts: list[Any], table: pl.DataFrame) -> None:
    found = predictor.ask_many(table, facts=facts, top=3)
    frame = found.to_frame()
    assert frame.columns[:6] == FIRST
    assert "error" not in frame.columns
    assert len(found) == len(table)
    assert not found.errors
    for number, prediction in enumerate(found, 1):
        own = frame.filter(pl.col("question") == number)
        assert own["entity"].to_list() == [answer.entity for answer in prediction]
        assert own["share"].to_list() == [answer.share for answer in prediction]
        assert own["explanation"].to_list() == [a.paths[0].text if a.paths else None for a in prediction]
        assert own["unlisted"][0] == pytest.approx(1 - own["share"].sum())
        joined = own.row(0, named=True)
        assert {name: joined[name] for name in table.columns} == table.row(number - 1, named=True)


def test_many_equal_single_questions(predictor: Predictor, facts: list[Any], table: pl.DataFrame) -> None:
    predictor.observe(facts)
    for row, found in zip(table.rows(named=True), predictor.ask_many(table, top=5, paths=2), strict=True):
        assert same(found, predictor.ask(**row, top=5, paths=2))


@pytest.mark.parametrize("kind", ["pandas", "pyarrow", "lazy", "records", "queries"])
def test_any_kind_of_table(predictor: Predictor, facts: list[Any], table: pl.DataFrame, kind: str) -> None:
    def given() -> Any:
        if kind == "pandas":
            return pytest.importorskip("pandas").DataFrame(table.to_dict(as_series=False))
        if kind == "pyarrow":
            return pytest.importorskip("pyarrow").table(table.to_dict(as_series=False))
        if kind == "lazy":
            return table.lazy()
        if kind == "records":
            return table.rows(named=True)
        return [Query(**row, top=3, paths=1) for row in table.rows(named=True)]

    expected = predictor.ask_many(table, facts=facts, top=3).to_frame()
    assert predictor.ask_many(given(), facts=facts, top=3).to_frame().equals(expected)


def test_errors_name_the_row_before_anything_is_computed(
    predictor: Predictor, facts: list[Any], table: pl.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [dict(row) for row in table.rows(named=True)]
    rows[2]["relation"] = "No such relation"
    monkeypatch.setattr("fitcarl.predict.planner.QueryPlanner.answer_in_batches", None)
    with pytest.raises(InputError, match="row 3, field relation: unknown relation; found 'No such relation'"):
        predictor.ask_many(rows, facts=facts)


@pytest.mark.parametrize(
    ("field", "value", "problem"),
    [
        ("relation", "No such relation", "unknown relation"),
        ("at", "13.15.2014", "field at"),
        ("at", None, "no value"),
        ("subject", "No such entity", "no facts are known"),
        ("at", "1900-01-01", "too far"),
        ("horizon", "soon", "field horizon"),
        ("as_of", "2999-01-01", "field as_of"),
    ],
)
def test_bad_rows_are_returned_or_skipped(
    predictor: Predictor, facts: list[Any], table: pl.DataFrame, field: str, value: str | None, problem: str
) -> None:
    rows = [dict(row) for row in table.rows(named=True)]
    rows[1] |= {field: value} if field != "subject" else {"subject": value, "object": None}
    returned = predictor.ask_many(rows, facts=facts, top=2, errors="return")
    [error] = returned.errors
    assert (error.question, error.row) == (2, 2)
    assert problem in str(error.error)
    assert len(returned) == len(rows) - 1
    bad = returned.to_frame().filter(pl.col("question") == 2)
    assert bad["error"].to_list() == [str(error.error)]
    assert bad["entity"].to_list() == [None]
    skipped = predictor.ask_many(rows, facts=facts, top=2, errors="skip")
    assert skipped.errors[0].row == 2
    assert set(skipped.to_frame()["question"]) == {1, 3}


def test_entity_without_visible_facts_is_an_error_before_scoring(predictor: Predictor, unseen: UnseenEntity) -> None:
    """Of the three checks of known facts: too early, all excluded, and hindsight, where they are visible."""
    first = min(unseen.facts, key=lambda fact: fact.time).time
    early = {"subject": unseen.query.entity, "relation": unseen.query.relation, "at": first}
    planner = predictor.planner([predictor.check(fact) for fact in unseen.facts])
    with pytest.raises(InputError, match="no facts are known"):
        planner.check(Query(early["subject"], None, early["relation"], first))
    with pytest.raises(InputError, match="apart from the excluded ones"):
        planner.check(Query(early["subject"], None, early["relation"], unseen.query.at, without=tuple(unseen.facts)))
    planner.check(Query(early["subject"], None, early["relation"], first, hindsight=True))
    planner.check(unseen.query)


def test_ids_are_kept_and_must_differ(predictor: Predictor, facts: list[Any], table: pl.DataFrame) -> None:
    named = table.with_columns(pl.Series("id", ["a", "b", "c"]))
    frame = predictor.ask_many(named, facts=facts, top=1).to_frame()
    assert frame["question"].to_list() == ["a", "b", "c"]
    numbered = table.with_columns(pl.Series("question", [7, 5, 3]))
    assert predictor.ask_many(numbered, facts=facts, top=1).to_frame()["question"].to_list() == [7, 5, 3]
    with pytest.raises(InputError, match="row 2, field id: a repeated id; found 'a'"):
        predictor.ask_many(table.with_columns(pl.Series("id", ["a", "a", "c"])), facts=facts)


def test_open_relation_and_horizon(predictor: Predictor, facts: list[Any], table: pl.DataFrame) -> None:
    [first] = [row for row in table.rows(named=True) if row["subject"]][:1]
    rows = [first | {"relation": None}, first | {"horizon": "30d"}]
    frame = predictor.ask_many(rows, facts=facts, top=4).to_frame()
    assert len(frame.filter(pl.col("question") == 1)["relation"].unique()) >= 1
    assert frame.filter(pl.col("question") == 1)["within_horizon"].null_count() == 4
    within = frame.filter(pl.col("question") == 2)["within_horizon"]
    assert ((within > 0) & (within < 1)).all()


def test_answers_below_the_least_share_are_left_out(
    predictor: Predictor, facts: list[Any], table: pl.DataFrame
) -> None:
    complete = predictor.ask_many(table, facts=facts, top=10)
    least = complete[0][1].share
    found = predictor.ask_many(table, facts=facts, top=10, min_share=least)
    for one, all_of_it in zip(found, complete, strict=True):
        assert [a.entity for a in one] == [a.entity for a in all_of_it if a.share >= least]
        assert one.best_share == all_of_it[0].share
        assert one.unlisted == pytest.approx(1 - sum(answer.share for answer in one))
    none = predictor.ask_many(table, facts=facts, min_share=1)
    assert [len(one) for one in none] == [0] * len(table)
    assert none.to_frame()["rank"].to_list() == [None] * len(table)
    assert none.to_frame()["unlisted"].to_list() == [1.0] * len(table)
    with pytest.raises(InputError, match="min_share"):
        predictor.ask_many(table, facts=facts, min_share=1.5)


def test_unknown_choice_for_errors(predictor: Predictor, facts: list[Any], table: pl.DataFrame) -> None:
    with pytest.raises(InputError, match="errors"):
        predictor.ask_many(table, facts=facts, errors="ignore")  # type: ignore[arg-type]


def test_pickled_predictor_gives_the_same_answers(run: Run, unseen: UnseenEntity) -> None:
    predictor = Predictor(run)
    predictor.observe(unseen.facts)
    copy = pickle.loads(pickle.dumps(predictor))
    assert copy.observed == predictor.observed
    query = unseen.query
    assert copy.ask_many([query])[0].to_json() == predictor.ask_many([query])[0].to_json()
    assert len(pickle.dumps(predictor)) < 10_000  # the folder and the facts, not the model


def _best(predictor: Predictor, query: Query) -> str:
    return predictor.ask_many([query])[0][0].entity


@pytest.mark.parametrize("run", ["plus"], indirect=True)
def test_spawned_process_answers(run: Run, unseen: UnseenEntity) -> None:
    predictor = Predictor(run)
    predictor.observe(unseen.facts)
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.apply(_best, (predictor, unseen.query)) == _best(predictor, unseen.query)


def rows_of(folder: Path, name: str, text: str) -> list[QueryRow]:
    file = folder / name
    file.write_text(text, encoding="utf-8")
    return read_queries(file, {"top": 1})


def test_formats_give_the_same_queries(tmp_path: Path) -> None:
    csv = 'relation,subject,object,AT,note\nr,a,,2014-01-01,x\n,"b, c",,2014-01-02,\nr,,d,2014-01-03,\n'
    expected = [row.query for row in rows_of(tmp_path, "q.csv", csv)]
    assert expected == [
        Query("a", None, "r", "2014-01-01", 1),
        Query("b, c", None, None, "2014-01-02", 1),
        Query(None, "d", "r", "2014-01-03", 1),
    ]
    lines = '{"subject": "a", "relation": "r", "at": "2014-01-01"}\n{"subject": "b, c", "at": "2014-01-02"}\n'
    lines += '{"object": "d", "relation": "r", "time": null, "at": "2014-01-03"}\n'
    lines = lines.replace('"time": null, ', "")
    assert [row.query for row in rows_of(tmp_path, "q.jsonl", lines)] == expected
    tsv = "subject\trelation\tobject\ttime\na\tr\t\t2014-01-01\nb, c\t\t\t2014-01-02\n\tr\td\t2014-01-03\n"
    assert [row.query for row in rows_of(tmp_path, "q.tsv", tsv)] == expected
    frame = pl.read_csv(tmp_path / "q.csv", try_parse_dates=True)
    assert frame["AT"].dtype == pl.Date
    frame.write_parquet(tmp_path / "q.parquet")
    assert [row.query for row in read_queries(tmp_path / "q.parquet", {"top": 1})] == expected
    frame.with_columns(pl.col("AT").cast(pl.Datetime)).write_parquet(tmp_path / "q.parquet")
    assert [row.query for row in read_queries(tmp_path / "q.parquet", {"top": 1})] == expected


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        ("q.csv", "", "an empty file"),
        ("q.csv", "who,what\na,b\n", "no known column"),
        ("q.csv", "\ufeff\ufeff\na\n", "no known column"),
        ("q.csv", "relation,at\nr,2014-01-01\n", "no column for the entity"),
        ("q.csv", "subject,relation\na,r\n", "no column for the time"),
        ("q.csv", "subject,at,time\na,1,2\n", "two columns for one field"),
        ("q.csv", "id,question,subject,at\n1,2,a,1\n", "two columns of ids"),
        ("q.csv", "subject,at\na\n", "row 2: too few fields"),
        ("q.jsonl", '{"subject": "a", "at": "1"}\n[1]\n', "row 2: not a JSON object"),
        ("q.jsonl", '{"subject": "a", "at": "1", "id": "\\ud800"}\n', "row 1, field id: an unpaired surrogate"),
        ("q.jsonl", '{"subject": 1.5, "at": "1"}\n', "row 1, field subject: a value of the wrong type"),
        ("q.parquet", "text", "not a Parquet file"),
        ("q.xlsx", "text", "unknown format"),
    ],
)
def test_unusable_files(tmp_path: Path, name: str, text: str, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        rows_of(tmp_path, name, text)


def test_rows_that_are_no_query_have_file_row_and_field(tmp_path: Path) -> None:
    text = 'subject,relation,object,at\na,r,,\na,r,b,1\n"a\n",r,,1\n'
    errors = [str(row.error) for row in rows_of(tmp_path, "q.csv", text)]
    file = str(tmp_path / "q.csv")
    assert errors[0].startswith(f"{file}, row 2, field at: no value")
    assert errors[1].startswith(f"{file}, row 3: incomplete query; found 'both'")
    assert errors[2].startswith(f"{file}, row 4, field subject: a name with a tab or a line break")
