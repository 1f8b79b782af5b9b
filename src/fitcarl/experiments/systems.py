"""Systems: what the rows of a results table are about, a model or preset with settings, or a heuristic."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Literal, get_args

from fitcarl.config.presets import PRESETS, find_preset, is_preset_file, preset_name
from fitcarl.config.schema import config_class
from fitcarl.config.settings import configure
from fitcarl.errors import InputError, did_you_mean
from fitcarl.models.registry import HEURISTIC, TRAINABLE

Kind = Literal["heuristic", "trained", "unavailable"]

PUBLISHED_NAMES: Mapping[str, str] = MappingProxyType(
    {
        "complex": "ComplEx",
        "bique": "BiQUE",
        "tntcomplex": "TNTComplEx",
        "telm": "TeLM",
        "tero": "TeRo",
        "mean": "MEAN",
        "lan": "LAN",
        "gen": "GEN",
        "titer": "TITer",
        "filt": "FILT",
        "fitcarl": "FITCARL",
    }
)
"""Model → its name in the paper."""

TABLE_2 = (*(name for name in PUBLISHED_NAMES if name != "fitcarl"), "paper", "paper-full", "plus")
"""The systems of Table 2, in the order of the paper, and ``plus``; ``paper-full`` has the paper's training length."""

_AS_PUBLISHED = ("paper", "paper-full", "authors")
"""Presets whose figures the paper's are comparable with; other presets are improved forms of a model."""

EXPECTED_MINUTES: Mapping[str, float] = MappingProxyType(
    {"filt": 15, "titer": 15, "lan": 15, "fitcarl": 10, "plus": 6, "gen": 4, "mean": 3, "tero": 3, "telm": 2}
)
"""Rough training time on the smallest benchmark, to do cheap work first; one minute for all other models."""


@dataclass(frozen=True)
class System:
    """A row of a results table, before it is evaluated on data."""

    name: str
    """A model, a preset, a heuristic, or an ablation as the paper names it."""
    kind: Kind = "trained"
    preset: str | None = None
    model: str | None = None
    """The model, if there is no preset."""
    settings: tuple[str, ...] = ()
    """``name=value`` assignments that belong to the system."""
    sees: str | None = None
    """What a transductive model has seen of the unseen entities; None if the model has no such setting."""
    published: str | None = None
    """The name of the system in the paper."""
    folder_part: str = ""
    """Distinguishes the run folders of variants."""

    @property
    def label(self) -> str:
        """The name with the variant of a transductive model."""
        return self.name if self.sees is None else f"{self.name} ({_SEES.get(self.sees, self.sees)})"

    @property
    def model_name(self) -> str | None:
        """The trained model; None for a heuristic."""
        if self.kind == "heuristic":
            return None
        return self.model if self.preset is None else find_preset(self.preset).model

    @property
    def stem(self) -> str:
        """The part of a run folder's name that stands for the system."""
        chosen = self.model or self.name if self.preset is None else preset_name(self.preset)
        return f"{chosen}{self.folder_part}"

    @property
    def expected_minutes(self) -> float:
        """Rough training time on the smallest benchmark."""
        return 0.0 if self.kind != "trained" else EXPECTED_MINUTES.get(self.model_name or "", 1.0)


_SEES = {"support": "+support"}


def settings_for(system: System, settings: Iterable[str]) -> tuple[str, ...]:
    """The assignments that apply to a system: those without a prefix, and ``paper:training.episodes=100`` for paper."""
    found = []
    for text in settings:
        name, sign, rest = text.partition(":")
        if not sign or "=" in name:
            found.append(text)
        elif name.strip() in (system.name, system.preset, system.model):
            found.append(rest.strip())
    return tuple(found)


def check_prefixes(systems: Sequence[System], settings: Iterable[str]) -> None:
    """Raises an InputError if an assignment such as ``paper:training.episodes=100`` applies to none of the systems."""
    known = {name for system in systems for name in (system.name, system.preset, system.model) if name}
    for text in settings:
        prefix, sign, _ = text.partition(":")
        if sign and "=" not in prefix and prefix.strip() not in known:
            hint = did_you_mean(prefix.strip(), known)
            expected = f"one of {', '.join(sorted(known))} before the colon"
            raise InputError("applies to no system", field="--set", found=text, expected=expected, hint=hint)


def find_systems(names: Iterable[str], settings: Sequence[str] = ()) -> list[System]:
    """The systems with these names.

    A transductive model stands for all its variants of setting ``sees``; ``complex:fold-in`` is one of them. A model of
    the paper that is not in this version is a system that cannot be run.

    Args:
        names: Models, presets and heuristics.
        settings: Assignments, see ``settings_for``; one of ``sees`` replaces the variants.

    Raises:
        InputError: If a name is unknown.
    """
    found: list[System] = []
    for name in names:
        base, _, variant = name.partition(":")
        found += _variants(base, variant, settings)
    return list(dict.fromkeys(found))


def _variants(name: str, variant: str, settings: Sequence[str]) -> list[System]:
    if name in PRESETS or is_preset_file(name):
        published = PUBLISHED_NAMES.get(find_preset(name).model) if name in _AS_PUBLISHED else None
        system = System(preset_name(name), preset=name, published=published)
    elif name in TRAINABLE:
        system = System(name, model=name, published=PUBLISHED_NAMES.get(name))
    elif name in HEURISTIC:
        system = System(name, "heuristic")
    elif name in PUBLISHED_NAMES:
        system = System(name, "unavailable", published=PUBLISHED_NAMES[name])
    else:
        known = [*PRESETS, *TRAINABLE, *HEURISTIC]
        hint = did_you_mean(name, known)
        raise InputError("unknown model or preset", found=name, expected=f"one of {', '.join(known)}", hint=hint)
    values = _sees(system)
    if variant and variant not in values:
        expected = f"one of {', '.join(values)}" if values else f"{name} alone: it has no variants"
        raise InputError(f"unknown variant of {name}", found=variant, expected=expected)
    if not values:
        return [system]
    own = settings_for(system, settings)
    chosen = [text.partition("=")[2].strip() for text in own if text.partition("=")[0].strip() == "sees"]
    default = getattr(configure(system.preset, model=system.model), "sees", None)
    wanted = chosen[-1:] or ([variant] if variant else values)
    return [
        replace(
            system,
            settings=() if chosen else (f"sees={value}",),  # the assignment is among the settings of all systems
            sees=value,
            folder_part="" if value == default else f"-{value.replace('-', '_')}",
        )
        for value in wanted
    ]


def _sees(system: System) -> tuple[str, ...]:
    """The values of setting ``sees``; empty if the model has no such setting."""
    if system.kind != "trained":
        return ()
    field = config_class(system.model_name or "").model_fields.get("sees")
    return () if field is None else tuple(map(str, get_args(field.annotation)))
