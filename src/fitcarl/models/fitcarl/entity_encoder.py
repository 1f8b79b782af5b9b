"""Who the new entity is: a Transformer over the few facts known of it, aware of when they happened (Eq. 2)."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from fitcarl.models.fitcarl.time import TimeTable


@dataclass(frozen=True)
class Neighbourhood:
    """N_e' of every unseen entity of a task: (ẽ_i, r_i, t_i) of its support, turned so that e' is the object."""

    entity: Tensor
    """[unseen, K, d], representations of the other ends; padding is zero."""
    relation: Tensor
    """[unseen, K, d], representations of the relations from the other end to e'."""
    time: Tensor
    """int64 [unseen, K], ticks."""
    known: Tensor
    """bool [unseen, K], false on padding (entities may have different numbers of facts)."""

    @property
    def last_time(self) -> Tensor:
        """int64 [unseen], the time of each entity's latest fact."""
        early = self.time.min() if self.time.numel() else 0
        return torch.where(self.known, self.time, early).amax(1)


class AttentionLayer(nn.Module):
    """A Transformer layer whose attention has a bias for the time between two tokens."""

    def __init__(self, dimension: int, heads: int, feedforward: int) -> None:
        super().__init__()
        if dimension % heads:
            raise ValueError(f"{heads} heads do not divide {dimension} dimensions")
        self.heads = heads
        self.query = nn.Linear(dimension, dimension, bias=False)
        self.key = nn.Linear(dimension, dimension, bias=False)
        self.value = nn.Linear(dimension, dimension, bias=False)
        self.output = nn.Linear(dimension, dimension)
        self.position = nn.Parameter(torch.zeros(dimension))
        self.attention_norm = nn.LayerNorm(dimension)
        self.wide = nn.Linear(dimension, feedforward)
        self.narrow = nn.Linear(feedforward, dimension)
        self.feedforward_norm = nn.LayerNorm(dimension)

    def scores(self, asking: Tensor, tokens: Tensor) -> Tensor:
        """(W_Q h_u)ᵀ(W_K h_v) / sqrt(d_head) for tokens u that ask and all tokens v, [batch, heads, asking, tokens]."""
        query, key = self._split(self.query(asking)), self._split(self.key(tokens))
        return query @ key.transpose(-1, -2) * query.shape[-1] ** -0.5

    def values(self, tokens: Tensor) -> Tensor:
        """[batch, heads, tokens, d_head]."""
        return self._split(self.value(tokens))

    def finish(self, asking: Tensor, scores: Tensor, values: Tensor) -> Tensor:
        """What the asking tokens become once they attended: [batch, asking, d]."""
        attended = (scores.softmax(-1) @ values).transpose(1, 2).flatten(2)
        middle: Tensor = self.attention_norm(asking + self.output(attended))
        out: Tensor = self.feedforward_norm(middle + self.narrow(torch.relu(self.wide(middle))))
        return out

    def _split(self, rows: Tensor) -> Tensor:
        return rows.unflatten(-1, (self.heads, -1)).transpose(1, 2)


class EntityEncoder(nn.Module):
    """h_e' for every query: meta-representations f(h_ẽ ‖ h_r), a [CLS] token at t_q, and a time-aware Transformer."""

    def __init__(self, dimension: int, heads: int, layers: int, feedforward: int) -> None:
        super().__init__()
        self.meta = nn.Linear(2 * dimension, dimension)
        self.cls = nn.Parameter(torch.randn(dimension) * dimension**-0.5)
        self.layers = nn.ModuleList(AttentionLayer(dimension, heads, feedforward) for _ in range(layers))

    def forward(
        self, neighbours: Neighbourhood, owner: Tensor, query_time: Tensor, time: TimeTable, biased: bool = True
    ) -> Tensor:
        """[queries, d]; ``owner`` says which unseen entity a query starts from, ``query_time`` when it asks.

        What does not depend on t_q (the projections of the first layer) is computed once per entity, and the last
        layer computes nothing but [CLS].
        """
        meta = self.meta(torch.cat([neighbours.entity, neighbours.relation], -1))
        tokens = torch.cat([self.cls.expand(len(meta), 1, -1), meta], 1)
        known = torch.cat([neighbours.known.new_ones(len(meta), 1), neighbours.known], 1)[owner]
        moment = torch.cat([query_time.unsqueeze(1), neighbours.time[owner]], 1)
        # t_u - t_v; padding may lie anywhere in time, so keep it within the table
        difference = (moment.unsqueeze(2) - moment.unsqueeze(1)).clamp(-time.max_delta, time.max_delta) + time.max_delta
        for depth, layer in enumerate(self.layers):
            assert isinstance(layer, AttentionLayer)
            last = depth == len(self.layers) - 1
            asking = tokens[:, :1] if last else tokens
            scores, values = layer.scores(asking, tokens), layer.values(tokens)
            if depth == 0:
                scores, values = scores.index_select(0, owner), values.index_select(0, owner)
                asking = asking.index_select(0, owner)
            if biased:
                wanted = difference[:, : asking.shape[1]]
                bias = time.weigh(layer.position).index_select(0, wanted.flatten()).view(wanted.shape)
                scores = scores + bias.unsqueeze(1)
            scores = scores.masked_fill(~known[:, None, None, :], float("-inf"))
            tokens = layer.finish(asking, scores, values)
        return tokens[:, 0]
