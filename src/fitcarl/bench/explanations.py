"""Whether explanations hold: on the demo world it is known which facts made an event happen."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fitcarl.data.dataset import Dataset
from fitcarl.data.facts import named_facts
from fitcarl.data.quadruples import Quadruples
from fitcarl.errors import InputError
from fitcarl.evaluation.filtering import KnownAnswers
from fitcarl.evaluation.protocol import hide_answers
from fitcarl.evaluation.ranks import rank
from fitcarl.graph.temporal import TemporalGraph
from fitcarl.runs.run import Run
from fitcarl.scoring.path import ExplanationPath
from fitcarl.synthetic import World, generate_world
from fitcarl.tasks.task import Queries, Task, official_task


@dataclass(frozen=True)
class PlantedCauses:
    """How often the best path to a right answer goes along a fact that made the event happen."""

    planted_cause_share: float
    """Of the right answers to rule-made test events, those whose best path contains one of the planted causes."""
    random_path_share: float
    """The same for a path drawn at random among all with as many steps between the same two ends; an expectation."""
    random_walk_share: float
    """The same for a walk of as many steps from the same start that goes wherever chance leads; an expectation."""
    asked: int
    """Test queries about events that a rule made."""
    right: int
    """Those answered rightly: realistic rank 1 under the time-aware filter."""
    visible: int
    """Right answers to events of which a cause is in the observed graph; others lie among the actor's hidden facts."""
    confirmed: int
    """Right answers whose best path contains a cause."""
    open: int
    """Right answers where some paths between the two ends contain a cause and some do not: the agent had a choice."""
    open_confirmed: int
    """Those of them whose best path contains a cause."""
    open_by_chance: float
    """How many of them a path drawn at random would confirm, on average."""
    preset: str


def measure_explanations(
    run: str | Path | Run,
    world: World | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> PlantedCauses:
    """Holds the best paths of a run that was trained on the demo world against what really made the events."""
    run = run if isinstance(run, Run) else Run.load(run)
    dataset, world = run.dataset(), world or generate_world()
    _check(run, dataset, world)
    task = official_task(dataset.test, run.config.shots, dataset.vocabulary.relation_ids)
    rows = world.rows_of(_events(task.queries, dataset), dataset.vocabulary, dataset.calendar)
    made = np.array([row >= 0 and len(world.truth.causes_of(row)) > 0 for row in rows.tolist()], dtype=np.bool_)

    blind = Task(task.support, hide_answers(task.queries))
    scorer = run.model.scorer()
    answers = scorer.score(blind, blind.queries)
    ranks = rank(answers, task.queries, KnownAnswers.of(dataset), len(dataset.vocabulary.entities), "time-aware")
    right = np.flatnonzero(made & (ranks.of("realistic") == 1))

    graph = run.context.graph.with_facts(task.support.facts)
    found: list[_Held] = []
    for done, number in enumerate(right.tolist()):
        asked, answer = blind.queries.take(slice(number, number + 1)), int(task.queries.answer[number])
        causes = _causes(world, dataset, int(rows[number]))
        paths = scorer.explain(blind, asked, answer, dataset.vocabulary, dataset.calendar, 1)
        holds = any(_named(causes, dataset) & _walked(path) for path in paths)
        chance = Chance(0.0, 0.0)  # where nothing is said, nothing can be right
        for path in paths:
            chance = Chance.of(graph, int(asked.entity[0]), answer, causes, path)
        found.append(_Held(bool(holds), bool(graph.contains(causes).any()), chance))
        if progress is not None:
            progress(done + 1, len(right))
    choice = [one for one in found if 0 < one.chance.path < 1]
    return PlantedCauses(
        planted_cause_share=_mean([one.holds for one in found]),
        random_path_share=_mean([one.chance.path for one in found]),
        random_walk_share=_mean([one.chance.walk for one in found]),
        asked=int(made.sum()),
        right=len(found),
        visible=sum(one.visible for one in found),
        confirmed=sum(one.holds for one in found),
        open=len(choice),
        open_confirmed=sum(one.holds for one in choice),
        open_by_chance=float(sum(one.chance.path for one in choice)),
        preset=run.config.preset,
    )


@dataclass(frozen=True)
class Chance:
    """How likely a path drawn at random contains a cause."""

    path: float
    """Among all paths with as many steps between the same two ends."""
    walk: float
    """On a walk of as many steps from the same start, every edge of a node being as likely as any other."""

    @classmethod
    def of(cls, graph: TemporalGraph, start: int, end: int, causes: Quadruples, path: ExplanationPath) -> Chance:
        """Neither a path nor a walk comes back to the start on its way.

        Where the best path is what happened between the answer and others, any fact of the answer stands for a path,
        and any fact at all for a walk.
        """
        edges = Quadruples.concat([graph.base.edges(), graph.overlay.edges()])
        cause = _among(edges, causes.both_directions(graph.relations))
        if path.is_context:
            return cls(_mean(cause[edges.object == end].tolist()), _mean(cause.tolist()))
        steps = len(path.steps)
        there = np.zeros(graph.entities)
        there[end] = 1
        all_ways = _ways(edges, there, start, steps)
        pure_ways = _ways(edges.take(~cause), there, start, steps)
        pure_walks = _walks(edges, cause, graph.entities, start, steps)
        return cls(1 - pure_ways / all_ways if all_ways else 0.0, 1 - pure_walks)


@dataclass(frozen=True)
class _Held:
    """One right answer."""

    holds: bool
    visible: bool
    chance: Chance


def _check(run: Run, dataset: Dataset, world: World) -> None:
    facts = world.rows_of(dataset.background, dataset.vocabulary, dataset.calendar)
    if dataset.digest != run.digest or not len(facts) or (facts < 0).any():
        raise InputError("was not trained on this demo world", file=run.folder.path, expected="a run of `fitcarl demo`")


def _events(queries: Queries, dataset: Dataset) -> Quadruples:
    """What the queries hide, in its real direction."""
    hidden = Quadruples(queries.entity, queries.relation, queries.answer, queries.time)
    return hidden.in_real_direction(dataset.vocabulary.relation_ids)


def _causes(world: World, dataset: Dataset, row: int) -> Quadruples:
    """The planted causes of an event by the dataset's ids."""
    facts, names = world.facts.quadruples.take(world.truth.causes_of(row)), world.facts.vocabulary
    index, relations = dataset.vocabulary.entity_index, dataset.vocabulary.relation_index
    tick, label = dataset.calendar.tick, world.facts.calendar.label
    return Quadruples.from_rows(
        [
            (index[names.entities[s]], relations[names.relations[r]], index[names.entities[o]], tick(label(t)))
            for s, r, o, t in facts
        ]
    )


def _named(facts: Quadruples, dataset: Dataset) -> set[tuple[str, str, str, str]]:
    return set(named_facts(facts, dataset.vocabulary, dataset.calendar))


def _walked(path: ExplanationPath) -> set[tuple[str, str, str, str]]:
    return {(step.subject, step.relation, step.object, step.time) for step in path.steps}


def _ways(edges: Quadruples, ends: NDArray[np.float64], start: int, steps: int) -> float:
    """How many paths of so many edges lead from the start to wherever ``ends`` is 1."""
    ways = ends.copy()
    for step in range(steps):
        if step:
            ways[start] = 0
        ways = np.bincount(edges.subject, weights=ways[edges.object], minlength=len(ends)).astype(np.float64)
    return float(ways[start])


def _walks(edges: Quadruples, cause: NDArray[np.bool_], entities: int, start: int, steps: int) -> float:
    """The probability that a walk of so many steps, each along any edge that does not lead back, meets no cause."""
    pure = np.ones(entities)
    away = edges.object != start
    going = away & ~cause
    out = np.bincount(edges.subject[away], minlength=entities)
    for _ in range(steps):
        on = np.bincount(edges.subject[going], weights=pure[edges.object[going]], minlength=entities)
        pure = np.where(out > 0, on / np.maximum(out, 1), 1.0)  # a walk that cannot go on has met none
    return float(pure[start])


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values)) if len(values) else 0.0


def _among(edges: Quadruples, wanted: Quadruples) -> NDArray[np.bool_]:
    rows, found = edges.rows(), np.zeros(len(edges), dtype=np.bool_)
    for row in wanted.rows():
        found |= (rows == row).all(axis=1)
    return found
