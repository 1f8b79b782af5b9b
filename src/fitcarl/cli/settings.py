"""``fitcarl settings``: what ``--set`` can change, and to what a preset sets it."""

from __future__ import annotations

from typing import Annotated

import typer

from fitcarl.cli import console

_OPTIONS = ("shots", "seed")
"""Settings that have options of their own."""


def list_settings(
    preset: Annotated[str, typer.Option("--preset", help="plus, plus+names or paper.")] = "plus",
    json: Annotated[bool, typer.Option("--json", help="Print JSON for programs.")] = False,
) -> None:
    """Show every setting that 'fitcarl train --set NAME=VALUE' can change, with a preset's value and what it is."""
    from fitcarl.config.schema import configure, flat, setting_names

    values = flat(configure(preset).model_dump())
    listed = [
        {"name": name, "value": values[name], "about": about}
        for name, about in setting_names().items()
        if name not in _OPTIONS
    ]
    if json:
        console.show_json(listed)
        return
    width = max(len(f"{one['name']}={_shown(one['value'])}") for one in listed)
    for one in listed:
        assigned = f"{one['name']}={_shown(one['value'])}"
        console.show(f"{assigned:<{width}}  {one['about']}")


def _shown(value: object) -> str:
    return {True: "on", False: "off"}[value] if isinstance(value, bool) else str(value)
