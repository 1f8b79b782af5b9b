"""All runs behind a table of results: trained where they are missing, judged in one way, and written down."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from fitcarl.config.schema import configure, flat
from fitcarl.core.lock import alone
from fitcarl.core.storage import read_json, write_atomically, write_json
from fitcarl.data.dataset import Dataset
from fitcarl.data.io.registry import load_dataset
from fitcarl.errors import InputError
from fitcarl.evaluation.filtering import KnownAnswers
from fitcarl.evaluation.protocol import evaluate_scorer
from fitcarl.experiments.jobs import Case, Say, Train, ensure, lasting, minutes, peak_mb, train_apart
from fitcarl.experiments.results import Row, markdown, measured, merged, published
from fitcarl.models.heuristics import HEURISTICS
from fitcarl.runs.evaluate import evaluate
from fitcarl.runs.layout import RunFolder


@dataclass(frozen=True)
class Plan:
    """What is to be compared: every combination is one run."""

    data: tuple[str, ...]
    shots: tuple[int, ...] = (1, 3)
    presets: tuple[str, ...] = ("paper",)
    seeds: tuple[int, ...] = (0, 1, 2)
    settings: tuple[str, ...] = ()

    def groups(self, out: Path) -> list[list[Case]]:
        """The runs behind each row: one for each seed. Folders are called as ``fitcarl train`` calls them."""
        sources = dict.fromkeys(lasting(data) for data in self.data)
        rows = [(source, preset, shots) for source in sources for shots in self.shots for preset in self.presets]
        return [
            [
                Case(*row, seed, self.settings, out / f"{Path(row[0]).name}-{row[2]}shot-{row[1]}-{seed}")
                for seed in self.seeds
            ]
            for row in rows
        ]


def reproduce(plan: Plan, out: str | Path, *, train: Train = train_apart, say: Say = lambda _: None) -> list[Row]:
    """The rows of ``results.json`` in folder ``out`` once every run of the plan is trained and judged on test.

    Finished runs are reused, unfinished ones resumed, none is trained over. ``results.json`` and ``results.md`` are
    brought up to date after every row; rows of earlier calls stay. ``say`` is told what is going on.
    """
    out = Path(out)
    groups = plan.groups(out)
    datasets = {source: load_dataset(source) for source in {cases[0].source: None for cases in groups}}
    for case in (case for cases in groups for case in cases):
        case.check(datasets[case.source])  # all of them now: nobody wants to learn of a mistake after hours
    out.mkdir(parents=True, exist_ok=True)
    table = _Table(out)
    done, total = 0, len(groups) * len(plan.seeds)
    trivial_done: set[tuple[str, int]] = set()
    with alone(out) as lock:
        for cases in groups:
            dataset, shots, preset = datasets[cases[0].source], cases[0].shots, cases[0].preset
            known = KnownAnswers.of(dataset)
            if (cases[0].source, shots) not in trivial_done:
                trivial_done.add((cases[0].source, shots))
                say(f"{dataset.name}, {shots}-shot: trivial scorers")
                table.add(*trivial(dataset, shots, known), *published(dataset.name, shots))
            for case in cases:
                done += 1
                what = f"run {done} of {total}: {dataset.name}, {shots}-shot, {preset}, seed {case.seed}"
                ensure(case, dataset, lock, train, say, what)
            say(f"{dataset.name}, {shots}-shot, {preset}: evaluating")
            table.add(trained(cases, dataset, known))
    return table.rows


def trivial(dataset: Dataset, shots: int, known: KnownAnswers | None = None) -> list[Row]:
    """The rows of the scorers that learn nothing."""
    scorers = ((name, make(dataset)) for name, make in HEURISTICS.items())
    return [measured([evaluate_scorer(scorer, dataset, "test", shots, known=known)], name) for name, scorer in scorers]


def trained(cases: Sequence[Case], dataset: Dataset, known: KnownAnswers | None = None) -> Row:
    """The row of finished runs that differ in nothing but their seed."""
    reports = [evaluate(case.folder, data=dataset, shots=case.shots, known=known) for case in cases]
    row = measured(reports, _label(cases[0]), [case.seed for case in cases])
    return replace(
        row,
        minutes=minutes(cases),
        peak_mb=peak_mb(cases),
        cores=read_json(RunFolder(cases[0].folder).environment)["cores"],
    )


class _Table:
    """The rows of a folder, on disk whenever one is added."""

    def __init__(self, out: Path) -> None:
        self.json, self.page = out / "results.json", out / "results.md"
        self.rows: list[Row] = []
        if self.json.exists():
            try:
                self.rows = [Row.from_json(row) for row in read_json(self.json)["rows"]]
            except (KeyError, TypeError) as trouble:
                problem = f"is no table of results that this version can read ({trouble})"
                raise InputError(problem, file=self.json, expected="a file that `fitcarl reproduce` wrote") from None

    def add(self, *rows: Row) -> None:
        self.rows = merged(self.rows, rows)
        write_json(self.json, {"rows": [row.to_json() for row in self.rows]})
        write_atomically(self.page, markdown(self.rows).encode())


def _label(case: Case) -> str:
    """What the table calls a model: its preset, and how its settings differ from it."""
    ours, usual = flat(case.config.model_dump()), flat(configure(case.preset).model_dump())
    changed = [f"{name}={value}" for name, value in ours.items() if "." in name and usual[name] != value]
    return f"fitcarl ({', '.join([case.preset, *changed])})"
