"""Rows of the results table, their JSON and the Markdown document."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from fitcarl.data.io.dataset_folder import read_dataset
from fitcarl.data.io.registry import REGISTRY
from fitcarl.evaluation import Report, evaluate_scorer
from fitcarl.experiments.published import published_systems
from fitcarl.experiments.results import Row, merge_rows, published_rows, render_results, row_of_reports
from fitcarl.models.registry import heuristic


@pytest.fixture(scope="module")
def reports(data: Path) -> dict[str, Report]:
    dataset = read_dataset(data)
    return {
        name: evaluate_scorer(heuristic(name, dataset), dataset, "test", 2) for name in ("all-equal", "copy", "peers")
    }


def row(data: str, shots: int, scorer: str, mrr: float = 0.5) -> Row:
    return Row(data, shots, scorer, "heuristic", 0.1, 0.1, 0.1, 0.1, mrr=mrr)


def cells(document: str) -> list[list[str]]:
    return [[cell.strip() for cell in line.split("|")[1:-1]] for line in document.splitlines() if line.startswith("|")]


def test_row_of_one_report_has_its_metrics(reports: dict[str, Report]) -> None:
    report = reports["peers"]
    found = row_of_reports([report], "peers")
    assert (found.mrr, found.hits_1, found.hits_10) == (
        report.realistic.mrr,
        report.realistic.hits[1],
        report.realistic.hits[10],
    )
    assert (found.ci_low, found.ci_high) == (report.realistic.ci_low, report.realistic.ci_high)
    assert (found.paper_mrr, found.coverage) == (report.paper.mrr, report.coverage)
    assert found.mrr_time_unaware == report.results["realistic", "time-unaware"].mrr
    assert (found.kind, found.seeds, found.signature) == ("heuristic", (), str(report.signature))


def test_row_over_seeds_is_mean_and_signature_counts_seeds(reports: dict[str, Report]) -> None:
    two = [reports["copy"], reports["peers"]]
    found = row_of_reports(two, "model", [4, 7])
    assert found.mrr == pytest.approx(sum(report.realistic.mrr for report in two) / 2)
    assert found.paper_mrr == pytest.approx(sum(report.paper.mrr for report in two) / 2)
    assert found.tie_gap == pytest.approx(sum(report.tie_alarm.gap for report in two) / 2)
    assert found.mrr_by_seed == (two[0].realistic.mrr, two[1].realistic.mrr)
    assert "|seeds:2|" in (found.signature or "")


def test_seeds_do_not_narrow_interval(reports: dict[str, Report]) -> None:
    once, thrice = row_of_reports([reports["peers"]], "m", [0]), row_of_reports([reports["peers"]] * 3, "m", [0, 1, 2])
    assert (thrice.ci_low, thrice.ci_high) == pytest.approx((once.ci_low, once.ci_high), abs=1e-12)


def test_row_rejects_reports_on_other_queries(reports: dict[str, Report], data: Path) -> None:
    dataset = read_dataset(data)
    other = evaluate_scorer(heuristic("peers", dataset), dataset, "test", 1)
    with pytest.raises(ValueError, match="same queries"):
        row_of_reports([reports["peers"], other], "m", [0, 1])


def test_published_figures_have_paper_protocol_only() -> None:
    *_, filt, fitcarl = published_rows("icews14-oog", 3)
    assert (filt.paper_mrr, fitcarl.paper_mrr, fitcarl.paper_hits_1, fitcarl.paper_hits_10) == (
        0.321,
        0.481,
        0.329,
        0.696,
    )
    assert fitcarl.mrr is fitcarl.mrr_time_unaware is fitcarl.hits_1 is fitcarl.ci_low is None
    assert "published, optimistic ranks" in fitcarl.scorer
    assert published_rows("mine", 3) == published_rows("icews14-oog", 2) == []


def test_published_figures_cover_registered_datasets() -> None:
    assert {data for _, data, _ in published_systems()} == {name for name, entry in REGISTRY.items() if entry.files}


def test_newer_row_replaces_earlier_one() -> None:
    earlier = [row("b", 3, "x", 0.1), row("b", 1, "x", 0.2), row("a", 1, "y", 0.3)]
    found = merge_rows(earlier, [row("b", 3, "x", 0.9), row("b", 3, "z", 0.4), *published_rows("icews14-oog", 1)])
    assert [(r.data, r.shots, r.scorer, r.mrr) for r in found[:4]] == [
        ("b", 1, "x", 0.2),
        ("b", 3, "x", 0.9),
        ("b", 3, "z", 0.4),
        ("a", 1, "y", 0.3),
    ]
    assert {r.kind for r in found[4:]} == {"published"}


def test_row_json_round_trip(reports: dict[str, Report]) -> None:
    full = replace(row_of_reports([reports["copy"]], "model", [3]), minutes=1.5, peak_mb=700.0, cores=2)
    for found in (full, *published_rows("icews18-oog", 3)):
        assert Row.from_json(json.loads(json.dumps(found.to_json()))) == found
    assert {"hits@1", "hits@10", "paper_hits@1"} <= full.to_json().keys()


def test_document_has_all_cells_and_signatures(reports: dict[str, Report]) -> None:
    rows = [row_of_reports([reports["all-equal"]], "all-equal"), *published_rows("icews14-oog", 3)]
    rows.append(
        replace(row_of_reports([reports["peers"]] * 2, "model", [0, 1]), minutes=12.34, peak_mb=1234.5, cores=2)
    )
    document = render_results(rows)
    head, rule, *lines = cells(document)
    assert {len(line) for line in (head, rule, *lines)} == {15}
    last = dict(zip(head, lines[-1], strict=True))
    assert (last["seeds"], last["minutes"], last["peak MB"]) == ("0,1", "12.3", "1,234")
    assert last["MRR"] == f"{reports['peers'].realistic.mrr:.3f}".replace("0.", ".")
    missing = dict(zip(head, lines[1], strict=True))
    assert [name for name in head if missing[name] == "–"] == [
        *(
            "seeds",
            "MRR",
            "95 % interval",
            "MRR, time-unaware",
            "H@1",
            "H@3",
            "H@10",
            "tie gap",
            "coverage",
            "minutes",
            "peak MB",
        )
    ]
    for found in rows:
        assert found.signature is None or found.signature in document
