"""Terminal tables of reports."""

from __future__ import annotations

import io

from rich.console import Console

from fitcarl.evaluation.report import Report
from fitcarl.reporting.tables import render_report
from tests.evaluation.test_report import COPY, MIX


def printed(report: Report, width: int) -> str:
    console = Console(width=width, record=True, file=io.StringIO())
    console.print(render_report(report))
    return console.export_text()


def test_tables_show_protocols_ties_coverage_slices_and_signature():
    page = printed(COPY, 110)
    lines = page.splitlines()
    realistic = next(line for line in lines if line.startswith("realistic"))
    paper = next(line for line in lines if line.startswith("paper"))
    assert lines.index(realistic) < lines.index(paper)
    assert f"{COPY.realistic.mrr:.3f}"[1:] in realistic
    assert f"{COPY.paper.mrr:.3f}"[1:] in paper
    for word in ("TIE ALARM", "coverage", "novel", "in support", "inverse", "2014-01", "4 resampled"):
        assert word in page
    assert str(COPY.signature) in page.replace("\n", "")
    assert "TIE ALARM" not in printed(MIX, 110)


def test_tables_fit_in_80_characters():
    page = printed(COPY, 80)
    assert "…" not in page
    assert f"{COPY.realistic.ci_low:.3f}"[1:] + " – " + f"{COPY.realistic.ci_high:.3f}"[1:] in page
