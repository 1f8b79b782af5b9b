"""``POST /v1/predict`` with a list of queries."""

from __future__ import annotations

from typing import Any

import pytest
from starlette.testclient import TestClient

from fitcarl.predict import Predictor
from tests.serve.conftest import Serve

UNKNOWN = {"subject": "a", "relation": "No such", "object": "b", "time": "2024-01-01"}


@pytest.fixture
def queries(predictor: Predictor) -> list[dict[str, Any]]:
    example = predictor.example()
    assert example is not None
    facts = [fact.to_json() for fact in example.facts]
    common = {"subject": example.query.subject, "at": example.query.at, "facts": facts, "top": 3, "paths": 1}
    found = [common | {"relation": relation} for relation in predictor.relations[:20]]
    return [*found, common, common | {"relation": example.query.relation, "min_share": 1.0}]


def _similar(one: Any, other: Any) -> bool:
    """Equal apart from the last digits of numbers: sums are computed in another order."""
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(_similar(one[key], other[key]) for key in one)
    if isinstance(one, list):
        return len(one) == len(other) and all(map(_similar, one, other))
    return one == (pytest.approx(other, abs=1e-4) if isinstance(one, float) else other)


def test_list_gets_the_same_predictions_as_single_queries(client: TestClient, queries: list[dict[str, Any]]) -> None:
    reply = client.post("/v1/predict", json=queries)
    assert reply.status_code == 200
    singles = [client.post("/v1/predict", json=query).json() for query in queries]
    assert _similar(reply.json(), singles)
    assert reply.json()[-1]["answers"] == []


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"relation": "No such relation"}, "2.relation"),
        ({"at": "soon"}, "2.at"),
        ({"top": 0}, "2.top"),
        ({"top": 1000}, "2.top"),
        ({"subject": None}, "2"),
        ({"horizon": "soon"}, "2.horizon"),
        ({"subject": "No such entity", "facts": []}, "2.subject"),
        (
            {"facts": [{"subject": "a", "relation": "No such", "object": "b", "time": "2024-01-01"}]},
            "2.facts.0.relation",
        ),
        ({"min_share": 2}, "2.min_share"),
    ],
)
def test_error_names_the_index(
    client: TestClient, queries: list[dict[str, Any]], change: dict[str, Any], field: str
) -> None:
    reply = client.post("/v1/predict", json=[*queries[:2], queries[2] | change, queries[3]])
    assert reply.status_code == 422
    assert reply.json()["error"]["field"] == field
    single = client.post("/v1/predict", json=queries[2] | change).json()["error"]
    assert (single["field"] or "") == field.removeprefix("2").removeprefix(".")


def test_number_of_queries_is_limited(serve: Serve, queries: list[dict[str, Any]]) -> None:
    client = serve(queries_per_request=3)
    assert client.post("/v1/predict", json=queries[:3]).status_code == 200
    reply = client.post("/v1/predict", json=queries[:4])
    assert reply.status_code == 422
    assert "queries: at most 3 in one request; found 4" in reply.json()["error"]["message"]


def test_empty_list_is_an_error(client: TestClient) -> None:
    assert client.post("/v1/predict", json=[]).status_code == 422
