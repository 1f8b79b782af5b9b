"""A report as tables for the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from fitcarl.evaluation.bootstrap import Interval
from fitcarl.evaluation.filtering import FILTERS
from fitcarl.evaluation.metrics import HITS, Summary
from fitcarl.evaluation.ranks import RANK_TYPES

if TYPE_CHECKING:
    from fitcarl.evaluation.report import Report


def render(report: Report) -> RenderableType:
    """Headline with the paper's protocol beside it, tie alarm, reach, draws, slices, signature."""
    sign = report.signature
    title = Text.assemble(
        (report.scorer, "bold"),
        f" on {sign.data}, meta-{sign.split}, {sign.shots}-shot: ",
        f"{report.realistic.queries:,} queries about {report.realistic.entities:,} unseen entities",
    )
    parts: list[RenderableType] = [title, _protocols(report), _combinations(report), _slices(report), Text("")]
    parts += [_ties(report), _reach(report), *_trust(report), _draws(report)]
    parts.append(Text(f"{report.seconds:.1f} s for the official draw, peak memory {report.peak_mb:,.0f} MB", "dim"))
    parts.append(signed_by(report))
    return Group(*parts)


def signed_by(report: Report) -> Text:
    """The signature, over several lines where one is too short: it is never cut off."""
    return Text(str(report.signature), style="dim", no_wrap=False, overflow="fold")


def share(value: float) -> str:
    """Three decimals without the leading zero, as tables of the field have them."""
    return f"{value:.3f}".replace("0.", ".", 1)


def signed(gain: float) -> str:
    """The same of a difference."""
    return ("+" if gain > 0 else "") + share(gain)


def between(interval: Interval) -> str:
    """The two ends of an interval."""
    return f"{share(interval.low)} – {share(interval.high)}"


def grid(*first: str) -> Table:
    """An empty table as ours are, with its first columns."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for name in first:
        table.add_column(name, overflow="fold")
    return table


def _add_metrics(table: Table) -> None:
    for name in ("MRR", "95 % interval", *(f"H@{k}" for k in HITS), "AMRI"):
        table.add_column(name, justify="right")


def _metrics(row: Summary) -> list[str]:
    interval = f"{share(row.ci_low)} – {share(row.ci_high)}"
    return [share(row.mrr), interval, *(share(row.hits[k]) for k in HITS), share(row.amri)]


def _protocols(report: Report) -> RenderableType:
    table = grid("protocol")
    _add_metrics(table)
    table.add_row("realistic", *_metrics(report.realistic), style="bold")
    table.add_row("paper", *_metrics(report.paper))
    # What the two words mean stands below, not in columns of its own: the table has to fit in 80 characters.
    realistic = Text("realistic: realistic ranks, time-aware filter, unreached answers tied last", "dim")
    paper = Text(f"paper: optimistic ranks, time-unaware filter, unreached answers at rank {report.entities:,}", "dim")
    return Padding(Group(table, realistic, paper), (1, 0, 0, 0))


def _combinations(report: Report) -> RenderableType:
    table = grid("MRR by filter and ranks")
    for kind in RANK_TYPES:
        table.add_column(kind, justify="right")
    for filter in FILTERS:
        table.add_row(filter, *(share(report.results[kind, filter].mrr) for kind in RANK_TYPES))
    return Padding(table, (1, 0, 0, 0))


def _slices(report: Report) -> RenderableType:
    table = grid("slice", "")
    table.add_column("queries", justify="right")
    _add_metrics(table)
    before = None
    for part, row in report.parts:
        table.add_row(part.by if part.by != before else "", part.value, f"{row.queries:,}", *_metrics(row))
        before = part.by
    return Padding(table, (1, 0, 0, 0))


def _ties(report: Report) -> Text:
    ties = report.tie_alarm
    facts = (
        f"optimistic − pessimistic MRR = {share(ties.gap)} (limit {share(ties.threshold)}); "
        f"{ties.tied:.0%} of the answers share their score with others"
    )
    if ties.alarm:
        return Text.assemble(("TIE ALARM  ", "bold red"), (facts, "red"), ": only realistic ranks mean anything here")
    return Text.assemble(("ties  ", "bold"), facts)


def _reach(report: Report) -> Text:
    return Text.assemble(("coverage  ", "bold"), f"{report.coverage:.1%} of the answers were given a score at all")


def _trust(report: Report) -> list[Text]:
    """How far shares can be trusted, where there are any."""
    if report.calibration_report is None:
        return []
    trust = report.calibration_report
    facts = (
        f"expected calibration error {share(trust.ece)} ({share(trust.ece_by_chance)} by chance alone); "
        f"temperature {trust.calibration.temperature:.2f}, {trust.calibration.unlisted_mass:.1%} left for others"
    )
    return [Text.assemble(("shares  ", "bold"), facts)]


def _draws(report: Report) -> Text:
    if report.spread is None:
        return Text.assemble(("draws  ", "bold"), "the official supports only")
    pooled = report.over_draws
    mean = sum(report.mrr_by_draw) / len(report.draws)
    return Text.assemble(
        ("draws  ", "bold"),
        f"MRR {share(mean)} ± {share(report.spread)} (standard deviation) over the official supports and "
        f"{len(report.draws) - 1} resampled; 95 % interval of all {share(pooled.low)} – {share(pooled.high)}",
    )
