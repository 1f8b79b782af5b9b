"""The operations on one space, independent of HTTP: its stored facts, and queries that use them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Literal, TypeVar

from fitcarl.errors import InputError
from fitcarl.predict.answering import check_query
from fitcarl.predict.fact import CheckedFact, Fact
from fitcarl.predict.query import Query
from fitcarl.serve import schemas
from fitcarl.serve.checks import check_count, check_length, check_printable, check_visible
from fitcarl.serve.errors import ApiError, shortened
from fitcarl.serve.store import FactSpace, StoredFact, StoreUsage
from fitcarl.serve.workers.jobs import InvalidInputError, Job

if TYPE_CHECKING:
    from fitcarl.serve.service import Service

NameKind = Literal["entity", "relation"]

Result = TypeVar("Result")

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


class SpaceService:
    """A served run with the stored facts of one space; it has no access to the facts of other spaces.

    Methods raise an ApiError or an InputError if a request cannot be answered.
    """

    def __init__(self, service: Service, facts: FactSpace) -> None:
        self._service = service
        self._facts = facts
        self._limits = service.limits

    async def entities(self, search: str, limit: int) -> schemas.EntitiesResponse:
        """Entities that match a text, new ones first; for an empty text those with the most facts."""
        check_count("limit", limit, self._limits.listed)
        check_printable("search", search)
        return schemas.EntitiesResponse(entities=await self._service.listings.run(self._find_entities, search, limit))

    async def observe(self, facts: Sequence[Fact]) -> schemas.ObserveResponse:
        """Stores facts."""
        self._check_fact_count(facts)
        normalise = self._service.predictor.parser.normalise
        checked = [normalise(await self.check(fact, f"facts.{index}")) for index, fact in enumerate(facts)]
        stored, added = await self._service.executor.run(self._facts.add, checked, self._check_usage)
        return schemas.ObserveResponse(added=added, facts=_schemas(stored))

    async def stored_entities(self, search: str, limit: int) -> schemas.StoredEntitiesResponse:
        """Entities that stored facts mention, new ones first."""
        check_count("limit", limit, self._limits.listed)
        check_printable("search", search)
        found = await self._service.listings.run(self._facts.names, search, limit)
        items = (schemas.StoredEntityItem(name=one.name, facts=one.facts, known=one.known) for one in found)
        return schemas.StoredEntitiesResponse(actors=tuple(items))

    async def stored_facts(self, name: str) -> schemas.StoredEntityResponse:
        """Stored facts that mention an entity."""
        self._check_path_name(name)
        stored = await self._service.listings.run(self._facts.mentioning, name, self._limits.facts_per_actor)
        known = self._service.catalog.knows(name)
        if not stored and not known:
            near = await self._near("entity", name)
            raise ApiError(404, f"no facts are stored about {shortened(name)}", "name", near)
        return schemas.StoredEntityResponse(name=name, known=known, facts=_schemas(stored))

    async def forget_entity(self, name: str) -> int:
        """Deletes all stored facts that mention an entity; returns their number."""
        self._check_path_name(name)
        if not (removed := await self._service.executor.run(self._facts.remove_entity, name)):
            raise ApiError(404, f"no facts are stored about {shortened(name)}", "name")
        return removed

    async def forget_fact(self, identity: str) -> int:
        """Deletes one stored fact; returns 1."""
        check_printable("id", identity)
        if not (removed := await self._service.executor.run(self._facts.remove, identity)):
            raise ApiError(404, f"no stored fact has the id {shortened(identity)}", "id")
        return removed

    async def predict(self, query: Query, facts: Sequence[Fact]) -> bytes:
        """The prediction as JSON, from the stored facts about the query entity and ``facts``, which are not stored."""
        return await self._run(Job(query), facts)

    async def predict_many(self, requests: Sequence[tuple[Query, Sequence[Fact]]]) -> list[bytes]:
        """The predictions for several queries with their facts, as JSON; all are checked before any is answered."""
        check_count("queries", len(requests), self._limits.queries_per_request)
        self._service.batcher.check_capacity()
        known = [await self._in_list(index, self._checked(*request)) for index, request in enumerate(requests)]
        turns = asyncio.Semaphore(max(1, min(_QUERIES_AT_ONCE, self._limits.waiting // 4)))

        async def answer(query: Query, facts: Sequence[CheckedFact]) -> bytes:
            async with turns:
                return await self._answer(Job(query), facts)

        jobs = (answer(query, facts) for (query, _), facts in zip(requests, known, strict=True))
        return list(await asyncio.gather(*(self._in_list(index, job) for index, job in enumerate(jobs))))

    async def explain(self, query: Query, entity: str, facts: Sequence[Fact]) -> bytes:
        """The explanation of one entity as an answer, as JSON."""
        check_length("entity", entity, self._limits.name_length)
        return await self._run(Job(query, entity), facts)

    async def check(self, fact: Fact, location: str) -> CheckedFact:
        """The checked fact; an ApiError if it is invalid. Control characters were refused with the request.

        Args:
            fact: A fact of a request.
            location: Its path in the request.
        """
        for column, text in fact._asdict().items():
            check_length(f"{location}.{column}", text, self._limits.name_length)
        for column, name in (("subject", fact.subject), ("object", fact.object)):
            if name not in self._service.predictor.run.vocabulary.entity_index:
                check_visible(f"{location}.{column}", name)
        try:
            return self._service.predictor.parser.check(fact)
        except InputError as error:
            raise await self._api_error(InvalidInputError.from_error(error), location) from None

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
            check_query(self._service.predictor.planner(known), query)
        except InputError as error:
            raise await self._api_error(InvalidInputError.from_error(error)) from None
        return known

    async def _run(self, job: Job, facts: Sequence[Fact]) -> bytes:
        self._service.batcher.check_capacity()  # before any other work
        self._check_query(job.query, facts)
        async with self._time_limit():
            return await self._answer(job, await self._known_facts(job.query, facts))

    @asynccontextmanager
    async def _time_limit(self) -> AsyncIterator[None]:
        """Limits the time of a whole query: reading the store, waiting for a worker, and the answer."""
        try:
            async with asyncio.timeout(self._limits.seconds):
                yield
        except TimeoutError:
            limit = f"{self._limits.seconds:g} seconds"
            raise ApiError(503, f"took longer than {limit}; try again with fewer answers or paths") from None

    async def _answer(self, job: Job, facts: Sequence[CheckedFact]) -> bytes:
        try:
            return await self._service.batcher.run(job, facts)
        except InvalidInputError as error:
            raise await self._api_error(error) from None

    async def _known_facts(self, query: Query, facts: Sequence[Fact]) -> tuple[CheckedFact, ...]:
        """The facts for a query, sorted, so that requests with the same facts can be batched."""
        request_facts = [await self.check(fact, f"facts.{index}") for index, fact in enumerate(facts)]
        limit = self._limits.facts_per_actor
        stored = await self._service.executor.run(self._facts.mentioning, query.entity, limit)
        usable = (checked for one in stored if (checked := self._service.check_stored(one.fact)) is not None)
        return tuple(sorted({*usable, *request_facts}))

    def _find_entities(self, search: str, limit: int) -> tuple[schemas.EntityItem, ...]:
        new = [one.name for one in self._facts.names(search, limit, new_only=True)] if search else []
        catalog = self._service.catalog
        names = list(dict.fromkeys([*new, *catalog.find_entities(search, limit)]))[:limit]
        return catalog.describe_entities(names, self._facts.mentioned(names))

    def _check_query(self, query: Query, facts: Sequence[Fact]) -> None:
        self._check_fact_count([*facts, *query.without])
        check_length("object" if query.subject is None else "subject", query.entity, self._limits.name_length)
        if query.relation is not None:
            check_length("relation", query.relation, self._limits.name_length)
        check_count("top", query.top, self._limits.top)
        check_count("paths", query.paths, self._limits.paths)

    def _check_fact_count(self, facts: Sequence[Fact]) -> None:
        check_count("facts", len(facts), self._limits.facts_per_request)

    def _check_path_name(self, name: str) -> None:
        check_length("name", name, self._limits.name_length)
        check_printable("name", name)

    def _check_usage(self, usage: StoreUsage) -> None:
        """Raises an ApiError if the space or an entity would exceed its limit."""
        if usage.total > self._limits.stored_facts:
            raise ApiError(503, f"the store is full ({self._limits.stored_facts} facts); delete some first")
        limit, knows = self._limits.facts_per_actor, self._service.catalog.knows
        full = [name for name, facts in usage.by_name.items() if facts > limit and not knows(name)]
        if full:
            problem = f"{shortened(full[0])} would have more than {limit} facts; delete some of them first"
            raise ApiError(422, problem, "facts")

    async def _api_error(self, error: InvalidInputError, location: str = "") -> ApiError:
        """The response to invalid input, with similar names as suggestions."""
        field = ".".join(part for part in (location, error.field) if part) or None
        kind = _NAME_FIELDS.get(error.field or "")
        near = await self._near(kind, error.found) if kind else []
        if error.found in near:  # the name is correct and the problem is another one, such as facts after as_of
            near = []
        return ApiError(422, error.message, field, near)

    async def _near(self, kind: NameKind, name: str) -> list[str]:
        text = name[: self._limits.name_length]
        return await self._service.listings.run(self._service.predictor.suggest, text, kind, _MAX_SUGGESTIONS)


def _schemas(stored: Sequence[StoredFact]) -> tuple[schemas.StoredFactSchema, ...]:
    return tuple(schemas.StoredFactSchema(id=one.id, **one.fact._asdict()) for one in stored)
