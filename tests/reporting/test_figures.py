"""Figures of reports."""

from __future__ import annotations

import pytest

from fitcarl.evaluation import evaluate_scorer
from fitcarl.models.heuristics import CopySupport
from fitcarl.reporting.figures import performance_over_time
from tests.evaluation.reference import random_dataset
from tests.evaluation.test_report import COPY, MIX


@pytest.mark.parametrize(("suffix", "magic"), [("png", b"\x89PNG"), ("svg", b"<?xml")])
def test_performance_over_time_figure_is_deterministic(tmp_path, suffix, magic):
    first, second = tmp_path / f"one.{suffix}", tmp_path / f"two.{suffix}"
    performance_over_time([COPY, MIX], first)
    performance_over_time([COPY, MIX], second)
    assert first.read_bytes().startswith(magic)
    assert first.read_bytes() == second.read_bytes()
    performance_over_time(COPY, second)
    assert first.read_bytes() != second.read_bytes()


def test_figure_rejects_reports_with_different_periods(tmp_path):
    early = random_dataset(days=40)
    with pytest.raises(ValueError, match="same queries"):
        performance_over_time([COPY, evaluate_scorer(CopySupport(early), early, "test", 3)], tmp_path / "picture.png")
