"""Models by name. Training, runs, prediction and service use models through ``TrainableModel`` and never by name."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, cast

from fitcarl.errors import InputError, did_you_mean

if TYPE_CHECKING:
    from fitcarl.data.dataset import Dataset
    from fitcarl.models.base import TrainableModel
    from fitcarl.scoring.scorer import Scorer

TRAINABLE: Mapping[str, str] = MappingProxyType(
    {
        "fitcarl": "fitcarl.models.fitcarl.trainable:FitcarlModel",
        "plus": "fitcarl.models.plus.trainable:PlusModel",
        "complex": "fitcarl.models.factorization.trainable:FactorizationModel",
        "bique": "fitcarl.models.factorization.trainable:FactorizationModel",
        "tntcomplex": "fitcarl.models.factorization.trainable:FactorizationModel",
        "telm": "fitcarl.models.factorization.trainable:FactorizationModel",
        "tero": "fitcarl.models.factorization.trainable:FactorizationModel",
        "gen": "fitcarl.models.gen.trainable:GenModel",
        "filt": "fitcarl.models.filt.trainable:FiltModel",
        "titer": "fitcarl.models.titer.trainable:TiterModel",
        "mean": "fitcarl.models.mean.trainable:MeanModel",
        "lan": "fitcarl.models.lan.trainable:LanModel",
    }
)
"""Name → class (``module:name``) of the models that ``fitcarl train`` trains."""

HEURISTIC: Mapping[str, str] = MappingProxyType(
    {
        "all-equal": "fitcarl.models.heuristics.all_equal:AllEqual",
        "copy": "fitcarl.models.heuristics.copy_support:CopySupport",
        "relation-window": "fitcarl.models.heuristics.relation_window:RelationWindow",
        "two-hop": "fitcarl.models.heuristics.two_hop:TwoHop",
        "peers": "fitcarl.models.heuristics.similar_entities:SimilarEntities",
        "mix": "fitcarl.models.heuristics.mixture:Mixture",
    }
)
"""Name → class of the models without training, weakest first; each is created from a dataset only."""


def trainable_class(name: str) -> type[TrainableModel]:
    """The class of a trainable model.

    Raises:
        InputError: If there is no such model, or if it has nothing to train.
    """
    if name in HEURISTIC:
        raise InputError(
            "a heuristic model has nothing to train",
            found=name,
            expected="one of " + ", ".join(TRAINABLE),
            hint="`fitcarl compare` evaluates it",
        )
    return cast("type[TrainableModel]", _load(_known(name, TRAINABLE)))


def heuristic(name: str, dataset: Dataset) -> Scorer:
    """A model without training, fitted to the background of a dataset."""
    return cast("Scorer", _load(_known(name, HEURISTIC))(dataset))


def _known(name: str, models: Mapping[str, str]) -> str:
    if name not in models:
        hint = did_you_mean(name, [*TRAINABLE, *HEURISTIC])
        raise InputError("unknown model", found=name, expected="one of " + ", ".join(models), hint=hint)
    return models[name]


def _load(path: str) -> type:
    module, _, name = path.partition(":")
    return cast(type, getattr(import_module(module), name))
