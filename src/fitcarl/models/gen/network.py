"""The network of GEN: layers with one matrix per directed relation, and DistMult rows."""

from __future__ import annotations

from typing import cast

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import dropout, embedding

from fitcarl.core.tensors import long_tensor, tensor_of
from fitcarl.data.quadruples import Ids
from fitcarl.models.factorization.embeddings import Embeddings
from fitcarl.models.gen.task_graph import row_positions, with_facts_between
from fitcarl.models.support import SupportFacts


class RelationLayer(nn.Module):
    """The mean over edges of W_r z, where W_r = Σ_b a_rb V_b; with an own term and a bias in T-GEN."""

    def __init__(self, relations: int, bases: int, inputs: int, outputs: int, own_term: bool = False) -> None:
        super().__init__()
        self.coefficients = nn.Parameter(nn.init.xavier_uniform_(torch.empty(relations, bases)))
        """a, [relations, bases]."""
        self.bases = nn.Parameter(torch.empty(bases, inputs, outputs))
        """V, [bases, inputs, outputs]."""
        for basis in self.bases.data:
            nn.init.xavier_uniform_(basis)
        self.root = nn.Parameter(nn.init.xavier_uniform_(torch.empty(outputs, outputs))) if own_term else None
        """[outputs, outputs]."""
        self.bias = nn.Parameter(torch.zeros(outputs)) if own_term else None

    def forward(self, values: Tensor, relation: Tensor, known: Tensor, own: Tensor | None = None) -> Tensor:
        """[rows, outputs].

        The mean over edges is taken before the product with the bases, Σ_b (mean of a_rb z) V_b, which needs one
        product per row instead of one per edge.

        Args:
            values: [rows, K, inputs], z of each edge.
            relation: int64 [rows, K].
            known: bool [rows, K], false in cells without an edge; a row without edges becomes zero.
            own: [rows, outputs], the input of the own term.
        """
        count = known.sum(dim=1, keepdim=True).clamp(min=1)
        weight = embedding(relation, self.coefficients) * (known.to(values.dtype) / count).unsqueeze(2)
        mean = (weight.mT @ values).flatten(1) @ self.bases.flatten(0, 1)
        if self.root is None or self.bias is None or own is None:
            return mean
        return mean + own @ self.root + self.bias


class TransductiveLayers(nn.Module):
    """The second step of T-GEN: mean and variance of each unseen entity, given all unseen entities of the task."""

    def __init__(self, relations: int, bases: int, dim: int) -> None:
        super().__init__()
        self.mean = RelationLayer(relations, bases, 2 * dim, dim, own_term=True)
        self.log_variance = RelationLayer(relations, bases, 2 * dim, dim, own_term=True)


class Gen(nn.Module):
    """Entity and relation rows, started from DistMult, and the layers that embed unseen entities."""

    def __init__(self, embeddings: Embeddings, bases: int, transductive: bool = False) -> None:
        """Args:
        embeddings: The first rows.
        bases: The number of basis matrices.
        transductive: T-GEN instead of I-GEN.
        """
        super().__init__()
        self.relations = embeddings.relations
        self.entity_rows = nn.Parameter(torch.from_numpy(np.array(embeddings.entity)))
        """X, [E, d]."""
        both = embeddings.relation.reshape(2, self.relations.count, -1)
        self.relation_rows = nn.Parameter(torch.from_numpy(both.mean(axis=0)))
        """u, [R, d]: both directions of a relation have the same row, at first the mean of their pre-trained rows."""
        dim, directed = embeddings.dimension, self.relations.directed
        self.inductive = RelationLayer(directed, bases, 2 * dim, dim)
        self.transductive = TransductiveLayers(directed, bases, dim) if transductive else None

    def forward(self, unseen: Ids, support: SupportFacts, dropout_rate: float = 0.0, sample: bool = False) -> Tensor:
        """The embeddings of unseen entities, [unseen, d].

        Args:
            unseen: int32 [unseen], e'.
            support: One row per unseen entity.
            dropout_rate: The share of values that are dropped.
            sample: Whether T-GEN samples from its normal distribution, as in training, instead of taking the mean.
        """
        embedded = self._layer(self.inductive, support, self.entity_rows, support.padded().entity)
        if self.transductive is None:
            return dropout(embedded, dropout_rate)
        embedded = dropout(torch.relu(embedded), dropout_rate)
        graph = with_facts_between(unseen, support, self.relations)
        rows, index = self.candidate_rows(embedded), row_positions(graph.padded().entity, unseen, len(self.entity_rows))
        mean = self._layer(self.transductive.mean, graph, rows, index, embedded)
        if not sample:
            return mean
        log_variance = self._layer(self.transductive.log_variance, graph, rows, index, embedded)
        return mean + torch.randn_like(mean) * torch.exp(log_variance / 2)

    def _layer(
        self, layer: RelationLayer, support: SupportFacts, rows: Tensor, index: np.ndarray, own: Tensor | None = None
    ) -> Tensor:
        """A layer on [x_e; u_r] of the support facts, with matrices of the relation that points to the unseen entity.

        Args:
            layer: The layer.
            support: One row per unseen entity.
            rows: [n, d], rows of neighbours.
            index: Integer [unseen, K]: the row of each neighbour.
            own: [unseen, d], the input of the own term.
        """
        padded = support.padded()
        relation = self.relation_of(padded.relation.ravel()).view(*padded.relation.shape, -1)
        values = torch.cat([embedding(long_tensor(index, rows.device), rows), relation], dim=2)
        directed = long_tensor(self.relations.inverse(padded.relation), rows.device)
        return cast(Tensor, layer(values, directed, tensor_of(padded.known, rows.device), own))

    def candidate_rows(self, embedded: Tensor) -> Tensor:
        """[E + unseen, d]: the rows of all entities, then the embeddings of the unseen ones."""
        return torch.cat([self.entity_rows, embedded])

    def relation_of(self, relation: Ids) -> Tensor:
        """u_r of directed relations, [n, d]."""
        rows = self.relation_rows
        return embedding(long_tensor(self.relations.base(relation), rows.device), rows)

    def query_rows(self, embedded: Tensor, relation: Ids) -> Tensor:
        """[queries, d]: the dot product with the row of c is DistMult's score of (e', r_q, c)."""
        return embedded * self.relation_of(relation)
