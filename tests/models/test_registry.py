"""Models by name."""

from __future__ import annotations

from importlib import import_module

import pytest

from fitcarl.errors import InputError
from fitcarl.models import registry


@pytest.mark.parametrize("name", registry.HEURISTIC)
def test_heuristic_models_have_their_names(name: str) -> None:
    module, _, class_name = registry.HEURISTIC[name].partition(":")
    assert getattr(import_module(module), class_name).name == name


@pytest.mark.parametrize("name", registry.TRAINABLE)
def test_trainable_models_have_the_members_of_the_protocol(name: str) -> None:
    model = registry.trainable_class(name)
    members = ("prepare", "load", "save_artifacts", "training_step", "scorer", "with_background", "save_background")
    assert all(hasattr(model, member) for member in (*members, "with_capacity", "with_graph", "refit_statistics"))
    assert isinstance(model.artifacts, tuple)


def test_unknown_model_names_the_nearest() -> None:
    with pytest.raises(InputError, match="did you mean 'plus'"):
        registry.trainable_class("pluss")


def test_heuristic_model_is_not_trainable() -> None:
    with pytest.raises(InputError, match="nothing to train"):
        registry.trainable_class("mix")
