"""The paper's equations, one after another, in plain loops over float64 numbers.

Nothing is shared, folded or batched, so that each function can be compared with the paper by eye. Weights are looked
up by name in a model's ``state_dict``; gradients flow to them. In ablation E (Appendix C) time encodings are left out:
vectors are shorter, and the weights of the missing part are not used.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from fitcarl.config.schema import NetworkConfig
from tests.models.fitcarl.paper.tiny import Fact, Query, Tiny

Weights = Mapping[str, Tensor]


class Edge(NamedTuple):
    """An action (r, e, t), or a step of a path."""

    relation: int
    entity: int
    time: int


class Distribution(NamedTuple):
    """The policy over a list of actions and its factors."""

    probability: Tensor
    confidence: Tensor | None
    policy: Tensor


def time_encoding(w: Weights, difference: int) -> Tensor:
    """Eq. 1: sqrt(1/d) [cos(ω₁ Δt + φ₁), ..., cos(ω_d Δt + φ_d)]."""
    omega, phi = w["time.omega"], w["time.phi"]
    return math.sqrt(1 / len(omega)) * torch.cos(omega * difference + phi)


def softmax(scores: Sequence[Tensor]) -> Tensor:
    raised = torch.exp(torch.stack(list(scores)))
    return raised / raised.sum()


def meta_representation(w: Weights, entity: Tensor, relation: Tensor) -> Tensor:
    """h_e'^i = f(h_ẽ ‖ h_r), f being linear."""
    return w["encoder.meta.weight"] @ torch.cat([entity, relation]) + w["encoder.meta.bias"]


def attention(
    w: Weights, layer: str, tokens: Sequence[Tensor], times: Sequence[int], heads: int, biased: bool, scale: str
) -> list[list[Tensor]]:
    """Eq. 2: att_{u,v} as [head][u], a vector over v."""
    size = len(tokens[0]) // heads
    divisor = math.sqrt(len(tokens[0])) if scale == "model" else math.sqrt(size)
    query = [w[f"{layer}.query.weight"] @ token for token in tokens]
    key = [w[f"{layer}.key.weight"] @ token for token in tokens]
    out = []
    for head in range(heads):
        part = slice(head * size, (head + 1) * size)
        rows = []
        for u in range(len(tokens)):
            scores = []
            for v in range(len(tokens)):
                alpha = query[u][part] @ key[v][part] / divisor
                if biased:
                    alpha = alpha + w[f"{layer}.position"] @ time_encoding(w, times[u] - times[v])
                scores.append(alpha)
            rows.append(softmax(scores))
        out.append(rows)
    return out


def layer_norm(w: Weights, name: str, x: Tensor) -> Tensor:
    mean = x.sum() / len(x)
    variance = ((x - mean) ** 2).sum() / len(x)
    return (x - mean) / torch.sqrt(variance + 1e-5) * w[f"{name}.weight"] + w[f"{name}.bias"]


def transformer_layer(
    w: Weights,
    layer: str,
    tokens: Sequence[Tensor],
    times: Sequence[int],
    heads: int,
    biased: bool,
    scale: str = "head",
) -> list[Tensor]:
    """Attention and feed-forward, each added to its input and normalised, as in Vaswani et al."""
    size = len(tokens[0]) // heads
    weights = attention(w, layer, tokens, times, heads, biased, scale)
    values = torch.stack([w[f"{layer}.value.weight"] @ token for token in tokens])
    out = []
    for u in range(len(tokens)):
        attended = [weights[head][u] @ values[:, head * size : (head + 1) * size] for head in range(heads)]
        mixed = w[f"{layer}.output.weight"] @ torch.cat(attended) + w[f"{layer}.output.bias"]
        middle = layer_norm(w, f"{layer}.attention_norm", tokens[u] + mixed)
        wide = torch.relu(w[f"{layer}.wide.weight"] @ middle + w[f"{layer}.wide.bias"])
        narrow = w[f"{layer}.narrow.weight"] @ wide + w[f"{layer}.narrow.bias"]
        out.append(layer_norm(w, f"{layer}.feedforward_norm", middle + narrow))
    return out


def gru(w: Weights, x: Tensor, hidden: Tensor) -> Tensor:
    """Eq. 3: the cell of Cho et al.; gates are stacked as reset, update, new."""
    given = w["history.cell.weight_ih"][:, : len(x)] @ x + w["history.cell.bias_ih"]
    kept = w["history.cell.weight_hh"] @ hidden + w["history.cell.bias_hh"]
    size = len(hidden)
    reset = torch.sigmoid(given[:size] + kept[:size])
    update = torch.sigmoid(given[size : 2 * size] + kept[size : 2 * size])
    new = torch.tanh(given[2 * size :] + reset * kept[2 * size :])
    return (1 - update) * new + update * hidden


def confidence_score(w: Weights, start: Tensor, relation: Tensor, node: Tensor) -> Tensor:
    """ψ of Eq. 8: the core tensor times three vectors."""
    core = w["confidence.core"][: len(start), :, : len(node)]
    return torch.einsum("ijk,i,j,k->", core, start, relation, node)


def policy(probability: Tensor, confidence: Tensor, combine: str = "softmax") -> Tensor:
    """Eq. 9, or the normalised product."""
    if combine == "product":
        return probability * confidence / (probability * confidence).sum()
    return softmax(list(probability * confidence))


def reward(answer: Tensor, chosen: Tensor, margin: float) -> Tensor:
    """R = sigmoid(θ - ‖h_ẽq - h_e_a‖)."""
    return 1 / (1 + torch.exp(torch.sqrt(((answer - chosen) ** 2).sum()) - margin))


def concept_probability(concepts: Sequence[set[str]], given: Mapping[str, float], entities: Sequence[int]) -> Tensor:
    """Eq. 10 for actions that lead to ``entities``; ``given`` is P(c | r_q)."""
    fits = [sum(given[name] for name in concepts[entity]) for entity in entities]
    return softmax([torch.tensor(float(fit), dtype=torch.float64) for fit in fits])


def divergence(pi: Tensor, concept: Tensor) -> Tensor:
    """Eq. 11: Σ π log(π / P)."""
    return (pi * torch.log(pi / concept)).sum()


def concepts_given_relation(task: Tiny, relation: int) -> dict[str, float]:
    """P(c | r): how often c appears among the distinct objects of r in the background."""
    inverse = relation >= task.relations
    objects = {(s if inverse else o) for s, r, o, _ in task.background if r == relation % task.relations}
    counts = {name: sum(name in task.concepts[e] for e in objects) for name in set().union(*task.concepts)}
    total = sum(counts.values())
    return {name: count / total if total else 0.0 for name, count in counts.items()}


class ReferenceModel:
    """The model on one task, query by query and action by action."""

    def __init__(self, weights: Weights, task: Tiny, config: NetworkConfig) -> None:
        self.w, self.task, self.config = weights, task, config
        self.known: dict[tuple[int, int], Tensor] = {}

    # Entity encoder (Eq. 2)

    def neighbourhood(self, entity: int) -> list[tuple[int, int, int]]:
        """N_e': (ẽ, r, t) of support facts directed towards e': (ẽ, r, e', t)."""
        out = []
        for owner, (s, r, o, t) in self.task.support:
            if owner == entity:
                out.append((o, self._inverse(r), t) if s == entity else (s, r, t))
        return out

    def unseen(self, entity: int, at: int) -> Tensor:
        """h_e' with [CLS] at time ``at``: the output of the Transformer's last layer for [CLS]."""
        if (entity, at) not in self.known:
            tokens, times = [self.w["encoder.cls"]], [at]
            for other, relation, time in self.neighbourhood(entity):
                row = self.w["entity_rows"][other]
                if other in self.task.unseen:
                    row = torch.zeros_like(row)
                tokens.append(meta_representation(self.w, row, self.relation(relation)))
                times.append(time)
            biased = self.config.time_bias and self.config.temporal
            for number in range(self.config.layers):
                layer = f"encoder.layers.{number}"
                choices = self.config.heads, biased, self.config.attention_scale
                tokens = transformer_layer(self.w, layer, tokens, times, *choices)
            self.known[entity, at] = tokens[0]
        return self.known[entity, at]

    def entity(self, entity: int, query: Query) -> Tensor:
        """h_e in a query: e' encoded at t_q, other unseen entities at their latest fact, seen ones pre-trained."""
        if entity == query.entity:
            return self.unseen(entity, query.time)
        if entity in self.task.unseen:
            return self.unseen(entity, max(time for _, _, time in self.neighbourhood(entity)))
        return self.w["entity_rows"][entity]

    def relation(self, relation: int) -> Tensor:
        rows = 2 * self.task.relations
        return self.w["relation_rows"][relation] if relation < rows else self.w["special_relations"][relation - rows]

    # Search history (Eq. 3)

    def node(self, entity: int, time: int, query: Query) -> Tensor:
        """h_(e, t) = h_e ‖ h_{t_q - t}; in ablation E, h_e."""
        row = self.entity(entity, query)
        return torch.cat([row, time_encoding(self.w, query.time - time)]) if self.config.temporal else row

    def history(self, query: Query, path: Sequence[Edge]) -> Tensor:
        """h_hist after the steps of ``path``."""
        start = torch.cat([self.relation(2 * self.task.relations + 1), self.node(query.entity, query.time, query)])
        hidden = gru(self.w, start, torch.zeros(3 * len(self.w["time.omega"])).to(start))
        for edge in path:
            if edge.relation == 2 * self.task.relations and not self.config.self_loop_history:
                continue
            step = torch.cat([self.relation(edge.relation), self.node(edge.entity, edge.time, query)])
            hidden = gru(self.w, step, hidden)
        return hidden

    # Action space

    def out_edges(self, entity: int) -> set[Edge]:
        facts: list[Fact] = self.task.background + [fact for _, fact in self.task.support]
        forward = {Edge(r, o, t) for s, r, o, t in facts if s == entity}
        return forward | {Edge(self._inverse(r), s, t) for s, r, o, t in facts if o == entity}

    def time_score(self, query: Query, edge: Edge) -> float:
        """w_Δtᵀ h_{t_q - t}, by which edges are ranked."""
        return float((self.w["policy.w_delta"] @ time_encoding(self.w, query.time - edge.time)).detach())

    def actions(self, query: Query, path: Sequence[Edge]) -> list[Edge]:
        """The self-loop, then the n edges with the best time scores; ties in order of ids."""
        entity, time = (path[-1].entity, path[-1].time) if path else (query.entity, query.time)
        edges = sorted(self.out_edges(entity), key=lambda edge: (-self.time_score(query, edge), edge))
        return [Edge(2 * self.task.relations, entity, time), *edges[: self.config.action_space]]

    # Policy (Eq. 4 to 9)

    def distribution(self, query: Query, path: Sequence[Edge], actions: Sequence[Edge]) -> Distribution:
        """Eq. 4 to 9 for every action of a state."""
        w = self.w
        now = path[-1].time if path else query.time
        h_hist = w["policy.w1"] @ self.history(query, path)
        start = self.node(query.entity, query.time, query)
        about = torch.cat([self.relation(query.relation), start])
        h_q = w["policy.w2"][:, : len(about)] @ about
        scores, psi = [], []
        for edge in actions:
            node = self.node(edge.entity, edge.time, query)
            x = torch.cat([self.relation(edge.relation), node])
            h_a = w["policy.w3"][:, : len(x)] @ x
            phi_hist, phi_q = h_a @ h_hist, h_a @ h_q
            if self.config.temporal:
                phi_hist = phi_hist + w["policy.w_delta"] @ time_encoding(w, edge.time - now)
                phi_q = phi_q + w["policy.w_delta"] @ time_encoding(w, edge.time - query.time)
            att_hist = torch.exp(phi_hist) / (torch.exp(phi_hist) + torch.exp(phi_q))
            att_q = torch.exp(phi_q) / (torch.exp(phi_hist) + torch.exp(phi_q))
            feature = att_hist * h_hist + att_q * h_q
            scores.append(h_a @ w["policy.w4"] @ feature)
            if self.config.confidence:
                psi.append(confidence_score(w, start, self.relation(query.relation), node))
        probability = softmax(scores)
        if not self.config.confidence:
            return Distribution(probability, None, probability)
        confidence = softmax(psi)
        return Distribution(probability, confidence, policy(probability, confidence, self.config.policy))

    # Loss (Eq. 12)

    def loss(
        self, walks: Sequence[tuple[Query, Sequence[Edge]]], spaces: Sequence[Sequence[Sequence[Edge]]],
        discount: float, regularizer: float, margin: float,
    ) -> Tensor:  # fmt: skip
        """Eq. 12 for given paths (one per query) and action spaces [query][step]; rewards are constants."""
        total = torch.zeros(1, dtype=torch.float64).sum()
        for (query, path), space in zip(walks, spaces, strict=True):
            given = concepts_given_relation(self.task, query.relation)
            for level, (edge, actions) in enumerate(zip(path, space, strict=True)):
                pi = self.distribution(query, path[:level], actions).policy
                gain = reward(self.entity(query.answer, query), self.entity(edge.entity, query), margin).detach()
                here = -torch.log(pi[list(actions).index(edge)]) * gain
                if self.config.concepts:
                    fit = concept_probability(self.task.concepts, given, [action.entity for action in actions])
                    here = here + regularizer * divergence(pi, fit)
                total = total + discount**level * here
        return total / len(walks)

    def _inverse(self, relation: int) -> int:
        count = self.task.relations
        return relation - count if relation >= count else relation + count


def weights_of(model: torch.nn.Module) -> dict[str, Tensor]:
    """The tensors of a model by name, in float64; gradients flow back to its parameters."""
    named = dict(model.named_parameters()) | dict(model.named_buffers())
    return {name: tensor.double() for name, tensor in named.items()}
