"""Comparison of runs, custom scorers and heuristic baselines on the same queries, with paired differences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from rich.console import Group, RenderableType
from rich.text import Text

from fitcarl.config.base import Setting
from fitcarl.core.device import resolve_device
from fitcarl.core.display import display_block, display_table
from fitcarl.core.progress import OnProgress
from fitcarl.core.progress_bar import reporting
from fitcarl.data.dataset import Dataset, Split
from fitcarl.data.io.registry import load_dataset
from fitcarl.errors import InputError
from fitcarl.evaluation.bootstrap import Interval
from fitcarl.evaluation.filtering import KnownAnswers
from fitcarl.evaluation.formatting import format_difference, format_interval, format_metric
from fitcarl.evaluation.protocol import evaluate_scorer
from fitcarl.evaluation.report import Report
from fitcarl.models.registry import HEURISTIC, heuristic
from fitcarl.reporting.tables import plain_table, signature_text
from fitcarl.runs.evaluate import default_split, evaluate
from fitcarl.runs.run import Run
from fitcarl.scoring.scorer import Scorer

if TYPE_CHECKING:
    import polars as pl

_SHOTS = 3
_COLUMNS = ("MRR", "95 % interval", "H@1", "H@10", "novel", "ECE", "difference", "95 % interval")


@dataclass(frozen=True)
class Entry:
    """One scorer of a comparison."""

    report: Report
    run: str | None = None
    """The folder of a trained run; None for heuristic baselines and custom scorers."""
    custom: bool = False
    """Whether the scorer was passed by the caller."""

    @property
    def label(self) -> str:
        return self.report.scorer if self.run is None else f"{self.report.scorer} {self.run}"

    @property
    def remark(self) -> str | None:
        """How the training of a run differs from the evaluation: shots, data, entities seen before."""
        extra, sign = dict(self.report.signature.extra), self.report.signature
        parts = []
        if "trained-setting" in extra:
            parts.append(f"trained for {extra['trained-setting']}, evaluated in the setting {sign.setting}")
        if "trained-shots" in extra:
            shots = extra["trained-shots"]
            parts.append(f"trained for {shots} shot{'' if shots == '1' else 's'}, evaluated at {sign.shots}")
        if "trained-data" in extra:
            parts.append(
                f"trained on other data ({extra['trained-data']}), evaluated on {sign.data}@{sign.digest[:12]}"
            )
        if seen := extra.get("unseen-in-training-background"):
            parts.append(f"{seen} of the unseen entities are in the background it was trained on")
        if seen := extra.get("unseen-in-training-tasks"):
            parts.append(f"{seen} of the unseen entities were used in its training or validation tasks")
        return f"{self.label}: {'; '.join(parts)}" if parts else None


@dataclass(frozen=True, repr=False)
class Comparison:
    """Reports of several scorers on the same queries."""

    entries: tuple[Entry, ...]
    """Heuristic baselines, weakest first, then custom scorers, then runs, in the given order."""

    @property
    def reference(self) -> Entry:
        """The entry that differences refer to: the first run, else the first custom scorer, else the best heuristic."""
        runs = [entry for entry in self.entries if entry.run is not None]
        custom = [entry for entry in self.entries if entry.custom]
        return (runs or custom or [max(self.entries, key=lambda entry: entry.report.over_draws.mean)])[0]

    def difference(self, entry: Entry) -> Interval:
        """MRR of an entry minus MRR of the reference, over all draws, by paired bootstrap over entities."""
        return entry.report.versus(self.reference.report)

    @property
    def remarks(self) -> list[str]:
        return [entry.remark for entry in self.entries if entry.remark]

    def to_json(self) -> dict[str, Any]:
        """One row per scorer: fields of ``fitcarl evaluate --json``, the run and the difference to the reference."""
        rows = []
        for entry in self.entries:
            gain = self.difference(entry)
            difference = {"mrr": gain.mean, "ci_low": gain.low, "ci_high": gain.high}
            rows.append(entry.report.to_json() | {"run": entry.run, "difference": difference})
        reference = {"scorer": self.reference.report.scorer, "run": self.reference.run}
        return {"rows": rows, "reference": reference, "remarks": self.remarks}

    def render(self) -> RenderableType:
        """The table, to be printed by a rich console."""
        table = plain_table("scorer")
        for name in _COLUMNS:
            table.add_column(name, justify="right")
        for entry in self.entries:
            table.add_row(entry.label, *self._cells(entry), style="bold" if entry is self.reference else "")
        lines = [Text(note, "dim") for note in self._notes]
        sign = signature_text(self.reference.report)
        return Group(Text(self._title, "bold"), Text(""), table, Text(""), *lines, sign)

    def to_frame(self) -> pl.DataFrame:
        """One row per scorer as a polars DataFrame: its metrics and its difference to the reference.

        ``mrr``, its interval and the difference are over all draws, the other metrics of the official supports;
        ``novel`` is the MRR of queries whose answer is not in the support. The row of the reference has no difference.
        """
        import polars as pl

        rows = []
        for entry in self.entries:
            report, pooled, is_reference = entry.report, entry.report.over_draws, entry is self.reference
            gain = None if is_reference else self.difference(entry)
            novel, ece = _novel_and_ece(report)
            rows.append(
                {
                    "scorer": report.scorer,
                    "run": entry.run,
                    "mrr": pooled.mean,
                    "ci_low": pooled.low,
                    "ci_high": pooled.high,
                    **{f"hits@{k}": fraction for k, fraction in report.realistic.hits.items()},
                    "novel": novel,
                    "ece": ece,
                    "difference": None if gain is None else gain.mean,
                    "difference_low": None if gain is None else gain.low,
                    "difference_high": None if gain is None else gain.high,
                    "reference": is_reference,
                    "queries": report.realistic.queries,
                    "entities": report.realistic.entities,
                }
            )
        numbers = ("novel", "ece", "difference", "difference_low", "difference_high")
        types = {"run": pl.String, **dict.fromkeys(numbers, pl.Float64)}
        return pl.DataFrame(rows, schema_overrides=types, infer_schema_length=None)

    def __repr__(self) -> str:
        return f"Comparison({self._title!r}, {len(self.entries)} scorers, reference {self.reference.label!r})"

    def _repr_html_(self) -> str:
        """The table, for notebooks."""
        rows = [(entry.label, *self._cells(entry)) for entry in self.entries]
        strong = [self.entries.index(self.reference)]
        table = display_table(("scorer", *_COLUMNS), rows, "l" + "r" * len(_COLUMNS), strong)
        return display_block(self._title, table, notes=[*self._notes, str(self.reference.report.signature)])

    @property
    def _title(self) -> str:
        report = self.entries[0].report
        sign, row = report.signature, report.realistic
        title = f"{sign.data}, meta-{sign.split}, {sign.setting}, {sign.shots}-shot: "
        return title + f"{row.queries:,} queries about {row.entities:,} unseen entities"

    @property
    def _notes(self) -> list[str]:
        draws = len(self.entries[0].report.draws)
        what = "the official supports" if draws == 1 else f"the official supports and {draws - 1} resampled"
        return [
            "realistic ranks, time-aware filter; novel: MRR of queries whose answer is not in the support",
            f"MRR, intervals and differences: over {what}; the other columns: the official supports",
            f"difference: to {self.reference.label}, paired over queries; not significant if the interval contains 0",
            *self.remarks,
        ]

    def __str__(self) -> str:
        """The MRR of each scorer over all draws and its difference to the reference, as plain text."""
        lines = [
            f"{entry.label:<24}  MRR {format_metric(entry.report.over_draws.mean)}  "
            f"difference {format_difference(gain.mean)} ({format_interval(gain)})"
            for entry in self.entries
            for gain in (self.difference(entry),)
        ]
        return "\n".join([*lines, str(self.reference.report.signature)])

    def _cells(self, entry: Entry) -> list[str]:
        report, pooled = entry.report, entry.report.over_draws
        values = (report.realistic.hits[1], report.realistic.hits[10], *_novel_and_ece(report))
        cells = [format_metric(pooled.mean), format_interval(pooled), *map(format_metric, values)]
        if entry is self.reference:
            return [*cells, "–", "–"]
        gain = self.difference(entry)
        return [*cells, format_difference(gain.mean), format_interval(gain)]


def _novel_and_ece(report: Report) -> tuple[float | None, float | None]:
    """MRR of queries whose answer is not in the support, and the expected calibration error; None where missing."""
    novel = next((row.mrr for part, row in report.parts if part.value == "novel"), None)
    calibrated = report.calibration_report
    return novel, None if calibrated is None else calibrated.ece


def compare(
    data: str | Path | Dataset | None = None,
    shots: int | None = None,
    runs: Sequence[str | Path] = (),
    *,
    scorers: Sequence[Scorer] = (),
    split: Split | None = None,
    setting: Setting | None = None,
    draws: int = 0,
    seed: int = 0,
    device: str | torch.device = "auto",
    on_progress: OnProgress | None = None,
) -> Comparison:
    """Evaluates the heuristic baselines, custom scorers and trained runs on the same queries.

    Args:
        data: A dataset, a name that `fitcarl data list` shows, or a folder; that of the first run if not given.
        shots: Support facts per unseen entity (K); those of the first run, or 3, if not given.
        runs: Folders of trained runs.
        scorers: Custom scorers, fitted to the dataset.
        split: The group of unseen entities; test if not given, or valid for datasets without test entities.
        setting: ``completion`` or ``forecast``; that of the first run, or completion, if not given.
        draws: Resampled supports in addition to the official ones.
        seed: Seed of the resampled supports and of the bootstrap.
        device: Where runs score queries: ``auto`` (a GPU if there is one), ``cpu``, ``cuda``, or a torch device.
            Heuristic baselines and custom scorers are not moved.
        on_progress: Called with the number of ranked queries; the stage is the name of the scorer. If not given,
            notebooks show a progress bar.

    Returns:
        The reports of all scorers, with paired differences to the first run (or else to the first custom scorer, or to
        the best heuristic baseline).

    Raises:
        InputError: If neither data nor a run is given, or a run does not fit the dataset.
    """
    chosen_device = resolve_device(device)
    loaded = [(str(run), Run.load(run)) for run in runs]  # before any evaluation, so that errors are reported early
    if data is None and not loaded:
        raise InputError("no dataset to compare on", expected="a dataset, or a run whose dataset is used")
    source = loaded[0][1].dataset() if data is None else data
    dataset = source if isinstance(source, Dataset) else load_dataset(str(source))
    shots = (loaded[0][1].config.shots if loaded else _SHOTS) if shots is None else shots
    setting = (loaded[0][1].config.setting if loaded else "completion") if setting is None else setting
    split = default_split(dataset) if split is None else split
    known = KnownAnswers.of(dataset)
    options: dict[str, Any] = {"setting": setting, "draws": draws, "seed": seed, "known": known}
    heuristics = [(heuristic(name, dataset), False) for name in HEURISTIC]
    entries = []
    with reporting(on_progress) as report:
        for scorer, custom in (*heuristics, *((scorer, True) for scorer in scorers)):
            watch = _with_stage(report, scorer.name)
            found = evaluate_scorer(scorer, dataset, split, shots, **options, on_progress=watch)
            entries.append(Entry(found, custom=custom))
        for folder, run in loaded:
            watch = _with_stage(report, folder)
            found = evaluate(
                run, split=split, data=dataset, shots=shots, **options, device=chosen_device, on_progress=watch
            )
            entries.append(Entry(found, folder))
    return Comparison(tuple(entries))


def _with_stage(on_progress: OnProgress, stage: str) -> OnProgress:
    return lambda update: on_progress(replace(update, stage=stage))
