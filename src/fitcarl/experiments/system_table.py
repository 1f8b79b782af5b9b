"""Tables 2 and 3 as files: JSON rows, and a Markdown document with one table per dataset and number of shots."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fitcarl.core.files import read_json, write_atomically
from fitcarl.errors import InputError
from fitcarl.evaluation.formatting import format_metric
from fitcarl.experiments.sharing import exclusive
from fitcarl.experiments.system_rows import PROTOCOLS, Protocol, StaleSeeds, SystemRow, merge_system_rows
from fitcarl.reporting.markdown import markdown_table

_FIGURES = ("mrr", "hits@1", "hits@3", "hits@10")
_HEAD = [
    *("system", "seeds", "MRR", "95 % interval", "H@1", "H@3", "H@10", "MRR, time-unaware"),
    *("paper: MRR", "H@1", "H@3", "H@10", "published: MRR", "H@1", "H@3", "H@10"),
    *("coverage", "parameters", "minutes", "CPU minutes", "peak MB"),
]
_NOTES = (
    "MRR and H@k: realistic ranks, time-aware filter, all entities are candidates; means over seeds, ± is the standard "
    "deviation between seeds. 95 % interval: bootstrap over entities, with the ranks of all seeds pooled. "
    "MRR, time-unaware: realistic ranks, true answers at any time filtered.",
    "paper: optimistic ranks, true answers at any time filtered, unlisted answers last; only for comparison with "
    "published tables. published: figures printed in the paper (\\* a misprint); for a model with variants in "
    "parentheses, the paper does not say which one it ran.",
    "(paper): trained on background and meta-train facts, so that the row of an unseen entity stays untrained. "
    "(+support): the support facts of the official draw are trained on too. (fold-in): everything is frozen, and the "
    "row of an unseen entity is computed from its support facts.",
    "Parameters: those trained in episodes; pre-trained parts that are then frozen do not count. Minutes: training "
    "time, and processor time of all threads; means over seeds. Peak MB: largest peak memory of the training "
    "processes. Not run: no run in this folder.",
)

_DECIMALS = 6


class SystemTable:
    """``NAME.json`` and ``NAME.md`` of a folder; several processes may add rows."""

    def __init__(self, out: Path, name: str, title: str) -> None:
        self.out, self.name, self.title = out, name, title
        self.json, self.page = out / f"{name}.json", out / f"{name}.md"

    def read(self) -> list[SystemRow]:
        """The rows of the file; none if there is no file."""
        if not self.json.exists():
            return []
        try:
            return [SystemRow.from_json(row) for row in read_json(self.json)["rows"]]
        except (KeyError, TypeError) as error:
            problem = f"is not a table of results that this version can read ({error})"
            raise InputError(problem, file=self.json, expected="a file that `fitcarl reproduce` wrote") from None

    def add(self, rows: Sequence[SystemRow], stale: StaleSeeds | None = None) -> None:
        """Adds rows, or seeds of rows, to those that are in the file now, and writes both files.

        Args:
            rows: The rows.
            stale: Seeds by key of a row whose results in the file are no longer valid.
        """
        with exclusive(self.out, self.name):
            merged = merge_system_rows(self.read(), rows, stale)
            write_atomically(self.json, _readable_json(merged).encode())
            write_atomically(self.page, render_system_table(merged, self.title).encode())


def _readable_json(rows: Sequence[SystemRow]) -> str:
    """JSON with one row per line, so that a table stays small and its changes readable."""
    lines = (json.dumps(_with_short_sums(row.to_json()), ensure_ascii=False) for row in rows)
    return '{"rows": [\n' + ",\n".join(lines) + "\n]}\n"


def _with_short_sums(row: dict[str, Any]) -> dict[str, Any]:
    """A row whose sums per entity, from which intervals are computed, have six decimals."""
    for result in row["results"]:
        if result["entity_sums"] is not None:
            result["entity_sums"] = [round(value, _DECIMALS) for value in result["entity_sums"]]
    return row


def render_system_table(rows: Sequence[SystemRow], title: str) -> str:
    """The Markdown document, aligned to be readable as plain text."""
    explicit = any(row.trained_for not in (None, row.setting) for row in rows)
    parts = [f"# {title}", *_overview(rows, explicit)]
    for table in dict.fromkeys(row.group for row in rows):
        group: dict[tuple[Any, ...], dict[Protocol, SystemRow]] = {}
        for row in rows:
            if row.group == table:
                group.setdefault(row.key[:-1], {})[row.protocol] = row
        lines = [_cells(found, explicit) for found in group.values() if len(found) == len(PROTOCOLS)]
        parts += [f"## {_group_title(table)}", markdown_table([_HEAD, *lines], left=(0, 1))]
    signatures = list(dict.fromkeys(row.signature for row in rows if row.signature))
    parts += [*_NOTES, *(["```text\n" + "\n".join(signatures) + "\n```"] if signatures else [])]
    return "\n\n".join(parts) + "\n"


def _overview(rows: Sequence[SystemRow], explicit: bool) -> list[str]:
    """One line per system with the MRR on all data, as the paper prints its tables; only for more than one column."""
    columns = list(dict.fromkeys(row.group for row in rows))
    lines: dict[str, dict[tuple[str, int, str], dict[Protocol, SystemRow]]] = {}
    for row in rows:
        lines.setdefault(row_label(row, explicit), {}).setdefault(row.group, {})[row.protocol] = row
    if len(columns) < 2:
        return []
    head = ["system", *map(_group_title, columns)]
    cells = [[label, *(_overview_cell(found.get(column, {})) for column in columns)] for label, found in lines.items()]
    note = "MRR (MRR, time-unaware) / MRR as published; – not run, or not published."
    return ["## All systems", markdown_table([head, *cells], left=(0,)), note]


def _group_title(group: tuple[str, int, str]) -> str:
    data, shots, setting = group
    return f"{data}, {shots}-shot" + ("" if setting == "completion" else f", {setting}")


def _overview_cell(found: dict[Protocol, SystemRow]) -> str:
    if "realistic" not in found or "time-unaware" not in found:
        return "–"
    row, unaware = found["realistic"], found["time-unaware"]
    own = f"{format_metric(row.mrr)} ({format_metric(unaware.mrr)})" if row.has_results else "–"
    return f"{own} / {published_cells(row)[0]}"


def _cells(found: dict[Protocol, SystemRow], explicit: bool) -> list[str]:
    row, unaware, paper = (found[name] for name in PROTOCOLS)
    missing = f" ({','.join(map(str, row.missing_seeds))} not run)" if row.seeds and row.missing_seeds else ""
    return [
        row_label(row, explicit),
        (",".join(map(str, row.seeds)) or "–") + missing,
        with_spread(row.mrr, row.std) if row.has_results else row.status,
        "–" if row.interval is None else f"{format_metric(row.interval[0])} – {format_metric(row.interval[1])}",
        *_hits(row),
        with_spread(unaware.mrr, unaware.std),
        with_spread(paper.mrr, paper.std),
        *_hits(paper),
        *published_cells(row),
        "–" if row.coverage is None else f"{row.coverage:.1%}",
        "–" if row.parameters is None else f"{row.parameters:,}",
        *("–" if value is None else f"{value:.1f}" for value in (row.minutes, row.cpu_minutes)),
        "–" if row.peak_mb is None else f"{row.peak_mb:,.0f}",
    ]


def row_label(row: SystemRow, explicit: bool = False) -> str:
    """The system with its variant, if asked for what it was trained for, and the settings of the table."""
    variant = {None: "", "support": " (+support)"}.get(row.sees, f" ({row.sees})")
    trained = f", trained for {row.trained_for}" if explicit and row.trained_for is not None else ""
    return f"{row.system}{variant}{trained}" + (f" [{', '.join(row.settings)}]" if row.settings else "")


def with_spread(mean: float | None, std: float | None) -> str:
    """A mean with its standard deviation, if there is one."""
    return format_metric(mean) + ("" if std is None else f" ± {format_metric(std)}")


def published_cells(row: SystemRow) -> list[str]:
    """The figures of the paper; a misprint is marked."""
    if row.published is None:
        return ["–"] * len(_FIGURES)
    note = row.published.get("note", "")
    misprint = note.partition(" ")[0]
    return [format_metric(row.published[name]) + ("\\*" if name == misprint else "") for name in _FIGURES]


def _hits(row: SystemRow) -> list[str]:
    spread = row.hits_std or (None, None, None)
    return [with_spread(*pair) for pair in zip((row.hits_1, row.hits_3, row.hits_10), spread, strict=True)]
