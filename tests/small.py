"""A world and settings small enough for a training of about one second."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from fitcarl.config.presets import find_preset
from fitcarl.data.bounds import BENCHMARK_BOUNDS
from fitcarl.data.io.dataset_folder import write_dataset
from fitcarl.data.split import split_facts
from fitcarl.synthetic import generate_world

_COMMON = ("training.queries_per_entity=3", "training.validate_every=2")

SMALL = (
    *_COMMON,
    *("encoder.dim=16", "encoder.max_updates=20", "encoder.min_updates=1"),
    *("reach.max_updates=20", "reach.min_updates=1"),
)
"""For model plus."""

SMALL_PAPER = (
    *_COMMON,
    "embedding.dim=16",
    "network.feedforward=16",
    "network.action_space=10",
    "search.beam=10",
)
"""For model fitcarl."""

_SMALL_FACTORIZATION = ("embedding.dim=16", "training.batch_size=64", "training.validate_every=2")
_SMALL_AGGREGATION = ("network.dim=16", "training.batch_size=64", "training.validate_every=2")
_SMALL_PRETRAINING = (*_COMMON, "embedding.dim=16", "embedding.min_updates=20", "embedding.epochs=2")

SMALL_MODELS = {
    **dict.fromkeys(("complex", "bique", "tntcomplex", "telm", "tero"), _SMALL_FACTORIZATION),
    **dict.fromkeys(("mean", "lan"), _SMALL_AGGREGATION),
    "gen": (*_SMALL_PRETRAINING, "network.bases=3"),
    "filt": _SMALL_PRETRAINING,
    "titer": ("network.action_space=10", "search.beam=10", "training.batch_size=64", "training.validate_every=2"),
}
"""For models without a preset."""


def small(preset: str) -> tuple[str, ...]:
    """Small settings for a preset."""
    model = find_preset(preset).model
    return SMALL_MODELS.get(model) or (SMALL_PAPER if model == "fitcarl" else SMALL)


def write_tiny(folder: Path, seed: int = 7) -> Path:
    """A dataset of the tiny world, written to a folder."""
    write_dataset(
        split_facts(generate_world("tiny", seed=seed).facts, name=folder.name, bounds=BENCHMARK_BOUNDS), folder
    )
    return folder


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny(tmp_path_factory.mktemp("world") / "tiny")


@pytest.fixture(scope="module", autouse=True)
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A cache directory for the tests."""
    folder = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FITCARL_HOME", str(folder))
        yield folder
