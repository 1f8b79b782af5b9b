"""Heuristic baselines: scorers without training, as lower bounds for trained models."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from fitcarl.data.dataset import Dataset
from fitcarl.models.heuristics.all_equal import AllEqual
from fitcarl.models.heuristics.copy_support import CopySupport
from fitcarl.models.heuristics.mixture import Mixture
from fitcarl.models.heuristics.relation_window import RelationWindow
from fitcarl.models.heuristics.similar_entities import SimilarEntities
from fitcarl.models.heuristics.two_hop import TwoHop
from fitcarl.scoring.scorer import Scorer

HEURISTICS: Mapping[str, Callable[[Dataset], Scorer]] = MappingProxyType(
    {scorer.name: scorer for scorer in (AllEqual, CopySupport, RelationWindow, TwoHop, SimilarEntities, Mixture)}
)
"""Name → constructor, weakest first."""

__all__ = ["HEURISTICS", "AllEqual", "CopySupport", "Mixture", "RelationWindow", "SimilarEntities", "TwoHop"]
