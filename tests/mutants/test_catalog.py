"""The catalog of mutants can be planted in the code as it is now."""

from __future__ import annotations

import pytest

from tests.mutants.catalog import MUTANTS
from tests.mutants.mutant import Mutant


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_mutant_can_be_planted(mutant: Mutant) -> None:
    assert mutant.problem() is None
    assert mutant.before != mutant.after


def test_there_are_at_least_forty_mutants_with_distinct_names() -> None:
    assert len({mutant.name for mutant in MUTANTS}) == len(MUTANTS) >= 40


def test_every_layer_has_a_mutant() -> None:
    layers = {mutant.file.split("/")[0].removesuffix(".py") for mutant in MUTANTS}
    assert {
        "core",
        "config",
        "data",
        "synthetic",
        "graph",
        "tasks",
        "scoring",
        "evaluation",
        "models",
        "runs",
    } <= layers
    assert {"training", "predict", "experiments", "serve", "cli"} <= layers
