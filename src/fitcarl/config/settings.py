"""Settings by dotted name: assignment from text, and listing."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Any

from pydantic import ValidationError

from fitcarl.config.base import Config, Section
from fitcarl.config.presets import DEFAULT_PRESET, default_preset, find_preset, preset_name
from fitcarl.config.schema import CONFIGS, config_class
from fitcarl.errors import InputError, did_you_mean

_CHOSEN = ("model", "preset")
"""Fields that are chosen with options of their own and never assigned."""

_EXPECTED = {
    "bool_parsing": "on or off",
    "bool_type": "on or off",
    "float_parsing": "a number",
    "int_parsing": "a whole number",
    "int_from_float": "a whole number",
}
"""What a value should be, by pydantic's error type."""


def configure(
    preset: str | None = None, settings: Iterable[str] = (), *, model: str | None = None, **top_level: Any
) -> Config:
    """The settings of a preset or a model, then assignments in order, then keyword arguments.

    Args:
        preset: Name or file of a preset; ``DEFAULT_PRESET`` if neither a preset nor a model is given.
        settings: Assignments such as ``"training.learning_rate=0.0005"``.
        model: Name of a model, instead of a preset: the model with its defaults.
        top_level: Top-level settings such as ``shots`` and ``seed``.

    Raises:
        InputError: If a name or a value is not valid for the model.
    """
    if preset is not None and model is not None:
        raise InputError("either a preset or a model", found=f"{preset} and {model}", expected="one of them")
    name = preset or (default_preset(model) if model is not None else DEFAULT_PRESET)
    model = model or find_preset(name).model
    config = config_class(model)
    tree: dict[str, Any] = {"preset": preset_name(name)}
    for setting, value in (find_preset(name).settings if preset is not None else {}).items():
        _assign(config, tree, setting, value)
    for assignment in settings:
        setting, sign, text = (part.strip() for part in assignment.partition("="))
        if not sign:
            raise InputError("not a setting", found=assignment, expected="name=value, such as training.episodes=100")
        if setting in top_level:
            raise InputError("not set this way", found=assignment, expected=f"--{setting} {text}")
        _assign(config, tree, setting, text)
    for setting, value in top_level.items():
        if setting not in config.model_fields:
            expected = did_you_mean(setting, config.model_fields) or ", ".join(config.model_fields)
            raise InputError("unknown setting", found=setting, expected=expected)
        tree[setting] = value
    try:
        return config.model_validate(tree)
    except ValidationError as error:
        raise _one_line(error) from None


def describe_settings(config: type[Config]) -> dict[str, str]:
    """Every dotted name that can be assigned, with its description."""
    described: dict[str, str] = {}
    for name, field in config.model_fields.items():
        section = field.annotation
        if isinstance(section, type) and issubclass(section, Section):
            described |= {f"{name}.{inner}": entry.description or "" for inner, entry in section.model_fields.items()}
        elif name not in _CHOSEN:
            described[name] = field.description or ""
    return described


def flatten(tree: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """Values by dotted name."""
    found: dict[str, Any] = {}
    for name, value in tree.items():
        found |= flatten(value, f"{prefix}{name}.") if isinstance(value, dict) else {prefix + name: value}
    return found


def _assign(config: type[Config], tree: dict[str, Any], name: str, value: Any) -> None:
    known = describe_settings(config)
    if name not in known:
        raise _unknown(config, name)
    *sections, leaf = name.split(".")
    for section in sections:
        tree = tree.setdefault(section, {})
    tree[leaf] = value


def _unknown(config: type[Config], name: str) -> InputError:
    """The error for a setting that a model does not have, with the nearest name that it has."""
    model = config.model_fields["model"].default
    others = [other for other, its in CONFIGS.items() if name in describe_settings(its)]
    problem = f"not a setting of model {model}" if others else "unknown setting"
    nearest = difflib.get_close_matches(name, describe_settings(config), n=1, cutoff=0.0)
    expected = f"a setting of model {model}; `fitcarl settings` lists them"
    return InputError(problem, found=name, expected=expected, hint=f"did you mean '{nearest[0]}'?")


def _one_line(error: ValidationError) -> InputError:
    first = error.errors()[0]
    name = ".".join(str(part) for part in first["loc"])
    found = None if isinstance(first["input"], dict) else first["input"]
    if expected := _EXPECTED.get(first["type"]):
        return InputError(f"not a value of setting {name}", found=found, expected=expected)
    problem = first["msg"].removeprefix("Value error, ")
    return InputError(f"setting {name}: {problem}" if name else problem, found=found)
