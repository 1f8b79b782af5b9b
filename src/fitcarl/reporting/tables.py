"""Reports as tables for the terminal."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from fitcarl.evaluation.filtering import FILTERS
from fitcarl.evaluation.formatting import format_interval, format_metric
from fitcarl.evaluation.metrics import HITS, Summary
from fitcarl.evaluation.ranks import RANK_TYPES
from fitcarl.evaluation.report import Report


def render_report(report: Report) -> RenderableType:
    """All tables of a report, to be printed by a rich console: metrics, slices, ties, coverage, draws, signature."""
    sign = report.signature
    title = Text.assemble(
        (report.scorer, "bold"),
        f" on {sign.data}, meta-{sign.split}, {sign.shots}-shot: ",
        f"{report.realistic.queries:,} queries about {report.realistic.entities:,} unseen entities",
    )
    parts: list[RenderableType] = [title, _protocols(report), _combinations(report), _slices(report), Text("")]
    parts += [_ties(report), _coverage(report), *_calibration(report), _draws(report)]
    cost = f"{report.seconds:.1f} s for the official draw, peak memory {report.peak_mb:,.0f} MB"
    size = "" if report.parameters is None else f", {report.parameters:,} trained parameters"
    parts.append(Text(cost + size, "dim"))
    parts.append(signature_text(report))
    return Group(*parts)


def signature_text(report: Report) -> Text:
    """The signature, wrapped over several lines if needed and never truncated."""
    return Text(str(report.signature), style="dim", no_wrap=False, overflow="fold")


def plain_table(*columns: str) -> Table:
    """An empty table without borders, with its first columns."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for name in columns:
        table.add_column(name, overflow="fold")
    return table


def _add_metric_columns(table: Table) -> None:
    for name in ("MRR", "95 % interval", *(f"H@{k}" for k in HITS), "AMRI"):
        table.add_column(name, justify="right")


def _metric_cells(row: Summary) -> list[str]:
    interval = f"{format_metric(row.ci_low)} – {format_metric(row.ci_high)}"
    return [format_metric(row.mrr), interval, *(format_metric(row.hits[k]) for k in HITS), format_metric(row.amri)]


def _protocols(report: Report) -> RenderableType:
    table = plain_table("protocol")
    _add_metric_columns(table)
    table.add_row("realistic", *_metric_cells(report.realistic), style="bold")
    table.add_row("paper", *_metric_cells(report.paper))
    # The protocols are explained below the table, not in columns: the table has to fit in 80 characters.
    realistic = Text("realistic: realistic ranks, time-aware filter, unlisted answers tied last", "dim")
    paper = Text(f"paper: optimistic ranks, time-unaware filter, unlisted answers at rank {report.entities:,}", "dim")
    return Padding(Group(table, realistic, paper), (1, 0, 0, 0))


def _combinations(report: Report) -> RenderableType:
    table = plain_table("MRR by filter and ranks")
    for kind in RANK_TYPES:
        table.add_column(kind, justify="right")
    for filter in FILTERS:
        table.add_row(filter, *(format_metric(report.results[kind, filter].mrr) for kind in RANK_TYPES))
    return Padding(table, (1, 0, 0, 0))


def _slices(report: Report) -> RenderableType:
    table = plain_table("slice", "")
    table.add_column("queries", justify="right")
    _add_metric_columns(table)
    previous = None
    for part, row in report.parts:
        table.add_row(part.by if part.by != previous else "", part.value, f"{row.queries:,}", *_metric_cells(row))
        previous = part.by
    return Padding(table, (1, 0, 0, 0))


def _ties(report: Report) -> Text:
    ties = report.tie_alarm
    facts = (
        f"optimistic − pessimistic MRR = {format_metric(ties.gap)} (limit {format_metric(ties.threshold)}); "
        f"{ties.tied:.0%} of the answers are tied with other candidates"
    )
    if ties.alarm:
        return Text.assemble(("TIE ALARM  ", "bold red"), (facts, "red"), ": only realistic ranks are meaningful")
    return Text.assemble(("ties  ", "bold"), facts)


def _coverage(report: Report) -> Text:
    return Text.assemble(("coverage  ", "bold"), f"{report.coverage:.1%} of the answers were scored")


def _calibration(report: Report) -> list[Text]:
    """The calibration of the shares, if there are any."""
    found = report.calibration_report
    if found is None:
        return []
    facts = (
        f"expected calibration error {format_metric(found.ece)} ({format_metric(found.ece_by_chance)} by chance); "
        f"temperature {found.calibration.temperature:.2f}, {found.calibration.unlisted_mass:.1%} for unlisted entities"
    )
    return [Text.assemble(("shares  ", "bold"), facts)]


def _draws(report: Report) -> Text:
    if report.spread is None:
        return Text.assemble(("draws  ", "bold"), "the official supports only")
    mean = sum(report.mrr_by_draw) / len(report.draws)
    return Text.assemble(
        ("draws  ", "bold"),
        f"MRR {format_metric(mean)} ± {format_metric(report.spread)} (standard deviation) over the official supports "
        f"and {len(report.draws) - 1} resampled; 95 % interval of all {format_interval(report.over_draws)}",
    )
