"""A graph of five entities, random networks on it, and tensors of rows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from fitcarl.config.lan import LanNetworkConfig
from fitcarl.config.mean import MeanNetworkConfig
from fitcarl.data.quadruples import Quadruples
from fitcarl.data.relations import RelationIds
from fitcarl.graph.temporal import TemporalGraph
from fitcarl.models.aggregation.neighbourhoods import Neighbourhoods
from fitcarl.models.aggregation.network import NeighbourTensors
from fitcarl.models.base import seeded
from fitcarl.models.lan.logic import implication_table
from fitcarl.models.lan.network import LanNetwork
from fitcarl.models.mean.network import MeanNetwork

ENTITIES, RELATIONS, DIM = 5, RelationIds(3), 4
FACTS = Quadruples.from_rows(
    [(0, 0, 1, 0), (0, 0, 1, 4), (0, 1, 2, 1), (1, 2, 2, 2), (3, 0, 2, 3), (3, 1, 0, 3), (2, 2, 0, 5), (4, 0, 3, 6)]
)
"""One triple occurs twice, at different times."""
GRAPH = TemporalGraph.from_facts(FACTS, ENTITIES, RELATIONS)

Message = tuple[int, int]
"""(relation, neighbour)."""


def rows_of(*rows: Sequence[Message], entity: Sequence[int] | None = None) -> NeighbourTensors:
    """Rows with the given messages; the entities of the rows are 0, 1, … by default."""
    edges = [(row, *message) for row, messages in enumerate(rows) for message in messages]
    table = np.array(edges, dtype=np.int64).reshape(-1, 3)
    neighbourhoods = Neighbourhoods.from_edges(*table.T, rows=len(rows))
    return NeighbourTensors.of(neighbourhoods, np.array(range(len(rows)) if entity is None else entity))


def mean_network(*, transition: str = "projection", masked: bool = True, seed: int = 0) -> MeanNetwork:
    config = MeanNetworkConfig.model_validate({"dim": DIM, "transition": transition, "masked": masked})
    with seeded(seed):
        return MeanNetwork(config, ENTITIES, RELATIONS)


def lan_network(seed: int = 0) -> LanNetwork:
    with seeded(seed):
        return LanNetwork(LanNetworkConfig(dim=DIM), ENTITIES, RELATIONS, implication_table(GRAPH))


ANY = torch.tensor(0)
"""A query relation, for networks that ignore it."""
