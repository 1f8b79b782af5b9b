"""Scores by TransE on aggregated vectors: of the unseen entity from its support, of candidates from the graph."""

from __future__ import annotations

from collections import OrderedDict
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import normalize

from fitcarl.config.aggregation import CandidateConfig
from fitcarl.core.device import device_of
from fitcarl.core.tensors import array_of, long_tensor, tensor_of
from fitcarl.graph.temporal import TemporalGraph
from fitcarl.models.aggregation.decoder import all_distances, translated
from fitcarl.models.aggregation.neighbourhoods import Neighbourhoods
from fitcarl.models.aggregation.network import AggregationNetwork, NeighbourTensors
from fitcarl.models.support import SupportFacts, support_rows
from fitcarl.scoring.scorer import PathlessExplainer
from fitcarl.scoring.scores import Scores
from fitcarl.tasks.task import Queries, Task

_CACHED_NUMBERS = 1 << 26
"""Numbers in cached candidate vectors, 4 bytes each."""


class AggregationScorer(PathlessExplainer):
    """Scores candidates by their distance to the translated vector of e', which is made from its support facts.

    A candidate has its input row, or a vector made from its neighbours in the graph. An unseen entity of the task has
    neither: as a candidate, too, it is made from its support facts. Entities that have no vector are not listed. An
    entity without a trained row sends no message, so the facts of new entities do not change other candidates.
    """

    def __init__(self, network: AggregationNetwork, graph: TemporalGraph, config: CandidateConfig, name: str) -> None:
        self.name = name
        self._network, self._config, self._relations = network, config, graph.relations
        self._sends: NDArray[np.bool_] = array_of(network.entity.ne(0).any(1))
        self._device = device_of(network)
        encoded = Neighbourhoods.of_graph(graph, self._sends)
        self._connected = encoded.counts > 0
        self._rows = NeighbourTensors.of(encoded, np.arange(graph.entities), self._device)
        self._messages: tuple[Tensor, ...] | None = None
        self._candidates: OrderedDict[int, Tensor] = OrderedDict()

    @torch.no_grad()
    def score(self, task: Task, queries: Queries) -> Scores:
        """Minus the distance of every listed candidate."""
        if not len(queries):
            return Scores.concat([])
        entities = task.support.entities
        rows = self._support(task)
        new = ~self._has_vector[entities] & (rows.arrays.counts > 0)
        listed = self._has_vector.copy()
        listed[entities[new]] = True
        scores = np.full((len(queries), len(listed)), -np.inf)
        row, candidate = support_rows(task.support, queries.entity), np.flatnonzero(listed)
        at_new, is_new = long_tensor(entities[new], self._device), long_tensor(np.flatnonzero(new), self._device)
        for relation in np.unique(queries.relation).tolist():
            asked = np.flatnonzero(queries.relation == relation)
            candidates = self._candidate_vectors(self._relations.inverse(relation))
            if new.any():
                candidates = candidates.clone()
                candidates[at_new] = self._encode(rows, self._relations.inverse(relation))[is_new]
            target = self._translated(rows, relation)[tensor_of(row[asked], self._device)]
            distance = all_distances(target, candidates[tensor_of(candidate, self._device)])
            scores[np.ix_(asked, candidate)] = -array_of(distance)
        if not self._config.query_entity:
            scores[np.arange(len(queries)), queries.entity] = -np.inf
        return Scores.from_dense(scores)

    def _support(self, task: Task) -> NeighbourTensors:
        """One row per entity of the support, in order: the distinct messages of its support facts."""
        facts = SupportFacts.of_entities(task.support, self._relations)
        row = np.repeat(np.arange(len(facts)), facts.counts)
        sent = self._sends[facts.entity]
        rows = Neighbourhoods.from_edges(row[sent], facts.relation[sent], facts.entity[sent], len(facts))
        return NeighbourTensors.of(rows, task.support.entities, self._device)

    @cached_property
    def _has_vector(self) -> NDArray[np.bool_]:
        """bool [E]: whether an entity is a candidate in every task."""
        has: NDArray[np.bool_] = self._sends | (self._connected & (self._config.vectors == "output"))
        return has

    def _translated(self, rows: NeighbourTensors, relation: int) -> Tensor:
        """Where the answer should be, [rows, d]."""
        translation = self._network.translation[self._relations.base(relation)].expand(len(rows.entity), -1)
        is_tail = torch.full((len(rows.entity),), self._relations.is_inverse(relation), device=self._device)
        return translated(self._network(rows, torch.tensor(relation)), translation, is_tail)

    def _encode(self, rows: NeighbourTensors, relation: int) -> Tensor:
        return normalize(self._network(rows, torch.tensor(relation)), dim=-1)

    def _candidate_vectors(self, relation: int) -> Tensor:
        """Vectors of length 1 of all entities, asked about a relation, [E, d]; the last ones are kept."""
        encode = self._config.vectors == "output"
        key = relation if self._network.by_query and encode else 0
        if key not in self._candidates:
            vectors = self._aggregated(relation) if encode else self._network.entity
            self._candidates[key] = normalize(vectors, dim=-1)
            if len(self._candidates) > max(1, _CACHED_NUMBERS // vectors.numel()):
                self._candidates.popitem(last=False)
        self._candidates.move_to_end(key)
        return self._candidates[key]

    def _aggregated(self, relation: int) -> Tensor:
        if self._messages is None:
            self._messages = self._network.messages(self._rows)
        return self._network.aggregate(self._messages, self._rows, torch.tensor(relation))
