"""The network of FILT: embeddings of unseen entities at the time of a query."""

from __future__ import annotations

from typing import cast

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import dropout, embedding, leaky_relu

from fitcarl.core.tensors import long_tensor, tensor_of
from fitcarl.data.quadruples import Ids
from fitcarl.models.factorization.complex import complex_product
from fitcarl.models.factorization.embeddings import Embeddings
from fitcarl.models.factorization.tero import conjugate
from fitcarl.models.filt.concepts import mix_concepts
from fitcarl.models.filt.time_weights import time_weights
from fitcarl.models.support import SupportFacts

_START = 0.1
"""The first value of the scalars that weight the concept part."""


class ConceptEncoder(nn.Module):
    """What an entity gets from the concepts: an input of its messages, and a term of its own embedding."""

    def __init__(self, dim: int, concepts: int) -> None:
        super().__init__()
        self.mixture = nn.Linear(dim, dim)
        """W1, b1: u_e = W1 (G S)_e + b1."""
        self.own_layer = nn.Linear(dim, dim)
        """W2, b2: k_e = LeakyReLU(W2 u_e + b2)."""
        self.input_layer = nn.Linear(dim, dim)
        """W3, b3, inside g_e = LeakyReLU(W4 (x_e + d_in (W3 u_e + b3)) + b4)."""
        self.output_layer = nn.Linear(dim, dim)
        """W4, b4."""
        self.input_weight = nn.Parameter(torch.tensor(_START))
        """d_in."""
        self.own_weight = nn.Parameter(torch.tensor(_START))
        """d_out."""
        # Not trained, but part of the state: training uses it until it is computed again.
        self.embeddings = nn.Parameter(torch.zeros(concepts, dim), requires_grad=False)
        """S, [concepts, d], as last computed in training."""

    def entity_input(self, rows: Tensor, concepts: Tensor) -> Tensor:
        """g_e of entities with these rows, [n, d]."""
        mixed = self.mixture(mix_concepts(rows, concepts))
        return leaky_relu(self.output_layer(rows + self.input_weight * self.input_layer(mixed)))

    def own_term(self, rows: Tensor, concepts: Tensor) -> Tensor:
        """d_out k_e of unseen entities with these rows, [n, d]."""
        return self.own_weight * leaky_relu(self.own_layer(self.mixture(mix_concepts(rows, concepts))))


class Filt(nn.Module):
    """Entity and relation rows, started from ComplEx, and the layers that embed unseen entities."""

    def __init__(self, embeddings: Embeddings, concepts: int) -> None:
        """Args:
        embeddings: The first rows.
        concepts: The number of concepts; 0 leaves the concept part out.
        """
        super().__init__()
        dim = embeddings.dimension
        self.relations = embeddings.relations
        self.entity_rows = nn.Parameter(torch.from_numpy(np.array(embeddings.entity)))
        """X, [E, d]."""
        self.relation_rows = nn.Parameter(torch.from_numpy(np.array(embeddings.relation)))
        """[2R, d]."""
        self.message = nn.Linear(2 * dim, dim)
        """W, b."""
        self.concept_encoder = ConceptEncoder(dim, concepts) if concepts else None

    def messages(self, support: SupportFacts, concepts: Tensor | None) -> Tensor:
        """m_i = W [g_{e_i}; u_{r_i}] + b of each support fact, [facts, d]; r_i points to the unseen entity.

        Args:
            support: The support facts.
            concepts: [concepts, d], S; None without the concept part.
        """
        device = self.entity_rows.device
        neighbour = embedding(long_tensor(support.entity, device), self.entity_rows)
        if self.concept_encoder is not None and concepts is not None:
            neighbour = self.concept_encoder.entity_input(neighbour, concepts)
        relation = embedding(long_tensor(self.relations.inverse(support.relation), device), self.relation_rows)
        return cast(Tensor, self.message(torch.cat([neighbour, relation], dim=1)))

    def forward(
        self,
        entity: Ids,
        support: SupportFacts,
        row: np.ndarray,
        time: Ids,
        days_per_tick: float,
        concepts: Tensor | None,
        dropout_rate: float = 0.0,
    ) -> Tensor:
        """h_e'(q) of queries, [queries, d].

        Args:
            entity: int32 [unseen], e'.
            support: One row per unseen entity.
            row: int64 [queries]: the row of the query's entity.
            time: int32 [queries], t_q in ticks.
            days_per_tick: Days per tick.
            concepts: [concepts, d], S; None without the concept part.
            dropout_rate: The share of values that are dropped.
        """
        padded = support.padded()
        messages, device = self.messages(support, concepts), self.entity_rows.device
        weight = tensor_of(time_weights(padded.time[row], padded.known[row], time, days_per_tick), device)
        table = messages.new_zeros(*padded.known.shape, messages.shape[1])
        table = table.masked_scatter(tensor_of(padded.known, device).unsqueeze(2), messages)
        index = tensor_of(row, device)
        embedded = torch.einsum("qk,qkd->qd", weight.to(messages.dtype), table[index])
        if self.concept_encoder is not None and concepts is not None:
            own = self.concept_encoder.own_term(embedding(long_tensor(entity, device), self.entity_rows), concepts)
            embedded = embedded + own[index]
        return dropout(embedded, dropout_rate)

    def query_rows(self, embedded: Tensor, relation: Ids) -> Tensor:
        """[queries, d]: the dot product with the row of c is ComplEx's score of (e', r_q, c)."""
        rows = self.relation_rows
        return complex_product(embedded, embedding(long_tensor(relation, rows.device), rows))

    def inverse_query_rows(self, embedded: Tensor, relation: Ids) -> Tensor:
        """[queries, d]: the dot product with the row of c is ComplEx's score of (c, r_q⁻¹, e')."""
        rows = self.relation_rows
        inverse = embedding(long_tensor(self.relations.inverse(relation), rows.device), rows)
        return complex_product(embedded, conjugate(inverse))
