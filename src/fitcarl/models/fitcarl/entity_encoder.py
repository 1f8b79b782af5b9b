"""The entity encoder: a time-aware Transformer over the support facts of an unseen entity (Eq. 2)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import torch
from torch import Tensor, nn

from fitcarl.models.fitcarl.time import TimeTable

AttentionScale = Literal["head", "model"]
"""Attention scores are divided by the square root of the width of a head, or of that of the model."""


@dataclass(frozen=True)
class Neighbourhood:
    """N_e' of every unseen entity of a task: (ẽ_i, r_i, t_i) of its support facts, directed towards e'."""

    entity: Tensor
    """[unseen, K, d], h_ẽ of the neighbours; zero on padding and for unseen neighbours."""
    relation: Tensor
    """[unseen, K, d], h_r of the relations from the neighbour to e'; zero on padding."""
    time: Tensor
    """int64 [unseen, K], ticks."""
    known: Tensor
    """bool [unseen, K], false on padding (entities may have different numbers of support facts)."""

    @property
    def last_time(self) -> Tensor:
        """int64 [unseen], the time of each entity's latest fact."""
        earliest = self.time.min() if self.time.numel() else 0
        return torch.where(self.known, self.time, earliest).amax(1)

    def at(self, time: Tensor) -> Neighbourhood:
        """The facts of each entity at one tick only; ``time`` is int64 [unseen]."""
        return replace(self, known=self.known & (self.time == time.unsqueeze(1)))


class AttentionLayer(nn.Module):
    """A Transformer layer whose attention scores have a bias for the time between two tokens (Eq. 2)."""

    def __init__(self, dimension: int, heads: int, feedforward: int, scale: AttentionScale = "head") -> None:
        super().__init__()
        if dimension % heads:
            raise ValueError(f"the dimension {dimension} is not divisible by {heads} heads")
        self.heads = heads
        self.scale = (dimension if scale == "model" else dimension // heads) ** -0.5
        self.query = nn.Linear(dimension, dimension, bias=False)
        self.key = nn.Linear(dimension, dimension, bias=False)
        self.value = nn.Linear(dimension, dimension, bias=False)
        self.output = nn.Linear(dimension, dimension)
        self.position = nn.Parameter(torch.zeros(dimension))
        self.attention_norm = nn.LayerNorm(dimension)
        self.wide = nn.Linear(dimension, feedforward)
        self.narrow = nn.Linear(feedforward, dimension)
        self.feedforward_norm = nn.LayerNorm(dimension)

    def scores(self, queries: Tensor, tokens: Tensor) -> Tensor:
        """(W_Q h_u)ᵀ(W_K h_v), scaled, of query tokens u and all tokens v, [batch, heads, queries, tokens].

        The scale is 1/sqrt(d_head), or 1/sqrt(d) as printed in Eq. 2.
        """
        query, key = self._split(self.query(queries)), self._split(self.key(tokens))
        return query @ key.transpose(-1, -2) * self.scale

    def values(self, tokens: Tensor) -> Tensor:
        """[batch, heads, tokens, d_head]."""
        return self._split(self.value(tokens))

    def finish(self, queries: Tensor, scores: Tensor, values: Tensor) -> Tensor:
        """The output of the layer for the query tokens, [batch, queries, d]: attention, then feed-forward."""
        attended = (scores.softmax(-1) @ values).transpose(1, 2).flatten(2)
        middle: Tensor = self.attention_norm(queries + self.output(attended))
        out: Tensor = self.feedforward_norm(middle + self.narrow(torch.relu(self.wide(middle))))
        return out

    def _split(self, rows: Tensor) -> Tensor:
        return rows.unflatten(-1, (self.heads, -1)).transpose(1, 2)


class EntityEncoder(nn.Module):
    """h_e' of every query (Eq. 2): a time-aware Transformer over f(h_ẽ ‖ h_r) of support facts and [CLS] at t_q."""

    def __init__(
        self, dimension: int, heads: int, layers: int, feedforward: int, scale: AttentionScale = "head"
    ) -> None:
        super().__init__()
        self.meta = nn.Linear(2 * dimension, dimension)
        self.cls = nn.Parameter(torch.randn(dimension) * dimension**-0.5)
        self.layers = nn.ModuleList(AttentionLayer(dimension, heads, feedforward, scale) for _ in range(layers))

    def forward(
        self, neighbours: Neighbourhood, unseen_row: Tensor, query_time: Tensor, time: TimeTable, biased: bool = True
    ) -> Tensor:
        """h_e' of every query, [queries, d].

        The projections of the first layer do not depend on t_q and are computed once per entity; the last layer only
        computes [CLS].

        Args:
            neighbours: Support facts of the unseen entities.
            unseen_row: int64 [queries], the row of the query entity in ``neighbours``.
            query_time: int64 [queries], t_q in ticks.
            time: The time table.
            biased: Whether attention is biased by time (off in ablation D).
        """
        meta = self.meta(torch.cat([neighbours.entity, neighbours.relation], -1))
        tokens = torch.cat([self.cls.expand(len(meta), 1, -1), meta], 1)
        known = torch.cat([neighbours.known.new_ones(len(meta), 1), neighbours.known], 1)[unseen_row]
        token_time = torch.cat([query_time.unsqueeze(1), neighbours.time[unseen_row]], 1)
        # t_u - t_v, clamped because times of padding are arbitrary
        difference = (token_time.unsqueeze(2) - token_time.unsqueeze(1)).clamp(
            -time.max_delta, time.max_delta
        ) + time.max_delta
        for depth, layer in enumerate(self.layers):
            assert isinstance(layer, AttentionLayer)
            last = depth == len(self.layers) - 1
            queries = tokens[:, :1] if last else tokens
            scores, values = layer.scores(queries, tokens), layer.values(tokens)
            if depth == 0:
                scores, values = scores.index_select(0, unseen_row), values.index_select(0, unseen_row)
                queries = queries.index_select(0, unseen_row)
            if biased:
                selected = difference[:, : queries.shape[1]]
                bias = time.weigh(layer.position).index_select(0, selected.flatten()).view(selected.shape)
                scores = scores + bias.unsqueeze(1)
            scores = scores.masked_fill(~known[:, None, None, :], float("-inf"))
            tokens = layer.finish(queries, scores, values)
        return tokens[:, 0]
