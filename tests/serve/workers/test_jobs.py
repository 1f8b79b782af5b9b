"""Jobs and what comes of them, in this process and through a pipe."""

from __future__ import annotations

import io
import json

import pytest

from fitcarl.errors import InputError
from fitcarl.predict import Fact, Predictor, Query
from fitcarl.serve.workers import ipc as wire
from fitcarl.serve.workers.jobs import InvalidInputError, Job, LocalWorker, Outcome
from tests.serve.fake import FACT, job

FACTS = [FACT, FACT._replace(object="Heskonia", time="2023-05-02")]


def told(outcome: Outcome) -> object:
    assert isinstance(outcome, bytes)
    return json.loads(outcome)


def test_questions_and_explanations_are_answered_in_their_order(predictor: Predictor) -> None:
    why = Job(job().query, "Peliland")
    outcomes = LocalWorker(predictor).perform([job(top=1), why, job(top=2)], FACTS)
    first, second = predictor.answer([job(top=1).query, job(top=2).query], FACTS)
    assert (told(outcomes[0]), told(outcomes[2])) == (first.to_json(), second.to_json())
    assert json.loads(outcomes[1])["entity"] == "Peliland"  # type: ignore[arg-type]


def test_a_mistake_is_only_its_own(predictor: Predictor) -> None:
    fine, wrong, also_fine = LocalWorker(predictor).perform([job(), job(relation="nonsense"), job(top=2)], FACTS)
    assert isinstance(fine, bytes)
    assert isinstance(also_fine, bytes)
    assert isinstance(wrong, InvalidInputError)
    assert (wrong.field, wrong.found) == ("relation", "nonsense")


def test_a_fault_is_only_its_own(predictor: Predictor, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = predictor.answer

    def answer(questions: list[Query], facts: list[Fact]) -> object:
        if any(question.top == 3 for question in questions):
            raise ZeroDivisionError
        return whole(questions, facts)

    monkeypatch.setattr(predictor, "answer", answer)
    outcomes = LocalWorker(predictor).perform([job(top=2), job(top=3)], FACTS)
    assert [type(outcome) for outcome in outcomes] == [bytes, ZeroDivisionError]


def test_jobs_come_out_of_a_pipe_as_they_went_in() -> None:
    jobs = [
        job("Ünïon\u2028 (North)", without=(FACT,), as_of="2023-05-05"),
        Job(Query(None, "Peliland", "Consult", "1"), "Heskonia"),
    ]
    pipe = io.BytesIO()
    wire.send_jobs(pipe, jobs, FACTS)
    pipe.seek(0)
    assert wire.receive_jobs(pipe) == (jobs, FACTS)
    assert wire.receive_jobs(pipe) is None


def test_outcomes_come_out_of_a_pipe_as_they_went_in() -> None:
    mistake = InvalidInputError.of(InputError("unknown", field="relation", found="x"))
    pipe = io.BytesIO()
    wire.send_outcomes(pipe, [b'{"a":\n1}', mistake, ZeroDivisionError("nought"), b""])
    pipe.seek(0)
    first, second, third, fourth = wire.receive_outcomes(pipe)
    assert (first, fourth) == (b'{"a":\n1}', b"")
    assert isinstance(second, InvalidInputError)
    assert (second.message, second.field, second.found) == (mistake.message, "relation", "x")
    assert isinstance(third, wire.WorkerError)
    assert "nought" in str(third)


def test_a_pipe_that_ends_early_is_noticed() -> None:
    pipe = io.BytesIO()
    wire.send_outcomes(pipe, [b"0123456789"])
    for length in range(len(pipe.getvalue())):
        with pytest.raises(EOFError):
            wire.receive_outcomes(io.BytesIO(pipe.getvalue()[:length]))
