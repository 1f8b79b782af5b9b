"""The scores of a query without some facts."""

from __future__ import annotations

from typing import Any

import pytest

from fitcarl.data.quadruples import Quadruples
from fitcarl.errors import InputError, UnusableRunError
from fitcarl.predict.batch import EncodedQuery, VisibleFacts
from fitcarl.predict.planner import QueryPlanner
from fitcarl.predict.query import NoKnownFactsError, Query
from fitcarl.tasks.task import NO_LIMIT


def test_only_an_entity_without_facts_has_no_scores(monkeypatch: pytest.MonkeyPatch) -> None:
    raised: list[InputError] = []

    def score(*_: object, **__: object) -> None:
        raise raised[-1]

    monkeypatch.setattr(QueryPlanner, "_score", score)
    no_parts: list[Any] = [None] * 5
    visible, query = VisibleFacts("completion", NO_LIMIT, frozenset(), None), Query("a", None, "r", "2024-01-01")
    arguments = visible, EncodedQuery(0, 0, 0, 0), query, Quadruples.empty()
    raised.append(NoKnownFactsError("no facts are known"))
    scores = QueryPlanner(*no_parts)._score_without(*arguments)
    assert (len(scores.offsets), len(scores.entity)) == (2, 0)
    raised.append(UnusableRunError("the model gives scores that are not finite"))
    with pytest.raises(UnusableRunError):
        QueryPlanner(*no_parts)._score_without(*arguments)
