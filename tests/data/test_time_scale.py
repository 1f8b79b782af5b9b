"""The time unit of a dataset, estimated from the gaps between facts."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fitcarl.data.calendar import Calendar, Granularity
from fitcarl.data.dataset import Dataset, MetaSet
from fitcarl.data.io.reader import read_facts
from fitcarl.data.quadruples import Quadruples
from fitcarl.data.split import split_facts
from fitcarl.data.time_scale import chosen_time_unit, time_scale_text, time_unit
from fitcarl.errors import InputError
from fitcarl.synthetic import generate_world

Rows = list[tuple[int, int, int, int]]


def at(subject: int, *times: int) -> Rows:
    """Facts between an entity and one of its own."""
    return [(subject, 0, subject + 1000, time) for time in times]


def every_tick(end: int) -> Rows:
    """One fact per tick, each of other entities: no gaps of entities."""
    return [(2 * tick + 5000, 0, 2 * tick + 5001, tick) for tick in range(end)]


def unit_of(rows: Rows) -> float:
    return time_unit(Quadruples.from_rows(rows))


def test_unit_is_a_fifth_of_the_geometric_mean_of_gaps() -> None:
    assert unit_of([*every_tick(50), *at(1, 0, 49)]) == pytest.approx(49 / 5)
    assert unit_of([*every_tick(50), *at(1, 0, 49), *at(2, 1, 5)]) == pytest.approx(14 / 5)  # √(49 · 4) = 14


def test_unit_is_a_step_if_entities_are_not_slower() -> None:
    assert unit_of(at(1, 0, 1, 2, 3)) == 1
    assert unit_of([*every_tick(11), *at(1, 0, 10)]) == 1  # 10 / 5 is two steps: not longer
    assert unit_of([*every_tick(12), *at(1, 0, 11)]) == pytest.approx(11 / 5)
    assert unit_of(at(1, 0, 7, 14, 21)) == 7  # weekly dates
    assert unit_of([*at(1, 0, 365, 730), *at(2, 365, 1096)]) == 365  # years as dates


def test_unit_without_gaps() -> None:
    assert unit_of([]) == 1
    assert unit_of(at(1, 5)) == 1
    assert unit_of([*at(1, 5, 5), *at(2, 5)]) == 1
    assert unit_of([*at(1, 0), *at(2, 12), *at(3, 24)]) == 12


def test_entity_is_the_same_as_subject_and_object() -> None:
    assert unit_of([*every_tick(50), (1, 0, 2, 0), (3, 0, 1, 49)]) == pytest.approx(49 / 5)


def test_single_outliers_hardly_matter() -> None:
    rows = [fact for tick in range(200) for fact in at(tick, tick, tick + 70)]
    assert unit_of(rows) == pytest.approx(14)
    assert unit_of([*rows, *at(3, 1_000_000)]) == pytest.approx(14, rel=0.06)


facts = st.lists(
    st.tuples(st.integers(0, 5), st.integers(0, 1), st.integers(0, 5), st.integers(0, 300)), min_size=1, max_size=60
)


@given(facts, st.integers(2, 500), st.integers(-10_000, 10_000), st.randoms(use_true_random=False))
def test_unit_follows_the_times_alone(rows: Rows, factor: int, shift: int, random: np.random.Generator) -> None:
    unit = unit_of(rows)
    assert 1 <= unit <= 301
    moved = [(s, r, o, t + shift) for s, r, o, t in rows]
    doubled = [*rows, *rows]
    random.shuffle(doubled)  # type: ignore[arg-type]
    assert unit_of(moved) == unit_of(doubled) == unit
    if len({row[3] for row in rows}) > 1:
        assert unit_of([(s, r, o, t * factor) for s, r, o, t in rows]) == pytest.approx(unit * factor)


def test_unit_of_the_generated_worlds_is_a_day() -> None:
    dataset = split_facts(generate_world("tiny").facts, name="tiny")
    assert (dataset.calendar.granularity, dataset.time_unit) == ("day", 1)


def test_unseen_entities_do_not_count() -> None:
    dataset = split_facts(generate_world("tiny").facts, name="tiny")
    far = replace(dataset.valid.facts, time=dataset.valid.facts.time * 50)
    empty = MetaSet(np.empty(0, np.int32), Quadruples.empty())
    other = replace(dataset, valid=MetaSet(dataset.valid.entity_of_fact, far), test=empty)
    slow = replace(dataset.background, time=dataset.background.time * 50)
    assert other.time_unit == dataset.time_unit
    assert replace(dataset, background=slow).time_unit == 50 * dataset.time_unit


def test_unit_of_yearly_facts_is_a_year(tmp_path: Path) -> None:
    file = tmp_path / "facts.tsv"
    file.write_text("".join(f"p{year % 9}\tplays\tteam{year % 4}\t{year}\n" for year in range(1950, 2000)))
    for granularity in ("year", "auto"):
        found = read_facts(file, granularity=granularity)
        assert time_unit(found.quadruples) == 1


def test_chosen_unit_is_a_duration_of_the_calendar() -> None:
    days, times = Calendar.of_granules("day", [0, 900]), Calendar.of_granules("integer", [0, 240], step=24)
    facts = Quadruples.from_rows(at(1, 0, 7, 14))
    assert chosen_time_unit("auto", days, facts) == 7
    assert chosen_time_unit("2w", days, facts) == 14
    assert chosen_time_unit("48", times, facts) == 2
    for text in ("0d", "5", "1h", "often"):
        with pytest.raises(InputError, match="not a duration"):
            chosen_time_unit(text, days, facts)


@pytest.mark.parametrize(
    ("granularity", "scale", "text"),
    [
        ("day", 1, "1 day"),
        ("day", 6.5, "6.5 days"),
        ("day", 21.04, "about 3 weeks"),
        ("day", 365, "1 year"),
        ("hour", 2.5514, "about 2.6 hours"),
        ("hour", 24, "1 day"),
        ("month", 1, "1 month"),
        ("month", 18, "1.5 years"),
        ("year", 1, "1 year"),
        ("year", 12.4, "about 12 years"),
        ("integer", 1, "1 time step"),
        ("integer", 1234.4, "about 1,234 time steps"),
    ],
)
def test_text_of_a_time_scale(granularity: Granularity, scale: float, text: str) -> None:
    assert time_scale_text(Calendar.of_granules(granularity, [0, 1199]), scale) == text


def test_text_of_steps_of_several_integers() -> None:
    assert time_scale_text(Calendar.of_granules("integer", [0, 240], step=24), 2) == "48 time steps"


def test_dataset_before_a_cut_has_its_own_unit() -> None:
    rows = [*every_tick(300), *(fact for tick in range(100) for fact in at(tick, tick, tick + 70))]
    late = [fact for tick in range(100) for fact in at(tick, *range(tick + 171, tick + 190))]
    dataset = _dataset([*rows, *late])
    assert dataset.before(171).time_unit == pytest.approx(14)
    assert dataset.time_unit == 1


def _dataset(rows: Rows) -> Dataset:
    dataset = split_facts(generate_world("tiny").facts, name="tiny")
    return replace(dataset, background=Quadruples.from_rows(rows))
