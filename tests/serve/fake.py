"""A worker that needs no model: it says what it was asked, after a while if told so."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from fitcarl.predict import Fact, Query
from fitcarl.serve.workers.jobs import InvalidInputError, Job, Outcome

FACT = Fact("newcomer", "Consult", "Peliland", "2023-05-01")


def job(name: str = "newcomer", **changes: Any) -> Job:
    return Job(Query(**{"subject": name, "object": None, "relation": "Consult", "at": "2023-06-01", **changes}))


@dataclass
class FakeWorker:
    """Answers with the actor's name and what was known; a question whose relation is ``nonsense`` is a mistake."""

    wait: Callable[[], object] = lambda: None
    calls: list[list[Job]] = field(default_factory=list)
    threads: set[int] = field(default_factory=set)

    def perform(self, jobs: Sequence[Job], facts: Sequence[Fact]) -> list[Outcome]:
        self.calls.append(list(jobs))
        self.threads.add(threading.get_ident())
        self.wait()
        if jobs[0].query.relation == "broken":
            raise ZeroDivisionError
        return [self._outcome(one, facts) for one in jobs]

    def _outcome(self, one: Job, facts: Sequence[Fact]) -> Outcome:
        if one.query.relation == "nonsense":
            return InvalidInputError("unknown relation", "relation", "nonsense")
        return json.dumps({"actor": one.query.entity, "at": one.query.at, "facts": len(facts)}).encode()
