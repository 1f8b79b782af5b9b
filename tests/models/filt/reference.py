"""FILT in plain loops over complex and real numbers, from its equations; slow and in float64."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from fitcarl.data.concepts import Concepts
from fitcarl.data.relations import RelationIds
from fitcarl.tasks.task import Task

Vector = NDArray[np.float64]


def softmax(values: list[float]) -> list[float]:
    top = max(values)
    powers = [math.exp(value - top) for value in values]
    return [power / sum(powers) for power in powers]


def leaky_relu(values: Vector) -> Vector:
    return np.array([value if value > 0 else 0.01 * value for value in values])


def complex_score(subject: Vector, relation: Vector, object: Vector) -> float:
    """Re Σ s r conj(o)."""
    half = len(subject) // 2
    s, r, o = ([complex(row[i], row[half + i]) for i in range(half)] for row in (subject, relation, object))
    return float(sum(a * b * c.conjugate() for a, b, c in zip(s, r, o, strict=True)).real)


class SlowFilt:
    """Scores single queries."""

    def __init__(
        self, weights: Mapping[str, Vector], concepts: Concepts | None, relations: RelationIds, days_per_tick: float
    ) -> None:
        self.weights, self.relations, self.days_per_tick = weights, relations, days_per_tick
        self.x, self.u = weights["entity_rows"], weights["relation_rows"]
        self.s = None if concepts is None else self._concept_rows(concepts)

    def _concept_rows(self, concepts: Concepts) -> list[Vector]:
        entities, names = range(len(self.x)), concepts.names
        has = [[names[c] in concepts.of(e) for e in entities] for c in range(len(names))]
        start = [sum(self.x[e] for e in entities if row[e]) / sum(row) for row in has]
        found = []
        for concept in start:
            share = softmax([float(self.x[e] @ concept) for e in entities])
            found.append(np.asarray(sum(share[e] * self.x[e] for e in entities)))
        return found

    def linear(self, name: str, values: Vector) -> Vector:
        return np.asarray(self.weights[f"{name}.weight"] @ values + self.weights[f"{name}.bias"])

    def concept_part(self, entity: int) -> Vector:
        """u_e."""
        assert self.s is not None
        share = softmax([float(self.x[entity] @ concept) for concept in self.s])
        mixed = sum(part * concept for part, concept in zip(share, self.s, strict=True))
        return self.linear("concept_encoder.mixture", np.asarray(mixed))

    def embed(self, task: Task, entity: int, time: int) -> Vector:
        """h_e'(q) without dropout."""
        messages, closeness = [], []
        for owner, (s, r, o, t) in zip(task.support.entity_of_fact.tolist(), task.support.facts, strict=True):
            if owner != entity:
                continue
            neighbour, to_unseen = (o, r + self.relations.count) if s == entity else (s, r)
            g = self.x[neighbour]
            if self.s is not None:
                u = self.linear("concept_encoder.input_layer", self.concept_part(neighbour))
                inner = g + self.weights["concept_encoder.input_weight"] * u
                g = leaky_relu(self.linear("concept_encoder.output_layer", inner))
            messages.append(self.linear("message", np.concatenate([g, self.u[to_unseen]])))
            days = abs(t - time) * self.days_per_tick
            closeness.append(1 / days if days else 1 / 0.2)
        h = np.asarray(sum(a * m for a, m in zip(softmax(closeness), messages, strict=True)))
        if self.s is not None:
            k = leaky_relu(self.linear("concept_encoder.own_layer", self.concept_part(entity)))
            h = h + self.weights["concept_encoder.own_weight"] * k
        return h

    def score(self, task: Task, entity: int, relation: int, time: int, candidate: int) -> float:
        """phi(c)."""
        return complex_score(self.embed(task, entity, time), self.u[relation], self.x[candidate])

    def inverse_score(self, task: Task, entity: int, relation: int, time: int, candidate: int) -> float:
        """The score of (c, r⁻¹, e')."""
        inverse = self.relations.inverse(relation)
        return complex_score(self.x[candidate], self.u[inverse], self.embed(task, entity, time))
