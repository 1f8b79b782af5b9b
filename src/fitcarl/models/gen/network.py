"""The network of GEN: a layer with one matrix per directed relation, and DistMult rows."""

from __future__ import annotations

from typing import cast

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import embedding

from fitcarl.data.quadruples import Ids
from fitcarl.models.factorization.embeddings import Embeddings
from fitcarl.models.support import SupportFacts


class RelationLayer(nn.Module):
    """The mean over edges of W_r z, where W_r = Σ_b a_rb V_b."""

    def __init__(self, relations: int, bases: int, inputs: int, outputs: int) -> None:
        super().__init__()
        self.coefficients = nn.Parameter(nn.init.xavier_uniform_(torch.empty(relations, bases)))
        """a, [relations, bases]."""
        self.bases = nn.Parameter(torch.empty(bases, inputs, outputs))
        """V, [bases, inputs, outputs]."""
        for basis in self.bases.data:
            nn.init.xavier_uniform_(basis)

    def forward(self, values: Tensor, relation: Tensor, known: Tensor) -> Tensor:
        """[rows, outputs].

        The mean over edges is taken before the product with the bases, Σ_b (mean of a_rb z) V_b, which needs one
        product per row instead of one per edge.

        Args:
            values: [rows, K, inputs], z of each edge.
            relation: int64 [rows, K].
            known: bool [rows, K], false in cells without an edge; a row without edges becomes zero.
        """
        count = known.sum(dim=1, keepdim=True).clamp(min=1)
        weight = embedding(relation, self.coefficients) * (known.to(values.dtype) / count).unsqueeze(2)
        return (weight.mT @ values).flatten(1) @ self.bases.flatten(0, 1)


class Gen(nn.Module):
    """Entity and relation rows, started from DistMult, and the layer that embeds unseen entities."""

    def __init__(self, embeddings: Embeddings, bases: int) -> None:
        """Args:
        embeddings: The first rows.
        bases: The number of basis matrices.
        """
        super().__init__()
        self.relations = embeddings.relations
        self.entity_rows = nn.Parameter(torch.from_numpy(np.array(embeddings.entity)))
        """X, [E, d]."""
        both = embeddings.relation.reshape(2, self.relations.count, -1)
        self.relation_rows = nn.Parameter(torch.from_numpy(both.mean(axis=0)))
        """u, [R, d]: both directions of a relation have the same row, at first the mean of their pre-trained rows."""
        dim = embeddings.dimension
        self.inductive = RelationLayer(self.relations.directed, bases, 2 * dim, dim)

    def forward(self, support: SupportFacts) -> Tensor:
        """h_e' = mean of W_r~ [x_e; u_r] over the support facts, [unseen, d]; r~ points to the unseen entity."""
        padded = support.padded()
        relation = self.relation_of(padded.relation.ravel()).view(*padded.relation.shape, -1)
        values = torch.cat([embedding(_tensor(padded.entity), self.entity_rows), relation], dim=2)
        directed = _tensor(self.relations.inverse(padded.relation))
        return cast(Tensor, self.inductive(values, directed, torch.from_numpy(padded.known)))

    def relation_of(self, relation: Ids) -> Tensor:
        """u_r of directed relations, [n, d]."""
        return embedding(_tensor(self.relations.base(relation)), self.relation_rows)

    def query_rows(self, embedded: Tensor, relation: Ids) -> Tensor:
        """[queries, d]: the dot product with the row of c is DistMult's score of (e', r_q, c)."""
        return embedded * self.relation_of(relation)


def _tensor(ids: Ids) -> Tensor:
    return torch.from_numpy(ids.astype(np.int64))
