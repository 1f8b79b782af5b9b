"""Planted causes: how many of the facts that caused an event of the demo world an explanation names."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fitcarl.bench.explained_queries import ExplainedQueries
from fitcarl.bench.explanation_controls import OURS, choices_of_facts
from fitcarl.core.progress import OnProgress, Progress
from fitcarl.data.dataset import Dataset
from fitcarl.data.quadruples import Quadruples
from fitcarl.evaluation.bootstrap import Interval, mean_interval
from fitcarl.evaluation.filtering import KnownAnswers
from fitcarl.evaluation.protocol import hide_answers
from fitcarl.evaluation.ranks import rank
from fitcarl.synthetic import World, generate_world
from fitcarl.synthetic.verbs import NAMES as RELATION_NAMES
from fitcarl.tasks.task import Queries, Task

_FIRST = 3
"""Facts that are compared with the causes."""


@dataclass(frozen=True)
class PlantedCauses:
    """How well the first three facts match the planted causes of events that were predicted correctly."""

    asked: int
    """Test queries about events that a rule generated."""
    right: int
    """Those answered correctly: realistic rank 1 under the time-aware filter."""
    visible: int
    """Right answers to events with a cause among the facts that may be used: the answers that are counted."""
    recall: dict[str, Interval]
    """Choice of facts → share of the visible causes among its first three facts."""
    precision: dict[str, float]
    """Choice of facts → share of its first three facts that are causes."""
    hit: dict[str, float]
    """Choice of facts → share of answers with a cause among its first three facts."""
    difference: dict[str, Interval]
    """Choice of facts → recall of the explanation minus its recall, paired over answers."""
    by_rule: dict[str, dict[str, float]]
    """Rule → number of answers, and recall of the explanation and of the first three paths."""

    def of_choice(self, name: str) -> dict[str, Any]:
        """The values of one choice of facts, as plain values."""
        difference = {} if name == OURS else {"difference": asdict(self.difference[name])}
        return {
            "recall_at_3": self.recall[name].mean,
            "interval": [self.recall[name].low, self.recall[name].high],
            "precision_at_3": self.precision[name],
            "hit_at_3": self.hit[name],
            **difference,
        }

    def counts(self) -> dict[str, Any]:
        """The numbers of answers, and the values by rule."""
        counts = {"asked": self.asked, "right": self.right, "right_with_visible_cause": self.visible}
        return {**counts, "by_rule": self.by_rule}


@dataclass(frozen=True)
class _Case:
    """One right answer."""

    entity: int
    rule: str
    causes: int
    """Visible causes of the event."""
    hits: dict[str, list[int]]
    """Choice of facts → causes among its first three facts; one number per random choice."""


def demo_world_of(dataset: Dataset, seed: int) -> World | None:
    """The world of ``fitcarl demo`` if the dataset was made from it."""
    if not set(dataset.vocabulary.relations) <= set(RELATION_NAMES):
        return None
    world = generate_world(seed=seed)
    rows = world.rows_of(dataset.background, dataset.vocabulary, dataset.calendar)
    return world if len(rows) and (rows >= 0).all() else None


def measure_planted_causes(
    bench: ExplainedQueries, world: World, on_progress: OnProgress | None
) -> PlantedCauses | None:
    """Compares explanations of right answers with the planted causes; None if no right answer has a visible cause."""
    dataset, task = bench.dataset, bench.task
    rows = world.rows_of(_events(task.queries, dataset), dataset.vocabulary, dataset.calendar)
    has_causes = np.array([row >= 0 and len(world.truth.causes_of(row)) > 0 for row in rows.tolist()], dtype=np.bool_)
    masked = Task(task.support, hide_answers(task.queries))
    scores = bench.run.model.scorer().score(masked, masked.queries)
    ranks = rank(scores, task.queries, KnownAnswers.of(dataset), len(dataset.vocabulary.entities), "time-aware")
    right = np.flatnonzero(has_causes & (ranks.of("realistic") == 1))
    graph = bench.run.context.graph.with_facts(task.support.facts)
    found: list[_Case] = []
    for done, number in enumerate(right.tolist()):
        causes = planted_causes(world, dataset, int(rows[number]))
        before = int(task.queries.visible_before[number])
        visible = set(causes.take(graph.contains(causes) & (causes.time < before)))
        if visible:
            entity = dataset.vocabulary.entities[int(task.queries.answer[number])]
            context, explanation = bench.explain(bench.query(number), entity)
            choices = choices_of_facts(context, explanation, np.random.default_rng(number))
            hits = {
                name: [len(visible.intersection(facts[:_FIRST])) for facts in lists] for name, lists in choices.items()
            }
            rule = world.truth.rule_of(int(rows[number])).title
            found.append(_Case(int(task.queries.entity[number]), rule, len(visible), hits))
        if on_progress is not None:
            on_progress(Progress("planted causes", done + 1, len(right), "answers"))
    return _planted_summary(int(has_causes.sum()), len(right), found)


def _planted_summary(asked: int, right: int, found: Sequence[_Case]) -> PlantedCauses | None:
    """Means over answers; values of random choices are averaged first."""
    if not found:
        return None
    owner = np.array([case.entity for case in found], dtype=np.int32)
    names = list(found[0].hits)

    def values(name: str, of: Callable[[int, int], float]) -> NDArray[np.float64]:
        return np.array([np.mean([of(hits, case.causes) for hits in case.hits[name]]) for case in found])

    recall = {name: values(name, lambda hits, causes: hits / causes) for name in names}
    rules = sorted({case.rule for case in found})
    of_rule = np.array([case.rule for case in found])
    return PlantedCauses(
        asked,
        right,
        len(found),
        {name: mean_interval(owner, recall[name]) for name in names},
        {name: float(values(name, lambda hits, _: hits / _FIRST).mean()) for name in names},
        {name: float(values(name, lambda hits, _: hits > 0).mean()) for name in names},
        {name: mean_interval(owner, recall[OURS] - recall[name]) for name in names if name != OURS},
        {
            rule: {
                "answers": int((of_rule == rule).sum()),
                "recall_at_3": float(recall[OURS][of_rule == rule].mean()),
                "first_paths": float(recall["first_paths"][of_rule == rule].mean()),
            }
            for rule in rules
        },
    )


def _events(queries: Queries, dataset: Dataset) -> Quadruples:
    """The hidden facts of the queries in their original direction."""
    hidden = Quadruples(queries.entity, queries.relation, queries.answer, queries.time)
    return hidden.in_real_direction(dataset.vocabulary.relation_ids)


def planted_causes(world: World, dataset: Dataset, row: int) -> Quadruples:
    """The planted causes of an event, with the ids of the dataset."""
    facts, names = world.facts.quadruples.take(world.truth.causes_of(row)), world.facts.vocabulary
    index, relations = dataset.vocabulary.entity_index, dataset.vocabulary.relation_index
    tick, label = dataset.calendar.tick, world.facts.calendar.label
    return Quadruples.from_rows(
        [
            (index[names.entities[s]], relations[names.relations[r]], index[names.entities[o]], tick(label(t)))
            for s, r, o, t in facts
        ]
    )
