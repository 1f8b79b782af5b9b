"""What the service does, whatever it is asked through: stored facts, limits, and the model behind both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, Literal

from fitcarl.errors import InputError
from fitcarl.predict.fact import Fact
from fitcarl.predict.predictor import Predictor
from fitcarl.predict.query import Query
from fitcarl.serve.batching import Batcher
from fitcarl.serve.catalog import Catalog
from fitcarl.serve.errors import ApiError
from fitcarl.serve.limits import Limits
from fitcarl.serve.metrics import Metrics
from fitcarl.serve.store import Store, StoredFact, StoreUsage
from fitcarl.serve.workers.executor import BoundedExecutor
from fitcarl.serve.workers.jobs import InvalidInputError, Job, LocalWorker, Worker

Kind = Literal["entity", "relation"]

_HANDS = 4
_SUGGESTIONS = 5
_KINDS: Mapping[str, Kind] = {"subject": "entity", "object": "entity", "entity": "entity", "relation": "relation"}
"""Fields that hold a name, and of what."""


class Service:
    """A served run. Methods raise an ApiError, or an InputError, for what cannot be answered."""

    def __init__(
        self,
        predictor: Predictor,
        store: Store,
        limits: Limits | None = None,
        worker: Worker | None = None,
        threads: int = 1,
    ) -> None:
        """``worker`` answers, called by so many threads at once; without one, the predictor does in this process."""
        self.limits = limits or Limits()
        self.metrics = Metrics()
        self.catalog = Catalog(predictor)
        self._predictor = predictor
        self._store = store
        self._worker = worker or LocalWorker(predictor)
        self._threads = threads
        self._usable = lru_cache(maxsize=65_536)(self._can_be_used)

    async def start(self) -> None:
        """Begins to answer; to be called in the loop that asks."""
        limits = self.limits
        self._hands = BoundedExecutor(_HANDS, limits.waiting, limits.seconds)
        self._batcher = Batcher(
            self._worker,
            threads=self._threads,
            most_waiting=limits.waiting,
            seconds=limits.seconds,
            watch=self.metrics.call,
        )
        self._batcher.start()
        self.metrics.gauge("fitcarl_waiting", "Questions under way.", lambda: self._batcher.waiting)
        self.metrics.gauge("fitcarl_queue", "Calls of the model that wait for a thread.", lambda: self._batcher.queued)

    async def stop(self) -> None:
        """Lets what is under way finish."""
        await self._batcher.stop()
        await self._hands.stop()

    def unusable(self) -> int:
        """How many stored facts this model cannot use, because it has other relations or another calendar."""
        return sum(not self._usable(kept.fact) for kept in self._store.all())

    async def metrics_text(self) -> str:
        stored = await self._hands.do(self._store.count)
        self.metrics.gauge("fitcarl_stored_facts", "Facts in the store.", lambda: stored)
        return self.metrics.text()

    async def entities(self, search: str, most: int) -> list[dict[str, Any]]:
        """Entities that a text may mean, those in stored facts first; for an empty text the most active."""
        self._check_count("limit", most, self.limits.listed)
        return await self._hands.do(self._find_entities, search, most)

    async def relations(self, search: str, most: int) -> list[dict[str, Any]]:
        """Relations that a text may mean; for an empty text the most frequent."""
        self._check_count("limit", most, self.limits.listed)
        names = await self._hands.do(self.catalog.relations, search, most)
        return self.catalog.describe_relations(names)

    async def observe(self, facts: Sequence[Fact]) -> tuple[list[StoredFact], int]:
        """Stores facts; gives them with their ids, and how many were new."""
        self._check_facts(facts)
        written = [await self._checked(fact, f"facts.{place}") for place, fact in enumerate(facts)]
        return await self._hands.do(self._store.add, written, self._check_room)

    async def actors(self, search: str, most: int) -> list[dict[str, Any]]:
        """Names in stored facts, new actors first."""
        self._check_count("limit", most, self.limits.listed)
        found = await self._hands.do(self._store.actors, search, None)
        lines = [{"name": name, "facts": facts, "known": self.catalog.knows(name)} for name, facts in found.items()]
        return sorted(lines, key=lambda line: bool(line["known"]))[:most]

    async def actor(self, name: str) -> list[StoredFact]:
        """Stored facts that mention a name."""
        kept = await self._hands.do(self._store.mentioning, name, self.limits.facts_per_actor)
        if not kept and not self.catalog.knows(name):
            raise ApiError(404, f"nothing is stored about {name!r}", "name", await self._near("entity", name))
        return kept

    async def forget_actor(self, name: str) -> int:
        """Removes all stored facts that mention a name."""
        if not (removed := await self._hands.do(self._store.remove_actor, name)):
            raise ApiError(404, f"nothing is stored about {name!r}", "name")
        return removed

    async def forget_fact(self, identity: str) -> int:
        """Removes one stored fact."""
        if not (removed := await self._hands.do(self._store.remove, identity)):
            raise ApiError(404, f"no stored fact has the id {identity!r}", "id")
        return removed

    async def predict(self, question: Query, facts: Sequence[Fact]) -> bytes:
        """The prediction as JSON, from stored facts that mention the actor and from ``facts``, which are not stored."""
        return await self._ask(Job(question), facts)

    async def explain(self, question: Query, entity: str, facts: Sequence[Fact]) -> bytes:
        """One answer to a question as JSON: its place, its share, and the paths to it."""
        self._check_name("entity", entity)
        return await self._ask(Job(question, entity), facts)

    def example(self) -> dict[str, Any]:
        """Facts about a new actor and a question, to begin with."""
        example = self._predictor.example()
        if example is None:
            raise ApiError(404, "this run has no example")
        return example.to_json()

    async def _ask(self, job: Job, facts: Sequence[Fact]) -> bytes:
        self._batcher.check_room()  # before any work is done for it
        self._check_question(job.query, facts)
        known = await self._known_facts(job.query, facts)
        try:
            return await self._batcher.ask(job, known)
        except InvalidInputError as mistake:
            raise await self._refused(mistake) from None

    async def _known_facts(self, question: Query, facts: Sequence[Fact]) -> tuple[Fact, ...]:
        """What is known for a question, in one order, so that equal facts are equal whoever sends them."""
        given = [await self._checked(fact, f"facts.{place}") for place, fact in enumerate(facts)]
        stored = await self._hands.do(self._store.mentioning, question.entity, self.limits.facts_per_actor)
        usable = (kept.fact for kept in stored if self._usable(kept.fact))
        return tuple(sorted({*usable, *given}))

    async def _checked(self, fact: Fact, place: str) -> Fact:
        """A fact that the model can use, with its time as the calendar writes it."""
        for role, text in fact._asdict().items():
            self._check_name(f"{place}.{role}", text)
        try:
            self._predictor.check(fact)
        except InputError as mistake:
            raise await self._refused(InvalidInputError.of(mistake), place) from None
        calendar = self._predictor.calendar
        return fact._replace(time=calendar.label(calendar.tick(fact.time)))

    def _can_be_used(self, fact: Fact) -> bool:
        try:
            self._predictor.check(fact)
        except InputError:
            return False
        return True

    def _find_entities(self, search: str, most: int) -> list[dict[str, Any]]:
        newcomers = [name for name in self._store.actors(search) if not self.catalog.knows(name)] if search else []
        names = list(dict.fromkeys([*newcomers, *self.catalog.entities(search, most)]))[:most]
        return self.catalog.describe_entities(names, self._store.mentioned(names))

    def _check_question(self, question: Query, facts: Sequence[Fact]) -> None:
        self._check_facts([*facts, *question.without])
        self._check_name("object" if question.subject is None else "subject", question.entity)
        self._check_name("relation", question.relation)
        self._check_count("top", question.top, self.limits.top)
        self._check_count("paths", question.paths, self.limits.paths)

    def _check_facts(self, facts: Sequence[Fact]) -> None:
        self._check_count("facts", len(facts), self.limits.facts_per_request)

    def _check_count(self, field: str, found: int, most: int) -> None:
        if found > most:
            raise ApiError(422, f"{field}: at most {most} in one request; found {found}", field)

    def _check_name(self, field: str, name: str) -> None:
        if len(name) > self.limits.name_length:
            raise ApiError(422, f"{field}: at most {self.limits.name_length} characters; found {len(name)}", field)

    def _check_room(self, tally: StoreUsage) -> None:
        """Refuses facts that would fill an actor or the store beyond their limits."""
        if tally.total > self.limits.stored_facts:
            raise ApiError(503, f"the store is full: it keeps {self.limits.stored_facts} facts; forget some first")
        most = self.limits.facts_per_actor
        full = [name for name, facts in tally.by_name.items() if facts > most and not self.catalog.knows(name)]
        if full:
            raise ApiError(422, f"{full[0]!r} would have more than {most} facts; forget some of them first", "facts")

    async def _refused(self, mistake: InvalidInputError, place: str = "") -> ApiError:
        """A mistake as the client is told, with names that were perhaps meant."""
        field = ".".join(part for part in (place, mistake.field) if part) or None
        kind = _KINDS.get(mistake.field or "")
        near = await self._near(kind, mistake.found) if kind else []
        if mistake.found in near:  # spelt rightly, and wrong for another reason, such as facts that are all too late
            near = []
        return ApiError(422, mistake.message, field, near)

    async def _near(self, kind: Kind, name: str) -> list[str]:
        return await self._hands.do(self._predictor.suggest, name[: self.limits.name_length], kind, _SUGGESTIONS)
