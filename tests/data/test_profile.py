"""The profile of facts for an analyst, worked out by hand."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from fitcarl.data.calendar import Calendar, Granularity
from fitcarl.data.concepts import Concepts
from fitcarl.data.facts import Facts
from fitcarl.data.periods import count_by_period, sparkline
from fitcarl.data.profile import FactsProfile, profile_facts
from fitcarl.data.quadruples import Quadruples
from fitcarl.data.vocabulary import Vocabulary

ROWS = [
    (0, 0, 1, 0),
    (0, 0, 1, 31),  # repeats the first fact
    (1, 1, 0, 31),  # the same two entities
    (1, 1, 0, 31 + 29),  # repeats the one before
    (2, 0, 1, 31 + 29),
    (2, 1, 2, 31 + 29 + 1),
    (0, 1, 3, 31 + 29 + 1),  # not a repeat: the other fact of these two is at the same time
    (3, 0, 0, 31 + 29 + 1),
]


def facts_of(rows: list[tuple[int, int, int, int]], granularity: Granularity = "day", origin: int = 19723) -> Facts:
    entities = max(max(s, o) for s, _, o, _ in rows) + 2  # one has no fact
    return Facts(
        name="small",
        quadruples=Quadruples.from_rows(rows),
        vocabulary=Vocabulary(tuple(f"e{i}" for i in range(entities)), ("meets", "sues", "unused")),
        calendar=Calendar.of_granules(granularity, origin + np.array([row[3] for row in rows])),
        concepts=Concepts.none(entities),
        rows=len(rows) + 2,
        duplicates=2,
        self_loops=1,
    )


@pytest.fixture
def found() -> FactsProfile:
    return profile_facts(facts_of(ROWS))  # 19723 is 2024-01-01


def test_names_without_facts_are_not_counted(found: FactsProfile) -> None:
    assert (found.facts, found.entities, found.relations) == (8, 4, 2)
    assert (found.rows, found.duplicates, found.self_loops) == (10, 2, 1)


def test_repeats_count_facts_with_an_earlier_equal_one(found: FactsProfile) -> None:
    assert found.repeats == 2 / 8
    assert found.repeated_pairs == 3 / 8


def test_busiest_names_have_counts_and_shares(found: FactsProfile) -> None:
    assert [(busy.name, busy.facts, busy.share) for busy in found.busiest_entities] == [
        ("e0", 6, 6 / 8),
        ("e1", 5, 5 / 8),
        ("e2", 2, 2 / 8),
        ("e3", 2, 2 / 8),
    ]
    assert [(busy.name, busy.facts) for busy in found.busiest_relations] == [("meets", 4), ("sues", 4)]


def test_facts_and_new_entities_are_counted_by_period(found: FactsProfile) -> None:
    assert (found.periods.unit, found.periods.units) == ("week", 1)  # two months are too short for months
    assert found.periods.facts == (1, 0, 0, 0, 2, 0, 0, 0, 5)
    assert found.periods.new_entities == (2, 0, 0, 0, 0, 0, 0, 0, 2)


@pytest.mark.parametrize(
    ("granularity", "span", "expected"),
    [
        ("hour", 24 * 20, "day"),
        ("day", 41, "day"),
        ("day", 42, "week"),
        ("day", 92, "month"),
        ("day", 365 * 9, "year"),
        ("month", 3, "month"),
        ("month", 97, "year"),
        ("year", 2, "year"),
        ("integer", 5000, "tick"),
    ],
)
def test_unit_of_periods_depends_on_the_span(granularity: Granularity, span: int, expected: str) -> None:
    calendar = Calendar.of_granules(granularity, [0, span - 1])
    assert count_by_period([0, span - 1], [0], calendar, 0, span - 1).unit == expected


def test_counts_by_month_follow_the_calendar() -> None:
    calendar = Calendar.of_granules("day", [19723, 19723 + 150])
    times = [0, 30, 31, 31 + 28, 31 + 29, 150]  # 2024-01-01, 01-31, 02-01, 02-29, 03-01, 05-30
    found = count_by_period(times, [0, 31, 150], calendar, 0, 150)
    assert found.labels == ("2024-01", "2024-02", "2024-03", "2024-04", "2024-05")
    assert found.facts == (2, 2, 1, 0, 1)
    assert found.new_entities == (1, 1, 0, 0, 1)


def test_weeks_begin_on_monday() -> None:
    calendar = Calendar.of_granules("day", [19723, 19723 + 60])  # a Monday
    found = count_by_period([0, 6, 7, 60], [0], calendar, 0, 60)
    assert found.labels[:2] == ("2024-01-01", "2024-01-08")
    assert found.facts[:2] == (2, 1)


def test_long_spans_have_periods_of_several_units() -> None:
    calendar = Calendar.of_granules("year", [1830, 2018])
    found = count_by_period(np.arange(189), np.arange(189), calendar, 0, 188)
    assert (found.name, len(found.labels), found.labels[:2]) == ("4 years", 48, ("1830", "1834"))
    assert sum(found.facts) == sum(found.new_entities) == 189


def test_sparkline_has_eight_heights_and_a_space_for_none() -> None:
    assert sparkline([0, 1, 2, 3, 4, 5, 6, 7, 8]) == " ▁▂▃▄▅▆▇█"
    assert sparkline([0, 0]) == "  "
    assert sparkline([1, 1000]) == "▁█"


def test_sides_are_two_if_few_entities_are_subjects_and_objects() -> None:
    players = [(player, 0, 100 + club, season) for player in range(40) for season, club in enumerate((0, 1))]
    assert profile_facts(facts_of(players)).both_sides == 0
    assert profile_facts(facts_of(players)).two_sided
    mutual = [*players, *((100, 0, player, 9) for player in range(20))]
    assert profile_facts(facts_of(mutual)).both_sides == 21 / 42
    assert not profile_facts(facts_of(mutual)).two_sided


def test_entities_with_one_fact_do_not_decide_the_sides() -> None:
    chain = [(0, 0, 1, 0), (1, 0, 0, 1), *((0, 0, other, 2) for other in range(2, 30))]
    assert profile_facts(facts_of(chain)).both_sides == 1
    assert profile_facts(facts_of([(0, 0, 1, 0)])).both_sides is None
    assert not profile_facts(facts_of([(0, 0, 1, 0)])).two_sided


def test_stray_times_are_reported_and_do_not_stretch_the_periods() -> None:
    rows = [(i % 50, 0, 50 + i % 7, year) for year in range(1830, 2019) for i in range(20)]
    facts = facts_of([*rows, (0, 0, 1, 2844), (0, 0, 1, 100)], "year", 0)
    facts = replace(facts, quadruples=replace(facts.quadruples, time=facts.quadruples.time - 100))
    found = profile_facts(facts)
    assert (found.first_time, found.last_time, found.last_busy_time) == ("0100", "2844", "2018")
    assert (found.outliers.before, found.outliers.after) == (1, 1)  # quantiles 1831 and 2017
    assert (found.periods.labels[0], found.periods.labels[-1]) == ("1830", "2018")
    assert "2 facts lie more than 93 years outside the 1 % to 99 % range (1 before, 1 after)" in found.render()
    assert "last busy time 2018" in found.render()


def test_profile_is_json_with_the_documented_keys(found: FactsProfile) -> None:
    document = found.to_json()
    assert json.loads(json.dumps(document, allow_nan=False)) == document
    assert {key: document[key] for key in ("mapping", "time_scale", "granularity", "two_sided", "facts")} == {
        "mapping": None,
        "time_scale": {"unit_ticks": 29.0, "text": "about 4.1 weeks"},
        "granularity": "day",
        "two_sided": False,
        "facts": 8,
    }


def test_columns_of_the_source_are_shown_if_they_are_known(found: FactsProfile) -> None:
    text = "subject = home_team, object = away_team; ignored: city"
    mapped = replace(found, mapping={"subject": "home_team", "object": "away_team"}, columns=text)
    assert mapped.render().splitlines()[0].split(None, 1) == ["columns", text]
    assert mapped.to_json()["mapping"] == {"subject": "home_team", "object": "away_team"}
    assert "columns" not in found.render()
