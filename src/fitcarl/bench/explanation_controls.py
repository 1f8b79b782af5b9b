"""Choices of facts: that of an explanation, and random, recent and path-based ones that it is compared with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fitcarl.data.quadruples import Quadruples, Row
from fitcarl.graph.temporal import TemporalGraph
from fitcarl.predict.explainer import AnswerContext, facts_of_path, nearest_of
from fitcarl.predict.explanation import Explanation
from fitcarl.scoring.evidence import Edge

NEIGHBOURHOOD = 40
"""Facts of the answer and of each contact, those nearest to the query, that belong to the neighbourhood."""
_MAX_STEPS = 3
OURS = "explanation"
"""The name of the explanation among the choices of facts."""
SIZES = (1, 3, 5)
"""Numbers of facts that are left out, or kept."""
_DRAWS = 4
"""Random choices per answer, whose values are averaged."""


def choices_of_facts(
    context: AnswerContext, explanation: Explanation, rng: np.random.Generator
) -> dict[str, list[list[Row]]]:
    """Choice of facts → lists of facts, best first; several lists for random choices.

    ``first_paths`` are the facts of the three most probable paths, in the order of the paths.
    """
    facts, visible = neighbourhood(context), VisibleEdges.of(context.graph, context.before)
    by_probability = sorted(explanation.paths, key=lambda path: -path.log_prob)
    on_paths = [fact for path in by_probability for fact in facts_of_path(context, path, repeats=False)]
    return {
        OURS: [context.rows([fact.fact for fact in explanation.facts])],
        "first_paths": [list(dict.fromkeys(on_paths))],
        "recent_facts": [recent_facts(facts)],
        "random_facts": [random_facts(facts, rng) for _ in range(_DRAWS)],
        "random_paths": [random_path_facts(visible, context, rng, max(SIZES)) for _ in range(_DRAWS)],
    }


@dataclass(frozen=True, eq=False)
class VisibleEdges:
    """All directed edges that a query may use, by source."""

    offsets: NDArray[np.int64]
    edges: Quadruples

    @classmethod
    def of(cls, graph: TemporalGraph, before: int) -> VisibleEdges:
        """The edges of background and overlay strictly before a tick."""
        edges = Quadruples.concat([graph.base.edges(), graph.overlay.edges()])
        edges = edges.take(edges.time < before)
        edges = edges.take(np.argsort(edges.subject, kind="stable"))
        return cls(np.searchsorted(edges.subject, np.arange(graph.entities + 1)), edges)


def neighbourhood(context: AnswerContext) -> list[Row]:
    """The facts of the query entity and the nearest ones of the answer and of each contact."""
    found = [*context.support, *nearest_of(context, context.entity, NEIGHBOURHOOD)]
    for contact in context.contacts:
        found += nearest_of(context, contact, NEIGHBOURHOOD)
    return list(dict.fromkeys(found))


def random_facts(facts: Sequence[Row], rng: np.random.Generator) -> list[Row]:
    """The facts in random order."""
    return [facts[index] for index in rng.permutation(len(facts)).tolist()]


def recent_facts(facts: Sequence[Row]) -> list[Row]:
    """The facts, latest first."""
    return sorted(facts, key=lambda fact: (-fact[3], fact))


def random_path_facts(visible: VisibleEdges, context: AnswerContext, rng: np.random.Generator, count: int) -> list[Row]:
    """Distinct facts of random paths of up to three steps from the query entity to the answer.

    All such paths that do not return to the query entity are equally likely; paths are drawn until there are ``count``
    facts, but not more than ``count`` times.
    """
    start, end = int(context.query.entity[0]), context.entity
    reach = _paths_to(visible, start, end)
    found: dict[Row, None] = {}
    for _ in range(count):
        for edge in _draw_path(visible, reach, start, rng):
            found[_original(context, edge)] = None
        if len(found) >= count:
            break
    return list(found)[:count]


def _paths_to(visible: VisibleEdges, start: int, end: int) -> NDArray[np.float64]:
    """float64 [steps + 1, entities]: the number of paths of exactly that many steps to the end, not over the start."""
    entities = len(visible.offsets) - 1
    counts = np.zeros((_MAX_STEPS + 1, entities))
    counts[0, end] = 1
    for steps in range(1, _MAX_STEPS + 1):
        onward = counts[steps - 1].copy()
        onward[start] = 0
        if steps > 1:
            onward[end] = 0  # a path ends when it reaches the answer
        counts[steps] = np.bincount(
            visible.edges.subject, weights=onward[visible.edges.object], minlength=entities
        ).astype(np.float64)
    return counts


def _draw_path(visible: VisibleEdges, reach: NDArray[np.float64], start: int, rng: np.random.Generator) -> list[Edge]:
    """One random path, empty if there is none."""
    lengths = reach[1:, start]
    if not lengths.sum():
        return []
    steps = 1 + int(rng.choice(_MAX_STEPS, p=lengths / lengths.sum()))
    node, path = start, []
    while steps:
        part = slice(int(visible.offsets[node]), int(visible.offsets[node + 1]))
        edges = visible.edges.take(part)
        weight = np.where(edges.object == start, 0.0, reach[steps - 1][edges.object])
        if steps > 1:
            weight[reach[0][edges.object] > 0] = 0
        chosen = int(rng.choice(len(edges), p=weight / weight.sum()))
        path.append(next(iter(edges.take(slice(chosen, chosen + 1)))))
        node, steps = path[-1][2], steps - 1
    return path


def _original(context: AnswerContext, edge: Edge) -> Row:
    [fact] = Quadruples.from_rows([edge]).in_real_direction(context.graph.relations)
    return fact
