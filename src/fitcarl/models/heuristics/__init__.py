"""Heuristic baselines: scorers without training, as lower bounds for trained models; see ``models.registry``."""

from fitcarl.models.heuristics.all_equal import AllEqual
from fitcarl.models.heuristics.copy_support import CopySupport
from fitcarl.models.heuristics.mixture import Mixture
from fitcarl.models.heuristics.relation_window import RelationWindow
from fitcarl.models.heuristics.similar_entities import SimilarEntities
from fitcarl.models.heuristics.two_hop import TwoHop

__all__ = ["AllEqual", "CopySupport", "Mixture", "RelationWindow", "SimilarEntities", "TwoHop"]
