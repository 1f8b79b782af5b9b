"""A worked example on the demo world: support facts, query, answer with its causes, and the search space."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fitcarl.data.dataset import Dataset
from fitcarl.data.quadruples import Quadruples
from fitcarl.graph.actions import ActionSpace, Adaptive, action_space
from fitcarl.graph.temporal import TemporalGraph
from fitcarl.synthetic import Rule, World
from fitcarl.tasks.task import Task, official_task

_MAX_ACTIONS = 8
"""Number of actions printed per step; an action space holds up to 50 edges."""


@dataclass(frozen=True)
class WorkedExample:
    """A query about an unseen entity and the first two steps of a search for its answer."""

    dataset: Dataset
    support: Quadruples
    """Support facts of the entity."""
    hidden: Quadruples
    """The hidden fact, directed so that the query entity is its subject."""
    rule: str
    """Description of the rule that generated the hidden fact."""
    causes: Quadruples
    """The facts that caused the hidden fact."""
    steps: tuple[ActionSpace, ActionSpace]
    """Action spaces of the query entity and of the entity that connects it with the answer."""
    edges: tuple[int, int]
    """Number of edges of these two entities."""

    @property
    def reached(self) -> bool:
        """Whether the second step can end at the answer."""
        return bool((self.steps[1].entity[self.steps[1].mask] == self.hidden.object[0]).any())

    def lines(self) -> list[str]:
        """Lines for a terminal."""
        [(entity, relation, answer, time)] = self._named(self.hidden)
        lines = [f"Support facts of {entity}:", *_indented(self._sentences(self.support)), ""]
        lines += [f"Query: {entity} —{relation}→ ? ({time})", f"Answer: {answer}. {self.rule}"]
        lines += ["Causes:", *_indented(self._sentences(self.causes))]
        for number, (step, edges) in enumerate(zip(self.steps, self.edges, strict=True), start=1):
            actions = self._actions(step)
            position = self.dataset.vocabulary.entities[int(step.entity[0, 0])]
            lines += ["", f"Step {number}, at {position}: {len(actions)} of {edges + 1} actions, nearest in time first"]
            lines += _indented(_listed(actions, answer))
        return lines

    def to_json(self) -> dict[str, Any]:
        [(entity, relation, answer, time)] = self._named(self.hidden)
        return {
            "entity": entity,
            "support": [list(fact) for fact in self._named(self.support)],
            "relation": relation,
            "time": time,
            "answer": answer,
            "rule": self.rule,
            "causes": [list(fact) for fact in self._named(self.causes)],
            "actions": [[list(action) for action in self._actions(step)] for step in self.steps],
        }

    def _named(self, facts: Quadruples) -> list[tuple[str, str, str, str]]:
        names, label = self.dataset.vocabulary, self.dataset.calendar.label
        return [(names.entities[s], names.relation_name(r), names.entities[o], label(t)) for s, r, o, t in facts]

    def _sentences(self, facts: Quadruples) -> list[str]:
        return [f"{date}  {subject}, {relation} → {object}" for subject, relation, object, date in self._named(facts)]

    def _actions(self, space: ActionSpace) -> list[tuple[str, str, str]]:
        """(relation, entity, date) of the actions of one state, without padding."""
        real = space.mask[0]
        source = np.zeros(int(real.sum()), dtype=np.int32)
        actions = Quadruples(source, space.relation[0, real], space.entity[0, real], space.time[0, real])
        return [(relation, entity, date) for _, relation, entity, date in self._named(actions)]


def find_worked_example(world: World, dataset: Dataset, shots: int = 3) -> WorkedExample:
    """The first test query whose causes involve a third entity and whose answer is two steps away; else the first.

    Only facts before the query are used.
    """
    relations = dataset.vocabulary.relation_ids
    task = official_task(dataset.test, shots, relations, "forecast")
    queries = task.queries
    hidden = Quadruples(queries.entity, queries.relation, queries.answer, queries.time)
    forward = hidden.in_real_direction(relations)
    graph = TemporalGraph.from_facts(dataset.background, len(dataset.vocabulary.entities), relations)
    graph = graph.with_facts(task.support.facts)
    rows = world.truth.rows_of(forward)

    examples = (
        _example(world, dataset, task, graph, hidden.take(slice(query, query + 1)), int(row))
        for query, row in enumerate(rows)
        if world.truth.rule_of(int(row)) in (Rule.ENEMY_OF_ENEMY, Rule.MEDIATION)
    )
    explained = (example for example in examples if graph.contains(example.causes).all() and example.reached)
    first = next(explained, None)
    return first or _example(world, dataset, task, graph, hidden.take(slice(0, 1)), int(rows[0]))


def _example(
    world: World, dataset: Dataset, task: Task, graph: TemporalGraph, hidden: Quadruples, row: int
) -> WorkedExample:
    # Before training, actions are ranked by the distance to the query time.
    span, graph = dataset.calendar.span, graph.before(int(hidden.time[0]))
    nearness = Adaptive.by_score(-np.abs(np.arange(-span, span + 1, dtype=np.float64)))
    causes = world.truth.facts.take(world.truth.causes_of(row))
    first = action_space(graph, hidden.subject, hidden.time, hidden.time, nearness)
    between = np.isin(first.entity[0], np.concatenate([causes.subject, causes.object]))
    between &= ~np.isin(first.entity[0], [hidden.subject[0], hidden.object[0]])
    chosen = int(np.argmax(between)) if between.any() else min(1, first.width - 1)
    entity, time = first.entity[:, chosen], first.time[:, chosen]
    second = action_space(graph, entity, time, hidden.time, nearness)
    return WorkedExample(
        dataset=dataset,
        support=task.support.facts.take(task.support.entity_of_fact == hidden.subject[0]),
        hidden=hidden,
        rule=world.truth.describe(world.truth.rule_of(row)),
        causes=causes,
        steps=(first, second),
        edges=(int(graph.degree(hidden.subject)[0]), int(graph.degree(entity)[0])),
    )


def _listed(actions: list[tuple[str, str, str]], answer: str) -> list[str]:
    """The first actions and the first one that leads to the answer."""
    to_answer = next((index for index, action in enumerate(actions) if action[1] == answer), None)
    lines = []
    for index, (relation, entity, date) in enumerate(actions):
        if index < _MAX_ACTIONS or index == to_answer:
            lines.append(f"{date}  {relation} → {entity}" + ("   ← the answer" if index == to_answer else ""))
        elif lines[-1] != "…":
            lines.append("…")
    return lines


def _indented(lines: list[str]) -> list[str]:
    return [f"  {line}" for line in lines]
