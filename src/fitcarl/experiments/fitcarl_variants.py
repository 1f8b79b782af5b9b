"""The rows of Table 3: variants of the paper's model, each of which lacks one part or makes one choice differently."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from fitcarl.errors import InputError, did_you_mean
from fitcarl.experiments.ablate import ABLATIONS, Ablation
from fitcarl.experiments.systems import System, find_systems

CHOICES = (
    Ablation("scale", "attention scores are divided by √d, as printed", ("network.attention_scale=model",)),
    Ablation("queries", "all other facts of an entity are queries", ("training.queries_per_entity=0",)),
    Ablation("returns", "discounted returns", ("training.reward=return", "training.discount_loss=off")),
    Ablation("standardise", "weights of steps have mean 0 and deviation 1", ("training.baseline=standardise",)),
    Ablation("entropy", "a fading entropy bonus", ("training.entropy_coef=0.01", "training.entropy_decay=0.9")),
    Ablation("self-loop", "a self-loop leaves the history as it is", ("network.self_loop_history=off",)),
)
"""What the text of the paper says but preset ``paper`` does not do, then what the authors' code adds to the text."""

_FULL, _CHOICES = "full", "choices"


def variant_systems(names: Sequence[str], settings: Sequence[str]) -> list[System]:
    """The systems of Table 3.

    ``paper`` stands for the full model and all its ablations, another preset for itself, ``NAME:B`` for one ablation of
    a preset, ``NAME:full`` for the preset without any, ``NAME:returns`` for one choice and ``NAME:choices`` for all.

    Args:
        names: What is compared.
        settings: Assignments for all systems.

    Raises:
        InputError: If a name is unknown, or of a model that is not the paper's.
    """
    found: list[System] = []
    for text in names:
        name, _, part = text.partition(":")
        [system, *_] = find_systems([name], settings)
        if system.model_name != "fitcarl":
            expected = "a preset of model fitcarl, such as paper"
            raise InputError("Table 3 is about the model of the paper", found=system.name, expected=expected)
        found += _variants(system, part)
    return list(dict.fromkeys(found))


def _variants(system: System, part: str) -> list[System]:
    ablations = {one.name: one for one in ABLATIONS["fitcarl"]}
    choices = {one.name: one for one in CHOICES}
    if part == "":
        return [system, *(_ablated(system, one) for one in ablations.values() if system.name == "paper")]
    if part == _FULL:
        return [system]
    if part == _CHOICES:
        return [_with_choice(system, one) for one in CHOICES]
    if part in ablations:
        return [_ablated(system, ablations[part])]
    if part in choices:
        return [_with_choice(system, choices[part])]
    known = [_FULL, *ablations, _CHOICES, *choices]
    expected = f"one of {', '.join(known)}"
    raise InputError("unknown variant", found=part, expected=expected, hint=did_you_mean(part, known))


def _ablated(system: System, ablation: Ablation) -> System:
    name = ablation.name if system.name == "paper" else f"{system.name} {ablation.name}"
    return _changed(system, ablation, name, ablation.name)


def _with_choice(system: System, choice: Ablation) -> System:
    return _changed(system, choice, f"{system.name} + {choice.name}", None)


def _changed(system: System, change: Ablation, name: str, published: str | None) -> System:
    part = f"-{change.name}"
    return replace(system, name=name, settings=change.settings, published=published, folder_part=part)
