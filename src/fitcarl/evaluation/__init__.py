"""From answers to ranks, and from ranks to a report that can be trusted."""

from fitcarl.evaluation.protocol import evaluate
from fitcarl.evaluation.report import Report

__all__ = ["Report", "evaluate"]
