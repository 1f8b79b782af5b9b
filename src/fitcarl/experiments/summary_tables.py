"""Table 1 of the paper, and the tables of parameters and of training cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from fitcarl.core.files import write_atomically, write_json
from fitcarl.data.dataset import SPLITS
from fitcarl.data.describe import describe
from fitcarl.data.io.registry import load_dataset
from fitcarl.experiments.published_costs import DATASETS, GPU_MB, MINUTES, PARAMETERS, authors_parameter_count
from fitcarl.experiments.system_rows import SystemRow
from fitcarl.experiments.system_table import row_label
from fitcarl.reporting.markdown import markdown_table

SummaryName = Literal["data", "parameters", "cost"]
_FITCARL = ("paper", "paper-full")


@dataclass(frozen=True)
class SummaryTable:
    """A table with its rows for programs and its lines for people."""

    name: SummaryName
    title: str
    rows: tuple[dict[str, Any], ...]
    lines: tuple[list[str], ...]
    """The cells, the header first."""
    notes: tuple[str, ...]

    def markdown(self) -> str:
        """The table as a Markdown document."""
        return "\n\n".join([f"# {self.title}", markdown_table(self.lines, left=(0, 1)), *self.notes]) + "\n"

    def write(self, out: Path) -> None:
        """Writes ``table-NAME.json`` and ``table-NAME.md``."""
        out.mkdir(parents=True, exist_ok=True)
        write_json(out / f"table-{self.name}.json", {"rows": list(self.rows)})
        write_atomically(out / f"table-{self.name}.md", self.markdown().encode())


def data_table(data: Sequence[str]) -> SummaryTable:
    """Table 1: statistics of datasets, with the printed ones."""
    rows, lines = [], [["data", *(name.replace("_", " ") for name in next(iter(DATASETS.values()))), "as published"]]
    for name in data:
        found = describe(load_dataset(name))
        own = {"entities": found.entities, "relations": found.relations, "times": found.times}
        own |= {f"unseen_{split}": found.groups[split].unseen for split in SPLITS}
        own |= {"facts_background": found.background_facts}
        own |= {f"facts_{split}": found.groups[split].facts for split in SPLITS}
        printed = DATASETS.get(found.name)
        rows.append({"data": found.name, **own, "published": None if printed is None else dict(printed)})
        different = [] if printed is None else [key for key, value in own.items() if printed[key] != value]
        same = "–" if printed is None else ", ".join(different) + " differ" if different else "yes"
        lines.append([found.name, *(f"{value:,}" for value in own.values()), same])
    notes = ("Facts of a group of unseen entities: support and query facts together.",)
    return SummaryTable("data", "Table 1: datasets", tuple(rows), tuple(lines), notes)


def parameter_table(results: Sequence[SystemRow], entities: dict[str, int]) -> SummaryTable:
    """Trained parameters of all systems, and how the printed counts of FITCARL come about.

    Args:
        results: Rows of Table 2.
        entities: |E| by dataset.
    """
    rows, lines = [], [["system", "data", "shots", "parameters", "published", "formula"]]
    for row in _of_one_protocol(results):
        printed = PARAMETERS.get((row.data, row.shots)) if row.system in _FITCARL else None
        sector = (row.data, row.shots) != ("icews18-oog", 3)
        derived = authors_parameter_count(entities[row.data], row.shots, sector_tables=sector) if printed else None
        rows.append(
            {
                "system": row.system,
                "sees": row.sees,
                "data": row.data,
                "shots": row.shots,
                "parameters": row.parameters,
                "published": printed,
                "published_formula": derived,
                "status": row.status,
            }
        )
        trained = row.status if row.parameters is None and not row.has_results else _count(row.parameters)
        lines.append([row_label(row), row.data, str(row.shots), trained, _count(printed), _count(derived)])
    notes = (
        "Parameters: those trained in episodes. Parts that are pre-trained and then frozen (embeddings, the encoder of "
        "plus) do not count.",
        "The printed numbers of FITCARL follow from the authors' code (column formula): 400 · |E| + 5,420,006, and 204 "
        "more with three shots. 400 · |E| are four tables of |E| rows: entities, a copy of them, sectors, and "
        "relations, whose table has |E| rows by mistake. 5,420,006 are the TuckER core of the confidence learner "
        "(4,000,000), a Transformer at width 200, a GRU of 100 units, projections, and layers of an earlier model that "
        "are never used. The 3-shot run on ICEWS18-OOG has 200 · |E| + 20,100 fewer: it ran without the sector tables. "
        "So the printed numbers count unused and duplicate tables; the model of the paper's equations has the number "
        "in the column parameters, and it does not depend on |E|.",
    )
    return SummaryTable("parameters", "Number of parameters", tuple(rows), tuple(lines), notes)


def cost_table(results: Sequence[SystemRow]) -> SummaryTable:
    """Training time and memory of all systems.

    Args:
        results: Rows of Table 2.
    """
    head = ["system", "data", "shots", "seeds", "minutes", "CPU minutes", "peak MB"]
    rows, lines = [], [[*head, "published: minutes", "GPU MB"]]
    for row in _of_one_protocol(results):
        key = row.data, row.shots
        printed = (
            {"minutes": MINUTES[key], "gpu_mb": GPU_MB[key]} if row.system in _FITCARL and key in MINUTES else None
        )
        rows.append(
            {
                "system": row.system,
                "sees": row.sees,
                "data": row.data,
                "shots": row.shots,
                "seeds": list(row.seeds),
                "minutes": row.minutes,
                "cpu_minutes": row.cpu_minutes,
                "peak_mb": row.peak_mb,
                "published": printed,
                "status": row.status,
            }
        )
        lines.append(
            [
                row_label(row),
                row.data,
                str(row.shots),
                ",".join(map(str, row.seeds)) or "–",
                row.status if not row.has_results else _decimal(row.minutes),
                _decimal(row.cpu_minutes),
                _count(row.peak_mb),
                *(("–", "–") if printed is None else map(_count, printed.values())),
            ]
        )
    notes = (
        "Minutes: training time, mean over seeds; an upper bound if other work ran on the machine. Embeddings that "
        "were pre-trained earlier and came from the cache do not count. "
        "CPU minutes: processor time of all threads. Peak MB: largest peak memory of the training processes. "
        "Published: time and memory of one GPU (NVIDIA A40).",
    )
    return SummaryTable("cost", "Cost of training", tuple(rows), tuple(lines), notes)


def _of_one_protocol(rows: Sequence[SystemRow]) -> list[SystemRow]:
    return [row for row in rows if row.protocol == "realistic"]


def _count(value: float | None) -> str:
    return "–" if value is None else f"{value:,.0f}"


def _decimal(value: float | None) -> str:
    return "–" if value is None else f"{value:.1f}"
