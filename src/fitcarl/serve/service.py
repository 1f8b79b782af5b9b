"""A served run: its model, workers and spaces, and what concerns all of them."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Sequence
from functools import lru_cache
from time import monotonic

from sqlalchemy.exc import SQLAlchemyError

from fitcarl.core.lock import FolderInUseError
from fitcarl.errors import InputError
from fitcarl.models.per_query import PerQueryScorer
from fitcarl.predict.fact import CheckedFact, Fact
from fitcarl.predict.predictor import Predictor
from fitcarl.predict.schemas import ExampleSchema
from fitcarl.runs.update import update
from fitcarl.serve import schemas
from fitcarl.serve.batching import Batcher
from fitcarl.serve.catalog import Catalog
from fitcarl.serve.checks import check_count, check_printable
from fitcarl.serve.errors import ApiError
from fitcarl.serve.limits import Limits
from fitcarl.serve.metrics import Metrics
from fitcarl.serve.space import SpaceService
from fitcarl.serve.store import FactSpace, KnownNames, Store
from fitcarl.serve.tables import DEFAULT_SPACE
from fitcarl.serve.workers.executor import BoundedExecutor
from fitcarl.serve.workers.jobs import LocalWorker, Worker

_log = logging.getLogger(__name__)
_STORE_THREADS = 4
_LISTING_THREADS = 2
_PROBE_SECONDS = 2.0
"""Time limit of a check of the store."""
_PROBE_INTERVAL = 1.0
"""A result of a check is used for this time, because anyone may ask for it."""


class Service:
    """A served run. Methods raise an ApiError or an InputError if a request cannot be answered."""

    listings: BoundedExecutor
    """Threads for lists and searches of names, apart from those that queries need."""
    executor: BoundedExecutor
    """Threads for reading and writing facts."""
    batcher: Batcher

    def __init__(
        self,
        predictor: Predictor,
        store: Store,
        limits: Limits | None = None,
        worker: Worker | None = None,
        threads: int = 1,
        allow_updates: bool = False,
        spaces: Iterable[str] = (DEFAULT_SPACE,),
    ) -> None:
        """Creates a service.

        Args:
            predictor: The served run.
            store: Store of observed facts.
            limits: Limits of the service.
            worker: Computes the answers; by default the predictor in this process.
            threads: Number of threads that call the worker concurrently.
            allow_updates: Whether facts may be added to the background of the run.
            spaces: Names of the spaces that clients use.
        """
        self.limits = limits or Limits()
        self.metrics = Metrics()
        self.predictor = predictor
        self.catalog = Catalog(predictor)
        self.check_stored = lru_cache(maxsize=65_536)(self._check_or_none)
        self._store = store
        self._worker = worker or LocalWorker(predictor)
        self._threads = threads
        self._allow_updates = allow_updates
        self._updating = False
        self._facts = self._open_spaces(dict.fromkeys(spaces))
        self._probed = -_PROBE_INTERVAL
        self._stored_facts: int | None = None

    async def start(self) -> None:
        """Starts the threads; must be called in the event loop that handles the requests."""
        limits = self.limits
        self.executor = BoundedExecutor(_STORE_THREADS, limits.waiting, limits.seconds)
        self.listings = BoundedExecutor(_LISTING_THREADS, limits.waiting, limits.seconds)
        self._probe = BoundedExecutor(1, 2, _PROBE_SECONDS)
        self._probing = asyncio.Lock()
        self.batcher = Batcher(
            self._worker,
            threads=self._threads,
            max_waiting=limits.waiting,
            seconds=limits.seconds,
            on_batch=self.metrics.record_batch,
            mixes_times=isinstance(self.predictor.run.model.scorer(), PerQueryScorer),
        )
        self.batcher.start()
        self.metrics.set_gauge("fitcarl_waiting", "Queries in progress.", lambda: self.batcher.waiting)
        self.metrics.set_gauge("fitcarl_queue", "Batches that wait for a worker.", lambda: self.batcher.queued)
        self.metrics.set_gauge("fitcarl_workers", "Workers that can answer queries.", self._worker.ready_count)
        stored = "Facts in the store, in all spaces; left out while the store is not available."
        self.metrics.set_gauge(
            "fitcarl_store_up", "Whether the store is available.", lambda: self._stored_facts is not None
        )
        self.metrics.set_gauge("fitcarl_stored_facts", stored, lambda: self._stored_facts)

    async def stop(self) -> None:
        """Finishes the requests in progress and stops the threads."""
        await self.batcher.stop()
        for executor in (self.executor, self.listings, self._probe):
            await executor.stop()

    def space(self, name: str) -> SpaceService:
        """The operations on one of the spaces."""
        return SpaceService(self, self._facts[name])

    def count_unusable(self) -> int:
        """Number of stored facts that do not fit the run, because their relation or time is unknown to it."""
        return sum(self.check_stored(one.fact) is None for facts in self._facts.values() for one in facts.all())

    def model(self) -> schemas.ModelResponse:
        """Description of the served run."""
        return self.catalog.describe_model(self.limits)

    def example(self) -> ExampleSchema:
        """Facts about a new entity and a query about it."""
        example = self.predictor.example()
        if example is None:
            raise ApiError(404, "this run has no example")
        return example.to_schema()

    async def relations(self, search: str, limit: int) -> schemas.RelationsResponse:
        """Relations that match a text; for an empty text the most frequent ones."""
        check_count("limit", limit, self.limits.listed)
        check_printable("search", search)
        names = await self.listings.run(self.catalog.find_relations, search, limit)
        return schemas.RelationsResponse(relations=self.catalog.describe_relations(names))

    async def metrics_text(self) -> str:
        """The metrics in the text format of Prometheus; also while the store is not available."""
        await self._check_store()
        return self.metrics.text()

    async def check_ready(self) -> None:
        """Raises an ApiError if queries cannot be answered at the moment."""
        if not self._worker.ready_count():
            raise ApiError(503, "not ready: no worker process is running")
        if not await self._check_store():
            raise ApiError(503, "not ready: the store is not available")

    async def _check_store(self) -> bool:
        """Whether the store answers; its number of facts is kept for the metrics."""
        async with self._probing:
            if monotonic() - self._probed >= _PROBE_INTERVAL:
                try:
                    self._stored_facts = await self._probe.run(self._store.count)
                except (SQLAlchemyError, ApiError):
                    self._stored_facts = None
                self._probed = monotonic()
        return self._stored_facts is not None

    async def update_background(self, facts: Sequence[Fact]) -> schemas.BackgroundResponse:
        """Adds facts to the background of the run; afterwards, all answers are from the updated run."""
        if not self._allow_updates:
            raise ApiError(403, "updates are switched off; start the service with --allow-updates")
        check_count("facts", len(facts), self.limits.facts_per_update)
        any_space = self.space(next(iter(self._facts)))  # checks do not depend on stored facts
        for index, fact in enumerate(facts):
            await any_space.check(fact, f"facts.{index}")
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
        folder = self.predictor.run.folder.path
        done = update(folder, facts)
        if done.added:
            predictor = Predictor.load(folder)
            catalog = Catalog(predictor)
            try:
                self._worker.reload(predictor)
            except InputError:
                problem = "the facts were added, but the worker processes do not start; restart the service"
                raise ApiError(503, problem) from None
            self.predictor, self.catalog = predictor, catalog
            self._facts = self._open_spaces(self._facts)
            self.check_stored.cache_clear()
        return schemas.BackgroundResponse.model_validate(done)

    def _open_spaces(self, names: Iterable[str]) -> dict[str, FactSpace]:
        known = KnownNames(self.catalog.background, self.catalog.knows)
        spaces = {name: self._store.space(name, known) for name in names}
        for space in spaces.values():
            space.adopt_background()
        return spaces

    def _check_or_none(self, fact: Fact) -> CheckedFact | None:
        try:
            return self.predictor.parser.check(fact)
        except InputError:
            return None
