"""Durations as text in ticks of a calendar."""

from __future__ import annotations

import pytest

from fitcarl.data.calendar import Calendar, Granularity
from fitcarl.data.durations import parse_duration
from fitcarl.errors import InputError


@pytest.mark.parametrize(
    ("granularity", "step", "text", "ticks"),
    [
        ("day", 1, "30d", 30),
        ("day", 1, " 2 W ", 14),
        ("day", 1, "1y", 365),
        ("hour", 1, "2d", 48),
        ("hour", 1, "6h", 6),
        ("month", 1, "1y", 12),
        ("year", 1, "3y", 3),
        ("integer", 1, "5", 5),
        ("integer", 24, "72", 3),
    ],
)
def test_duration_is_converted_to_ticks(granularity: Granularity, step: int, text: str, ticks: int) -> None:
    assert parse_duration(Calendar.of_granules(granularity, [0, 240], step), text) == ticks


@pytest.mark.parametrize(
    ("granularity", "step", "text", "expected"),
    [
        ("day", 1, "30", "days (d) or weeks (w) or months (m) or years (y), such as 30d"),
        ("day", 1, "0d", "a positive number"),
        ("day", 1, "5h", "a positive number"),
        ("day", 1, "soon", "a positive number"),
        ("month", 1, "30d", "months (m) or years (y)"),
        ("integer", 1, "5d", "a positive integer"),
        ("integer", 24, "25", "a positive integer that is a multiple of 24"),
    ],
)
def test_other_text_is_an_error(granularity: Granularity, step: int, text: str, expected: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_duration(Calendar.of_granules(granularity, [0, 240], step), text)
    assert "not a duration of this dataset" in str(caught.value)
    assert expected in str(caught.value)
