"""Evaluates queries of a run that leave the relation or the time open."""

from __future__ import annotations

from pathlib import Path
from time import perf_counter

import numpy as np
import torch
from numpy.typing import NDArray

from fitcarl.core.arrays import Groups, Positions, batches
from fitcarl.core.device import resolve_device
from fitcarl.core.progress import OnProgress, Progress
from fitcarl.data.dataset import Dataset, Split
from fitcarl.data.quadruples import Ids
from fitcarl.data.relations import RelationIds
from fitcarl.errors import InputError
from fitcarl.evaluation.open_report import OpenRelationReport, OpenTimeReport, RankedProbabilities, RelationRow
from fitcarl.evaluation.plan import draw_tasks
from fitcarl.evaluation.protocol import hide_answers
from fitcarl.evaluation.ranks import Ranks
from fitcarl.evaluation.reliability import TopPredictions
from fitcarl.evaluation.signature import Signature
from fitcarl.graph.temporal import TemporalGraph
from fitcarl.models.open_queries.event_index import EventIndex
from fitcarl.models.open_queries.fitting import fitting_horizon, interval_of
from fitcarl.models.open_queries.history import Histories
from fitcarl.models.open_queries.relation_features import FEATURES, Floats, relation_features
from fitcarl.models.open_queries.time_model import TimeInputs, intervals
from fitcarl.models.open_queries.time_questions import time_questions
from fitcarl.runs.evaluate import as_trained, check_fits, default_split, provenance
from fitcarl.runs.open_answers import RELATION_MASS, joint_probabilities, score_relations
from fitcarl.runs.run import Run
from fitcarl.scoring.scorer import Scorer
from fitcarl.tasks.task import Task

_HISTORIES = 8  # per call of the scorer; each has about a hundred relations


def evaluate_open_relation(
    run: Run | str | Path,
    *,
    split: Split | None = None,
    data: str | Path | Dataset | None = None,
    draws: int = 0,
    seed: int = 0,
    device: str | torch.device = "auto",
    on_progress: OnProgress | None = None,
) -> OpenRelationReport:
    """Ranks (relation, direction, entity) of every later fact of the unseen entities, given entity and time only.

    The setting is always ``forecast``. Candidates are all directed relations with all entities; other true facts of
    the entity at the same tick are removed. Pairs that are not listed are tied below all others and share the
    remaining probability evenly.

    Args:
        run: A run, or the path of its folder.
        split: ``train``, ``valid`` or ``test``; by default ``test``, or ``valid`` if there is no test split.
        data: Another dataset with the same names.
        draws: Resampled support sets, besides the official draw.
        seed: Seed of the resampling and of the bootstrap.
        device: Where the model scores queries: ``auto`` (a GPU if there is one), ``cpu``, ``cuda``, or a torch device.
        on_progress: Called after every group of queries.
    """
    chosen_device = resolve_device(device)
    run, dataset, split, tasks, sign = _prepare(run, split, data, draws, seed, "relation")
    run = run.to(chosen_device)
    start = perf_counter()
    index = EventIndex.from_graph(_background(run, dataset))
    scorer, entities = run.scorer_for(dataset), len(dataset.vocabulary.entities)
    known = _KnownEvents.of(dataset)
    parts: list[_Evaluated] = []
    total, done = sum(len(task.queries) for task in tasks), 0
    for task in tasks:
        for part in _parts(task, index.graph.relations):
            with run.named_in_errors():
                parts.append(_evaluate_part(run, scorer, index, known, task, *part, entities))
            done += len(part[1])
            if on_progress is not None:
                on_progress(Progress("evaluation", done, total, "queries"))
    names = tuple(parts[0].answer)
    return OpenRelationReport(
        scorer.name,
        sign,
        np.concatenate([part.entity for part in parts]),
        tuple(
            RelationRow(
                name,
                RankedProbabilities.concat([part.answer[name] for part in parts]),
                RankedProbabilities.concat([part.relation[name] for part in parts]),
            )
            for name in names
        ),
        RELATION_MASS,
        float(np.concatenate([part.relations_scored for part in parts]).mean()),
        perf_counter() - start,
        seed,
    )


def evaluate_open_time(
    run: Run | str | Path,
    *,
    split: Split | None = None,
    data: str | Path | Dataset | None = None,
    draws: int = 0,
    seed: int = 0,
) -> OpenTimeReport:
    """How probable the interval of an entity's next fact with a given relation was, beside a base rate.

    The questions are chosen without looking at the answers: each entity right after its last support fact and after
    longer waits, the relations of its support facts and the most popular ones. The horizon is one half-life of the
    calendar (a month of daily data).

    Args:
        run: A run, or the path of its folder.
        split: ``train``, ``valid`` or ``test``; by default ``test``, or ``valid`` if there is no test split.
        data: Another dataset with the same names.
        draws: Resampled support sets, besides the official draw.
        seed: Seed of the resampling and of the bootstrap.
    """
    run, dataset, split, tasks, sign = _prepare(run, split, data, draws, seed, "time")
    start = perf_counter()
    models = run.open_models
    if models.time is None or models.base_rate is None:
        raise InputError("has no model of times: its background has too few events", file=run.folder.path)
    index = EventIndex.from_graph(_background(run, dataset))
    half_life = models.relation.half_life
    horizon = fitting_horizon(half_life)
    bounds = intervals(horizon)
    last = dataset.end_of(split) - horizon
    asked = [time_questions(task, index, index.graph.relations, last, half_life) for task in tasks]
    if not sum(map(len, asked)):
        raise InputError(
            f"{dataset.name} has no question with {horizon} known {dataset.calendar.unit} after it",
            field=f"meta_{split}",
            expected="entities with facts earlier than that before the last fact",
        )
    inputs = [TimeInputs.of(index, part.histories, part.history, part.relation, models.relation) for part in asked]
    return OpenTimeReport(
        sign,
        np.concatenate([part.entity for part in asked]),
        np.concatenate([interval_of(part, bounds) for part in asked]),
        bounds,
        np.concatenate([models.time.probabilities(part, bounds) for part in inputs]),
        np.concatenate([models.base_rate.probabilities(part, bounds) for part in inputs]),
        dataset.calendar.unit,
        perf_counter() - start,
        seed,
    )


def _prepare(
    run: Run | str | Path, split: Split | None, data: str | Path | Dataset | None, draws: int, seed: int, left_open: str
) -> tuple[Run, Dataset, Split, list[Task], Signature]:
    """The run, its dataset, the tasks, and the signature of the evaluation."""
    run = as_trained(run)
    dataset = check_fits(run, data, draws)
    split = default_split(dataset) if split is None else split
    shots, relations = run.config.shots, dataset.vocabulary.relation_ids
    tasks = draw_tasks(dataset.meta(split), shots, relations, draws, seed, "forecast")
    if not len(tasks[0].queries):
        raise InputError(
            f"{dataset.name} has no query at {shots} shots",
            field=f"meta_{split}",
            found=f"{len(dataset.meta(split).entities)} entities",
            expected=f"at least one entity with facts later than its first {shots}",
        )
    sign = Signature(
        ranks="realistic",
        filter="time-aware",
        split=split,
        setting="forecast",
        shots=shots,
        draws=draws,
        seeds=1,
        data=dataset.name,
        digest=dataset.digest,
        extra=(("open", left_open), *provenance(run, dataset, split, shots, "forecast").items()),
    )
    return run, dataset, split, [task for task in tasks if len(task.queries)], sign


def _background(run: Run, dataset: Dataset) -> TemporalGraph:
    if dataset.digest == run.digest and not run.keep_all_facts:
        return run.context.graph
    names = dataset.vocabulary
    return TemporalGraph.from_facts(dataset.background, len(names.entities), names.relation_ids)


class _KnownEvents:
    """All true facts of an entity at a tick: (directed relation, other entity)."""

    def __init__(self, groups: Groups, relation: Ids, other: Ids, span: int) -> None:
        self._groups, self._relation, self._other, self._span = groups, relation, other, span

    @classmethod
    def of(cls, dataset: Dataset) -> _KnownEvents:
        both = dataset.everything.distinct().both_directions(dataset.vocabulary.relation_ids)
        span = int(both.time.max()) + 1
        groups = Groups.of(both.subject.astype(np.int64) * span + both.time)
        return cls(groups, both.relation[groups.order], both.object[groups.order], span)

    def at(self, entity: int, time: int) -> tuple[Ids, Ids]:
        """Relations and other entities of the facts of an entity at a tick."""
        start, count = self._groups.find(np.array([entity * self._span + time]))
        part = slice(int(start[0]), int(start[0] + count[0]))
        return self._relation[part], self._other[part]


class _Evaluated:
    """Ranks of some queries under each model of relations."""

    def __init__(self, entity: Ids, relations_scored: Positions) -> None:
        self.entity, self.relations_scored = entity, relations_scored
        self.answer: dict[str, RankedProbabilities] = {}
        self.relation: dict[str, RankedProbabilities] = {}


def _parts(task: Task, relations: RelationIds) -> list[tuple[Histories, Positions, Positions]]:
    """Histories in small groups, with the positions of their queries and the history of each."""
    histories, history = Histories.of_queries(task.support, task.queries, relations)
    parts = []
    for part in batches(np.ones(len(histories), dtype=np.int64), _HISTORIES):
        rows = np.arange(part.start, min(part.stop, len(histories)))
        position = np.flatnonzero((history >= rows[0]) & (history <= rows[-1]))
        parts.append((histories.take(rows), position, history[position] - rows[0]))
    return parts


def _evaluate_part(
    run: Run,
    scorer: Scorer,
    index: EventIndex,
    known: _KnownEvents,
    task: Task,
    histories: Histories,
    position: Positions,
    history: Positions,
    entities: int,
) -> _Evaluated:
    distributions = relation_distributions(run, index, histories)
    masked = Task(task.support, hide_answers(task.queries))
    scored = score_relations(scorer, masked, histories, list(distributions.values()), run.calibration_for("forecast"))
    queries = task.queries.take(position)
    out = _Evaluated(queries.entity, np.bincount(scored.history, minlength=len(histories)))
    truth = [known.at(int(e), int(t)) for e, t in zip(histories.entity, histories.time, strict=True)]
    listed_relation = scored.queries.relation[scored.shares.query]
    for name, distribution in distributions.items():
        offsets, probability = joint_probabilities(scored, distribution, len(histories))
        answers, relations = [], []
        for query, row in enumerate(history.tolist()):
            part = slice(int(offsets[row]), int(offsets[row + 1]))
            keys = listed_relation[part].astype(np.int64) * entities + scored.shares.entity[part]
            true = truth[row][0].astype(np.int64) * entities + truth[row][1]
            own = int(queries.relation[query]) * entities + int(queries.answer[query])
            answers.append(rank_among(keys, probability[part], own, true, index.directed * entities))
            every = np.arange(index.directed)
            own_relation = int(queries.relation[query])
            relations.append(rank_among(every, np.exp(distribution[row]), own_relation, truth[row][0], index.directed))
        out.answer[name] = RankedProbabilities.concat(answers)
        out.relation[name] = RankedProbabilities.concat(relations)
    return out


def relation_distributions(run: Run, index: EventIndex, histories: Histories) -> dict[str, Floats]:
    """float64 [histories, 2R] by name: log-probabilities of the fitted model and of two base-rate models.

    ``popularity`` is the share of each relation among all facts before the query; ``support`` is that of the entity's
    own support facts, smoothed with popularity.
    """
    model = run.open_models.relation
    features = relation_features(index, histories, model.half_life)
    popular = features[:, :, FEATURES.index("popularity")]
    return {
        "fitted": model.log_probabilities(index, histories),
        "popularity": popular,
        "support": popular + features[:, :, FEATURES.index("own_relations")],
    }


def rank_among(
    key: NDArray[np.int64], probability: Floats, own: int, true: NDArray[np.int64] | Ids, candidates: int
) -> RankedProbabilities:
    """Rank and probability of one true alternative after the other true ones are removed.

    Args:
        key: int64 [listed], distinct listed alternatives.
        probability: float64 [listed], with a sum of at most 1; the rest is shared evenly by those not listed.
        own: The true alternative.
        true: All true alternatives.
        candidates: Number of alternatives, listed or not.
    """
    others = np.unique(true[true != own])
    kept = ~np.isin(key, others)
    remaining = candidates - len(others)
    unlisted = remaining - int(kept.sum())
    rest = max(0.0, 1 - float(probability.sum()))
    rest *= unlisted / max(candidates - len(key), 1)  # without the part of removed alternatives that are not listed
    key, probability = key[kept], probability[kept]
    total = float(probability.sum()) + rest
    probability = probability / total
    found = np.flatnonzero(key == own)
    top = float(probability.max(initial=0.0))
    first = probability == top
    right = float(np.count_nonzero(first[found])) / max(int(first.sum()), 1)
    if len(found):
        value = float(probability[found[0]])
        greater, equal = int((probability > value).sum()), int((probability == value).sum())
    else:
        value = rest / total / max(unlisted, 1)
        greater, equal = len(key), unlisted
    ranks = Ranks(np.array([greater]), np.array([equal]), np.array([remaining]), np.array([len(found) > 0]))
    chosen = TopPredictions(np.array([top]), np.array([right]))
    return RankedProbabilities(ranks, np.array([max(value, 1e-300)]), chosen)
