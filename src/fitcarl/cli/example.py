"""One question about the demo world: what is known, what is asked, why the answer is right, where a search may go."""

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

SHOWN = 8
"""Actions of a step that are printed; an action space holds up to 50 edges."""


@dataclass(frozen=True)
class Example:
    """A question about an unseen actor, and the first two steps of a search on the way to its answer."""

    dataset: Dataset
    support: Quadruples
    """The facts that are known of the actor."""
    hidden: Quadruples
    """The one fact that is asked for, turned so that the actor is its subject."""
    rule: str
    """What made the hidden fact, in plain words."""
    causes: Quadruples
    """The facts that made it happen."""
    steps: tuple[ActionSpace, ActionSpace]
    """The action space of the actor, and that of the entity through which the causes connect it with the answer."""
    edges: tuple[int, int]
    """How many edges these two have in all."""

    @property
    def reached(self) -> bool:
        """Whether the second step can end at the answer."""
        return bool((self.steps[1].entity[self.steps[1].mask] == self.hidden.object[0]).any())

    def lines(self) -> list[str]:
        """The example for people."""
        [(actor, relation, answer, when)] = self._named(self.hidden)
        lines = [f"Known of {actor}:", *_indented(self._sentences(self.support)), ""]
        lines += [f"Query: {actor}, {relation}, who? ({when})", f"Answer: {answer}. {self.rule}"]
        lines += ["What made it happen:", *_indented(self._sentences(self.causes))]
        for number, (step, edges) in enumerate(zip(self.steps, self.edges, strict=True), start=1):
            actions = self._actions(step)
            place = self.dataset.vocabulary.entities[int(step.entity[0, 0])]
            lines += ["", f"Step {number}, at {place}: {len(actions)} of {edges + 1} actions, nearest in time first"]
            lines += _indented(_listed(actions, answer))
        return lines

    def to_json(self) -> dict[str, Any]:
        [(actor, relation, answer, when)] = self._named(self.hidden)
        return {
            "actor": actor,
            "support": [list(fact) for fact in self._named(self.support)],
            "relation": relation,
            "time": when,
            "answer": answer,
            "rule": self.rule,
            "causes": [list(fact) for fact in self._named(self.causes)],
            "actions": [[list(action) for action in self._actions(step)] for step in self.steps],
        }

    def _named(self, facts: Quadruples) -> list[tuple[str, str, str, str]]:
        names, label = self.dataset.vocabulary, self.dataset.calendar.label
        return [(names.entities[s], names.relation_name(r), names.entities[o], label(t)) for s, r, o, t in facts]

    def _sentences(self, facts: Quadruples) -> list[str]:
        return [f"{when}  {subject}, {relation} → {object}" for subject, relation, object, when in self._named(facts)]

    def _actions(self, space: ActionSpace) -> list[tuple[str, str, str]]:
        """(relation, entity, date) of the actions of one state; padding is left out."""
        real = space.mask[0]
        source = np.zeros(int(real.sum()), dtype=np.int32)
        actions = Quadruples(source, space.relation[0, real], space.entity[0, real], space.time[0, real])
        return [(relation, entity, when) for _, relation, entity, when in self._named(actions)]


def find_example(world: World, dataset: Dataset, shots: int = 3) -> Example:
    """The first test question that a third party explains and that two steps can answer; else the first question."""
    relations = dataset.vocabulary.relation_ids
    task = official_task(dataset.test, shots, relations)
    asked = task.queries
    hidden = Quadruples(asked.entity, asked.relation, asked.answer, asked.time)
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


def _example(world: World, dataset: Dataset, task: Task, graph: TemporalGraph, hidden: Quadruples, row: int) -> Example:
    # Nothing is learned yet, so actions are ranked by nearness to the time of the question.
    span = dataset.calendar.span
    nearness = Adaptive.by_score(-np.abs(np.arange(-span, span + 1, dtype=np.float64)))
    causes = world.truth.facts.take(world.truth.causes_of(row))
    first = action_space(graph, hidden.subject, hidden.time, hidden.time, nearness)
    between = np.isin(first.entity[0], np.concatenate([causes.subject, causes.object]))
    between &= ~np.isin(first.entity[0], [hidden.subject[0], hidden.object[0]])
    chosen = int(np.argmax(between)) if between.any() else min(1, first.width - 1)
    place, since = first.entity[:, chosen], first.time[:, chosen]
    second = action_space(graph, place, since, hidden.time, nearness)
    return Example(
        dataset=dataset,
        support=task.support.facts.take(task.support.entity_of_fact == hidden.subject[0]),
        hidden=hidden,
        rule=world.truth.describe(world.truth.rule_of(row)),
        causes=causes,
        steps=(first, second),
        edges=(int(graph.degree(hidden.subject)[0]), int(graph.degree(place)[0])),
    )


def _listed(actions: list[tuple[str, str, str]], answer: str) -> list[str]:
    """The first actions, and the first one that leads to the answer wherever it stands."""
    there = next((place for place, action in enumerate(actions) if action[1] == answer), None)
    lines = []
    for place, (relation, entity, when) in enumerate(actions):
        if place < SHOWN or place == there:
            lines.append(f"{when}  {relation} → {entity}" + ("   ← the answer" if place == there else ""))
        elif lines[-1] != "…":
            lines.append("…")
    return lines


def _indented(lines: list[str]) -> list[str]:
    return [f"  {line}" for line in lines]
