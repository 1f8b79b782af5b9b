"""From scores to ranks, and from ranks to a report."""

from fitcarl.evaluation.protocol import evaluate_scorer
from fitcarl.evaluation.report import Report

__all__ = ["Report", "evaluate_scorer"]
