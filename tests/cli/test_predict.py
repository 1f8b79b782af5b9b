"""The commands ``predict``, ``explain`` and ``names``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from fitcarl.data.vocabulary import Vocabulary
from fitcarl.predict.entities import likely_typos
from fitcarl.training.api import train
from tests.cli.conftest import Command, Outcome
from tests.small import SMALL, write_tiny


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("predict")
    train(write_tiny(folder / "tiny"), out=folder / "run", shots=3, preset="plus", episodes=2, settings=SMALL)
    return folder / "run"


@pytest.fixture(scope="module")
def example(run: Path) -> dict[str, object]:
    found: dict[str, object] = json.loads((run / "example.json").read_text(encoding="utf-8"))
    return found


@pytest.fixture(params=["bare", "headed", "csv"])
def new(request: pytest.FixtureRequest, example: dict[str, object], tmp_path: Path) -> Path:
    """The facts of the example in a small file."""
    facts = [list(fact.values()) for fact in example["facts"]]  # type: ignore[attr-defined]
    comma = request.param == "csv"
    rows = facts if request.param == "bare" else [["subject", "relation", "object", "time"], *facts]
    file = tmp_path / ("new.csv" if comma else "new.tsv")
    lines = [",".join(f'"{cell}"' for cell in row) if comma else "\t".join(row) for row in rows]
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return file


def query_options(example: dict[str, object]) -> list[object]:
    return ["--subject", example["subject"], "--relation", example["relation"], "--at", example["at"]]


def one_line(outcome: Outcome, *parts: str) -> bool:
    is_usage_error = (outcome.code, outcome.stdout, outcome.stderr.count("\n")) == (2, "", 1)
    return is_usage_error and all(part in outcome.stderr for part in parts)


def test_predict_json_has_documented_keys(run: Path, example: dict[str, object], new: Path, fitcarl: Command) -> None:
    outcome = fitcarl("predict", run, "--facts", new, *query_options(example), "--top", 4, "--json")
    assert outcome.code == 0
    found = json.loads(outcome.stdout)
    assert found["query"]["subject"] == example["subject"]
    assert [answer["rank"] for answer in found["answers"]] == [1, 2, 3, 4]
    for answer in found["answers"]:
        assert {"rank", "entity", "score", "share", "concepts", "paths", "relation", "direction"} == answer.keys()
        assert (answer["relation"], answer["direction"]) == (example["relation"], "out")
        for path in answer["paths"]:
            assert {"log_prob", "steps", "text"} <= path.keys()
            for step in path["steps"]:
                assert {"subject", "relation", "object", "time", "probability", "forward"} <= step.keys()


@pytest.mark.parametrize("new", ["bare"], indirect=True)
class TestOneFile:
    def test_predict_prints_table_and_paths(
        self, run: Path, example: dict[str, object], new: Path, fitcarl: Command
    ) -> None:
        outcome = fitcarl("predict", run, "--facts", new, *query_options(example), "--top", 3)
        assert outcome.code == 0
        for part in (str(example["subject"]), str(example["relation"]), "share", "█", "▼", "3. "):
            assert part in outcome.stdout

    def test_object_query_predicts_subjects(
        self, run: Path, example: dict[str, object], new: Path, fitcarl: Command
    ) -> None:
        turned = ["--object", *query_options(example)[1:]]
        found = json.loads(fitcarl("predict", run, "--facts", new, *turned, "--json").stdout)
        assert (found["query"]["subject"], found["query"]["object"]) == (None, example["subject"])
        assert found["answers"]

    def test_explain_shows_and_draws_one_answer(
        self, run: Path, example: dict[str, object], new: Path, fitcarl: Command, tmp_path: Path
    ) -> None:
        found = json.loads(fitcarl("predict", run, "--facts", new, *query_options(example), "--json").stdout)[
            "answers"
        ][1]
        question = ["explain", run, "--facts", new, *query_options(example), "--answer", found["entity"]]
        explanation = json.loads(fitcarl(*question, "--json").stdout)
        paths = found.pop("paths")
        assert {key: explanation[key] for key in found} == found
        assert {path["text"] for path in explanation["paths"]} == {path["text"] for path in paths}
        assert sum(one["contribution"] for one in explanation["evidence"]) == pytest.approx(found["score"], abs=1e-6)
        for fact in explanation["facts"]:
            assert {"subject", "relation", "object", "time", "share_without", "rank_without"} <= fact.keys()
        assert {"necessary", "sufficient", "base_rate"} <= explanation.keys()
        outcome = fitcarl(*question, "--svg", tmp_path / "why.svg")
        assert paths[0]["text"] in outcome.stdout
        assert explanation["summary"] in outcome.stdout
        ElementTree.parse(tmp_path / "why.svg")

    def test_answers_are_forecasts_unless_hindsight_is_asked_for(
        self, run: Path, example: dict[str, object], new: Path, fitcarl: Command
    ) -> None:
        def steps(*options: str) -> list[dict[str, Any]]:
            outcome = fitcarl("predict", run, "--facts", new, *query_options(example), "--top", 40, *options, "--json")
            answers = json.loads(outcome.stdout)["answers"]
            return [step for answer in answers for path in answer["paths"] for step in path["steps"]]

        at = str(example["at"])
        forecast, hindsight = steps(), steps("--hindsight")
        assert forecast
        assert all(step["time"] < at and not step["after_question"] for step in forecast)
        assert all(step["after_question"] == (step["time"] > at) for step in hindsight)
        assert any(step["after_question"] for step in hindsight)

    def test_output_says_what_was_used_and_trained_for(
        self, run: Path, example: dict[str, object], new: Path, fitcarl: Command
    ) -> None:
        asked = ["predict", run, "--facts", new, *query_options(example)]
        forecast, hindsight = fitcarl(*asked).stdout, fitcarl(*asked, "--hindsight").stdout
        assert f"uses only facts before {example['at']}; the run was trained for completion." in forecast
        assert "Uses facts of any time (hindsight)." in hindsight
        assert one_line(fitcarl(*asked, "--as-of", "2024-01-01"), "field --as-of: time after", "or --hindsight")

    def test_excluded_fact_is_on_no_path(
        self, run: Path, example: dict[str, object], new: Path, fitcarl: Command
    ) -> None:
        first = list(example["facts"][0].values())  # type: ignore[index]
        without = fitcarl(
            "predict", run, "--facts", new, *query_options(example), "--without", " | ".join(first), "--json"
        )
        steps = [
            step for answer in json.loads(without.stdout)["answers"] for p in answer["paths"] for step in p["steps"]
        ]
        assert steps
        assert first not in [[s["subject"], s["relation"], s["object"], s["time"]] for s in steps]

    def test_errors_are_one_line(
        self, run: Path, example: dict[str, object], new: Path, fitcarl: Command, tmp_path: Path
    ) -> None:
        predict = ["predict", run, "--facts", new, *query_options(example)]
        wrong = tmp_path / "wrong.tsv"
        wrong.write_text(new.read_text(encoding="utf-8") + "Ann\tNo such deed\tBob\t2023-01-01\n", encoding="utf-8")
        rows = new.read_text(encoding="utf-8").count("\n") + 1
        lacking = tmp_path / "lacking.jsonl"
        lacking.write_text('{"subject": "Ann", "relation": "Consult"}\n', encoding="utf-8")
        for arguments, parts in (
            (
                ["predict", run, "--facts", wrong, *query_options(example)],
                ("wrong.tsv", f"row {rows}", "field relation"),
            ),
            (
                ["predict", run, "--facts", lacking, *query_options(example)],
                ("lacking.jsonl", "expected --columns (in Python columns=) with four names"),
            ),
            ([*predict, "--object", "Ann"], ("either --subject or --object",)),
            ([*predict, "--without", "Ann | meets"], ("--without", "subject | relation | object | time")),
            ([*predict, "--as-of", "1900-01-01"], ("field --as-of: time too far from the background",)),
            (
                ["predict", run, *query_options(example)],
                ("field --subject: no facts are known about this entity", "in --facts FILE"),
            ),
            ([*predict[:-1], "someday"], ("field --at: not a date",)),
            (["explain", *predict[1:], "--answer", example["subject"]], ("--answer", "its own answer")),
            ([*predict, "--without", "A | No deed | B | 2023-01-01"], ("field --without, relation: unknown relation",)),
            (["predict", run.parent, *query_options(example)], ("is not a run",)),
            (["predict", run / "none", *query_options(example)], ("no such run",)),
            (
                [*predict, "--without", " | ".join(("A", str(example["relation"]), "B", "2023-01-01"))],
                ("unknown fact",),
            ),
            (["explain", *predict[1:], "--answer", "No such entity"], ("field --answer: unknown entity",)),
            ([*predict, "--svg", tmp_path / "why.png"], ("--svg", "expected .svg")),
            (["predict", run, *query_options(example), "--columns", "1,2,3,4"], ("--facts FILE",)),
            ([*predict, "--svg", tmp_path / "nowhere" / "why.svg"], ("--svg", "no such folder")),
            (["predict", run, "--facts", tmp_path, *query_options(example)], ("a folder", "a file of facts")),
        ):
            assert one_line(fitcarl(*arguments), *parts), arguments


def test_columns_of_new_facts_can_be_selected(
    run: Path, example: dict[str, object], fitcarl: Command, tmp_path: Path
) -> None:
    rows = [list(fact.values()) for fact in example["facts"]]  # type: ignore[attr-defined]
    plain, turned = tmp_path / "plain.tsv", tmp_path / "turned.data"
    plain.write_text("".join("\t".join(row) + "\n" for row in rows), encoding="utf-8")
    turned.write_text("".join(",".join(f'"{cell}"' for cell in row[::-1]) + "\n" for row in rows), encoding="utf-8")
    options = ["--columns", "4,3,2,1", "--no-header", "--format", "csv"]
    one = fitcarl("predict", run, "--facts", plain, *query_options(example), "--json")
    other = fitcarl("predict", run, "--facts", turned, *options, *query_options(example), "--json")
    assert (one.code, other.code) == (0, 0)
    answers = [json.loads(outcome.stdout) for outcome in (one, other)]
    columns = [list(answer.pop("mapping").values()) for answer in answers]
    assert columns == [[f"column {i}" for i in numbers] for numbers in ((1, 2, 3, 4), (4, 3, 2, 1))]
    assert answers[0] == answers[1]


def test_unusual_header_is_reported_with_hint(
    run: Path, example: dict[str, object], fitcarl: Command, tmp_path: Path
) -> None:
    rows = [["when", "who", "what", "target"]]
    rows += [list(fact.values())[3:] + list(fact.values())[:3] for fact in example["facts"]]  # type: ignore[attr-defined]
    file = tmp_path / "new.tsv"
    file.write_text("".join("\t".join(row) + "\n" for row in rows), encoding="utf-8")
    ask = ["predict", run, "--facts", file, *query_options(example), "--json"]
    assert one_line(
        fitcarl(*ask), "new.tsv: cannot determine the column of the relation", "--columns who,what,target,when"
    )
    assert fitcarl(*ask, "--columns", "who,what,target,when").code == 0


def test_probable_typo_is_reported(run: Path, example: dict[str, object], fitcarl: Command, tmp_path: Path) -> None:
    rows = [list(fact.values()) for fact in example["facts"]]  # type: ignore[attr-defined]
    known = next(end for row in rows for end in (row[0], row[2]) if end != example["subject"])
    typo = known[:3] + known[4:]
    file = tmp_path / "new.tsv"
    file.write_text("".join("\t".join(row).replace(known, typo) + "\n" for row in rows), encoding="utf-8")
    outcome = fitcarl("predict", run, "--facts", file, *query_options(example), "--json")
    assert outcome.stderr.startswith(f"note: {typo!r} is new to this run; did you mean {known!r}?\n")
    assert outcome.stderr.endswith("subject = column 1, relation = column 2, object = column 3, time = column 4\n")


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("harbour  union", "Harbour Union"),
        ("HarbourUnion", "Harbour Union"),
        ("U.S.", "US"),
        ("Habour Union", "Harbour Union"),
        ("Harbuor Union", "Harbour Union"),
        ("Harbour Unions", "Harbour Union"),
        ("Unit 8", None),
        ("Bxb", None),
        ("दिल्ला", None),
        ("Harbour Union", None),
    ],
)
def test_likely_typos_differ_in_case_punctuation_or_one_letter(typed: str, meant: str | None) -> None:
    known = Vocabulary(("US", "Harbour Union", "Unit 7", "Bob", "दिल्ली"), ("Consult",))
    assert list(likely_typos([typed], known, "Ann")) == ([] if meant is None else [(typed, meant)])


def test_query_entity_may_have_similar_name() -> None:
    known = Vocabulary(("Harbour Union",), ("Consult",))
    assert not list(likely_typos(["Harbour Unions"], known, "Harbour Unions"))
    assert list(likely_typos(["harbour union"], known, "harbour union"))


def test_names_lists_and_searches_names(run: Path, example: dict[str, object], fitcarl: Command) -> None:
    relations = fitcarl("names", run).stdout.splitlines()
    assert example["relation"] in relations
    entities = json.loads(fitcarl("names", run, "--kind", "entity", "--json").stdout)
    assert len(entities) > len(relations)
    assert fitcarl("names", run, entities[3][:-1], "--kind", "entity", "--top", 50).stdout.count(entities[3]) >= 1
    assert fitcarl("names", run, "--top", 2).stdout.splitlines() == relations[:2]
    assert fitcarl("names", run, "").stdout.splitlines() == relations
    no_match = fitcarl("names", run, "qqqq")
    assert (no_match.code, no_match.stdout) == (0, "")
    assert "no relation of this run has a name similar to 'qqqq'" in no_match.stderr
    assert one_line(fitcarl("names", run, "--kind", "deed"), "relation or entity")
    assert one_line(fitcarl("names", run / "none"), "no such run")


def test_benchmark_ask_reports_times(run: Path, fitcarl: Command) -> None:
    found = json.loads(fitcarl("benchmark", "ask", "--run", run, "--questions", 5, "--json").stdout)
    assert found["n"] == 5
    assert found["threads"] == 1
    assert 0 < found["p50_ms"] <= found["p95_ms"]
    assert 0 < found["past_p50_ms"] <= found["past_p95_ms"]


def test_benchmark_ask_generates_a_run_of_a_given_size(run: Path, fitcarl: Command) -> None:
    found = json.loads(fitcarl("benchmark", "ask", "--facts", 3000, "--questions", 3, "--json").stdout)
    assert (found["data"], found["n"]) == ("generated", 3)
    assert one_line(fitcarl("benchmark", "ask"), "neither", "either --run or --facts")
    assert one_line(fitcarl("benchmark", "ask", "--run", run, "--facts", 3000), "both", "either --run or --facts")


def test_benchmark_explain_without_planted_causes(run: Path, fitcarl: Command) -> None:
    """The tiny world is not the demo world."""
    found = json.loads(fitcarl("benchmark", "explain", "--run", run, "--answers", 3, "--json").stdout)
    assert (found["answers"], found["recall_at_3"], found["planted"]) == (3, None, None)
    assert found["comprehensiveness"]["3"] > found["controls"]["random_facts"]["comprehensiveness"]["3"]
    assert found["coverage"]["total"] > 0.9
    assert "Fidelity" in fitcarl("benchmark", "explain", "--run", run, "--answers", 3).stdout
