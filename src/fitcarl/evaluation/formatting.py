"""Numbers as tables of the field print them."""

from __future__ import annotations

from fitcarl.evaluation.bootstrap import Interval


def format_metric(value: float | None) -> str:
    """Three decimals without the leading zero; a dash if there is no value."""
    return "–" if value is None else f"{value:.3f}".replace("0.", ".", 1)


def format_difference(value: float) -> str:
    """``format_metric`` with a sign."""
    return ("+" if value > 0 else "") + format_metric(value)


def format_interval(interval: Interval) -> str:
    """The two ends of an interval."""
    return f"{format_metric(interval.low)} – {format_metric(interval.high)}"
