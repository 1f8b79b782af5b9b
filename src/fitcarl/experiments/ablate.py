"""What each part of a preset is worth: the preset, and each of its switches off in turn, on meta-validation."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from fitcarl.config.schema import FeaturesConfig, configure
from fitcarl.core.lock import alone
from fitcarl.core.storage import write_atomically, write_json
from fitcarl.data.dataset import Dataset
from fitcarl.data.io.registry import load_dataset
from fitcarl.errors import InputError, did_you_mean
from fitcarl.evaluation.bootstrap import Interval, mean_interval
from fitcarl.evaluation.filtering import KnownAnswers
from fitcarl.evaluation.report import Report, difference
from fitcarl.evaluation.table import between, share, signed
from fitcarl.experiments.jobs import Case, Say, Train, ensure, lasting, minutes, train_apart
from fitcarl.experiments.results import lined_up
from fitcarl.runs.evaluate import evaluate


@dataclass(frozen=True)
class Switch:
    """A part of a preset that can be taken away."""

    name: str
    what: str
    """What is different without it, in a few words."""
    settings: tuple[str, ...]
    """Assignments that take it away."""


def _families() -> Iterator[Switch]:
    """Every family of evidence that preset ``plus`` looks at by default."""
    for name, field in FeaturesConfig.model_fields.items():
        if field.default:
            yield Switch(name.replace("_", " "), f"does not see {field.description}", (f"features.{name}=off",))


_OF_PLUS = (
    *_families(),
    Switch("nonlinear", "networks of width 1", ("policy.hidden=1", "policy.hidden_candidates=1")),
)

SWITCHES: Mapping[str, tuple[Switch, ...]] = MappingProxyType(
    {
        "paper": (
            Switch("A1", "edges of an action space at random", ("network.sampling=random",)),
            Switch("A2", "edges nearest in time", ("network.sampling=nearest",)),
            Switch("B", "no confidence learner", ("network.confidence=off",)),
            Switch("C", "no concept regulariser", ("network.concepts=off",)),
            Switch("D", "no time in the Transformer's attention", ("network.time_bias=off",)),
            Switch("E", "no time anywhere", ("network.temporal=off",)),
        ),
        "plus": _OF_PLUS,
        "plus+names": (*_OF_PLUS, Switch("names", "does not see names", ("features.names=off",))),
    }
)
"""What can be taken away from each preset; those of ``paper`` are called as in the paper."""

WHOLE = Switch("whole", "nothing taken away", ())


@dataclass(frozen=True)
class Study:
    """What is to be compared with what."""

    data: str
    shots: int = 3
    preset: str = "plus"
    seeds: int = 3
    """Runs of each variant; their seeds count from 0."""
    draws: int = 4
    """Resampled supports beside the official ones."""
    settings: tuple[str, ...] = ()
    """Assignments that hold for all variants."""
    only: tuple[str, ...] = ()
    """Switches to look at; all of them where none is named."""

    @property
    def switches(self) -> tuple[Switch, ...]:
        """The whole preset, then each switch."""
        configure(self.preset)  # an unknown preset is told so, with the nearest name
        switches = {switch.name: switch for switch in SWITCHES.get(self.preset, ())}
        only = [name.replace("_", " ") for name in self.only]  # a family may be named as its setting is
        for name in only:
            if name not in switches:
                hint = did_you_mean(name, switches)
                raise InputError("no such switch", found=name, expected=f"one of {', '.join(switches)}", hint=hint)
        return WHOLE, *(switch for switch in switches.values() if not only or switch.name in only)

    def cases(self, switch: Switch, out: Path) -> list[Case]:
        """The runs of a variant. Those of the whole preset are called as ``fitcarl train`` calls them."""
        source = lasting(self.data)
        part = "" if switch is WHOLE else "-" + re.sub(r"\W+", "_", switch.name)
        stem = f"{Path(source).name}-{self.shots}shot-{self.preset}{part}"
        settings = (*self.settings, *switch.settings)
        return [
            Case(source, self.preset, self.shots, seed, settings, out / f"{stem}-{seed}") for seed in range(self.seeds)
        ]


@dataclass(frozen=True)
class Variant:
    """How a preset does without one of its parts, over all seeds and draws."""

    switch: Switch
    mrr: Interval
    """Honest, with its 95 % interval over entities."""
    mrr_by_seed: tuple[float, ...]
    novel: float | None
    """MRR where the answer is not in the support: official draw, mean over seeds."""
    gain: Interval | None
    """Its MRR minus that of the whole preset, pair by pair; None for the whole preset."""
    minutes: float
    """Of training, mean over seeds."""

    def to_json(self) -> dict[str, Any]:
        apart = None if self.gain is None else _json(self.gain)
        return {"name": self.switch.name, "what": self.switch.what, "settings": list(self.switch.settings)} | {
            **_json(self.mrr),
            "mrr_by_seed": list(self.mrr_by_seed),
            "novel_mrr": self.novel,
            "difference": apart,
            "minutes": self.minutes,
        }


@dataclass(frozen=True)
class Ablation:
    """The table as far as it has come."""

    signature: str
    variants: tuple[Variant, ...]

    def to_json(self) -> dict[str, Any]:
        return {"rows": [variant.to_json() for variant in self.variants], "signature": self.signature}

    def markdown(self) -> str:
        """The table as a Markdown document, padded so that it can be read as plain text too."""
        head = ["variant", "what is different", "MRR", "95 % interval", "novel", "difference", "95 % interval", "min"]
        table = lined_up([head, *map(_cells, self.variants)], left=(0, 1))
        notes = (
            "Meta-validation, realistic ranks, time-aware filter; all seeds and draws pooled, intervals over entities. "
            "Difference: to the whole preset, pair by pair; where its interval holds 0 there may be none. "
            "Novel: MRR where the answer is not in the support, official draw. Min: minutes of training."
        )
        return f"# Ablations\n\n{table}\n\n{notes}\n\n```\n{self.signature}\n```\n"


def ablate(study: Study, out: str | Path, *, train: Train = train_apart, say: Say = lambda _: None) -> Ablation:
    """The table of a study once every run of it is trained and judged on meta-validation, in folder ``out``.

    Finished runs are reused, unfinished ones resumed, none is trained over. ``ablation.json`` and ``ablation.md`` are
    brought up to date after every variant. ``say`` is told what is going on.
    """
    out = Path(out)
    variants = [(switch, study.cases(switch, out)) for switch in study.switches]
    dataset = load_dataset(lasting(study.data))
    for case in (case for _, cases in variants for case in cases):
        case.check(dataset)  # all of them now: nobody wants to learn of a mistake after hours
    out.mkdir(parents=True, exist_ok=True)
    known = KnownAnswers.of(dataset)
    done, total = 0, len(variants) * study.seeds
    whole: list[Report] = []
    found: list[Variant] = []
    with alone(out) as lock:
        for switch, cases in variants:
            name = f"{dataset.name}, {study.shots}-shot, {study.preset}, {switch.name}"
            for case in cases:
                done += 1
                ensure(case, dataset, lock, train, say, f"run {done} of {total}: {name}, seed {case.seed}")
            say(f"{name}: evaluating")
            reports = _judged(cases, dataset, study.draws, known)
            whole = whole or reports
            found.append(_variant(switch, reports, whole, minutes(cases)))
            signature = str(replace(whole[0].signature, seeds=study.seeds))
            table = Ablation(signature, tuple(found))
            write_json(out / "ablation.json", table.to_json())
            write_atomically(out / "ablation.md", table.markdown().encode())
    return table


def _judged(cases: Sequence[Case], dataset: Dataset, draws: int, known: KnownAnswers) -> list[Report]:
    return [evaluate(case.folder, split="valid", data=dataset, draws=draws, known=known) for case in cases]


def _variant(switch: Switch, reports: Sequence[Report], whole: Sequence[Report], spent: float) -> Variant:
    # An entity is drawn with what every seed and draw says of it, so that these do not pass for more entities.
    draws = [draw for report in reports for draw in report.draws]
    entity = np.concatenate([draw.queries.entity for draw in draws])
    ranks = np.concatenate([draw.ranks["time-aware"].of("realistic") for draw in draws])
    novel = [row.mrr for report in reports for part, row in report.parts if part.value == "novel"]
    return Variant(
        switch,
        mean_interval(entity, 1 / ranks, seed=reports[0].seed),
        tuple(report.over_draws.mean for report in reports),
        float(np.mean(novel)) if novel else None,
        None if switch is WHOLE else difference(reports, whole),
        spent,
    )


def _json(interval: Interval) -> dict[str, float]:
    return {"mrr": interval.mean, "ci_low": interval.low, "ci_high": interval.high}


def _cells(variant: Variant) -> list[str]:
    gain = ["–", "–"]
    if variant.gain is not None:
        gain = [signed(variant.gain.mean), between(variant.gain)]
    novel = "–" if variant.novel is None else share(variant.novel)
    figures = [share(variant.mrr.mean), between(variant.mrr), novel, *gain, f"{variant.minutes:.1f}"]
    return [variant.switch.name, variant.switch.what, *figures]
