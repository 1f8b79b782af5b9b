"""The settings of FITCARL reach the loss and the scores: each of these tests fails if a setting is not wired."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from fitcarl.config.fitcarl import EmbeddingConfig, FitcarlConfig, FitcarlTrainingConfig, NetworkConfig, SearchConfig
from fitcarl.config.settings import configure
from fitcarl.models.base import Episode, GraphContext
from fitcarl.models.factorization.embeddings import Embeddings
from fitcarl.models.fitcarl.trainable import FitcarlModel
from fitcarl.scoring.scores import Scores
from tests.models.fitcarl.paper.tiny import random_task

D = 8
TASK = random_task(5)


def model_of(
    network: dict[str, Any] | None = None, training: dict[str, Any] | None = None, **config: Any
) -> FitcarlModel:
    settings = FitcarlConfig(
        network=NetworkConfig(heads=2, feedforward=8, **(network or {})),
        training=FitcarlTrainingConfig(**(training or {})),
        embedding=EmbeddingConfig(dim=D),
        **config,
    )
    rng = np.random.default_rng(0)
    trained = np.arange(TASK.entities) < TASK.unseen[0]
    entity, relation = (rng.normal(size=(rows, D)).astype(np.float32) for rows in (TASK.entities, 2 * TASK.relations))
    context = GraphContext(TASK.graph(), TASK.concept_prior().concepts, span=13, days_per_tick=1.0, time_unit=1.0)
    torch.manual_seed(1)
    return FitcarlModel(settings, context, Embeddings(entity * trained[:, None], relation, trained))


def loss(model: FitcarlModel) -> float:
    return float(model.training_step(Episode(TASK.task(), seed=3)).loss.detach())


def scores(model: FitcarlModel) -> Scores:
    with torch.no_grad():
        return model.scorer().score(TASK.task(), TASK.query_batch())


def test_preset_paper_uses_the_concept_regularizer() -> None:
    config = configure("paper")
    assert isinstance(config, FitcarlConfig)
    assert config.network.concepts
    assert config.training.kl_weight > 0


def test_concept_regularizer_adds_the_weighted_divergence_to_the_loss() -> None:
    off = loss(model_of({"concepts": False}))
    assert loss(model_of(training={"kl_weight": 0.0})) == pytest.approx(off, rel=1e-12)
    once, twice = (loss(model_of(training={"kl_weight": weight})) - off for weight in (1.0, 2.0))
    assert once > 1e-4
    assert twice == pytest.approx(2 * once, rel=1e-6)


def test_scorer_aggregates_paths_as_configured() -> None:
    best, total = (scores(model_of(search=SearchConfig(aggregate=how))) for how in ("max", "sum"))
    assert np.array_equal(best.entity, total.entity)
    assert (total.score >= best.score).all()
    assert (total.score > best.score + 1e-3).any()


def test_random_action_spaces_of_the_scorer_depend_on_the_seed() -> None:
    first, again, other = (scores(model_of({"sampling": "random", "action_space": 2}, seed=seed)) for seed in (1, 1, 2))
    assert np.array_equal(first.score, again.score)
    assert np.array_equal(first.entity, again.entity)
    assert first.entity.tolist() != other.entity.tolist() or first.score.tolist() != other.score.tolist()
