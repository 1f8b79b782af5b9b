"""The operations of the service, independent of HTTP: stored facts, limits, and queries to the model."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Mapping, Sequence
from functools import lru_cache
from typing import Literal, TypeVar

from fitcarl.core.lock import FolderInUseError
from fitcarl.errors import InputError
from fitcarl.predict.answering import check_query
from fitcarl.predict.fact import CheckedFact, Fact
from fitcarl.predict.predictor import Predictor
from fitcarl.predict.query import Query
from fitcarl.predict.schemas import ExampleSchema
from fitcarl.runs.update import update
from fitcarl.serve import schemas
from fitcarl.serve.batching import Batcher
from fitcarl.serve.catalog import Catalog
from fitcarl.serve.errors import ApiError
from fitcarl.serve.limits import Limits
from fitcarl.serve.metrics import Metrics
from fitcarl.serve.store import Store, StoredFact, StoreUsage
from fitcarl.serve.workers.executor import BoundedExecutor
from fitcarl.serve.workers.jobs import InvalidInputError, Job, LocalWorker, Worker

NameKind = Literal["entity", "relation"]

Result = TypeVar("Result")

_EXECUTOR_THREADS = 4
_QUERIES_AT_ONCE = 16
"""Queries of one list that wait for an answer at the same time, so that a list does not fill the queue."""
_MAX_SUGGESTIONS = 5
_NAME_FIELDS: Mapping[str, NameKind] = {
    "subject": "entity",
    "object": "entity",
    "entity": "entity",
    "relation": "relation",
}
"""Fields that contain a name, and its kind."""


class Service:
    """A served run. Methods raise an ApiError or an InputError if a request cannot be answered."""

    def __init__(
        self,
        predictor: Predictor,
        store: Store,
        limits: Limits | None = None,
        worker: Worker | None = None,
        threads: int = 1,
        allow_updates: bool = False,
    ) -> None:
        """Creates a service.

        Args:
            predictor: The served run.
            store: Store of observed facts.
            limits: Limits of the service.
            worker: Computes the answers; by default the predictor in this process.
            threads: Number of threads that call the worker concurrently.
            allow_updates: Whether facts may be added to the background of the run.
        """
        self.limits = limits or Limits()
        self.metrics = Metrics()
        self._catalog = Catalog(predictor)
        self._predictor = predictor
        self._store = store
        self._worker = worker or LocalWorker(predictor)
        self._threads = threads
        self._allow_updates = allow_updates
        self._updating = False
        self._check_stored = lru_cache(maxsize=65_536)(self._check_or_none)

    async def start(self) -> None:
        """Starts the threads; must be called in the event loop that handles the requests."""
        limits = self.limits
        self._executor = BoundedExecutor(_EXECUTOR_THREADS, limits.waiting, limits.seconds)
        self._batcher = Batcher(
            self._worker,
            threads=self._threads,
            max_waiting=limits.waiting,
            seconds=limits.seconds,
            on_batch=self.metrics.record_batch,
        )
        self._batcher.start()
        self.metrics.set_gauge("fitcarl_waiting", "Queries in progress.", lambda: self._batcher.waiting)
        self.metrics.set_gauge("fitcarl_queue", "Batches that wait for a worker.", lambda: self._batcher.queued)

    async def stop(self) -> None:
        """Finishes the requests in progress and stops the threads."""
        await self._batcher.stop()
        await self._executor.stop()

    def count_unusable(self) -> int:
        """Number of stored facts that do not fit the run, because their relation or time is unknown to it."""
        return sum(self._check_stored(stored.fact) is None for stored in self._store.all())

    def model(self) -> schemas.ModelResponse:
        """Description of the served run."""
        return self._catalog.describe_model(self.limits)

    async def metrics_text(self) -> str:
        """The metrics in the text format of Prometheus."""
        stored = await self._executor.run(self._store.count)
        self.metrics.set_gauge("fitcarl_stored_facts", "Facts in the store.", lambda: stored)
        return self.metrics.text()

    async def entities(self, search: str, limit: int) -> schemas.EntitiesResponse:
        """Entities that match a text, new ones first; for an empty text those with the most facts."""
        self._check_count("limit", limit, self.limits.listed)
        return schemas.EntitiesResponse(entities=await self._executor.run(self._find_entities, search, limit))

    async def relations(self, search: str, limit: int) -> schemas.RelationsResponse:
        """Relations that match a text; for an empty text the most frequent ones."""
        self._check_count("limit", limit, self.limits.listed)
        names = await self._executor.run(self._catalog.find_relations, search, limit)
        return schemas.RelationsResponse(relations=self._catalog.describe_relations(names))

    async def observe(self, facts: Sequence[Fact]) -> schemas.ObserveResponse:
        """Stores facts."""
        self._check_fact_count(facts)
        normalise = self._predictor.parser.normalise
        checked = [normalise(await self._check(fact, f"facts.{index}")) for index, fact in enumerate(facts)]
        stored, added = await self._executor.run(self._store.add, checked, self._check_usage)
        return schemas.ObserveResponse(added=added, facts=_schemas(stored))

    async def update_background(self, facts: Sequence[Fact]) -> schemas.BackgroundResponse:
        """Adds facts to the background of the run; afterwards, all answers are from the updated run."""
        if not self._allow_updates:
            raise ApiError(403, "updates are switched off; start the service with --allow-updates")
        self._check_count("facts", len(facts), self.limits.facts_per_update)
        for index, fact in enumerate(facts):
            await self._check(fact, f"facts.{index}")
        if self._updating:
            raise ApiError(409, "another update is in progress; try again later")
        self._updating = True
        try:
            return await asyncio.to_thread(self._update, facts)
        except FolderInUseError as error:
            raise ApiError(409, f"the run {error.problem}; try again later") from None
        except InputError as error:
            field = None if error.row is None else f"facts.{error.row - 1}.{error.field}"
            located = InputError(
                error.problem, field=field, found=error.found, expected=error.expected, hint=error.hint
            )
            raise ApiError(422, str(located), field) from None
        finally:
            self._updating = False

    def _update(self, facts: Sequence[Fact]) -> schemas.BackgroundResponse:
        """Updates the run folder, then everything that was loaded from it, while queries are answered."""
        folder = self._predictor.run.folder.path
        done = update(folder, facts)
        if done.added:
            predictor = Predictor.load(folder)
            catalog = Catalog(predictor)
            try:
                self._worker.reload(predictor)
            except InputError:
                problem = "the facts were added, but the worker processes do not start; restart the service"
                raise ApiError(503, problem) from None
            self._predictor, self._catalog = predictor, catalog
            self._check_stored.cache_clear()
        return schemas.BackgroundResponse.model_validate(done)

    async def stored_entities(self, search: str, limit: int) -> schemas.StoredEntitiesResponse:
        """Entities that stored facts mention, new ones first."""
        self._check_count("limit", limit, self.limits.listed)
        counts = await self._executor.run(self._store.entity_counts, search, None)
        items = [
            schemas.StoredEntityItem(name=name, facts=facts, known=self._catalog.knows(name))
            for name, facts in counts.items()
        ]
        return schemas.StoredEntitiesResponse(actors=tuple(sorted(items, key=lambda item: item.known)[:limit]))

    async def stored_facts(self, name: str) -> schemas.StoredEntityResponse:
        """Stored facts that mention an entity."""
        stored = await self._executor.run(self._store.mentioning, name, self.limits.facts_per_actor)
        known = self._catalog.knows(name)
        if not stored and not known:
            raise ApiError(404, f"no facts are stored about {name!r}", "name", await self._near("entity", name))
        return schemas.StoredEntityResponse(name=name, known=known, facts=_schemas(stored))

    async def forget_entity(self, name: str) -> int:
        """Deletes all stored facts that mention an entity; returns their number."""
        if not (removed := await self._executor.run(self._store.remove_entity, name)):
            raise ApiError(404, f"no facts are stored about {name!r}", "name")
        return removed

    async def forget_fact(self, identity: str) -> int:
        """Deletes one stored fact; returns 1."""
        if not (removed := await self._executor.run(self._store.remove, identity)):
            raise ApiError(404, f"no stored fact has the id {identity!r}", "id")
        return removed

    async def predict(self, query: Query, facts: Sequence[Fact]) -> bytes:
        """The prediction as JSON, from the stored facts about the query entity and ``facts``, which are not stored."""
        return await self._run(Job(query), facts)

    async def predict_many(self, requests: Sequence[tuple[Query, Sequence[Fact]]]) -> list[bytes]:
        """The predictions for several queries with their facts, as JSON; all are checked before any is answered."""
        self._check_count("queries", len(requests), self.limits.queries_per_request)
        self._batcher.check_capacity()
        known = [await self._in_list(index, self._checked(*request)) for index, request in enumerate(requests)]
        turns = asyncio.Semaphore(max(1, min(_QUERIES_AT_ONCE, self.limits.waiting // 4)))

        async def answer(query: Query, facts: Sequence[CheckedFact]) -> bytes:
            async with turns:
                return await self._answer(Job(query), facts)

        jobs = (answer(query, facts) for (query, _), facts in zip(requests, known, strict=True))
        return list(await asyncio.gather(*(self._in_list(index, job) for index, job in enumerate(jobs))))

    @staticmethod
    async def _in_list(index: int, result: Awaitable[Result]) -> Result:
        """A result for one query of a list; errors name its index."""
        try:
            return await result
        except ApiError as error:
            field = ".".join(filter(None, (str(index), error.field)))
            raise ApiError(error.status, f"query {index}: {error.message}", field, error.suggestions) from None

    async def _checked(self, query: Query, facts: Sequence[Fact]) -> tuple[CheckedFact, ...]:
        """The facts for a query, which can be answered."""
        self._check_query(query, facts)
        known = await self._known_facts(query, facts)
        try:
            check_query(self._predictor.planner(known), query)
        except InputError as error:
            raise await self._api_error(InvalidInputError.from_error(error)) from None
        return known

    async def explain(self, query: Query, entity: str, facts: Sequence[Fact]) -> bytes:
        """The explanation of one entity as an answer, as JSON."""
        self._check_length("entity", entity)
        return await self._run(Job(query, entity), facts)

    def example(self) -> ExampleSchema:
        """Facts about a new entity and a query about it."""
        example = self._predictor.example()
        if example is None:
            raise ApiError(404, "this run has no example")
        return example.to_schema()

    async def _run(self, job: Job, facts: Sequence[Fact]) -> bytes:
        self._batcher.check_capacity()  # before any other work
        self._check_query(job.query, facts)
        return await self._answer(job, await self._known_facts(job.query, facts))

    async def _answer(self, job: Job, facts: Sequence[CheckedFact]) -> bytes:
        try:
            return await self._batcher.run(job, facts)
        except InvalidInputError as error:
            raise await self._api_error(error) from None

    async def _known_facts(self, query: Query, facts: Sequence[Fact]) -> tuple[CheckedFact, ...]:
        """The facts for a query, sorted, so that requests with the same facts can be batched."""
        request_facts = [await self._check(fact, f"facts.{index}") for index, fact in enumerate(facts)]
        stored = await self._executor.run(self._store.mentioning, query.entity, self.limits.facts_per_actor)
        usable = (checked for one in stored if (checked := self._check_stored(one.fact)) is not None)
        return tuple(sorted({*usable, *request_facts}))

    async def _check(self, fact: Fact, location: str) -> CheckedFact:
        """The checked fact; an ApiError if it is invalid. Its names were validated with the request."""
        for column, text in fact._asdict().items():
            self._check_length(f"{location}.{column}", text)
        try:
            return self._predictor.parser.check(fact)
        except InputError as error:
            raise await self._api_error(InvalidInputError.from_error(error), location) from None

    def _check_or_none(self, fact: Fact) -> CheckedFact | None:
        try:
            return self._predictor.parser.check(fact)
        except InputError:
            return None

    def _find_entities(self, search: str, limit: int) -> tuple[schemas.EntityItem, ...]:
        new = [name for name in self._store.entity_counts(search) if not self._catalog.knows(name)] if search else []
        names = list(dict.fromkeys([*new, *self._catalog.find_entities(search, limit)]))[:limit]
        return self._catalog.describe_entities(names, self._store.mentioned(names))

    def _check_query(self, query: Query, facts: Sequence[Fact]) -> None:
        self._check_fact_count([*facts, *query.without])
        self._check_length("object" if query.subject is None else "subject", query.entity)
        if query.relation is not None:
            self._check_length("relation", query.relation)
        self._check_count("top", query.top, self.limits.top)
        self._check_count("paths", query.paths, self.limits.paths)

    def _check_fact_count(self, facts: Sequence[Fact]) -> None:
        self._check_count("facts", len(facts), self.limits.facts_per_request)

    def _check_count(self, field: str, found: int, limit: int) -> None:
        if found > limit:
            raise ApiError(422, f"{field}: at most {limit} in one request; found {found}", field)

    def _check_length(self, field: str, name: str) -> None:
        if len(name) > self.limits.name_length:
            raise ApiError(422, f"{field}: at most {self.limits.name_length} characters; found {len(name)}", field)

    def _check_usage(self, usage: StoreUsage) -> None:
        """Raises an ApiError if the store or an entity would exceed its limit."""
        if usage.total > self.limits.stored_facts:
            raise ApiError(503, f"the store is full ({self.limits.stored_facts} facts); delete some first")
        limit = self.limits.facts_per_actor
        full = [name for name, facts in usage.by_name.items() if facts > limit and not self._catalog.knows(name)]
        if full:
            raise ApiError(422, f"{full[0]!r} would have more than {limit} facts; delete some of them first", "facts")

    async def _api_error(self, error: InvalidInputError, location: str = "") -> ApiError:
        """The response to invalid input, with similar names as suggestions."""
        field = ".".join(part for part in (location, error.field) if part) or None
        kind = _NAME_FIELDS.get(error.field or "")
        near = await self._near(kind, error.found) if kind else []
        if error.found in near:  # the name is correct and the problem is another one, such as facts after as_of
            near = []
        return ApiError(422, error.message, field, near)

    async def _near(self, kind: NameKind, name: str) -> list[str]:
        text = name[: self.limits.name_length]
        return await self._executor.run(self._predictor.suggest, text, kind, _MAX_SUGGESTIONS)


def _schemas(stored: Sequence[StoredFact]) -> tuple[schemas.StoredFactSchema, ...]:
    return tuple(schemas.StoredFactSchema(id=one.id, **one.fact._asdict()) for one in stored)
