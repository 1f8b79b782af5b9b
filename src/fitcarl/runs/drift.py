"""Drift: how well a run predicts facts that are about to be added to its background."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from fitcarl.config.base import Setting
from fitcarl.core.files import read_json
from fitcarl.data.dataset import Dataset, MetaSet
from fitcarl.data.quadruples import Ids, Quadruples
from fitcarl.data.vocabulary import Vocabulary
from fitcarl.errors import InputError, UnusableRunError
from fitcarl.evaluation.bootstrap import mean_interval
from fitcarl.evaluation.filtering import KnownAnswers
from fitcarl.evaluation.protocol import rank_task
from fitcarl.graph.temporal import TemporalGraph
from fitcarl.models.registry import heuristic
from fitcarl.runs.nearest_facts import nearest_facts
from fitcarl.runs.run import Run
from fitcarl.scoring.scorer import Scorer
from fitcarl.tasks.task import NO_LIMIT, Queries, Task, official_task

_MIN_JUDGED, _MAX_JUDGED, _JUDGED_ENTITIES = 100, 300, 10_000_000
"""Facts that the drift is measured on by default, and the product of facts and entities that bounds their number: a
query costs more the more entities there are."""
_HEURISTIC = "copy"


@dataclass(frozen=True)
class Drift:
    """MRR (realistic ranks, time-aware filter, setting forecast) on new facts, before they are added."""

    facts: int
    """New facts."""
    eligible: int
    """Facts that can be judged: their entity is known or has earlier new facts, and they are after the background."""
    judged: int
    """Facts that were judged: all eligible ones, or a random sample."""
    new_entities: int
    """Judged facts that were asked about a new entity."""
    within_background: bool
    """Whether no new fact is later than the background, so that earlier ones were judged."""
    mrr: float | None
    """None if nothing was judged."""
    low: float | None
    """95 % interval of the MRR, by bootstrap over entities."""
    high: float | None
    heuristic: str
    """The heuristic that gives the scale."""
    heuristic_mrr: float | None
    validation_mrr: float | None
    """The run's own MRR on meta-validation; None if it is not recorded."""
    validation_setting: Setting
    """The setting of ``validation_mrr``."""
    reason: str = ""
    """Why nothing was judged."""


def measure_drift(
    run: Run, facts: Quadruples, vocabulary: Vocabulary, limit: int | None = None, seed: int = 0
) -> Drift:
    """Asks for each new fact as a forecast from the background, which does not have it yet.

    A known entity has its latest background facts as support. A new entity has its earliest K new facts as support and
    is asked about its later ones. Facts of new entities with fewer facts, and facts dated within the background (unless
    there are no others), are not judged.

    Args:
        run: The run before the update.
        facts: The new facts, none of which is in the background.
        vocabulary: The names of the run and of the new entities.
        limit: Maximum number of facts to judge, drawn at random from more; by default 300, or as few as 100 if there
            are more than 33,000 entities.
        seed: Seed of the sample.
    """
    entities = len(vocabulary.entities)
    if limit is None:
        limit = int(np.clip(_JUDGED_ENTITIES // max(entities, 1), _MIN_JUDGED, _MAX_JUDGED))
    context = run.context.with_capacity(entities - run.context.graph.entities)
    graph = context.graph
    first, last = graph.time_range if graph.edges else (0, -1)
    known_entity = graph.degree(np.arange(entities, dtype=np.int32)) > 0
    queries, support = _eligible(facts, graph, known_entity, run.config.shots)
    within = not (facts.time > last).any()
    if not within:
        queries = queries.take(queries.time > last)
    eligible = len(queries)
    if eligible > limit:
        queries = queries.take(np.sort(np.random.default_rng(seed).permutation(eligible)[:limit]))
    task = Task(_support(graph, queries, support, known_entity), queries)
    drift = Drift(
        facts=len(facts),
        eligible=eligible,
        judged=len(task.queries),
        new_entities=int(np.count_nonzero(~known_entity[queries.entity])),
        within_background=within,
        mrr=None,
        low=None,
        high=None,
        heuristic=_HEURISTIC,
        heuristic_mrr=None,
        validation_mrr=_validation_mrr(run),
        validation_setting=run.config.setting,
    )
    if not len(task.queries):
        none_later = "no fact is later than what is known about its entity by then"
        return replace(drift, reason="not asked for" if eligible else none_later)
    names = {entity: vocabulary.entities[entity] for entity in range(len(run.vocabulary.entities), entities)}
    known = _known_answers(facts, graph, task.queries.entity)
    max_delta = max(int(facts.time.max()), last) - min(int(facts.time.min()), first)
    try:
        with run.named_in_errors():
            scorer = run.model.with_capacity(context).scorer(max_delta, names)
            ranks = _realistic_ranks(scorer, task, known, entities)
    except UnusableRunError:
        raise
    except InputError as error:  # such as a model that was trained on the facts of an asked entity
        return replace(drift, judged=0, new_entities=0, reason=error.problem)
    interval = mean_interval(task.queries.entity, 1 / ranks, seed=seed)
    baseline = _realistic_ranks(heuristic(_HEURISTIC, _without_facts(run, vocabulary)), task, known, entities)
    return replace(
        drift,
        mrr=interval.mean,
        low=interval.low,
        high=interval.high,
        heuristic_mrr=float((1 / baseline).mean()),
    )


def _eligible(facts: Quadruples, graph: TemporalGraph, known: NDArray[np.bool_], shots: int) -> tuple[Queries, MetaSet]:
    """All facts that can be asked for, and the support of the new entities among those asked about.

    A fact is asked about its new entity if it has one, otherwise about its subject.
    """
    facts = facts.take(facts.subject != facts.object)
    owner = np.where(known[facts.subject] & ~known[facts.object], facts.object, facts.subject).astype(np.int32)
    rows = np.flatnonzero(~known[owner])
    rows = rows[np.argsort(owner[rows], kind="stable")]
    new = official_task(MetaSet(owner[rows], facts.take(rows)), shots, graph.relations, "forecast")
    first_time = np.full(len(known), NO_LIMIT, dtype=np.int64)
    first_time[known] = graph.base.time[graph.base.offsets[:-1][known]]
    asked = known[owner] & (first_time[owner] < facts.time)
    about_known = Queries.hidden(owner[asked], facts.take(asked), graph.relations, "forecast")
    return _concat(about_known, new.queries), new.support


def _concat(one: Queries, other: Queries) -> Queries:
    columns = ("entity", "relation", "time", "answer", "visible_before")
    return Queries(*(np.concatenate([getattr(one, name), getattr(other, name)]) for name in columns))


def _support(graph: TemporalGraph, queries: Queries, new: MetaSet, known: NDArray[np.bool_]) -> MetaSet:
    """The latest background facts of known entities before their first query, and the support of asked new ones."""
    owners: list[Ids] = []
    parts: list[Quadruples] = []
    for entity in np.unique(queries.entity[known[queries.entity]]).tolist():
        until = int(queries.time[queries.entity == entity].min())
        part = nearest_facts(graph, entity, until, until)
        owners.append(np.full(len(part), entity, dtype=np.int32))
        parts.append(part)
    asked = np.isin(new.entity_of_fact, queries.entity)
    owners.append(new.entity_of_fact[asked])
    parts.append(new.facts.take(asked))
    return MetaSet(np.concatenate(owners), Quadruples.concat(parts))


def _known_answers(facts: Quadruples, graph: TemporalGraph, asked: Ids) -> KnownAnswers:
    """The new facts and all background facts of the asked entities: what other answers to the queries there are."""
    base, parts = graph.base, [facts]
    for entity in np.unique(asked).tolist():
        part = slice(int(base.offsets[entity]), int(base.offsets[entity + 1]))
        source = np.full(part.stop - part.start, entity, dtype=np.int32)
        edges = Quadruples(source, base.relation[part], base.target[part], base.time[part])
        parts.append(edges.in_real_direction(graph.relations))
    return KnownAnswers.of_facts(Quadruples.concat(parts), graph.relations)


def _realistic_ranks(scorer: Scorer, task: Task, known: KnownAnswers, entities: int) -> NDArray[np.float64]:
    return rank_task(scorer, task, known, entities).ranks["time-aware"].of("realistic")


def _validation_mrr(run: Run) -> float | None:
    if not run.folder.result.exists():
        return None
    found: Mapping[str, object] = read_json(run.folder.result)
    value = found.get("best_valid_mrr")
    return float(value) if isinstance(value, int | float) and value >= 0 else None


def _without_facts(run: Run, vocabulary: Vocabulary) -> Dataset:
    """The names of the run as a dataset, from which a heuristic without statistics is made."""
    none, meta = Quadruples.empty(), MetaSet(np.empty(0, np.int32), Quadruples.empty())
    return Dataset(run.origin.name, vocabulary, run.calendar, none, meta, meta, meta, none, run.concepts)
