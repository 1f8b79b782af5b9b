"""The HTTP API on a tiny run."""

from __future__ import annotations

import re
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from statistics import median
from time import perf_counter, sleep
from typing import Any

import pytest
from sqlalchemy.exc import OperationalError
from starlette.testclient import TestClient

from fitcarl.predict import Fact, Predictor, Query
from fitcarl.predict.schemas import ExampleSchema, ExplanationSchema, PredictionSchema
from fitcarl.serve import schemas
from fitcarl.serve.access import SECURITY_HEADERS, AccessPolicy
from fitcarl.serve.clients import Client
from fitcarl.serve.store import FactSpace, Store
from fitcarl.serve.workers.jobs import LocalWorker
from tests.serve.conftest import Serve

FACTS = [
    {"subject": "Harbour Union", "relation": "Consult", "object": "Peliland", "time": "2023-05-01"},
    {"subject": "Heskonia", "relation": "Criticize or denounce", "object": "Harbour Union", "time": "2023-05-07"},
]
QUERY = {"subject": "Harbour Union", "relation": "Consult", "at": "2023-06-01", "top": 5}
PLAIN = [Fact(**fact) for fact in FACTS]


def predict(client: TestClient, **changes: Any) -> Any:
    answer = client.post("/v1/predict", json={**QUERY, **changes})
    assert answer.status_code == 200, answer.text
    PredictionSchema.model_validate(answer.json())
    return answer.json()


def names(prediction: Any) -> list[str]:
    return [answer["entity"] for answer in prediction["answers"]]


def scores(prediction: Any) -> list[float]:
    return [answer["score"] for answer in prediction["answers"]]


def check_error(answer: Any, status: int, field: str | None, message: str) -> tuple[str, ...]:
    """Checks an error response; returns the suggested names."""
    assert answer.status_code == status, answer.text
    problem = schemas.ErrorResponse.model_validate(answer.json()).error
    assert problem.field == field
    assert re.search(message, problem.message), problem.message
    assert "\n" not in problem.message
    return problem.suggestions


def test_predict_without_relation_or_with_horizon(client: TestClient, predictor: Predictor) -> None:
    body = {"subject": "Harbour Union", "at": "2023-06-01", "top": 5, "paths": 0, "facts": FACTS}
    answer = client.post("/v1/predict", json=body)
    assert answer.status_code == 200, answer.text
    [found] = predictor.answer([Query("Harbour Union", None, None, "2023-06-01", 5, 0)], PLAIN)
    assert answer.json() == found.to_json()
    assert {one["direction"] for one in answer.json()["answers"]} <= {"out", "in"}
    timed = predict(client, facts=FACTS, horizon="30d")
    assert timed["when"]["none"] > 0
    check_error(client.post("/v1/predict", json={**body, "hindsight": True}), 422, "hindsight", "is a forecast")
    check_error(
        client.post("/v1/predict", json={**QUERY, "facts": FACTS, "horizon": "soon"}), 422, "horizon", "not a duration"
    )
    check_error(client.post("/v1/explain", json={**body, "entity": "Peliland"}), 422, "relation", "required")


def test_predict_uses_facts_of_request(client: TestClient, predictor: Predictor) -> None:
    found = predict(client, facts=FACTS)
    query = Query("Harbour Union", None, "Consult", "2023-06-01", top=5)
    assert found == predictor.answer([query], PLAIN)[0].to_json()
    assert len(found["answers"]) == 5
    assert found["answers"][0]["paths"][0]["steps"]
    assert client.get("/v1/actors").json() == {"actors": []}


def test_stored_facts_give_same_prediction_as_facts_of_request(client: TestClient) -> None:
    stored = client.post("/v1/observe", json={"facts": FACTS})
    assert stored.status_code == 201
    assert stored.json()["added"] == 2
    assert predict(client) == predict(client, facts=FACTS)
    assert client.post("/v1/observe", json={"facts": FACTS}).json()["added"] == 0


def test_facts_of_request_are_added_to_stored_facts(client: TestClient) -> None:
    both = predict(client, facts=FACTS)
    client.post("/v1/observe", json={"facts": FACTS[:1]})
    assert predict(client) != both
    assert predict(client, facts=FACTS[1:]) == both
    assert len(client.get("/v1/actors/Harbour Union").json()["facts"]) == 1


def test_object_query_without_and_as_of(client: TestClient, predictor: Predictor) -> None:
    body = {"object": "Harbour Union", "relation": "Consult", "at": "2023-06-01", "facts": FACTS, "paths": 0}
    assert client.post("/v1/predict", json=body).json()["query"]["object"] == "Harbour Union"
    without = predict(client, facts=FACTS, without=FACTS[:1])
    assert without["answers"] == predict(client, facts=FACTS[1:])["answers"]
    query = Query("Harbour Union", None, "Consult", "2023-06-01", top=5, as_of="2023-05-03")
    dated = predict(client, facts=FACTS, as_of="2023-05-03")
    assert dated == predictor.answer([query], PLAIN)[0].to_json()


def test_hindsight_is_a_switch_of_the_request(client: TestClient, predictor: Predictor) -> None:
    query = Query("Harbour Union", None, "Consult", "2023-06-01", top=5)
    forecast, hindsight = predict(client, facts=FACTS), predict(client, facts=FACTS, hindsight=True)
    assert (forecast["setting"], hindsight["setting"]) == ("forecast", "completion")
    assert forecast["trained_for"] == client.get("/v1/model").json()["trained_for"] == "completion"
    assert hindsight == predictor.answer([replace(query, hindsight=True)], PLAIN)[0].to_json()
    assert hindsight["answers"] != forecast["answers"]
    check_error(client.post("/v1/predict", json={**QUERY, "hindsight": "yes"}), 422, "hindsight", "boolean")


def test_explain_returns_rank_share_and_paths(client: TestClient) -> None:
    second = predict(client, facts=FACTS)["answers"][1]
    explanation = client.post("/v1/explain", json={**QUERY, "facts": FACTS, "entity": second["entity"]}).json()
    ExplanationSchema.model_validate(explanation)
    assert (explanation["rank"], explanation["share"]) == (2, second["share"])
    assert {path["text"] for path in explanation["paths"]} == {path["text"] for path in second["paths"]}
    assert sum(one["contribution"] for one in explanation["evidence"]) == pytest.approx(second["score"], abs=1e-6)
    assert explanation["facts"]
    unknown = client.post("/v1/explain", json={**QUERY, "facts": FACTS, "entity": "Pelilandd"})
    assert "Peliland" in check_error(unknown, 422, "entity", "unknown entity")


def test_stored_entities_are_listed_shown_and_deleted(client: TestClient) -> None:
    stored = client.post("/v1/observe", json={"facts": FACTS}).json()["facts"]
    actors = schemas.StoredEntitiesResponse.model_validate(client.get("/v1/actors").json()).actors
    assert [(one.name, one.facts, one.known) for one in actors] == [
        ("Harbour Union", 2, False),
        ("Heskonia", 1, True),
        ("Peliland", 1, True),
    ]
    assert client.get("/v1/actors/Harbour Union").json() == {"name": "Harbour Union", "known": False, "facts": stored}
    assert client.delete(f"/v1/facts/{stored[0]['id']}").json() == {"removed": 1}
    check_error(client.delete(f"/v1/facts/{stored[0]['id']}"), 404, "id", "no stored fact")
    assert client.delete("/v1/actors/Harbour Union").json() == {"removed": 1}
    check_error(client.delete("/v1/actors/Harbour Union"), 404, "name", "no facts are stored about 'Harbour Union'")
    check_error(client.get("/v1/actors/Harbour Union"), 404, "name", "no facts are stored")
    assert client.get("/v1/actors/Peliland").json() == {"name": "Peliland", "known": True, "facts": []}


def test_entity_name_may_contain_slash(client: TestClient) -> None:
    fact = {**FACTS[0], "subject": "Port / Harbour (North)"}
    client.post("/v1/observe", json={"facts": [fact]})
    assert client.get("/v1/actors/Port%20%2F%20Harbour%20(North)").json()["name"] == fact["subject"]


def test_stored_times_are_normalised(client: TestClient) -> None:
    stored = client.post("/v1/observe", json={"facts": [{**FACTS[0], "time": "2023-05-01T13:45"}]}).json()["facts"]
    assert stored[0]["time"] == "2023-05-01"
    assert client.post("/v1/observe", json={"facts": FACTS[:1]}).json()["added"] == 0


def test_name_search_lists_new_entities_first(client: TestClient) -> None:
    busiest = schemas.EntitiesResponse.model_validate(client.get("/v1/entities?limit=3").json()).entities
    assert len(busiest) == 3
    assert busiest[0].facts >= busiest[1].facts >= busiest[2].facts > 0
    assert busiest[0].concepts
    client.post("/v1/observe", json={"facts": [{**FACTS[0], "subject": "Pelican Club"}]})
    found = client.get("/v1/entities", params={"search": "pel"}).json()["entities"]
    assert found[0] == {"name": "Pelican Club", "concepts": [], "facts": 0, "observed": True}
    assert {"Peliland": True}.items() <= {one["name"]: one["observed"] for one in found}.items()
    relations = schemas.RelationsResponse.model_validate(client.get("/v1/relations?limit=200").json()).relations
    assert sum(one.facts for one in relations) == client.get("/v1/model").json()["facts"]
    assert client.get("/v1/relations", params={"search": "consu"}).json()["relations"][0]["name"] == "Consult"


def test_unknown_names_and_invalid_times_return_422_with_suggestions(client: TestClient) -> None:
    wrong = {**FACTS[1], "relation": "Consullt"}
    assert "Consult" in check_error(
        client.post("/v1/observe", json={"facts": [FACTS[0], wrong]}), 422, "facts.1.relation", "unknown relation"
    )
    assert client.get("/v1/actors").json() == {"actors": []}
    answer = client.post("/v1/predict", json={**QUERY, "facts": [{**FACTS[0], "time": "soon"}]})
    check_error(answer, 422, "facts.0.time", "not a date; found 'soon'")
    answer = client.post("/v1/predict", json={**QUERY, "facts": FACTS, "relation": "Consullt"})
    assert "Consult" in check_error(answer, 422, "relation", "unknown relation")
    answer = client.post("/v1/predict", json={**QUERY, "subject": "Peliand"})
    assert "Peliland" in check_error(answer, 422, "subject", "no facts are known about this entity")
    answer = client.post("/v1/predict", json={**QUERY, "facts": FACTS, "at": "9999-12-31"})
    check_error(answer, 422, "at", "too far")
    example = client.get("/v1/example").json()
    unseen = example.get("subject") or example["object"]
    answer = client.post("/v1/predict", json={**QUERY, "subject": unseen})
    assert not check_error(
        answer, 422, "subject", "no facts are known about this entity"
    )  # a known name, spelled correctly


@pytest.mark.parametrize(
    ("changes", "field", "message"),
    [
        ({"object": "Peliland"}, None, "either subject or object"),
        ({"subject": None}, None, "either subject or object"),
        ({"subject": "two\nlines"}, "subject", "match pattern"),
        ({"subject": " "}, "subject", "empty name"),
        ({"subject": "x" * 400}, "subject", "at most 300 characters"),
        ({"top": 0}, "top", "greater than or equal to 1"),
        ({"top": "5"}, "top", "integer"),
        ({"top": 101}, "top", "at most 100"),
        ({"paths": 11}, "paths", "at most 10"),
        ({"facts": FACTS * 101}, "facts", "at most 200"),
        ({"without": FACTS * 101}, "facts", "at most 200"),
        ({"colour": "red"}, "colour", "not permitted"),
        ({"at": True}, "at", "valid"),
    ],
)
def test_invalid_field_of_body_is_named(
    client: TestClient, changes: dict[str, Any], field: str | None, message: str
) -> None:
    answer = client.post("/v1/predict", json={**QUERY, "facts": FACTS, **changes})
    found = schemas.ErrorResponse.model_validate(answer.json()).error.field
    assert (found or "").split(".")[0] == (field or "")
    check_error(answer, 422, found, message)


def test_body_that_is_not_json_returns_400(client: TestClient) -> None:
    json = {"content-type": "application/json"}
    check_error(client.post("/v1/predict", content=b'{"subject": ', headers=json), 400, None, "not JSON")
    check_error(client.post("/v1/predict", content=b"[" * 100_000, headers=json), 400, None, "pars")
    check_error(client.post("/v1/predict", content=b'{"subject": "\\ud800"}', headers=json), 422, "subject", "valid")
    check_error(client.post("/v1/predict", content=b"\xff\xfe", headers=json), 400, None, "")


def test_other_content_type_returns_415(client: TestClient) -> None:
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "application/jsonx"):
        answer = client.post("/v1/observe", content=b'{"facts": []}', headers={"content-type": kind})
        check_error(answer, 415, None, "must be JSON")
    assert client.post("/v1/observe", content=b'{"facts": []}').status_code == 415
    kind = "Application/JSON; charset=utf-8"
    assert client.post("/v1/observe", content=b"{}", headers={"content-type": kind}).status_code == 422


def test_wrong_method_returns_allowed_methods(client: TestClient) -> None:
    assert client.put("/v1/actors/x").headers["allow"] == "DELETE, GET"
    assert client.get("/v1/predict").headers["allow"] == "POST"


def test_overload_returns_503_quickly_and_service_recovers(serve: Serve) -> None:
    client = serve(waiting=2)

    def ask(top: int) -> tuple[int, float]:
        began = perf_counter()
        status = client.post("/v1/predict", json={**QUERY, "facts": FACTS, "top": top}).status_code
        return status, perf_counter() - began

    with ThreadPoolExecutor(32) as threads:
        answers = list(threads.map(ask, [1 + turn % 50 for turn in range(150)]))
    assert {status for status, _ in answers} == {200, 503}
    assert median(seconds for status, seconds in answers if status == 503) < 1
    assert ask(1)[0] == 200


def test_limits_of_entity_and_store(serve: Serve) -> None:
    client = serve(facts_per_actor=2, stored_facts=4)

    def observe(subject: str, *days: int) -> Any:
        facts = [{**FACTS[0], "subject": subject, "time": f"2023-05-{day:02d}"} for day in days]
        return client.post("/v1/observe", json={"facts": facts})

    assert observe("one", 1, 2).status_code == 201
    check_error(observe("one", 2, 3), 422, "facts", "'one' would have more than 2 facts")
    assert observe("one", 1, 2).status_code == 201
    assert observe("two", 1, 2).status_code == 201  # no limit for Peliland, which is known
    check_error(observe("three", 1), 503, None, "the store is full")
    assert client.delete("/v1/actors/one").json() == {"removed": 2}
    assert observe("three", 1).status_code == 201


def test_unusable_stored_facts_are_ignored(client: TestClient, tmp_path: Any) -> None:
    other = Store.open(tmp_path / "observed.sqlite")
    other.space().add([Fact("Harbour Union", "a relation of another run", "Peliland", "2023-05-01"), *PLAIN])
    other.close()
    assert predict(client) == predict(client, facts=FACTS)


def test_concurrent_requests_get_same_answers_as_single_ones(client: TestClient) -> None:
    bodies = [{"facts": FACTS[: 1 + turn % 2], "top": 1 + turn % 5} for turn in range(40)]
    alone = [predict(client, **body) for body in bodies[:10]]
    with ThreadPoolExecutor(16) as threads:
        together = list(threads.map(lambda body: predict(client, **body), bodies))
    for found, expected in zip(together, alone * 4, strict=True):
        assert found["query"] == expected["query"]
        assert names(found) == names(expected)
        # Sums in batches are computed in another order: the last digits may differ.
        assert scores(found) == pytest.approx(scores(expected), abs=1e-5)


def test_store_failure_returns_503(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise OperationalError("SELECT", {}, Exception("the disk is gone"))

    monkeypatch.setattr(FactSpace, "mentioning", fail)
    answer = client.post("/v1/predict", json={**QUERY, "facts": FACTS})
    check_error(answer, 503, None, "the store is not available")
    assert answer.headers["retry-after"] == "1"
    assert client.get("/v1/health").status_code == 200


def test_token_is_required_except_for_explorer_and_health(serve: Serve) -> None:
    client = serve(access=AccessPolicy((Client.with_token("secret"),)))
    answer = client.get("/v1/model")
    check_error(answer, 401, None, "token")
    assert answer.headers["www-authenticate"] == "Bearer"
    assert client.get("/v1/model", headers={"authorization": "Bearer secret"}).status_code == 200
    assert client.get("/v1/health").status_code == client.get("/").status_code == 200


def test_responses_have_security_headers_and_no_cors_headers(client: TestClient) -> None:
    asked = [client.get(path) for path in ("/", "/v1/health", "/v1/nothing", "/v1/openapi.json", "/v1/docs")]
    asked += [client.post("/v1/predict", content=b"{}"), client.put("/v1/predict", json={})]
    asked += [client.options("/v1/predict", headers={"origin": "https://evil.example"})]
    for answer in asked:
        assert SECURITY_HEADERS.items() <= dict(answer.headers).items()
        assert not [name for name in answer.headers if name.startswith("access-control")]
    assert [answer.status_code for answer in asked] == [200, 200, 404, 200, 200, 415, 405, 405]


def test_model_describes_run_and_limits(client: TestClient, predictor: Predictor) -> None:
    model = schemas.ModelResponse.model_validate(client.get("/v1/model").json())
    assert (model.preset, model.shots, model.data) == ("plus", 2, "tiny")
    assert (model.entities, model.relations) == (len(predictor.entities), len(predictor.relations))
    assert model.limits["top"] == 100
    assert model.signature.startswith("preset:plus|shots:2|data:tiny@")


def test_example_can_be_predicted(client: TestClient) -> None:
    example = client.get("/v1/example").json()
    ExampleSchema.model_validate(example)
    assert client.post("/v1/predict", json={**example, "top": 1}).status_code == 200


def test_metrics_count_requests_and_batches(client: TestClient) -> None:
    client.post("/v1/observe", json={"facts": FACTS})
    predict(client)
    text = client.get("/v1/metrics").text
    assert 'fitcarl_requests_total{method="POST",route="/v1/predict",status="200"} 1' in text
    assert 'fitcarl_request_seconds_count{route="/v1/observe"} 1' in text
    assert "fitcarl_queries_per_batch_count 1" in text
    assert "fitcarl_stored_facts 2" in text
    assert "fitcarl_waiting 0" in text


def test_api_docs_list_all_routes_without_external_resources(client: TestClient) -> None:
    page = client.get("/v1/docs").text
    for path in client.get("/v1/openapi.json").json()["paths"]:
        assert path in page
    assert "<script" not in page
    assert "http" not in page.replace('lang="en"', "")


@pytest.mark.parametrize("text", ["%00", "a%00b", "%01", "%7F", "%C2%85"])
def test_control_characters_are_client_errors_on_both_stores(serve: Serve, store_place: str, text: str) -> None:
    client = serve(place=store_place)
    check_error(client.get(f"/v1/actors/{text}"), 422, "name", "control character U")
    check_error(client.delete(f"/v1/actors/{text}"), 422, "name", "control character U")
    check_error(client.delete(f"/v1/facts/{text}"), 422, "id", "control character U")
    for route in ("actors", "entities", "relations"):
        check_error(client.get(f"/v1/{route}?search={text}"), 422, "search", "control character U")


def test_line_breaks_in_paths_are_not_ignored(client: TestClient) -> None:
    client.post("/v1/observe", json={"facts": FACTS})
    check_error(client.delete("/v1/actors/Harbour Union%0A"), 404, None, "not found")
    check_error(client.get("/v1/model%0A"), 404, None, "not found")
    check_error(client.get("/v1/actors?search=%0A"), 422, "search", "control character U")
    assert len(client.get("/v1/actors/Harbour Union").json()["facts"]) == 2


@pytest.mark.parametrize(
    "name", ["\u200b", "Peli\u200bland", "\ufeffPeliland", "\u202ednaleliP", "a\u2028b", "a\u0085b", "\u00a0", "\u0301"]
)
def test_names_with_invisible_characters_are_refused(client: TestClient, name: str) -> None:
    fact = {**FACTS[0], "subject": name}
    answer = client.post("/v1/observe", json={"facts": [fact]})
    check_error(
        answer,
        422,
        "facts.0.subject",
        "invisible character|visible character|control character|direction of text|empty name",
    )
    answer = client.post("/v1/predict", json={**QUERY, "facts": [fact]})
    check_error(
        answer,
        422,
        "facts.0.subject",
        "invisible character|visible character|control character|direction of text|empty name",
    )


def test_names_of_all_scripts_are_accepted(client: TestClient) -> None:
    for name in ("中国共产党", "Ünïon", "می\u200cخواهم", "क्\u200dष", "🏛 Forum", "A\u00a0B"):
        answer = client.post("/v1/observe", json={"facts": [{**FACTS[0], "subject": name}]})
        assert answer.status_code == 201, answer.text
        assert client.get(f"/v1/actors/{name}").json()["name"] == name


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"at": None}, "at"),
        ({"at": [1]}, "at"),
        ({"as_of": {}}, "as_of"),
        ({"facts": [{**FACTS[0], "time": None}]}, "facts.0.time"),
        ({"without": [FACTS[0], {**FACTS[0], "time": 1.5}]}, "without.1.time"),
        ({"subject": 5}, "subject"),
        ({"horizon": 5}, "horizon"),
        ({"x" * 1000: 5}, "x" * 97 + "..."),
    ],
)
def test_fields_of_errors_are_names_of_the_api(client: TestClient, changes: dict[str, Any], field: str) -> None:
    for body, expected in (({**QUERY, **changes}, field), ([QUERY, {**QUERY, **changes}], None)):
        error = schemas.ErrorResponse.model_validate(client.post("/v1/predict", json=body).json()).error
        assert error.field == (expected or f"1.{field}"[:97] + "..." if len(field) > 97 else expected or f"1.{field}")
        assert len(error.message) <= 500


def test_messages_are_bounded(client: TestClient) -> None:
    long = "x" * 60_000
    check_error(client.get(f"/v1/actors/{long}"), 422, "name", "at most 300 characters; found 60000")
    check_error(client.delete(f"/v1/actors/{long}"), 422, "name", "at most 300 characters")
    for answer in (
        client.get(f"/v1/{long}"),
        client.delete(f"/v1/facts/{long}"),
        client.get("/v1/actors/" + "y" * 300),
    ):
        assert answer.status_code == 404
        assert len(answer.content) < 700


def test_only_fact_that_states_the_answer_is_named_as_the_reason(client: TestClient) -> None:
    client.post("/v1/observe", json={"facts": FACTS[:1]})
    body = {**QUERY, "at": FACTS[0]["time"]}
    answer = client.post("/v1/predict", json={**body, "hindsight": True})
    check_error(answer, 422, "subject", "no facts .* apart from those with the relation and time of the query")
    check_error(client.post("/v1/predict", json=body), 422, "subject", "before 2023-05-01.*hindsight")


def test_metrics_and_readiness_tell_that_the_store_is_down(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    service = client.app.state.service  # type: ignore[attr-defined]
    assert client.get("/v1/ready").json() == {"status": "ready"}
    text = client.get("/v1/metrics").text
    assert "fitcarl_store_up 1\n" in text
    assert "fitcarl_workers 1\n" in text

    def fail(*_: object) -> None:
        raise OperationalError("SELECT", {}, Exception("the disk is gone"))

    monkeypatch.setattr(Store, "count", fail)
    service._probed = 0.0
    answer = client.get("/v1/metrics")
    assert answer.status_code == 200
    assert "fitcarl_store_up 0\n" in answer.text
    assert "fitcarl_stored_facts" not in answer.text
    check_error(client.get("/v1/ready"), 503, None, "not ready: the store is not available")
    assert client.get("/v1/health").json() == {"status": "ok"}
    monkeypatch.undo()
    service._probed = 0.0
    assert client.get("/v1/ready").status_code == 200
    monkeypatch.setattr(service._worker, "ready_count", lambda: 0)
    check_error(client.get("/v1/ready"), 503, None, "not ready: no worker process")


def test_slow_listings_do_not_delay_queries(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    gate = threading.Event()
    monkeypatch.setattr(FactSpace, "names", lambda *_args, **_options: gate.wait(20) and [])
    with ThreadPoolExecutor(12) as threads:
        listings = [threads.submit(client.get, "/v1/actors") for _ in range(8)]
        began = perf_counter()
        assert predict(client, facts=FACTS)
        assert perf_counter() - began < 5
        assert not any(listing.done() for listing in listings)
        gate.set()
        assert {listing.result().status_code for listing in listings} == {200}


def test_time_limit_includes_the_store(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    client = serve(seconds=0.5)
    original = FactSpace.mentioning
    monkeypatch.setattr(FactSpace, "mentioning", lambda *args: sleep(0.4) or original(*args))
    monkeypatch.setattr(LocalWorker, "run", lambda *_: sleep(0.4) or [b"{}"])
    answer = client.post("/v1/predict", json={**QUERY, "facts": FACTS})
    check_error(answer, 503, None, r"took longer than 0\.5 seconds")


def test_store_failure_is_logged_without_facts(
    client: TestClient, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: object) -> None:
        reason = "the row is wrong\nDETAIL: Failing row contains (Harbour Union)"
        raise OperationalError("SELECT", {"subject_1": "Harbour Union"}, Exception(reason))

    monkeypatch.setattr(FactSpace, "mentioning", fail)
    client.post("/v1/predict", json={**QUERY, "facts": FACTS})
    assert "store: OperationalError: the row is wrong" in caplog.text
    assert "Harbour" not in caplog.text
