"""Ablations: a preset compared with variants that lack one of its parts, on meta-validation."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from fitcarl.config.presets import DEFAULT_PRESET
from fitcarl.config.schema import FeaturesConfig
from fitcarl.config.settings import configure
from fitcarl.core.files import write_atomically, write_json
from fitcarl.data.dataset import Dataset
from fitcarl.data.io.registry import load_dataset, resolve_source
from fitcarl.errors import InputError, did_you_mean
from fitcarl.evaluation.bootstrap import Interval, mean_interval
from fitcarl.evaluation.filtering import KnownAnswers
from fitcarl.evaluation.formatting import format_difference, format_interval, format_metric
from fitcarl.evaluation.report import Report, mrr_difference
from fitcarl.experiments.jobs import (
    TrainFunction,
    TrainingJob,
    TrainingUnit,
    mean_training_minutes,
    train_in_subprocess,
)
from fitcarl.experiments.sharing import work_through
from fitcarl.reporting.markdown import markdown_table
from fitcarl.runs.evaluate import evaluate

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Ablation:
    """A variant of a preset that lacks one part."""

    name: str
    description: str
    """The difference to the full preset, in a few words."""
    settings: tuple[str, ...]
    """``name=value`` assignments that remove the part."""


def _families() -> Iterator[Ablation]:
    """One ablation for every feature family of model ``plus``."""
    for name, field in FeaturesConfig.model_fields.items():
        yield Ablation(name.replace("_", " "), f"without {field.description}", (f"features.{name}=off",))


ABLATIONS: Mapping[str, tuple[Ablation, ...]] = MappingProxyType(
    {
        "fitcarl": (
            Ablation("A1", "random sampling of actions", ("network.sampling=random",)),
            Ablation("A2", "sampling of the actions nearest in time", ("network.sampling=nearest",)),
            Ablation("B", "no confidence learner", ("network.confidence=off",)),
            Ablation("C", "no concept regularizer", ("network.concepts=off",)),
            Ablation("D", "no time bias in the Transformer", ("network.time_bias=off",)),
            Ablation("E", "no time encoding at all", ("network.temporal=off",)),
        ),
        "plus": (
            *_families(),
            Ablation("nonlinear", "networks of width 1", ("policy.hidden=1", "policy.hidden_candidates=1")),
        ),
    }
)
"""The ablations of each model; those of ``fitcarl`` are named as in the paper."""

FULL = Ablation("full", "the full preset", ())


@dataclass(frozen=True)
class AblationPlan:
    """The runs of an ablation study."""

    data: str
    shots: int = 3
    preset: str = DEFAULT_PRESET
    seeds: int = 3
    """Runs of each variant, with seeds 0, 1, …"""
    draws: int = 4
    """Resampled supports in addition to the official ones."""
    settings: tuple[str, ...] = ()
    """``name=value`` assignments for all variants."""
    only: tuple[str, ...] = ()
    """Names of the ablations to run; empty for all."""

    @property
    def ablations(self) -> tuple[Ablation, ...]:
        """The full preset, then its ablations.

        Raises:
            InputError: If the preset or a name in ``only`` is unknown.
        """
        known = ABLATIONS.get(configure(self.preset).model)
        if known is None:
            expected = f"a preset of one of the models {', '.join(ABLATIONS)}"
            raise InputError("there are no ablations of this preset", found=self.preset, expected=expected)
        # A part that the preset does not have cannot be removed.
        ablations = {one.name: one for one in known if _values(self.preset, one) != _values(self.preset)}
        only = [name.replace("_", " ") for name in self.only]  # the name of the setting is accepted too
        for name in only:
            if name not in ablations:
                hint = did_you_mean(name, ablations)
                raise InputError("unknown ablation", found=name, expected=f"one of {', '.join(ablations)}", hint=hint)
        return FULL, *(ablation for ablation in ablations.values() if not only or ablation.name in only)

    def jobs(self, ablation: Ablation, out: Path) -> list[TrainingJob]:
        """The runs of a variant. Runs of the full preset have the names that ``fitcarl train`` gives them."""
        source = resolve_source(self.data)
        part = "" if ablation is FULL else "-" + re.sub(r"\W+", "_", ablation.name)
        stem = f"{Path(source).name}-{self.shots}shot-{self.preset}{part}"
        settings = (*self.settings, *ablation.settings)
        return [
            TrainingJob(source, self.preset, self.shots, seed, settings, out / f"{stem}-{seed}")
            for seed in range(self.seeds)
        ]


def _values(preset: str, ablation: Ablation = FULL) -> dict[str, Any]:
    return configure(preset, ablation.settings).model_dump()


@dataclass(frozen=True)
class Variant:
    """Results of one ablation over all seeds and draws."""

    ablation: Ablation
    mrr: Interval
    """Realistic ranks, time-aware filter; 95 % interval over entities."""
    mrr_by_seed: tuple[float, ...]
    novel: float | None
    """MRR of queries whose answer is not in the support: official draw, mean over seeds."""
    gain: Interval | None
    """MRR minus MRR of the full preset, paired by query; None for the full preset."""
    minutes: float
    """Training time, mean over seeds."""

    def to_json(self) -> dict[str, Any]:
        difference = None if self.gain is None else _json(self.gain)
        return {
            "name": self.ablation.name,
            "what": self.ablation.description,
            "settings": list(self.ablation.settings),
        } | {
            **_json(self.mrr),
            "mrr_by_seed": list(self.mrr_by_seed),
            "novel_mrr": self.novel,
            "difference": difference,
            "minutes": self.minutes,
        }


@dataclass(frozen=True)
class AblationTable:
    """The variants evaluated so far."""

    signature: str
    variants: tuple[Variant, ...]

    def to_json(self) -> dict[str, Any]:
        return {"rows": [variant.to_json() for variant in self.variants], "signature": self.signature}

    def markdown(self) -> str:
        """The table as a Markdown document, aligned to be readable as plain text."""
        head = [
            "variant",
            "difference to the full preset",
            "MRR",
            "95 % interval",
            "novel",
            "difference",
            "95 % interval",
            "min",
        ]
        table = markdown_table([head, *map(_cells, self.variants)], left=(0, 1))
        notes = (
            "Meta-validation, realistic ranks, time-aware filter; all seeds and draws pooled, intervals over entities. "
            "Difference: MRR minus that of the full preset, paired; not significant if its interval contains 0. "
            "Novel: MRR of queries whose answer is not in the support, official draw. Min: minutes of training."
        )
        return f"# Ablations\n\n{table}\n\n{notes}\n\n```\n{self.signature}\n```\n"


def ablate(plan: AblationPlan, out: str | Path, *, train: TrainFunction = train_in_subprocess) -> AblationTable:
    """Trains and evaluates all variants of a plan on meta-validation.

    Finished runs are reused and unfinished ones resumed. ``ablation.json`` and ``ablation.md`` in ``out`` are updated
    after every variant.

    Args:
        plan: The preset, its ablations, seeds and draws.
        out: Folder of the runs and tables.
        train: Trains one job; by default in a process of its own.

    Returns:
        The table of all variants.

    Raises:
        InputError: If a setting is invalid or a folder holds another run; checked before anything is trained.
    """
    out = Path(out)
    variants = [(ablation, plan.jobs(ablation, out)) for ablation in plan.ablations]
    dataset = load_dataset(resolve_source(plan.data))
    for job in (job for _, jobs in variants for job in jobs):
        job.check(dataset)  # all of them first, so that mistakes are reported before hours of training
    out.mkdir(parents=True, exist_ok=True)
    known = KnownAnswers.of(dataset)
    done, total = 0, len(variants) * plan.seeds
    full: list[Report] = []
    found: list[Variant] = []
    for ablation, jobs in variants:
        name = f"{dataset.name}, {plan.shots}-shot, {plan.preset}, {ablation.name}"
        units = []
        for job in jobs:
            done += 1
            label = f"run {done} of {total}: {name}, seed {job.seed}"
            units.append(TrainingUnit(job, dataset, train, label))
        for _ in work_through(units):
            pass
        _log.info("%s: evaluating", name)
        reports = _evaluate_all(jobs, dataset, plan.draws, known)
        full = full or reports
        found.append(_variant(ablation, reports, full, mean_training_minutes(jobs)))
        signature = str(replace(full[0].signature, seeds=plan.seeds))
        table = AblationTable(signature, tuple(found))
        write_json(out / "ablation.json", table.to_json())
        write_atomically(out / "ablation.md", table.markdown().encode())
    return table


def _evaluate_all(jobs: Sequence[TrainingJob], dataset: Dataset, draws: int, known: KnownAnswers) -> list[Report]:
    return [evaluate(job.folder, split="valid", data=dataset, draws=draws, known=known) for job in jobs]


def _variant(ablation: Ablation, reports: Sequence[Report], full: Sequence[Report], minutes: float) -> Variant:
    # A resampled entity contributes its queries of all seeds and draws, so that these do not count as more entities.
    draws = [draw for report in reports for draw in report.draws]
    entity = np.concatenate([draw.queries.entity for draw in draws])
    ranks = np.concatenate([draw.ranks["time-aware"].of("realistic") for draw in draws])
    novel = [row.mrr for report in reports for part, row in report.parts if part.value == "novel"]
    return Variant(
        ablation,
        mean_interval(entity, 1 / ranks, seed=reports[0].seed),
        tuple(report.over_draws.mean for report in reports),
        float(np.mean(novel)) if novel else None,
        None if ablation is FULL else mrr_difference(reports, full),
        minutes,
    )


def _json(interval: Interval) -> dict[str, float]:
    return {"mrr": interval.mean, "ci_low": interval.low, "ci_high": interval.high}


def _cells(variant: Variant) -> list[str]:
    gain = ["–", "–"]
    if variant.gain is not None:
        gain = [format_difference(variant.gain.mean), format_interval(variant.gain)]
    figures = [
        format_metric(variant.mrr.mean),
        format_interval(variant.mrr),
        format_metric(variant.novel),
        *gain,
        f"{variant.minutes:.1f}",
    ]
    return [variant.ablation.name, variant.ablation.description, *figures]
