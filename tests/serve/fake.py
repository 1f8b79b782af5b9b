"""A worker without a model that echoes its jobs."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from fitcarl.predict import Fact, Query
from fitcarl.predict.fact import CheckedFact
from fitcarl.serve.workers.jobs import InvalidInputError, Job, Outcome

FACT = Fact("Harbour Union", "Consult", "Peliland", "2023-05-01")
CHECKED = CheckedFact("Harbour Union", "Consult", "Peliland", 120)


def job(name: str = "Harbour Union", **changes: Any) -> Job:
    return Job(Query(**{"subject": name, "object": None, "relation": "Consult", "at": "2023-06-01", **changes}))


@dataclass
class FakeWorker:
    """Returns the query entity and the number of facts; a query with the relation ``nonsense`` is invalid."""

    wait: Callable[[], object] = lambda: None
    calls: list[list[Job]] = field(default_factory=list)
    threads: set[int] = field(default_factory=set)

    def run(self, jobs: Sequence[Job], facts: Sequence[CheckedFact]) -> list[Outcome]:
        self.calls.append(list(jobs))
        self.threads.add(threading.get_ident())
        self.wait()
        if jobs[0].query.relation == "broken":
            raise ZeroDivisionError
        return [self._outcome(one, facts) for one in jobs]

    def ready_count(self) -> int:
        return 1

    def _outcome(self, one: Job, facts: Sequence[CheckedFact]) -> Outcome:
        if one.query.relation == "nonsense":
            return InvalidInputError("unknown relation", "relation", "nonsense")
        return json.dumps({"entity": one.query.entity, "at": one.query.at, "facts": len(facts)}).encode()
