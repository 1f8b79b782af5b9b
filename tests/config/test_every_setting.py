"""Every setting of every model has an effect: changing it changes weights, scores or the training trace.

The settings are read from the config classes, so that a new setting needs an entry in ``CHANGES``.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path

import pytest

from fitcarl.config.schema import CONFIGS
from fitcarl.config.settings import configure, describe_settings, flatten
from fitcarl.core.storage import Artifacts
from fitcarl.data.dataset import Dataset
from fitcarl.data.io.registry import load_dataset
from fitcarl.models.base import GraphContext, Preparation
from fitcarl.models.registry import TRAINABLE, trainable_class
from fitcarl.runs.layout import RunFolder
from fitcarl.tasks.task import official_task
from fitcarl.training import trace
from fitcarl.training.loop import run_episodes
from fitcarl.training.setup import Callbacks, ignore_progress, never_stop, prepare_data

_TRAINING = (
    *("training.episodes=2", "training.queries_per_entity=2", "training.validate_every=1", "training.warmup=0"),
    *("training.lr_floor=1", "shots=2"),
)

_FACTORIZATION = (
    *("training.episodes=2", "training.validate_every=1", "training.batch_size=20", "shots=2"),
    *("embedding.dim=8", "training.negatives=20"),
)

_EMBEDDING = (
    *("embedding.dim=8", "embedding.epochs=1", "embedding.min_updates=1", "embedding.batch_size=100"),
    "embedding.negatives=20",
)

_AGGREGATION = (
    *("training.episodes=2", "training.validate_every=1", "training.batch_size=50", "shots=2"),
    *("network.dim=4", "training.neighbours=3"),
)

BASE: dict[str, tuple[str, ...]] = {
    "fitcarl": (
        *_TRAINING,
        *("network.feedforward=8", "network.layers=1", "network.hops=2", "network.action_space=5"),
        *_EMBEDDING,
        *("training.kl_weight=1", "search.beam=10"),
    ),
    "plus": (
        *_TRAINING,
        *("policy.hidden=4", "policy.hidden_candidates=4", "policy.action_space=5", "policy.shortlist=30"),
        *("policy.train_candidates=10", "policy.queries_per_episode=20", "encoder.dim=4", "encoder.max_updates=2"),
        *("encoder.min_updates=1", "encoder.batch_size=16"),
        *("reach.dim=4", "reach.max_updates=2", "reach.min_updates=1", "reach.batch_size=16"),
    ),
    **dict.fromkeys(("complex", "bique", "tntcomplex", "tero"), _FACTORIZATION),
    "telm": (*_FACTORIZATION, "training.first_stage=0"),
    "gen": (*_TRAINING, *_EMBEDDING, "network.bases=3", "training.negatives=4", "training.entities_per_task=5"),
    "filt": (*_TRAINING, *_EMBEDDING, "training.negatives=4", "training.entities_per_task=5"),
    "titer": (
        *("training.episodes=2", "training.validate_every=1", "training.batch_size=200", "shots=2"),
        *("network.entity_dim=8", "network.time_dim=4", "network.relation_dim=8", "network.history_dim=8"),
        *("network.hidden=8", "network.action_space=5", "search.beam=10"),
    ),
    **dict.fromkeys(("mean", "lan"), _AGGREGATION),
}
"""Small settings of each model."""

_SHARED = {
    "shots": "3",
    "seed": "1",
    "setting": "forecast",
    "training.episodes": "1",
    "training.queries_per_entity": "3",
    "training.learning_rate": "0.01",
    "training.warmup": "3",
    "training.lr_floor": "0.1",
    "training.grad_clip": "0.0001",
    "training.validate_every": "2",
    "training.patience": "1",
}

_FACTS = {name: value for name, value in _SHARED.items() if name != "training.queries_per_entity"}
"""Shared settings of models that are trained on facts."""

_FACTORIZATION_CHANGES = {
    **_FACTS,
    "sees": "paper",
    "embedding.dim": "16",
    "training.batch_size": "10",
    "training.negatives": "10",
    "fold_in.steps": "3",
    "fold_in.learning_rate": "0.2",
}
_SOFTMAX_CHANGES = {**_FACTORIZATION_CHANGES, "embedding.init_std": "0.2", "training.n3_weight": "1"}
_TEMPORAL_CHANGES = {**_SOFTMAX_CHANGES, "training.smoothness_weight": "1"}

_PRETRAINING = {
    "embedding.dim": "4",
    "embedding.epochs": "2",
    "embedding.min_updates": "100",
    "embedding.batch_size": "50",
    "embedding.negatives": "10",
    "embedding.learning_rate": "0.2",
    "embedding.n3_weight": "0.1",
    "embedding.init_std": "0.2",
}

_RANKING = {
    "training.entities_per_task": "4",
    "training.negatives": "5",
    "training.margin": "0.01",
    "training.dropout": "0.5",
}

_AGGREGATION_CHANGES = {
    **_FACTS,
    "training.learning_rate": "0.02",
    "network.dim": "5",
    "training.batch_size": "40",
    "training.negatives": "2",
    "training.corrupt": "slot",
    "training.margin": "2",
    "training.neighbours": "2",
    "training.leave_target_out": "on",
    "candidates.vectors": "input",
    "candidates.query_entity": "off",
    "training.input_loss_weight": "0",
}

CHANGES: dict[str, dict[str, str]] = {
    "fitcarl": {
        **_SHARED,
        "training.gamma": "0.5",
        "training.kl_weight": "2",
        "training.reward_margin": "1",
        "training.reward": "return",
        "training.baseline": "standardise",
        "training.entropy_coef": "0.1",
        "training.entropy_decay": "0.5",
        "network.heads": "4",
        "network.layers": "2",
        "network.feedforward": "16",
        "network.attention_scale": "model",
        "network.hops": "3",
        "network.action_space": "3",
        "network.sampling": "nearest",
        "network.policy": "product",
        "network.self_loop_history": "off",
        "training.discount_loss": "off",
        "network.confidence": "off",
        "network.concepts": "off",
        "network.time_bias": "off",
        "network.temporal": "off",
        "network.finetune": "on",
        **_PRETRAINING,
        "search.beam": "3",
        "search.aggregate": "sum",
    },
    "plus": {
        **_SHARED,
        "time_unit": "5d",
        "training.tasks": "pseudo",
        "training.folds": "2",
        "policy.hidden": "5",
        "policy.hidden_candidates": "5",
        "policy.action_space": "3",
        "policy.shortlist": "10",
        "policy.train_candidates": "6",
        "policy.path_loss_weight": "0.6",
        "policy.queries_per_episode": "10",
        "encoder.dim": "6",
        "encoder.max_updates": "3",
        "encoder.min_updates": "3",
        "encoder.batch_size": "32",
        "encoder.learning_rate": "0.01",
        "encoder.dropout": "0.5",
        "encoder.name_dropout": "0",
        "encoder.contexts": "past",
        "reach.used": "off",
        "reach.dim": "6",
        "reach.max_updates": "3",
        "reach.min_updates": "3",
        "reach.batch_size": "32",
        "reach.learning_rate": "0.01",
        "training.completion_share": "1",
        **{f"features.{name}": "off" for name, on in flatten(configure("plus").model_dump()["features"]).items() if on},
        "features.names": "on",
    },
    "complex": _SOFTMAX_CHANGES,
    "bique": _SOFTMAX_CHANGES,
    "tntcomplex": _TEMPORAL_CHANGES,
    "telm": {**_TEMPORAL_CHANGES, "training.first_stage": "1"},
    "tero": {**_FACTORIZATION_CHANGES, "training.margin": "10"},
    "gen": {
        **_SHARED,
        **_PRETRAINING,
        **_RANKING,
        "training.start_shots": "0",
        "network.bases": "4",
        "network.transductive": "on",
    },
    "filt": {
        **_SHARED,
        **_PRETRAINING,
        **_RANKING,
        "network.concepts": "off",
        "network.concepts_every": "1",
    },
    "titer": {
        **_FACTS,
        "training.batch_size": "100",
        "training.weight_decay": "0.1",
        "training.gamma": "0.5",
        "training.entropy_coef": "0.1",
        "training.entropy_decay": "0.5",
        "training.shaping": "off",
        "training.lag_bins": "5",
        "network.entity_dim": "6",
        "network.time_dim": "3",
        "network.relation_dim": "6",
        "network.history_dim": "6",
        "network.hidden": "6",
        "network.hops": "2",
        "network.action_space": "3",
        "search.beam": "2",
        "search.inductive_mean": "on",
        "search.inductive_share": "0.5",
    },
    "mean": {**_AGGREGATION_CHANGES, "network.transition": "linear", "network.masked": "off"},
    "lan": _AGGREGATION_CHANGES,
}
"""Another value for every setting."""

NEEDS: dict[str, tuple[str, ...]] = {
    "training.patience": ("training.episodes=4", "training.learning_rate=1e-12"),
    "training.entropy_decay": ("training.entropy_coef=0.1",),
    "training.folds": ("training.tasks=pseudo", "training.folds=3"),
    "training.start_shots": ("training.episodes=4",),
    "encoder.min_updates": ("encoder.batch_size=100000",),
    "encoder.name_dropout": ("features.names=on",),
    "encoder.contexts": ("setting=forecast",),
    **dict.fromkeys((f"reach.{name}" for name in ("used", "dim", "max_updates", "batch_size")), ("setting=forecast",)),
    "reach.learning_rate": ("setting=forecast",),
    "reach.min_updates": ("setting=forecast", "reach.batch_size=6000"),
    "training.completion_share": ("setting=forecast",),
    "search.inductive_share": ("search.inductive_mean=on",),
    "fold_in.steps": ("sees=fold-in",),
    "fold_in.learning_rate": ("sees=fold-in",),
}
"""Settings under which a setting has an effect, where the base is not enough."""

Observe = Callable[[str, tuple[str, ...]], str]


@pytest.fixture(scope="module")
def observe(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Observe:
    """A digest of everything that a short training with given settings produces; each is trained once."""
    dataset, known = load_dataset(data), dict[tuple[str, tuple[str, ...]], str]()

    def digest(model: str, settings: tuple[str, ...]) -> str:
        if (model, settings) not in known:
            known[model, settings] = train_briefly(dataset, model, settings, tmp_path_factory.mktemp("run"))
        return known[model, settings]

    return digest


def train_briefly(dataset: Dataset, name: str, settings: tuple[str, ...], folder: Path) -> str:
    """Trains in a folder and returns the digest of weights, trace and scores."""
    setup = prepare_data(dataset, configure(settings=settings, model=name), "data")
    context, visible = GraphContext.from_dataset(dataset, setup.time_unit), setup.sampler.always_visible_facts
    model = trainable_class(name).prepare(
        Preparation(dataset, setup.config, context, visible, Artifacts(folder), ignore_progress, never_stop)
    )
    run_episodes(setup, model, RunFolder(folder), Callbacks())
    task = official_task(dataset.valid, setup.config.shots, dataset.vocabulary.relation_ids, setup.config.setting)
    scores = model.scorer().score(task, task.queries.take(slice(0, 40)))
    sha = hashlib.sha256()
    for parameter in model.module.parameters():
        sha.update(parameter.detach().numpy().tobytes())
    sha.update(repr([(entry.episode, entry.valid_mrr) for entry in trace.read(folder / "trace.jsonl")]).encode())
    sha.update(scores.entity.tobytes() + scores.score.tobytes())
    return sha.hexdigest()


def test_every_model_is_covered() -> None:
    assert BASE.keys() == CHANGES.keys() == CONFIGS.keys() == TRAINABLE.keys()


@pytest.mark.parametrize("model", CONFIGS)
def test_every_setting_has_an_entry(model: str) -> None:
    assert CHANGES[model].keys() == describe_settings(CONFIGS[model]).keys()


@pytest.mark.parametrize("model", CONFIGS)
def test_same_settings_lead_to_the_same_result(model: str, data: Path, observe: Observe, tmp_path: Path) -> None:
    assert train_briefly(load_dataset(data), model, BASE[model], tmp_path) == observe(model, BASE[model])


@pytest.mark.parametrize(("model", "name"), [(model, name) for model in CONFIGS for name in CHANGES[model]])
def test_setting_has_an_effect(model: str, name: str, observe: Observe) -> None:
    base = (*BASE[model], *NEEDS.get(name, ()))
    changed = (*base, f"{name}={CHANGES[model][name]}")
    assert configure(settings=changed, model=model) != configure(settings=base, model=model)
    assert observe(model, changed) != observe(model, base)
