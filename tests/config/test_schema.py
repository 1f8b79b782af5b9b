from __future__ import annotations

import pytest

from fitcarl.config.schema import PRESETS, Config, ModelConfig, configure, setting_names
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
    assert config.embedding.dimension == 100
    assert (config.model.steps, config.model.action_space, config.model.heads, config.model.layers) == (3, 50, 2, 2)
    assert (config.learn.regularizer, config.learn.margin, config.learn.discount) == (1e-9, 5.0, 0.95)
    assert (config.learn.rate, config.learn.clip, config.learn.queries_per_entity) == (1e-3, 5.0, 10)
    assert (config.learn.reward, config.learn.baseline, config.learn.entropy) == ("step", False, 0.0)
    assert (config.search.beam, config.search.aggregate) == (100, "max")
    assert not config.model.finetune


@pytest.mark.parametrize("preset", PRESETS)
def test_every_preset_can_be_configured_and_keeps_its_name(preset: str) -> None:
    assert configure(preset).preset == preset


def test_assignments_reach_every_kind_of_setting() -> None:
    config = configure(
        "paper",
        [
            "shots=1",
            "learn.rate=0.01",
            "model.sampling=nearest",
            "model.confidence=off",
            "model.finetune=on",
            "seed = 7",
        ],
    )
    assert (config.shots, config.seed, config.learn.rate) == (1, 7, 0.01)
    assert (config.model.sampling, config.model.confidence, config.model.finetune) == ("nearest", False, True)
    assert config.learn.margin == 5.0


def test_the_last_assignment_wins() -> None:
    assert configure(settings=["learn.rate=0.1", "learn.rate=0.2"], shots=1).learn.rate == 0.2


def test_what_is_given_as_an_argument_is_not_assigned_too() -> None:
    with pytest.raises(InputError, match="expected --shots 5"):
        configure(settings=["shots=5"], shots=3)


@pytest.mark.parametrize(
    ("written", "nearest"),
    [("learn.rat=1", "learn.rate"), ("model.actionspace=4", "model.action_space"), ("shot=1", "shots")],
)
def test_an_unknown_setting_is_answered_with_the_nearest_name(written: str, nearest: str) -> None:
    line = complaint(written)
    assert written.partition("=")[0] in line
    assert f"did you mean '{nearest}'" in line


def test_an_unknown_setting_with_nothing_near_says_what_a_name_looks_like() -> None:
    assert "learn.rate" in complaint("zzzz=1")


def test_a_section_is_no_setting() -> None:
    assert "unknown setting" in complaint("model=1")


def test_what_is_no_assignment_is_quoted() -> None:
    line = complaint("learn.rate")
    assert "'learn.rate'" in line
    assert "name=value" in line


@pytest.mark.parametrize(
    ("setting", "name", "found"),
    [
        ("learn.rate=fast", "learn.rate", "'fast'"),
        ("learn.rate=0", "learn.rate", "0"),
        ("learn.rate=-1", "learn.rate", "-1"),
        ("learn.discount=1.5", "learn.discount", "1.5"),
        ("model.steps=2.5", "model.steps", "2.5"),
        ("model.confidence=maybe", "model.confidence", "'maybe'"),
        ("model.sampling=newest", "model.sampling", "'newest'"),
        ("embedding.dimension=7", "embedding.dimension", "7"),
        ("shots=", "shots", "''"),
        ("learn.rate=inf", "learn.rate", "'inf'"),
        ("learn.margin=nan", "learn.margin", "'nan'"),
        ("model.steps=on", "model.steps", "on"),
        ("seed=off", "seed", "off"),
    ],
)
def test_a_value_that_does_not_fit_is_named_and_quoted(setting: str, name: str, found: str) -> None:
    line = complaint(setting)
    assert name in line
    assert found in line


def test_a_choice_that_does_not_exist_is_answered_with_those_that_do() -> None:
    line = complaint("model.sampling=newest")
    assert all(choice in line for choice in ("adaptive", "random", "nearest"))


def test_heads_must_divide_the_dimension() -> None:
    line = complaint("model.heads=3")
    assert line.startswith("model.heads = 3")
    assert "embedding.dimension" in line
    assert configure("paper", ["model.heads=5", "embedding.dimension=10"]).model.heads == 5


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
    config = configure("paper", ["learn.entropy=0.01", "model.temporal=off"])
    assert Config.model_validate_json(config.model_dump_json()) == config


def test_ablation_e_includes_ablation_d() -> None:
    assert ModelConfig().biased
    assert not ModelConfig(time_bias=False).biased
    assert not ModelConfig(temporal=False).biased
