"""MEAN as a trainable model."""

from __future__ import annotations

from fitcarl.config.schema import LanConfig, MeanConfig
from fitcarl.graph.temporal import TemporalGraph
from fitcarl.models.aggregation.trainable import AggregationModel
from fitcarl.models.mean.network import MeanNetwork


class MeanModel(AggregationModel):
    """The mean of transformed neighbours, with TransE as decoder."""

    @classmethod
    def make_network(cls, config: MeanConfig | LanConfig, graph: TemporalGraph) -> MeanNetwork:
        assert isinstance(config, MeanConfig)
        return MeanNetwork(config.network, graph.entities, graph.relations)
