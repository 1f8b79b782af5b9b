"""The table of results: trained models, trivial scorers and published figures, row by row under the same headings."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, Literal

import numpy as np

from fitcarl.evaluation.bootstrap import mean_interval
from fitcarl.evaluation.report import Report

Kind = Literal["trivial", "trained", "published"]
_ORDER: tuple[Kind, ...] = ("trivial", "trained", "published")

PUBLISHED: dict[tuple[str, int], dict[str, tuple[float, float, float]]] = {
    ("icews14-oog", 1): {"FILT": (0.278, 0.208, 0.410), "FITCARL": (0.418, 0.284, 0.681)},
    ("icews14-oog", 3): {"FILT": (0.321, 0.240, 0.475), "FITCARL": (0.481, 0.329, 0.696)},
    ("icews18-oog", 1): {"FILT": (0.191, 0.129, 0.316), "FITCARL": (0.297, 0.156, 0.584)},
    ("icews18-oog", 3): {"FILT": (0.266, 0.187, 0.417), "FITCARL": (0.370, 0.193, 0.627)},
    ("icews0515-oog", 1): {"FILT": (0.273, 0.201, 0.405), "FITCARL": (0.345, 0.202, 0.732)},
    ("icews0515-oog", 3): {"FILT": (0.370, 0.299, 0.516), "FITCARL": (0.513, 0.386, 0.700)},
}
"""MRR, Hits@1 and Hits@10 of the paper's table of main results, by dataset and shots."""

_LABEL = "published, optimistic ranks"
_JSON = {
    "coverage": "reach",
    "hits_1": "hits@1",
    "hits_10": "hits@10",
    "paper_hits_1": "paper_hits@1",
    "paper_hits_10": "paper_hits@10",
}
"""Fields that programs know by a name that Python does not allow."""


@dataclass(frozen=True)
class Row:
    """How one scorer does on one dataset's test split; what is not known is None. Over seeds, everything is a mean."""

    data: str
    shots: int
    scorer: str
    kind: Kind
    paper_mrr: float
    """Optimistic ranks, time-unaware filter, unreached answers at rank |E|."""
    paper_hits_1: float
    paper_hits_10: float
    seeds: tuple[int, ...] = ()
    """Of the training runs behind the row; empty for what is not trained here."""
    mrr: float | None = None
    """The honest one: realistic ranks, time-aware filter."""
    mrr_by_seed: tuple[float, ...] = ()
    ci_low: float | None = None
    """Of the honest MRR: 95 % interval over entities, the ranks of all seeds pooled."""
    ci_high: float | None = None
    hits_1: float | None = None
    """Honest, as the MRR."""
    hits_10: float | None = None
    mrr_time_unaware: float | None = None
    """Realistic ranks, time-unaware filter: what published tables would say without ties."""
    tie_gap: float | None = None
    """Optimistic minus pessimistic MRR, time-aware filter."""
    coverage: float | None = None
    queries: int | None = None
    entities: int | None = None
    minutes: float | None = None
    """Of training, pre-training of embeddings not counted."""
    peak_mb: float | None = None
    """The most that any of the processes that trained ever held."""
    cores: int | None = None
    signature: str | None = None

    @property
    def key(self) -> tuple[str, int, str]:
        """A newer row with the same key takes this one's place."""
        return self.data, self.shots, self.scorer

    def to_json(self) -> dict[str, Any]:
        return {_JSON.get(name, name): value for name, value in asdict(self).items()}

    @classmethod
    def from_json(cls, row: dict[str, Any]) -> Row:
        """The row that ``to_json`` gave."""
        found = {field.name: row[_JSON.get(field.name, field.name)] for field in fields(cls)}
        return cls(**found | {"seeds": tuple(found["seeds"]), "mrr_by_seed": tuple(found["mrr_by_seed"])})


def measured(reports: Sequence[Report], scorer: str, seeds: Sequence[int] = ()) -> Row:
    """The row of one scorer from its reports on the same queries: one for each seed, or a single one without any."""
    first = reports[0].official
    if not all(first.has_same_queries(report.official) for report in reports):
        raise ValueError("only reports on the same queries make one row")
    honest = [report.realistic for report in reports]
    paper = [report.paper for report in reports]
    # An entity is drawn with what every seed says of it, so that seeds do not pass for more entities.
    pooled = mean_interval(
        np.concatenate([report.official.queries.entity for report in reports]),
        np.concatenate([1 / report.official.ranks["time-aware"].of("realistic") for report in reports]),
        seed=reports[0].seed,
    )
    sign = reports[0].signature
    return Row(
        data=sign.data,
        shots=sign.shots,
        scorer=scorer,
        kind="trained" if seeds else "trivial",
        paper_mrr=_mean(row.mrr for row in paper),
        paper_hits_1=_mean(row.hits[1] for row in paper),
        paper_hits_10=_mean(row.hits[10] for row in paper),
        seeds=tuple(seeds),
        mrr=_mean(row.mrr for row in honest),
        mrr_by_seed=tuple(row.mrr for row in honest) if seeds else (),
        ci_low=pooled.low,
        ci_high=pooled.high,
        hits_1=_mean(row.hits[1] for row in honest),
        hits_10=_mean(row.hits[10] for row in honest),
        mrr_time_unaware=_mean(report.results["realistic", "time-unaware"].mrr for report in reports),
        tie_gap=_mean(report.tie_alarm.gap for report in reports),
        coverage=_mean(report.coverage for report in reports),
        queries=honest[0].queries,
        entities=honest[0].entities,
        signature=str(replace(sign, seeds=len(reports))),
    )


def published(data: str, shots: int) -> list[Row]:
    """The paper's figures for a dataset of this name, where it has any."""
    found = PUBLISHED.get((data, shots), {})
    return [Row(data, shots, f"{name} ({_LABEL})", "published", *figures) for name, figures in found.items()]


def merged(earlier: Iterable[Row], newer: Iterable[Row]) -> list[Row]:
    """Rows of both, the newer ones in place of earlier ones with their key: by dataset, shots and kind."""
    rows = list(({row.key: row for row in earlier} | {row.key: row for row in newer}).values())
    names = list(dict.fromkeys(row.data for row in rows))
    return sorted(rows, key=lambda row: (names.index(row.data), row.shots, _ORDER.index(row.kind)))


def markdown(rows: Sequence[Row]) -> str:
    """The table as a Markdown document, padded so that it can be read as plain text too."""
    head = ["data", "shots", "scorer", "seeds", "MRR", "95 % interval", "MRR, time-unaware", "H@1", "H@10"]
    head += ["MRR, paper protocol", "tie gap", "coverage", "minutes", "peak MB"]
    table = lined_up([head, *(_cells(row) for row in rows)], left=(0, 2))
    signatures = list(dict.fromkeys(row.signature for row in rows if row.signature))
    return "\n\n".join(["# Results", table, *_notes(rows), "```\n" + "\n".join(signatures) + "\n```"]) + "\n"


def lined_up(lines: Sequence[Sequence[str]], left: Sequence[int]) -> str:
    """A Markdown table of lines, the first of which is its head; columns not in ``left`` stand to the right."""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    right = [i for i in range(len(widths)) if i not in left]
    table = ["| " + " | ".join(_padded(line, widths, right)) + " |" for line in lines]
    rule = "|" + "|".join("-" * (width + 1) + (":" if i in right else "-") for i, width in enumerate(widths)) + "|"
    return "\n".join([table[0], rule, *table[1:]])


def _notes(rows: Sequence[Row]) -> list[str]:
    cores = sorted({row.cores for row in rows if row.cores})
    where = f" on {' or '.join(map(str, cores))} cores" if cores else ""
    return [
        "MRR, H@1 and H@10: realistic ranks, time-aware filter, all entities are candidates; means over seeds. "
        "95 % interval: bootstrap over entities, with the ranks of all seeds pooled. "
        "MRR, time-unaware: realistic ranks, other true answers filtered whatever their time.",
        "MRR, paper protocol: optimistic ranks, time-unaware filter, unreached answers last; for a look at published "
        "tables only. Tie gap: optimistic minus pessimistic MRR, time-aware filter; where it is large, only realistic "
        "ranks mean anything. Coverage: share of the answers that were given a score.",
        f"Minutes: of training, mean over seeds{where}. Peak MB: the most that any of the processes that trained held.",
    ]


def _cells(row: Row) -> list[str]:
    interval = "–" if row.ci_low is None else f"{_share(row.ci_low)} – {_share(row.ci_high)}"
    return [
        row.data,
        str(row.shots),
        row.scorer,
        ",".join(map(str, row.seeds)) or "–",
        _share(row.mrr),
        interval,
        *(_share(value) for value in (row.mrr_time_unaware, row.hits_1, row.hits_10, row.paper_mrr, row.tie_gap)),
        "–" if row.coverage is None else f"{row.coverage:.1%}",
        "–" if row.minutes is None else f"{row.minutes:.1f}",
        "–" if row.peak_mb is None else f"{row.peak_mb:,.0f}",
    ]


def _padded(line: Sequence[str], widths: Sequence[int], right: Sequence[int]) -> list[str]:
    return [cell.rjust(widths[i]) if i in right else cell.ljust(widths[i]) for i, cell in enumerate(line)]


def _share(value: float | None) -> str:
    """Three decimals without the leading zero, as tables of the field have them."""
    return "–" if value is None else f"{value:.3f}".replace("0.", ".", 1)


def _mean(values: Iterable[float]) -> float:
    return float(np.mean(list(values)))
