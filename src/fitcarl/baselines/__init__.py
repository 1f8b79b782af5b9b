"""Trivial scorers: what every trained model has to beat before it may impress anyone."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from fitcarl.answers import Scorer
from fitcarl.baselines.all_equal import AllEqual
from fitcarl.baselines.copy_support import CopySupport
from fitcarl.baselines.mix import Mix
from fitcarl.baselines.peers import Peers
from fitcarl.baselines.relation_window import RelationWindow
from fitcarl.baselines.two_hop import TwoHop
from fitcarl.data.dataset import Dataset

BASELINES: Mapping[str, Callable[[Dataset], Scorer]] = MappingProxyType(
    {scorer.name: scorer for scorer in (AllEqual, CopySupport, RelationWindow, TwoHop, Peers, Mix)}
)
"""Name → constructor, weakest first."""

__all__ = ["BASELINES", "AllEqual", "CopySupport", "Mix", "Peers", "RelationWindow", "TwoHop"]
