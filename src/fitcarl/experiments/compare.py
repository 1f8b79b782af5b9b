"""Runs beside the trivial scorers, on the same questions, with differences that have intervals."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from fitcarl.data.dataset import Dataset, Split
from fitcarl.data.io.registry import load_dataset
from fitcarl.errors import InputError
from fitcarl.evaluation.bootstrap import Interval
from fitcarl.evaluation.filtering import KnownAnswers
from fitcarl.evaluation.protocol import evaluate
from fitcarl.evaluation.report import Report
from fitcarl.evaluation.table import between, grid, share, signed, signed_by
from fitcarl.models.heuristics import BASELINES
from fitcarl.runs.evaluate import default_split
from fitcarl.runs.evaluate import evaluate as evaluate_run
from fitcarl.runs.run import Run

_SHOTS = 3

Progress = Callable[[str, int, int], None]
"""Told whose queries are being answered, how many are done, and how many there are."""


@dataclass(frozen=True)
class Contender:
    """A scorer and how it did."""

    report: Report
    run: str | None = None
    """The folder it was loaded from; None for a trivial scorer."""

    @property
    def label(self) -> str:
        return self.report.scorer if self.run is None else f"{self.report.scorer} {self.run}"

    @property
    def remark(self) -> str | None:
        """What a run was trained on, where that is not what it is judged on."""
        extra, sign = dict(self.report.signature.extra), self.report.signature
        parts = []
        if "trained-shots" in extra:
            shots = extra["trained-shots"]
            parts.append(f"trained for {shots} shot{'' if shots == '1' else 's'}, judged at {sign.shots}")
        if "trained-data" in extra:
            parts.append(f"trained on other data ({extra['trained-data']}), judged on {sign.data}@{sign.digest[:12]}")
        if met := extra.get("unseen-in-training-background"):
            parts.append(f"{met} of the unseen entities were in the background it was trained on")
        if met := extra.get("unseen-in-training-tasks"):
            parts.append(f"{met} of the unseen entities were among those it learned from or was chosen by")
        return f"{self.label}: {'; '.join(parts)}" if parts else None


@dataclass(frozen=True)
class Comparison:
    """Scorers that answered the same questions."""

    contenders: tuple[Contender, ...]
    """The trivial ones, weakest first, then the runs as they were given."""

    @property
    def reference(self) -> Contender:
        """Whom the others are held against: the first run, or the best trivial scorer where there is no run."""
        runs = [contender for contender in self.contenders if contender.run is not None]
        return runs[0] if runs else max(self.contenders, key=lambda one: one.report.over_draws.mean)

    def difference(self, contender: Contender) -> Interval:
        """How much higher a contender's MRR is than the reference's, over all draws, by paired bootstrap."""
        return contender.report.versus(self.reference.report)

    @property
    def remarks(self) -> list[str]:
        return [contender.remark for contender in self.contenders if contender.remark]

    def to_json(self) -> dict[str, Any]:
        """One row a scorer: what ``fitcarl evaluate --json`` prints, its run, and its difference to the reference."""
        rows = []
        for contender in self.contenders:
            gain = self.difference(contender)
            apart = {"mrr": gain.mean, "ci_low": gain.low, "ci_high": gain.high}
            rows.append(contender.report.to_json() | {"run": contender.run, "difference": apart})
        reference = {"scorer": self.reference.report.scorer, "run": self.reference.run}
        return {"rows": rows, "reference": reference, "remarks": self.remarks}

    def render(self) -> RenderableType:
        """The table for a terminal, to be printed by a rich console."""
        first = self.contenders[0].report
        sign, draws = first.signature, len(first.draws)
        title = f"{sign.data}, meta-{sign.split}, {sign.shots}-shot: "
        title += f"{first.honest.queries:,} queries about {first.honest.entities:,} unseen entities"
        table = grid("scorer")
        for name in ("MRR", "95 % interval", "H@1", "H@10", "novel", "ECE", "difference", "95 % interval"):
            table.add_column(name, justify="right")
        for contender in self.contenders:
            strong = contender is self.reference
            table.add_row(contender.label, *self._cells(contender), style="bold" if strong else "")
        what = "the official supports" if draws == 1 else f"the official supports and {draws - 1} resampled"
        notes = [
            "realistic ranks, time-aware filter; novel: MRR where the answer is not in the support",
            f"MRR, intervals and differences: over {what}; the other columns: the official supports",
            f"difference: to {self.reference.label}, pair by pair; where the interval holds 0 there may be none",
            *self.remarks,
        ]
        lines = [Text(note, "dim") for note in notes]
        return Group(Text(title, "bold"), Text(""), table, Text(""), *lines, signed_by(self.reference.report))

    def _cells(self, contender: Contender) -> list[str]:
        report = contender.report
        pooled = report.over_draws
        novel = next((row.mrr for part, row in report.parts if part.value == "novel"), None)
        cells = [share(pooled.mean), between(pooled), share(report.honest.hits[1]), share(report.honest.hits[10])]
        cells += ["–" if novel is None else share(novel), "–" if report.trust is None else share(report.trust.ece)]
        if contender is self.reference:
            return [*cells, "–", "–"]
        gain = self.difference(contender)
        return [*cells, signed(gain.mean), between(gain)]


def compare(
    data: str | Path | Dataset | None = None,
    shots: int | None = None,
    runs: Sequence[str | Path] = (),
    *,
    split: Split | None = None,
    draws: int = 0,
    seed: int = 0,
    progress: Progress = lambda _who, _done, _total: None,
) -> Comparison:
    """Every trivial scorer and these runs on the questions of a split, each judged in the same way.

    Data and shots are those of the first run if not given; the split is test, or valid where nobody is in test.
    """
    loaded = [(str(run), Run.load(run)) for run in runs]  # all of them now: nobody wants to learn of a mistake late
    if data is None and not loaded:
        raise InputError("nothing to compare on", expected="data, or a run to take it from")
    given = loaded[0][1].dataset() if data is None else data
    dataset = given if isinstance(given, Dataset) else load_dataset(given)
    shots = (loaded[0][1].config.shots if loaded else _SHOTS) if shots is None else shots
    split = default_split(dataset) if split is None else split
    known = KnownAnswers.of(dataset)
    found = []
    for name, make in BASELINES.items():
        watch = _watching(progress, name)
        report = evaluate(make(dataset), dataset, split, shots, draws=draws, seed=seed, known=known, progress=watch)
        found.append(Contender(report))
    for folder, run in loaded:
        watch = _watching(progress, folder)
        report = evaluate_run(
            run, split=split, data=dataset, shots=shots, draws=draws, seed=seed, known=known, progress=watch
        )
        found.append(Contender(report, folder))
    return Comparison(tuple(found))


def _watching(progress: Progress, who: str) -> Callable[[int, int], None]:
    return lambda done, total: progress(who, done, total)
