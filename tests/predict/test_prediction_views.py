"""Predictions and runs as data frames, in one line and in notebooks."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fitcarl.predict import Predictor
from fitcarl.predict.prediction import Prediction
from fitcarl.runs.layout import RunFolder
from fitcarl.runs.run import Run
from tests.core.test_display import ESCAPED, HOSTILE
from tests.predict.conftest import UnseenEntity


@pytest.fixture
def prediction(predictor: Predictor, unseen: UnseenEntity) -> Prediction:
    return predictor.answer([unseen.query], unseen.facts)[0]


def test_frame_equals_that_of_a_table_with_one_query(
    predictor: Predictor, unseen: UnseenEntity, prediction: Prediction
) -> None:
    many = predictor.ask_many([unseen.query], facts=unseen.facts)
    frame = prediction.to_frame()
    assert frame.schema == many.to_frame().schema
    assert frame.equals(many.to_frame())
    assert frame["entity"].to_list() == [answer.entity for answer in prediction]
    assert repr(many) == "Predictions(1 of 1 queries answered)"


def test_frame_without_answers_has_one_row_with_empty_rank(prediction: Prediction) -> None:
    empty = replace(prediction, answers=())
    assert empty.to_frame()["rank"].to_list() == [None]
    assert empty.to_frame()["unlisted"].to_list() == [1.0]
    assert repr(empty).endswith("0 answers)")
    assert "100.0% for everything that is not listed" in empty._repr_html_()


def test_repr_is_one_short_line(prediction: Prediction) -> None:
    text = repr(prediction)
    assert text.startswith("Prediction(")
    assert f"{len(prediction)} answers, best {prediction[0].entity!r} {prediction[0].share:.1%}" in text
    assert len(text) < 300
    assert "\n" not in text


def test_notebook_shows_answers_with_their_best_paths(prediction: Prediction) -> None:
    shown = prediction._repr_html_()
    assert shown.count("<tr>") == len(prediction) + 1
    for answer in prediction:
        assert f"{answer.share:.1%}" in shown
    assert "<th style='text-align:left'>relation</th>" not in shown


def test_notebook_escapes_names_of_queries_and_answers(prediction: Prediction) -> None:
    answers = (replace(prediction[0], entity=HOSTILE), *prediction.answers[1:])
    shown = replace(prediction, answers=answers, query=replace(prediction.query, relation=HOSTILE))._repr_html_()
    assert shown.count(ESCAPED) == 2
    assert "<script" not in shown


def test_notebook_shows_relations_of_open_query(predictor: Predictor, unseen: UnseenEntity) -> None:
    predictor.observe(unseen.facts)
    prediction = predictor.ask(unseen.query.entity, None, at=unseen.query.at, top=3)
    shown = prediction._repr_html_()
    assert "<th style='text-align:left'>relation</th>" in shown
    assert any(answer.relation in shown for answer in prediction)


def test_notebook_shows_when_the_next_fact_occurs(predictor: Predictor, unseen: UnseenEntity) -> None:
    predictor.observe(unseen.facts)
    query = unseen.query
    prediction = predictor.ask(query.subject, query.relation, object=query.object, at=query.at, horizon="30d")
    assert prediction.when is not None
    shown = prediction._repr_html_()
    assert f"{prediction.when.none:.1%}" in shown
    assert f"{prediction.when.intervals[0].start} – {prediction.when.intervals[0].end}" in shown


def test_notebook_shows_model_and_data_of_run(run: Run, unseen: UnseenEntity) -> None:
    shown = run._repr_html_()
    for text in (run.config.model, "forecast" if run.config.setting == "forecast" else "completion", "calibrated"):
        assert text in shown
    assert f">{len(unseen.dataset.background):,} facts<" in shown
    assert f">{run.parameters:,}<" in shown
    assert "updates" not in shown


def test_notebook_escapes_folder_of_run(run: Run) -> None:
    folder = RunFolder(run.folder.path / "<script>x")
    shown = replace(run, folder=folder)._repr_html_()
    assert "&lt;script&gt;x" in shown
    assert "<script" not in shown


def test_repr_of_explanation_is_one_short_line(predictor: Predictor, unseen: UnseenEntity) -> None:
    explanation = predictor.explain(
        unseen.query, predictor.answer([unseen.query], unseen.facts)[0][0].entity, unseen.facts
    )
    text = repr(explanation)
    assert text.startswith(f"Explanation({str(unseen.query)!r}, {explanation.entity!r}, rank 1, ")
    assert len(text) < 300
    assert "\n" not in text
