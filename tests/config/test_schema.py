from __future__ import annotations

import pytest

from fitcarl.config.schema import PRESETS, Config, NetworkConfig, configure, setting_names
from fitcarl.errors import InputError


def complaint(*settings: str, preset: str = "paper") -> str:
    with pytest.raises(InputError) as trouble:
        configure(preset, settings)
    line = str(trouble.value)
    assert "\n" not in line
    return line


def test_the_preset_paper_is_what_the_paper_says() -> None:
    config = configure("paper")
    assert config.preset == "paper"
    assert config.embedding.dim == 100
    assert (config.network.hops, config.network.action_space, config.network.heads, config.network.layers) == (
        3,
        50,
        2,
        2,
    )
    assert (config.training.kl_weight, config.training.reward_margin, config.training.gamma) == (1e-9, 5.0, 0.95)
    training = config.training
    assert (training.learning_rate, training.grad_clip, training.queries_per_entity) == (
        1e-3,
        5.0,
        10,
    )
    assert (config.training.reward, config.training.baseline, config.training.entropy_coef) == ("step", False, 0.0)
    assert (config.search.beam, config.search.aggregate) == (100, "max")
    assert not config.network.finetune


@pytest.mark.parametrize("preset", PRESETS)
def test_every_preset_can_be_configured_and_keeps_its_name(preset: str) -> None:
    assert configure(preset).preset == preset


def test_assignments_reach_every_kind_of_setting() -> None:
    config = configure(
        "paper",
        [
            "shots=1",
            "training.learning_rate=0.01",
            "network.sampling=nearest",
            "network.confidence=off",
            "network.finetune=on",
            "seed = 7",
        ],
    )
    assert (config.shots, config.seed, config.training.learning_rate) == (1, 7, 0.01)
    assert (config.network.sampling, config.network.confidence, config.network.finetune) == ("nearest", False, True)
    assert config.training.reward_margin == 5.0


def test_the_last_assignment_wins() -> None:
    assert (
        configure(settings=["training.learning_rate=0.1", "training.learning_rate=0.2"], shots=1).training.learning_rate
        == 0.2
    )


def test_what_is_given_as_an_argument_is_not_assigned_too() -> None:
    with pytest.raises(InputError, match="expected --shots 5"):
        configure(settings=["shots=5"], shots=3)


@pytest.mark.parametrize(
    ("written", "nearest"),
    [
        ("training.learning_rat=1", "training.learning_rate"),
        ("network.actionspace=4", "network.action_space"),
        ("shot=1", "shots"),
    ],
)
def test_an_unknown_setting_is_answered_with_the_nearest_name(written: str, nearest: str) -> None:
    line = complaint(written)
    assert written.partition("=")[0] in line
    assert f"did you mean '{nearest}'" in line


def test_an_unknown_setting_with_nothing_near_says_what_a_name_looks_like() -> None:
    assert "training.learning_rate" in complaint("zzzz=1")


def test_a_section_is_no_setting() -> None:
    assert "unknown setting" in complaint("network=1")


def test_what_is_no_assignment_is_quoted() -> None:
    line = complaint("training.learning_rate")
    assert "'training.learning_rate'" in line
    assert "name=value" in line


@pytest.mark.parametrize(
    ("setting", "name", "found"),
    [
        ("training.learning_rate=fast", "training.learning_rate", "'fast'"),
        ("training.learning_rate=0", "training.learning_rate", "0"),
        ("training.learning_rate=-1", "training.learning_rate", "-1"),
        ("training.gamma=1.5", "training.gamma", "1.5"),
        ("network.hops=2.5", "network.hops", "2.5"),
        ("network.confidence=maybe", "network.confidence", "'maybe'"),
        ("network.sampling=newest", "network.sampling", "'newest'"),
        ("embedding.dim=7", "embedding.dim", "7"),
        ("shots=", "shots", "''"),
        ("training.learning_rate=inf", "training.learning_rate", "'inf'"),
        ("training.reward_margin=nan", "training.reward_margin", "'nan'"),
        ("network.hops=on", "network.hops", "on"),
        ("seed=off", "seed", "off"),
    ],
)
def test_a_value_that_does_not_fit_is_named_and_quoted(setting: str, name: str, found: str) -> None:
    line = complaint(setting)
    assert name in line
    assert found in line


def test_a_choice_that_does_not_exist_is_answered_with_those_that_do() -> None:
    line = complaint("network.sampling=newest")
    assert all(choice in line for choice in ("adaptive", "random", "nearest"))


def test_heads_must_divide_the_dimension() -> None:
    line = complaint("network.heads=3")
    assert line.startswith("network.heads = 3")
    assert "embedding.dim" in line
    assert configure("paper", ["network.heads=5", "embedding.dim=10"]).network.heads == 5


def test_an_unknown_preset_is_answered_with_the_nearest_name() -> None:
    assert "did you mean 'paper'" in complaint(preset="papre")
    assert "paper" in complaint(preset="zzzz")


def test_a_preset_is_chosen_not_assigned() -> None:
    assert "preset" in complaint("preset=other")


def test_an_unknown_keyword_is_answered_with_the_nearest_name() -> None:
    with pytest.raises(InputError, match=r"shotz.*did you mean 'shots'"):
        configure("paper", shotz=1)


def test_every_setting_has_a_description_and_can_be_assigned_its_default() -> None:
    config = Config()
    for name, description in setting_names().items():
        assert description
        value = config
        for part in name.split("."):
            value = getattr(value, part)
        assert configure("paper", [f"{name}={value}"]) == config


def test_settings_cannot_be_changed_afterwards() -> None:
    with pytest.raises(ValueError, match="frozen"):
        configure("paper").shots = 4  # type: ignore[misc]


def test_settings_survive_being_written_and_read() -> None:
    config = configure("paper", ["training.entropy_coef=0.01", "network.temporal=off"])
    assert Config.model_validate_json(config.model_dump_json()) == config


def test_ablation_e_includes_ablation_d() -> None:
    assert NetworkConfig().biased
    assert not NetworkConfig(time_bias=False).biased
    assert not NetworkConfig(temporal=False).biased
