"""Execution of jobs in this process, and their serialisation for worker processes."""

from __future__ import annotations

import io
import json

import pytest

from fitcarl.errors import InputError, UnusableRunError
from fitcarl.predict import Predictor, Query
from fitcarl.predict.fact import CheckedFact
from fitcarl.serve.workers import ipc
from fitcarl.serve.workers.jobs import InvalidInputError, Job, LocalWorker, Outcome
from tests.serve.fake import CHECKED, FACT, job

FACTS = [FACT, FACT._replace(object="Heskonia", time="2023-05-02")]


@pytest.fixture
def checked(predictor: Predictor) -> list[CheckedFact]:
    return [predictor.check(fact) for fact in FACTS]


def parsed(outcome: Outcome) -> object:
    assert isinstance(outcome, bytes)
    return json.loads(outcome)


def test_predictions_and_explanations_keep_their_order(predictor: Predictor, checked: list[CheckedFact]) -> None:
    explanation = Job(job().query, "Peliland")
    outcomes = LocalWorker(predictor).run([job(top=1), explanation, job(top=2)], checked)
    first, second = predictor.answer([job(top=1).query, job(top=2).query], FACTS)
    assert (parsed(outcomes[0]), parsed(outcomes[2])) == (first.to_json(), second.to_json())
    assert json.loads(outcomes[1])["entity"] == "Peliland"  # type: ignore[arg-type]


def test_invalid_query_does_not_affect_others(predictor: Predictor, checked: list[CheckedFact]) -> None:
    valid, invalid, also_valid = LocalWorker(predictor).run([job(), job(relation="nonsense"), job(top=2)], checked)
    assert isinstance(valid, bytes)
    assert isinstance(also_valid, bytes)
    assert isinstance(invalid, InvalidInputError)
    assert (invalid.field, invalid.found) == ("relation", "nonsense")


def test_unexpected_error_does_not_affect_others(
    predictor: Predictor, checked: list[CheckedFact], monkeypatch: pytest.MonkeyPatch
) -> None:
    original = predictor.answer_checked

    def answer(queries: list[Query], facts: list[CheckedFact]) -> object:
        if any(query.top == 3 for query in queries):
            raise ZeroDivisionError
        return original(queries, facts)

    monkeypatch.setattr(predictor, "answer_checked", answer)
    outcomes = LocalWorker(predictor).run([job(top=2), job(top=3)], checked)
    assert [type(outcome) for outcome in outcomes] == [bytes, ZeroDivisionError]


def test_an_unusable_run_is_not_the_fault_of_a_request(
    predictor: Predictor, checked: list[CheckedFact], monkeypatch: pytest.MonkeyPatch
) -> None:
    def answer(*_: object) -> object:
        raise UnusableRunError("the model gives scores that are not finite", file="run")

    monkeypatch.setattr(predictor, "answer_checked", answer)
    [outcome] = LocalWorker(predictor).run([job()], checked)
    assert type(outcome) is RuntimeError
    assert "not finite" in str(outcome)


def test_jobs_round_trip_through_pipe() -> None:
    jobs = [
        job("Ünïon\u2028 (North)", without=(FACT,), as_of="2023-05-05"),
        Job(Query(None, "Peliland", "Consult", "1"), "Heskonia"),
    ]
    pipe = io.BytesIO()
    ipc.send_jobs(pipe, jobs, [CHECKED])
    pipe.seek(0)
    assert ipc.receive_jobs(pipe) == (jobs, [CHECKED])
    assert ipc.receive_jobs(pipe) is None


def test_outcomes_round_trip_through_pipe() -> None:
    invalid = InvalidInputError.from_error(InputError("unknown", field="relation", found="x"))
    pipe = io.BytesIO()
    ipc.send_outcomes(pipe, [b'{"a":\n1}', invalid, ZeroDivisionError("division"), b""])
    pipe.seek(0)
    first, second, third, fourth = ipc.receive_outcomes(pipe)
    assert (first, fourth) == (b'{"a":\n1}', b"")
    assert isinstance(second, InvalidInputError)
    assert (second.message, second.field, second.found) == (invalid.message, "relation", "x")
    assert isinstance(third, ipc.WorkerError)
    assert "division" in str(third)


def test_truncated_message_raises_eof_error() -> None:
    pipe = io.BytesIO()
    ipc.send_outcomes(pipe, [b"0123456789"])
    for length in range(len(pipe.getvalue())):
        with pytest.raises(EOFError):
            ipc.receive_outcomes(io.BytesIO(pipe.getvalue()[:length]))
