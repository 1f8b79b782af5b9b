"""A client that mixes requests and checks every response."""

from __future__ import annotations

import http.client
import json
import threading
import time
from collections.abc import Sequence
from random import Random
from typing import Any
from urllib.parse import quote

from tests.chaos.ledger import FactKey, Ledger, State
from tests.chaos.results import Results
from tests.chaos.service import ServiceProcess

MAX_SECONDS = 30.0
"""For any response; the service itself promises 10 for a query."""
MAX_STORED = 300
"""Stored facts from which on a client deletes some before it sends others; the service allows 1,000 per entity."""
_FIELDS = ("subject", "relation", "object", "time")
_OPERATIONS = {"predict": 40, "observe": 25, "list": 15, "forget": 12, "explain": 5, "search": 3}
"""Weights."""


class Client(threading.Thread):
    """Sends one request after the other until it is stopped.

    Args:
        number: Number of the client; its entity has it in its name.
        service: The service.
        names: Entities and relations that the run knows.
        results: Where responses and problems are counted.
        seed: Of its random choices.
    """

    def __init__(
        self,
        number: int,
        service: ServiceProcess,
        names: tuple[Sequence[str], Sequence[str]],
        results: Results,
        seed: int,
    ) -> None:
        super().__init__(daemon=True)
        self.entity = f"Chaos client {number}"
        self.ledger = Ledger()
        self.stopping = threading.Event()
        self._service, self._results = service, results
        self._entities, self._relations = names
        self._random = Random(f"{seed} {number}")
        probe = f"Chaos probe {number}"
        facts = [dict(zip(_FIELDS, self._fact(probe), strict=True)) for _ in range(2)]
        self._query = {"subject": probe, "relation": self._relations[number % len(self._relations)], "at": "2024-03-01"}
        self._question = {**self._query, "facts": facts, "top": 5}
        self._expected: list[tuple[str, float]] | None = None

    def run(self) -> None:
        """Requests in random order."""
        operations, weights = list(_OPERATIONS), list(_OPERATIONS.values())
        while not self.stopping.is_set():
            [operation] = self._random.choices(operations, weights)
            try:
                getattr(self, f"_{operation}")()
            except Exception as error:  # a response of another shape
                self._results.problem(f"{self.entity}: {operation}: {type(error).__name__}: {error}")

    def _fact(self, entity: str) -> FactKey:
        random = self._random
        day = f"2023-{random.randrange(1, 13):02}-{random.randrange(1, 29):02}"
        other = random.choice(self._entities)
        pair = (entity, other) if random.random() < 0.7 else (other, entity)
        return pair[0], random.choice(self._relations), pair[1], day

    def _send(self, operation: str, method: str, path: str, body: object = None) -> tuple[int | None, Any]:
        """Status and JSON of the response; None without a response."""
        began = time.monotonic()
        connection = http.client.HTTPConnection("127.0.0.1", self._service.port, timeout=MAX_SECONDS)
        try:
            content = None if body is None else json.dumps(body)
            connection.request(method, path, content, {"Content-Type": "application/json"})
            response = connection.getresponse()
            status, text = response.status, response.read()
        except (OSError, http.client.HTTPException) as error:
            self._results.response(operation, "no response", 0)
            if not self._service.was_down(began - 1):
                self._results.problem(
                    f"{operation}: no response though the service ran: {type(error).__name__}: {error}"
                )
            self.stopping.wait(0.5)
            return None, None
        finally:
            connection.close()
        self._results.response(operation, status, time.monotonic() - began)
        if status == 503:
            self.stopping.wait(0.05)
        elif status >= 500:
            self._results.problem(f"{operation}: {status}: {text[:200]!r}")
        return status, json.loads(text)

    def _predict(self) -> None:
        status, found = self._send("predict", "POST", "/v1/predict", self._question)
        if status != 200:
            self._expect(status, "predict", found, {503})
            return
        query = {name: found["query"][name] for name in self._query}
        answers = [(answer["entity"], answer["share"]) for answer in found["answers"]]
        if self._expected is None:
            self._expected = answers
        same = [name for name, _ in answers] == [name for name, _ in self._expected] and all(
            abs(one - other) < 1e-3 for (_, one), (_, other) in zip(answers, self._expected, strict=True)
        )
        if query != self._query or not same:
            self._results.problem(f"another answer to the same query: {query} {answers} instead of {self._expected}")

    def _explain(self) -> None:
        entity = self._expected[0][0] if self._expected else self._entities[0]
        body = {**{key: value for key, value in self._question.items() if key != "top"}, "entity": entity}
        status, found = self._send("explain", "POST", "/v1/explain", body)
        self._expect(status, "explain", found, {200, 503})

    def _observe(self) -> None:
        if len(self.ledger.stored()) >= MAX_STORED:
            self._forget()
            return
        facts = {self._fact(self.entity) for _ in range(self._random.randrange(1, 4))}
        facts = {key for key in facts if key not in self.ledger.states}
        if not facts:
            return
        self.ledger.states.update(dict.fromkeys(facts, State.UNKNOWN))
        body = {"facts": [dict(zip(_FIELDS, key, strict=True)) for key in facts]}
        status, found = self._send("observe", "POST", "/v1/observe", body)
        self._expect(status, "observe", found, {201, 503})
        if status == 201:
            for item in found["facts"]:
                key = item["subject"], item["relation"], item["object"], item["time"]
                if key not in facts:
                    self._results.problem(f"observe: acknowledges a fact that was not sent: {key}")
                self.ledger.states[key] = State.STORED
                self.ledger.ids[key] = item["id"]

    def _forget(self) -> None:
        key = self.ledger.pick(self._random)
        if key is None:
            return
        self.ledger.states[key] = State.UNKNOWN
        status, found = self._send("forget", "DELETE", f"/v1/facts/{self.ledger.ids[key]}")
        self._expect(status, "forget", found, {200, 503})
        if status == 200:
            self.ledger.states[key] = State.REMOVED

    def _list(self) -> None:
        status, found = self._send("list", "GET", f"/v1/actors/{quote(self.entity)}")
        self._expect(status, "list", found, {200, 404, 503})
        if status in (200, 404):
            facts = found["facts"] if status == 200 else []
            for problem in self.ledger.differences(self.entity, facts)[:2]:
                self._results.problem(f"{self.entity}: {problem}")

    def _search(self) -> None:
        status, found = self._send("search", "GET", "/v1/actors?search=Chaos&limit=5")
        self._expect(status, "search", found, {200, 503})

    def _expect(self, status: int | None, operation: str, found: Any, allowed: set[int]) -> None:
        if status is not None and status not in allowed:
            self._results.problem(f"{operation}: {status}: {json.dumps(found)[:200]}")

    def check(self) -> None:
        """Compares all stored facts with the ledger; for the end, when nothing else is running."""
        status, found = self._send("final list", "GET", f"/v1/actors/{quote(self.entity)}")
        if status not in (200, 404):
            self._results.problem(f"{self.entity}: no list at the end: {status}")
            return
        for problem in self.ledger.differences(self.entity, found["facts"] if status == 200 else []):
            self._results.problem(f"{self.entity}: at the end: {problem}")
