"""LAN as a trainable model."""

from __future__ import annotations

from copy import copy
from typing import Self

from fitcarl.config.schema import LanConfig, MeanConfig
from fitcarl.data.concepts import Concepts
from fitcarl.graph.temporal import TemporalGraph
from fitcarl.models.aggregation.trainable import AggregationModel
from fitcarl.models.lan.logic import implication_table
from fitcarl.models.lan.network import LanNetwork


class LanModel(AggregationModel):
    """Neighbours weighted by neural and logic attention, with TransE as decoder.

    The implications between relations are counted on the background and counted again wherever the model is loaded or
    refitted, so they are no artifact.
    """

    @classmethod
    def make_network(cls, config: MeanConfig | LanConfig, graph: TemporalGraph) -> LanNetwork:
        assert isinstance(config, LanConfig)
        return LanNetwork(config.network, graph.entities, graph.relations, implication_table(graph))

    def refit_statistics(self, graph: TemporalGraph, concepts: Concepts | None = None) -> Self:
        """The same weights with the implications of another background."""
        other = super().refit_statistics(graph, concepts)
        module = copy(self.module)
        assert isinstance(module, LanNetwork)
        module.implications = implication_table(graph)
        other.module = module
        return other
