"""TITer as its equations say: plain loops over single states and actions in float64."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fitcarl.models.titer.policy import TiterPolicy
from tests.graph.reference import Edge, Fact, out_edges

Vector = NDArray[np.float64]


@dataclass(frozen=True)
class Walk:
    """A path with its log-probability."""

    end: int
    log_probability: float
    edges: tuple[Edge, ...]


class SlowPolicy:
    """The network of a ``TiterPolicy``, one action at a time."""

    def __init__(self, policy: TiterPolicy) -> None:
        self.w = {name: value.detach().numpy().astype(np.float64) for name, value in policy.named_parameters()}
        self.config, self.stay, self.hours = policy.config, policy.relations.self_loop, policy.hours_per_tick
        self.relation_count = policy.relations.count

    def entity(self, entity: int, lag: int) -> Vector:
        times = np.cos(self.w["frequency"] * lag * self.hours + self.w["phase"])
        return np.concatenate([self.w["entity"][entity], times])

    def lstm(self, relation: int, entity: int, lag: int, before: tuple[Vector, Vector]) -> tuple[Vector, Vector]:
        x = np.concatenate([self.w["relation"][relation], self.entity(entity, lag)])
        gates = self.w["history.weight_ih"] @ x + self.w["history.bias_ih"]
        gates += self.w["history.weight_hh"] @ before[0] + self.w["history.bias_hh"]
        i, f, g, o = np.split(gates, 4)
        cell = _sigmoid(f) * before[1] + _sigmoid(i) * np.tanh(g)
        return _sigmoid(o) * np.tanh(cell), cell

    def log_policy(self, hidden: Vector, entity: int, relation: int, now: int, actions: list[Edge]) -> Vector:
        state = np.concatenate([hidden, self.entity(entity, 0), self.w["relation"][relation]])
        inner = np.maximum(self.w["first.weight"] @ state + self.w["first.bias"], 0)
        o_r, o_e = np.split(self.w["second.weight"] @ inner + self.w["second.bias"], [self.config.relation_dim])
        scores = []
        for r, e, t in actions:
            x_r, x_e = self.w["relation"][r], self.entity(e, now - t)
            gate = _sigmoid(self.w["gate.weight"][0] @ np.concatenate([x_r, x_e, state]) + self.w["gate.bias"][0])
            scores.append((1 - gate) * x_r @ o_r + gate * x_e @ o_e)
        values = np.array(scores)
        return values - np.logaddexp.reduce(values)

    def all_walks(self, facts: list[Fact], entity: int, relation: int, now: int) -> list[Walk]:
        """Every walk of a query, without any beam."""
        zero = np.zeros(self.config.history_dim)
        return self._extend(facts, (entity, relation, now), Walk(entity, 0.0, ()), now, (zero, zero), self.stay)

    def _extend(
        self,
        facts: list[Fact],
        query: tuple[int, int, int],
        walk: Walk,
        time: int,
        history: tuple[Vector, Vector],
        last: int,
    ) -> list[Walk]:
        if len(walk.edges) == self.config.hops:
            return [walk]
        entity, relation, now = query
        history = self.lstm(last, walk.end, now - time, history)
        edges = out_edges(facts, walk.end, self.relation_count)
        visible = [edge for edge in edges if edge[2] <= time and edge[2] < now]
        actions = sorted(visible, key=lambda edge: (edge[2], edge[0], edge[1]))[-self.config.action_space :]
        if walk.edges or not actions:
            actions.append((self.stay, walk.end, time))
        found = []
        for action, log_probability in zip(
            actions, self.log_policy(history[0], entity, relation, now, actions), strict=True
        ):
            longer = Walk(action[1], walk.log_probability + float(log_probability), (*walk.edges, action))
            found += self._extend(facts, query, longer, action[2], history, action[0])
        return found


def _sigmoid(x: Vector) -> Vector:
    return 1 / (1 + np.exp(-x))
