"""Several tokens: scopes, rate limits, and spaces that do not see each other."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from starlette.testclient import TestClient

from fitcarl.predict import Predictor
from fitcarl.serve.access import AccessPolicy, required_scope
from fitcarl.serve.app import create_app
from fitcarl.serve.clients import ALL_SCOPES, Client, RateLimit, Scope, token_digest
from fitcarl.serve.limits import Limits
from fitcarl.serve.routes import router
from fitcarl.serve.service import Service
from fitcarl.serve.store import Store
from tests.serve.conftest import Serve

FACT = {"subject": "Harbour Union", "relation": "Consult", "object": "Peliland", "time": "2023-05-01"}
QUERY = {"subject": "Harbour Union", "relation": "Consult", "at": "2023-06-01", "top": 3}

SCOPES: dict[tuple[str, str], Scope] = {
    ("GET", "/v1/model"): "read",
    ("GET", "/v1/metrics"): "admin",
    ("GET", "/v1/example"): "read",
    ("GET", "/v1/docs"): "read",
    ("GET", "/v1/entities"): "read",
    ("GET", "/v1/relations"): "read",
    ("POST", "/v1/observe"): "observe",
    ("POST", "/v1/background"): "admin",
    ("GET", "/v1/actors"): "read",
    ("GET", "/v1/actors/{name:path}"): "read",
    ("DELETE", "/v1/actors/{name:path}"): "observe",
    ("DELETE", "/v1/facts/{identity}"): "observe",
    ("POST", "/v1/predict"): "read",
    ("POST", "/v1/explain"): "read",
}


def client_of(name: str, *scopes: Scope, space: str | None = None, rate: RateLimit | None = None) -> Client:
    return Client(name, token_digest(name), frozenset(scopes) or ALL_SCOPES, space or name, rate)


def as_client(name: str) -> dict[str, str]:
    return {"authorization": f"Bearer {name}"}


def test_every_route_has_its_scope() -> None:
    routes = {
        (method, route.path)  # type: ignore[attr-defined]
        for route in router.routes
        for method in route.methods  # type: ignore[attr-defined]
    }
    assert routes - {("GET", "/v1/health"), ("GET", "/v1/ready")} == set(SCOPES)
    for (method, path), scope in SCOPES.items():
        assert required_scope(method, path.replace("{name:path}", "x").replace("{identity}", "x")) == scope


def test_missing_scope_is_named_before_the_body_is_read(serve: Serve) -> None:
    reader, writer = client_of("reader", "read"), client_of("writer", "observe")
    client = serve(access=AccessPolicy((reader, writer, client_of("operator", "admin"))))
    for (method, path), scope in SCOPES.items():
        for name, scopes in (("reader", {"read"}), ("writer", {"observe"}), ("operator", {"admin"})):
            answer = client.request(method, path, headers=as_client(name))
            if scope in scopes:
                assert answer.status_code != 403 or "--allow-updates" in answer.text
            else:
                assert answer.status_code == 403
                expected = f"the token '{name}' does not have the scope '{scope}'"
                assert answer.json()["error"]["message"] == expected
    assert client.get("/v1/model").status_code == 401
    assert client.get("/v1/ready").json() == {"status": "ready"}


def test_rate_limit_returns_429_with_time_to_wait(serve: Serve) -> None:
    slow, fast = client_of("slow", rate=RateLimit(12)), client_of("fast")
    client = serve(access=AccessPolicy((slow, fast)))
    statuses = [client.get("/v1/model", headers=as_client("slow")).status_code for _ in range(3)]
    assert statuses == [200, 200, 429]
    refused = client.get("/v1/model", headers=as_client("slow"))
    assert 1 <= int(refused.headers["retry-after"]) <= 5
    assert "12 requests per minute" in refused.json()["error"]["message"]
    assert client.get("/v1/model", headers=as_client("fast")).status_code == 200
    assert client.get("/v1/health").status_code == 200


def test_queries_of_a_list_count_as_requests(serve: Serve) -> None:
    client = serve(access=AccessPolicy((client_of("one", rate=RateLimit(60)),)))
    body = [{**QUERY, "facts": [FACT], "top": 1 + number} for number in range(10)]
    assert client.post("/v1/predict", json=body, headers=as_client("one")).status_code == 200
    assert client.post("/v1/predict", json=body[0], headers=as_client("one")).status_code == 429


def test_tokens_of_one_space_share_its_facts(serve: Serve) -> None:
    access = AccessPolicy((client_of("a", space="team"), client_of("b", space="team"), client_of("c")))
    client = serve(access=access)
    assert client.post("/v1/observe", json={"facts": [FACT]}, headers=as_client("a")).json()["added"] == 1
    assert client.post("/v1/observe", json={"facts": [FACT]}, headers=as_client("b")).json()["added"] == 0
    assert client.post("/v1/observe", json={"facts": [FACT]}, headers=as_client("c")).json()["added"] == 1


NAMES = st.sampled_from(["Harbour Union", "Pelican Club", "Quiet Guild"])
KNOWN = st.sampled_from(["Peliland", "Heskonia"])
DAYS = st.integers(1, 5)


def _fact(subject: str, object: str, day: int) -> dict[str, str]:
    return {"subject": subject, "relation": "Consult", "object": object, "time": f"2023-05-{day:02d}"}


Call = tuple[str, str, Any]
FACTS = st.builds(_fact, NAMES, KNOWN | NAMES, DAYS)
CALLS: st.SearchStrategy[Call] = st.one_of(
    st.builds(lambda facts: ("POST", "/v1/observe", {"facts": facts}), st.lists(FACTS, min_size=1, max_size=3)),
    st.builds(lambda name: ("DELETE", f"/v1/actors/{name}", None), NAMES | KNOWN),
    st.builds(lambda name: ("GET", f"/v1/actors/{name}", None), NAMES | KNOWN),
    st.builds(lambda text: ("GET", f"/v1/actors?limit=2&search={text}", None), st.sampled_from(["", "pel", "UNION"])),
    st.builds(lambda text: ("GET", f"/v1/entities?limit=3&search={text}", None), st.sampled_from(["", "pel", "gui"])),
    st.builds(lambda name: ("POST", "/v1/predict", {**QUERY, "subject": name}), NAMES | KNOWN),
    st.builds(lambda name: ("POST", "/v1/predict", [{**QUERY, "subject": name}]), NAMES),
    st.builds(lambda name: ("POST", "/v1/explain", {**QUERY, "subject": name, "entity": "Heskonia"}), NAMES),
    st.sampled_from([("GET", "/v1/metrics", None), ("GET", "/v1/ready", None), ("GET", "/v1/model", None)]),
)


def _responses(
    predictor: Predictor, place: Path, calls: Sequence[tuple[str, Call]], seen_by: str
) -> list[tuple[int, bytes]]:
    """The responses to one of the tenants. A fact that was stored is deleted by its id at the end."""
    tenants = tuple(client_of(name, "read", "observe") for name in ("a", "b"))
    store = Store.open(place)
    limits = Limits(stored_facts=5, facts_per_actor=3)
    service = Service(predictor, store, limits, spaces=[tenant.space for tenant in tenants])
    found: list[tuple[int, bytes]] = []
    with TestClient(create_app(service, AccessPolicy(tenants)), raise_server_exceptions=False) as client:
        for tenant, (method, path, body) in calls:
            answer = client.request(method, path, json=body, headers=as_client(tenant))
            assert answer.status_code < 500 or "the store is full" in answer.text
            if tenant == seen_by:
                found.append((answer.status_code, answer.content))
    store.close()
    return found


@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], max_examples=20, deadline=None
)
@given(st.lists(st.tuples(st.sampled_from("ab"), CALLS), min_size=4, max_size=16))
def test_nothing_depends_on_facts_of_another_space(predictor: Predictor, calls: list[tuple[str, Call]]) -> None:
    """Each tenant gets byte for byte what it gets if the other one does nothing."""
    for tenant in "ab":
        with tempfile.TemporaryDirectory() as scratch:
            both = _responses(predictor, Path(scratch) / "both.sqlite", calls, tenant)
            own = [call for call in calls if call[0] == tenant]
            assert both == _responses(predictor, Path(scratch) / "own.sqlite", own, tenant)


def test_fact_of_another_space_cannot_be_read_or_deleted(serve: Serve, store_place: str) -> None:
    client = serve(access=AccessPolicy((client_of("a"), client_of("b"))), place=store_place)

    def ask(tenant: str, method: str, path: str, body: object = None) -> Any:
        return client.request(method, path, json=body, headers=as_client(tenant))

    ask("b", "POST", "/v1/observe", {"facts": [{**FACT, "subject": "Pelican Club"}]})
    before = ask("b", "GET", "/v1/actors").json()
    [stored] = ask("a", "POST", "/v1/observe", {"facts": [FACT]}).json()["facts"]
    reads: list[Callable[[], Any]] = [
        lambda: ask("b", "GET", "/v1/actors/Harbour Union"),
        lambda: ask("b", "DELETE", "/v1/actors/Harbour Union"),
        lambda: ask("b", "DELETE", f"/v1/facts/{stored['id']}"),
    ]
    assert [read().status_code for read in reads] == [404, 404, 404]
    assert ask("b", "POST", "/v1/predict", QUERY).status_code == 422
    assert ask("b", "GET", "/v1/actors").json() == before
    assert ask("b", "GET", "/v1/entities?search=club").json()["entities"][0]["name"] == "Pelican Club"
    assert "Pelican Club" not in ask("a", "GET", "/v1/entities?search=club").text
    assert ask("b", "POST", "/v1/observe", {"facts": [FACT]}).json()["added"] == 1
    assert ask("b", "DELETE", "/v1/actors/Peliland").json() == {"removed": 2}
    assert ask("a", "GET", "/v1/actors/Harbour Union").json()["facts"] == [stored]
    assert ask("a", "DELETE", f"/v1/facts/{stored['id']}").json() == {"removed": 1}
