"""Evaluations of open queries as tables for the terminal."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from fitcarl.evaluation.bootstrap import Interval
from fitcarl.evaluation.formatting import format_difference, format_metric
from fitcarl.evaluation.metrics import HITS
from fitcarl.evaluation.open_report import RELATION_FILTER, OpenRelationReport, OpenTimeReport, RankedSummary
from fitcarl.reporting.tables import plain_table

_MEASURES = {
    "log_loss": "log-loss",
    "brier": "Brier score",
    "log_loss_whether": "log-loss, whether",
    "log_loss_when": "log-loss, when",
}


def render_open_relation(report: OpenRelationReport) -> RenderableType:
    """The metrics of answers and of relations alone for each model of relations, and paired differences."""
    sign, rows = report.signature, [(row.name, *report.summary(row)) for row in report.rows]
    entities = rows[0][1].ranking.entities
    title = Text.assemble(
        (report.scorer, "bold"),
        f" on {sign.data}, meta-{sign.split}, {sign.shots}-shot, relation open: ",
        f"{len(report.entity):,} queries about {entities:,} unseen entities",
    )
    parts: list[RenderableType] = [
        title,
        _metrics("relation, direction and entity", [(name, answer) for name, answer, _ in rows]),
        _metrics("relation and direction alone", [(name, relation) for name, _, relation in rows]),
    ]
    for row in report.rows[1:]:
        found = report.differences(row)
        values = ", ".join(f"{name.replace('_', ' ')} {_difference(value)}" for name, value in found.items())
        parts.append(Text(f"fitted minus {row.name}: {values}"))
    notes = (
        f"forecast: only facts before t_q are visible; {RELATION_FILTER}; "
        f"{report.relations_scored:.0f} directed relations are scored on average, at least {report.mass:.0%} of the "
        f"probability of each model; the others are tied last"
    )
    return Group(*parts, Text(""), Text(notes, "dim"), _signature(str(sign)))


def render_open_time(report: OpenTimeReport) -> RenderableType:
    """Losses of the fitted model and of the base rate, their paired difference, and events by interval."""
    sign, unit = report.signature, report.unit
    title = Text.assemble(
        f"{sign.data}, meta-{sign.split}, {sign.shots}-shot, time open: ",
        f"{len(report.entity):,} questions, {int(report.within.sum()):,} with an event "
        f"within {report.bounds[-1]} {unit}",
    )
    losses = plain_table("")
    for name in ("fitted", "base rate", "difference", "95 % interval"):
        losses.add_column(name, justify="right")
    fitted, base = report.summary(report.fitted), report.summary(report.base)
    for name, difference in report.summary(report.fitted, report.base).items():
        cells = format_metric(fitted[name].mean), format_metric(base[name].mean), format_difference(difference.mean)
        losses.add_row(_MEASURES[name], *cells, f"{format_metric(difference.low)} – {format_metric(difference.high)}")
    events = plain_table(f"{unit} from the question")
    for name in ("events", "expected", "base rate"):
        events.add_column(name, justify="right")
    for row in report.to_json()["intervals"]:
        expected = f"{row['expected']:.1f}", f"{row['expected_base_rate']:.1f}"
        events.add_row(f"{row['from']} to {row['to'] - 1}", str(row["events"]), *expected)
    verdict = "better than the base rate" if report.better else "NOT better than the base rate"
    notes = (
        "lower is better; whether: an event within the horizon or none; when: its interval, given that there is one. "
        "Questions are chosen without looking at the answers: right after the last support fact and after longer "
        "waits, for the relations of the support facts and the most popular ones."
    )
    parts: list[RenderableType] = [
        Padding(losses, (1, 0)),
        Padding(events, (0, 0, 1, 0)),
        Text(f"The fitted model is {verdict} (log-loss)."),
    ]
    return Group(title, *parts, Text(notes, "dim"), _signature(str(sign)))


def _metrics(title: str, rows: list[tuple[str, RankedSummary]]) -> RenderableType:
    table = plain_table(title)
    for name in ("MRR", "95 % interval", *(f"H@{k}" for k in HITS), "log-loss", "ECE"):
        table.add_column(name, justify="right")
    for number, (name, row) in enumerate(rows):
        ranking = row.ranking
        interval = f"{format_metric(ranking.ci_low)} – {format_metric(ranking.ci_high)}"
        hits = (format_metric(ranking.hits[k]) for k in HITS)
        cells = format_metric(ranking.mrr), interval, *hits, f"{row.log_loss.mean:.2f}", format_metric(row.ece)
        table.add_row(name, *cells, style="bold" if number == 0 else "")
    return Padding(table, (1, 0, 0, 0))


def _difference(value: Interval) -> str:
    return f"{format_difference(value.mean)} ({format_metric(value.low)} – {format_metric(value.high)})"


def _signature(text: str) -> Text:
    return Text(text, style="dim", no_wrap=False, overflow="fold")
