"""Reports: JSON fields, text, differences."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

import fitcarl
from fitcarl.evaluation import evaluate_scorer
from fitcarl.evaluation.draw import Draw
from fitcarl.evaluation.filtering import FILTERS
from fitcarl.evaluation.formatting import format_metric
from fitcarl.models.heuristics import AllEqual, CopySupport, Mixture
from tests.core.test_display import ESCAPED, HOSTILE
from tests.evaluation.reference import random_dataset

DATASET = random_dataset()
COPY = evaluate_scorer(CopySupport(DATASET), DATASET, "test", 3, draws=4, extra={"names": "on"})
MIX = evaluate_scorer(Mixture(DATASET), DATASET, "test", 3, draws=4)
EQUAL = evaluate_scorer(AllEqual(DATASET), DATASET, "test", 3)

ROW = {"mrr", "hits@1", "hits@3", "hits@10", "amri", "ci_low", "ci_high", "queries", "entities"}


def test_json_has_all_contract_fields():
    document = json.loads(json.dumps(COPY.to_json(), allow_nan=False))
    rows = document["results"]
    assert {(row["ranks"], row["filter"]) for row in rows} == {
        (ranks, filter)
        for ranks in ("optimistic", "realistic", "pessimistic")
        for filter in ("time-aware", "time-unaware")
    }
    assert len(rows) == 6
    assert all(set(row) == ROW | {"ranks", "filter"} for row in rows)
    assert set(document) >= {"slices", "reach", "tie_alarm", "signature", "draws", "seconds", "peak_mb"}
    assert document["paper_protocol"].keys() == ROW | {"ranks", "filter", "unreached"}
    assert set(document["tie_alarm"]) == {"alarm", "gap", "tied", "threshold"}
    assert {row["by"] for row in document["slices"]} == {"answer", "direction", "month"}
    assert all(set(row) == ROW | {"by", "value"} for row in document["slices"])
    assert 0 <= document["reach"] <= 1


def test_metrics_are_ordered_by_rank_type_and_filter():
    rows = {(row["ranks"], row["filter"]): row["mrr"] for row in COPY.to_json()["results"]}
    for filter in FILTERS:
        assert rows["pessimistic", filter] <= rows["realistic", filter] <= rows["optimistic", filter]
    for ranks in ("pessimistic", "optimistic"):
        assert rows[ranks, "time-aware"] <= rows[ranks, "time-unaware"]


def test_slices_of_one_kind_average_to_headline():
    for kind in ("answer", "direction", "month"):
        rows = [row for row in COPY.to_json()["slices"] if row["by"] == kind]
        assert sum(row["queries"] for row in rows) == COPY.realistic.queries
        assert sum(row["mrr"] * row["queries"] for row in rows) / COPY.realistic.queries == pytest.approx(
            COPY.realistic.mrr
        )


def test_signature_describes_protocol():
    digest = DATASET.digest[:12]
    assert str(COPY.signature) == (
        "ranks:realistic|filter:time-aware|cand:all|split:test|setting:completion|shots:3|draws:1+4|seeds:1|"
        f"data:small@{digest}|names:on|fitcarl:{fitcarl.__version__}"
    )


def test_tie_alarm_is_gap_between_optimistic_and_pessimistic():
    found = {(row["ranks"], row["filter"]): row["mrr"] for row in COPY.to_json()["results"]}
    gap = found["optimistic", "time-aware"] - found["pessimistic", "time-aware"]
    assert COPY.tie_alarm.gap == pytest.approx(gap)
    assert COPY.tie_alarm.alarm
    assert not MIX.tie_alarm.alarm


def test_draws_have_mean_and_standard_deviation():
    draws = COPY.to_json()["draws"]
    assert len(draws["mrr"]) == 5
    assert draws["mean"] == pytest.approx(np.mean(draws["mrr"]))
    assert draws["std"] == pytest.approx(np.std(draws["mrr"], ddof=1))
    assert draws["ci_low"] < draws["mean"] < draws["ci_high"]
    assert EQUAL.to_json()["draws"]["std"] is None


def test_per_query_ranks_json_round_trip():
    columns = json.loads(json.dumps(COPY.to_json(ranks=True)))["per_query"]
    assert "per_query" not in COPY.to_json()
    for draw, column in zip(COPY.draws, columns, strict=True):
        again = Draw.from_json(column)
        assert again.has_same_queries(draw)
        for filter in FILTERS:
            np.testing.assert_array_equal(again.ranks[filter].of("realistic"), draw.ranks[filter].of("realistic"))
            np.testing.assert_array_equal(again.ranks[filter].paper(40), draw.ranks[filter].paper(40))


def test_versus_is_paired_difference_over_all_draws():
    gain = MIX.versus(COPY)
    expected = MIX.over_draws.mean - COPY.over_draws.mean
    assert gain.mean == pytest.approx(expected)
    assert gain.low < gain.mean < gain.high
    none = COPY.versus(COPY)
    assert (none.mean, none.low, none.high) == (0, 0, 0)


def test_versus_rejects_reports_on_other_queries():
    with pytest.raises(ValueError, match="same queries"):
        COPY.versus(EQUAL)
    with pytest.raises(ValueError, match="same queries"):
        EQUAL.versus(evaluate_scorer(AllEqual(DATASET), DATASET, "valid", 3))


def test_text_has_headline_slices_coverage_and_signature():
    text = str(COPY)
    assert "2014-01" not in text
    for part in (f"MRR {COPY.realistic.mrr:.3f}".replace("0.", "."), "TIE ALARM", "novel", "in support", "5 draws"):
        assert part in text
    assert text.splitlines()[-1] == str(COPY.signature)
    assert "TIE ALARM" not in str(MIX)


def test_frame_has_metrics_of_results_paper_protocol_and_slices():
    frame, document = COPY.to_frame(), COPY.to_json()
    assert frame.columns[:5] == ["scorer", "by", "value", "ranks", "filter"]
    assert set(frame.columns[5:]) == ROW
    kinds = frame["by"].to_list()
    assert kinds[:7] == ["all"] * 6 + ["paper"]
    assert kinds[7:] == [row["by"] for row in document["slices"]]
    expected = [*document["results"], document["paper_protocol"], *document["slices"]]
    for row, source in zip(frame.rows(named=True), expected, strict=True):
        assert {name: row[name] for name in ROW} == {name: source[name] for name in ROW}
        assert row["value"] == source.get("value")


def test_repr_is_one_short_line():
    assert repr(COPY).startswith("Report('copy on ")
    assert format_metric(COPY.realistic.mrr) in repr(COPY)
    assert len(repr(COPY)) < 200
    assert "\n" not in repr(COPY)


def test_notebook_shows_headline_metrics_and_escapes_names():
    shown = replace(COPY, scorer=HOSTILE)._repr_html_()
    assert ESCAPED in shown
    assert "<script" not in shown
    for text in (format_metric(COPY.realistic.mrr), "novel", "5 draws of supports", str(COPY.signature)):
        assert text in shown
    assert "TIE ALARM" not in MIX._repr_html_()
    assert "TIE ALARM" in EQUAL._repr_html_()
