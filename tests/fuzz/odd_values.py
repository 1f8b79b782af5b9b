"""Values that readers are likely to get wrong."""

from __future__ import annotations

import math
from random import Random
from typing import Any

INTEGERS = (0, 1, -1, 2, 3, 7, 255, 2**15, 2**31 - 1, 2**31, -(2**31), 2**32, 2**40, 2**53, 2**62, 2**63 - 1, -(2**63))
HUGE = (2**63, 2**64, 10**19, 10**30, 10**400)
FLOATS = (0.0, -0.0, 0.5, 1e-12, 1e-300, 1e38, 1e300, math.nan, math.inf, -math.inf, -1.5)
TIMES = (
    *(
        "2020-01-01",
        "2020-02-30",
        "0000-01-01",
        "9999-12-31",
        "10000-01-01",
        "-44-03-15",
        "2020-W53",
        "2020-Q4",
        "2020",
    ),
    *("2020-01-01T00:00:00Z", "2020-01-01 24:00", "2020-12-31T23:59:60+14:00", "20200101", "1577836800", "1e9", "0"),
    *("1577836800000000000", "01/02/2020", "31.12.2020", "Jan 5, 2020", "now", "NaT", "-1", "9223372036854775808"),
)
TEXTS = (
    *("", " ", "x", "\x00", "\x1b[31mred", "\u200b", "\u202e", "\ufeff", "\u2028", "\x85", "\ud800", "é", "😀"),
    *('"', '""', "'", ",", "\t", "\n", "\r\n", ";", "|", "\\N", "NULL", "nan", "null", "true", "[]", "{}", "/", ".."),
    *("a" * 300, "a" * 5000, "subject", "relation", "object", "time", "start", "end", "0", "-1", "1e999"),
)


def odd_number(random: Random, near: int = 0) -> int | float:
    """An integer or a float; often one around ``near``, such as the length of an array."""
    kind = random.random()
    if kind < 0.4:
        return near + random.choice((-1, 0, 1))
    return random.choice(INTEGERS if kind < 0.8 else FLOATS)


def odd_text(random: Random) -> str:
    return random.choice(TEXTS if random.random() < 0.6 else TIMES)


def odd_json(random: Random, depth: int = 2) -> Any:
    """A JSON value; Python's JSON also has NaN, infinities and integers of any size."""
    kind = random.randrange(8)
    if kind < 3:
        return odd_number(random)
    if kind < 5:
        return odd_text(random)
    if kind == 5 and depth:
        return [odd_json(random, depth - 1) for _ in range(random.randrange(3))]
    if kind == 6 and depth:
        return {odd_text(random): odd_json(random, depth - 1) for _ in range(random.randrange(3))}
    return random.choice((None, True, False, *HUGE))
