"""Scores of given facts."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from fitcarl.errors import InputError
from fitcarl.predict import Fact, Predictor
from fitcarl.runs.evaluate import validation_shares
from tests.predict.conftest import UnseenEntity


def _event(unseen: UnseenEntity, entity: str) -> Fact:
    """The query of an unseen entity with an answer."""
    query = unseen.query
    return Fact(query.subject or entity, str(query.relation), query.object or entity, query.at)


def test_score_equals_the_place_among_all_answers(predictor: Predictor, unseen: UnseenEntity) -> None:
    query, facts = unseen.query, unseen.facts
    predictor.observe(facts)
    ends = {"subject": query.subject, "object": query.object}
    answers = predictor.ask(**ends, relation=query.relation, at=query.at, top=10_000, paths=0)
    end = "object" if query.object is None else "subject"
    events = [_event(unseen, answer.entity) for answer in answers[:6]]
    found = predictor.score(events, predict=end)
    shares = np.array([answer.share for answer in answers])
    for answer, score in zip(answers[:6], found.scores, strict=True):
        assert score is not None
        assert (score.share, score.rank) == (pytest.approx(answer.share, abs=1e-5), answer.rank)
        assert score.candidates == len(answers)
        assert score.percentile == pytest.approx(100 * (1 - shares[shares > answer.share].sum()), abs=1e-2)
        assert score.validation_percentile is None
    first = found.scores[0]
    assert first is not None
    assert first.percentile == pytest.approx(100)
    frame = found.to_frame()
    assert frame.columns[:6] == ["event", "subject", "relation", "object", "time", "share"]
    assert frame.drop("event").rows()[0][:4] == tuple(events[0])


def test_entity_that_is_not_listed_has_no_rank(predictor: Predictor, unseen: UnseenEntity) -> None:
    end = "object" if unseen.query.object is None else "subject"
    [score] = predictor.score([_event(unseen, "Unheard-of Party")], unseen.facts, predict=end).scores
    assert score is not None
    assert (score.share, score.rank) == (0, None)
    calibration = predictor.run.calibration_for("forecast")
    assert calibration is not None
    assert score.percentile == pytest.approx(100 * calibration.unlisted_mass)


@pytest.mark.parametrize("hindsight", [False, True])
def test_fact_is_not_visible_to_its_own_scoring(predictor: Predictor, unseen: UnseenEntity, hindsight: bool) -> None:
    """Whether it is among the given facts or not makes no difference."""
    end = "object" if unseen.query.object is None else "subject"
    event = _event(unseen, predictor.entities[0])
    options = {"predict": end, "hindsight": hindsight}
    [without] = predictor.score([event], unseen.facts, **options).scores  # type: ignore[arg-type]
    [included] = predictor.score([event], [*unseen.facts, event], **options).scores  # type: ignore[arg-type]
    assert without is not None
    assert included is not None
    assert included.share == pytest.approx(without.share, abs=1e-6)
    assert included.rank == without.rank


def test_comparison_with_validation(predictor: Predictor, unseen: UnseenEntity) -> None:
    shares = validation_shares(predictor.run, "forecast")
    assert (np.diff(shares) >= 0).all()
    assert ((shares >= 0) & (shares <= 1)).all()
    end = "object" if unseen.query.object is None else "subject"
    events = [_event(unseen, predictor.entities[number]) for number in range(20)]
    found = predictor.score(events, unseen.facts, predict=end, against_validation=True)
    for score in found.scores:
        assert score is not None
        assert score.validation_percentile == pytest.approx(100 * np.mean(shares <= score.share))


def test_rows_that_cannot_be_scored(predictor: Predictor, unseen: UnseenEntity) -> None:
    event = _event(unseen, predictor.entities[0])._asdict()
    rows = [event, event | {"relation": "No such relation"}, event | {"object": ""}]
    end = "object" if unseen.query.object is None else "subject"
    with pytest.raises(InputError, match="row 2, field relation"):
        predictor.score(rows, unseen.facts, predict=end)
    found = predictor.score(pl.DataFrame(rows), unseen.facts, predict=end, errors="return")
    assert [error.row for error in found.errors] == [2, 3]
    assert "row 3, field object: no value" in str(found.errors[1].error)
    assert found.to_frame()["error"].null_count() == 1
    assert len(predictor.score(rows, unseen.facts, predict=end, errors="skip").to_frame()) == 1
    with pytest.raises(InputError, match="no column for the object"):
        predictor.score([{"subject": "a", "relation": "b", "time": "c"}], unseen.facts)
    with pytest.raises(InputError, match="predict"):
        predictor.score(rows, unseen.facts, predict="both")  # type: ignore[arg-type]
