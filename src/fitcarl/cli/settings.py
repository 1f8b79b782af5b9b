"""``fitcarl settings``: the settings of a preset or a model."""

from __future__ import annotations

from typing import Annotated

import typer

from fitcarl.cli import console
from fitcarl.config.presets import DEFAULT_PRESET, PRESET_HELP

_OPTIONS = ("shots", "seed")
"""Settings that have options of their own."""


def list_settings(
    preset: Annotated[str | None, typer.Option("--preset", help=f"{PRESET_HELP}. [default: {DEFAULT_PRESET}]")] = None,
    model: Annotated[str | None, typer.Option("--model", help="A model with its defaults.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON for programs.")] = False,
) -> None:
    """List the settings that 'fitcarl train --set NAME=VALUE' can change for a preset or a model."""
    from fitcarl.config.settings import configure, describe_settings, flatten
    from fitcarl.models.registry import HEURISTIC

    listed = []
    if model not in HEURISTIC:  # which have no settings
        config = configure(preset, model=model)
        values = flatten(config.model_dump())
        listed = [
            {"name": name, "value": values[name], "description": description}
            for name, description in describe_settings(type(config)).items()
            if name not in _OPTIONS
        ]
    if json:
        console.show_json(listed)
        return
    assignments = [f"{setting['name']}={_text(setting['value'])}" for setting in listed]
    width = max(map(len, assignments), default=0)
    for assignment, setting in zip(assignments, listed, strict=True):
        console.show(f"{assignment:<{width}}  {setting['description']}")


def _text(value: object) -> str:
    return {True: "on", False: "off"}[value] if isinstance(value, bool) else str(value)
