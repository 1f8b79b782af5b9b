"""Presets, assignments by name, and the errors for names and values that are not valid."""

from __future__ import annotations

from typing import Any

import pytest

from fitcarl.config.presets import PRESETS
from fitcarl.config.schema import (
    CONFIGS,
    FitcarlConfig,
    FitcarlTrainingConfig,
    NetworkConfig,
    PlusConfig,
    parse_config,
)
from fitcarl.config.settings import configure, describe_settings, flatten
from fitcarl.errors import InputError


def message(*settings: str, preset: str = "paper", **given: Any) -> str:
    """The one-line error of an invalid configuration."""
    with pytest.raises(InputError) as error:
        configure(preset, settings, **given)
    line = str(error.value)
    assert "\n" not in line
    return line


def test_preset_paper_has_the_values_of_the_paper() -> None:
    config = configure("paper")
    assert isinstance(config, FitcarlConfig)
    network, training = config.network, config.training
    assert config.embedding.dim == 100
    assert (network.hops, network.action_space, network.heads, network.layers) == (3, 50, 2, 2)
    assert (training.kl_weight, training.reward_margin, training.gamma) == (1e-9, 5.0, 0.95)
    assert (training.learning_rate, training.grad_clip, training.queries_per_entity) == (1e-3, 5.0, 10)
    assert (training.reward, training.baseline, training.entropy_coef) == ("step", "none", 0.0)
    assert (training.warmup, training.lr_floor, training.episodes, training.patience) == (0, 1.0, 200, 10)
    assert (network.attention_scale, network.policy, network.self_loop_history) == ("head", "softmax", True)
    assert (config.search.beam, config.search.aggregate) == (100, "max")
    assert not network.finetune


def changed(preset: str) -> dict[str, Any]:
    """The settings in which a preset differs from preset ``paper``."""
    paper, other = (flatten(configure(name).model_dump()) for name in ("paper", preset))
    return {name: other[name] for name in paper if paper[name] != other[name] and name != "preset"}


def test_presets_of_the_paper_differ_only_in_what_they_say() -> None:
    assert changed("paper-full") == {
        "training.episodes": 1000,
        "training.patience": 0,
        "training.queries_per_entity": 0,
    }
    assert configure("paper-full").queries_per_entity is None
    assert changed("paper-product") == {"network.policy": "product"}
    assert changed("authors") == {
        "network.self_loop_history": False,
        "training.reward": "return",
        "training.baseline": "standardise",
        "training.entropy_coef": 0.01,
        "training.entropy_decay": 0.9,
        "training.discount_loss": False,
    }


@pytest.mark.parametrize(("before", "now"), [(False, "none"), (True, "mean")])
def test_baseline_of_earlier_runs_is_understood(before: bool, now: str) -> None:
    assert FitcarlTrainingConfig.model_validate({"baseline": before}).baseline == now


@pytest.mark.parametrize("preset", PRESETS)
def test_preset_keeps_its_name_and_model(preset: str) -> None:
    config = configure(preset)
    assert (config.preset, config.model) == (preset, PRESETS[preset].model)


@pytest.mark.parametrize("model", CONFIGS)
def test_model_has_its_default_settings(model: str) -> None:
    config = configure(model=model)
    assert config.model == model
    assert config == CONFIGS[model](preset=config.preset)
    if config.preset in PRESETS:
        assert config == configure(config.preset)


def test_preset_and_model_are_not_combined() -> None:
    with pytest.raises(InputError, match="either a preset or a model"):
        configure("paper", model="plus")


def test_unknown_model_names_the_nearest() -> None:
    with pytest.raises(InputError, match="did you mean 'fitcarl'"):
        configure(model="fitcarll")


def test_settings_of_every_type_are_assigned() -> None:
    assignments = ["shots=1", "training.learning_rate=0.01", "network.sampling=nearest", "network.confidence=off"]
    config = configure("paper", [*assignments, "network.finetune=on", "seed = 7"])
    assert isinstance(config, FitcarlConfig)
    assert (config.shots, config.seed, config.training.learning_rate) == (1, 7, 0.01)
    assert (config.network.sampling, config.network.confidence, config.network.finetune) == ("nearest", False, True)
    assert config.training.reward_margin == 5.0


def test_last_assignment_wins() -> None:
    assert configure(settings=["training.grad_clip=0.1", "training.grad_clip=0.2"], shots=1).training.grad_clip == 0.2


def test_argument_is_not_assigned_too() -> None:
    assert "expected --shots 5" in message("shots=5", shots=3)


@pytest.mark.parametrize(
    ("name", "nearest"),
    [
        ("training.learning_rat", "training.learning_rate"),
        ("network.actionspace", "network.action_space"),
        ("shot", "shots"),
    ],
)
def test_unknown_setting_names_the_nearest(name: str, nearest: str) -> None:
    line = message(f"{name}=1")
    assert name in line
    assert f"did you mean '{nearest}'" in line


@pytest.mark.parametrize("preset", PRESETS)
def test_settings_of_other_models_are_rejected(preset: str) -> None:
    own = describe_settings(CONFIGS[PRESETS[preset].model])
    for model, config in CONFIGS.items():
        for name in describe_settings(config).keys() - own.keys():
            line = message(f"{name}=1", preset=preset)
            assert f"not a setting of model {PRESETS[preset].model}" in line, (model, name)
            assert any(f"did you mean '{known}'?" in line for known in own)


def test_section_is_not_a_setting() -> None:
    assert "unknown setting" in message("network=1")


def test_text_without_value_is_quoted() -> None:
    line = message("training.grad_clip")
    assert "'training.grad_clip'" in line
    assert "name=value" in line


@pytest.mark.parametrize(
    ("setting", "found"),
    [
        ("training.learning_rate=fast", "'fast'"),
        ("training.learning_rate=0", "0"),
        ("training.learning_rate=-1", "-1"),
        ("training.gamma=1.5", "1.5"),
        ("training.lr_floor=1.5", "1.5"),
        ("network.hops=2.5", "2.5"),
        ("network.confidence=maybe", "'maybe'"),
        ("network.sampling=newest", "'newest'"),
        ("embedding.dim=7", "7"),
        ("shots=", "''"),
        ("training.learning_rate=inf", "'inf'"),
        ("training.reward_margin=nan", "'nan'"),
        ("network.hops=on", "on"),
        ("seed=off", "off"),
    ],
)
def test_invalid_value_is_named_and_quoted(setting: str, found: str) -> None:
    line = message(setting)
    assert setting.partition("=")[0] in line
    assert found in line


def test_invalid_choice_lists_the_valid_ones() -> None:
    line = message("network.sampling=newest")
    assert all(choice in line for choice in ("adaptive", "random", "nearest"))


def test_heads_must_divide_the_dimension() -> None:
    line = message("network.heads=3")
    assert line.startswith("network.heads = 3")
    assert "embedding.dim" in line
    config = configure("paper", ["network.heads=5", "embedding.dim=10"])
    assert isinstance(config, FitcarlConfig)
    assert config.network.heads == 5


def test_unknown_preset_names_the_nearest() -> None:
    assert "did you mean 'paper'" in message(preset="papre")
    assert "paper" in message(preset="zzzz")


@pytest.mark.parametrize("name", ["preset", "model"])
def test_preset_and_model_are_not_assigned(name: str) -> None:
    assert name in message(f"{name}=other")


def test_unknown_keyword_names_the_nearest() -> None:
    with pytest.raises(InputError, match=r"shotz.*did you mean 'shots'"):
        configure("paper", shotz=1)


@pytest.mark.parametrize("model", CONFIGS)
def test_every_setting_has_a_description_and_accepts_its_default(model: str) -> None:
    config = configure(model=model)
    values = flatten(config.model_dump())
    described = describe_settings(CONFIGS[model])
    assert described.keys() == values.keys() - {"model", "preset"}
    for name, description in described.items():
        assert description
        assert configure(model=model, settings=[f"{name}={values[name]}"]) == config


def test_config_is_immutable() -> None:
    with pytest.raises(ValueError, match="frozen"):
        configure("paper").shots = 4  # type: ignore[misc]


@pytest.mark.parametrize("preset", PRESETS)
def test_config_survives_json(preset: str) -> None:
    config = configure(preset, ["training.grad_clip=0.01"])
    assert parse_config(config.model_dump(mode="json")) == config


@pytest.mark.parametrize("tree", [{}, {"model": "unknown"}, {"model": "plus", "preset": "plus", "network": {}}, []])
def test_json_of_no_model_is_rejected(tree: Any) -> None:
    with pytest.raises(ValueError, match=r"unknown model|Extra inputs"):
        parse_config(tree)


def test_pseudo_unseen_tasks_replace_a_missing_meta_train_split() -> None:
    assert configure("plus").without_meta_train().task_source == "pseudo"
    assert configure("plus", ["training.tasks=meta"]).without_meta_train().task_source == "meta"
    assert configure("paper").without_meta_train().task_source == "meta"


def test_only_names_are_side_information() -> None:
    assert configure("plus+names").side_information == {"names": "on"}
    assert configure("plus").side_information == configure("paper").side_information == {}
    assert PlusConfig().features.off == ("names",)


def test_ablation_e_includes_ablation_d() -> None:
    assert NetworkConfig().biased
    assert not NetworkConfig(time_bias=False).biased
    assert not NetworkConfig(temporal=False).biased
