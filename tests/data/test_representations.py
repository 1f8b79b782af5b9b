"""How facts, datasets, vocabularies and calendars are shown in one line and in notebooks."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import fitcarl
from fitcarl.data.bounds import BENCHMARK_BOUNDS
from fitcarl.data.calendar import Calendar
from fitcarl.data.dataset import Dataset
from fitcarl.data.split import split_facts
from fitcarl.data.vocabulary import Vocabulary
from fitcarl.synthetic import generate_world
from tests.core.test_display import ESCAPED, HOSTILE

FACTS = generate_world("tiny", seed=7).facts


@pytest.fixture(scope="module")
def dataset() -> Dataset:
    return split_facts(FACTS, name="tiny", bounds=BENCHMARK_BOUNDS)


def test_vocabulary_in_one_line() -> None:
    assert repr(Vocabulary(("a", "b", "c"), ("r",))) == "Vocabulary(3 entities, 1 relations)"


def test_calendar_in_one_line() -> None:
    assert repr(Calendar.of_granules("day", [0, 2])) == "Calendar(day, 1970-01-01 to 1970-01-03, 2 times)"
    assert repr(Calendar.of_granules("integer", [5, 9], step=2)) == "Calendar(integer, 5 to 9, 2 times)"


def test_empty_calendar_can_be_shown() -> None:
    empty = Calendar("day", 0, 1, np.empty(0, np.int64), np.empty(0, np.int32))
    assert repr(empty) == "Calendar(day, no times, 0 times)"


def test_facts_in_one_line() -> None:
    text = repr(FACTS)
    assert text.startswith(f"Facts({FACTS.name!r}, {len(FACTS.quadruples):,} facts, ")
    assert FACTS.calendar.labels[-1] in text
    assert len(text) < 200
    assert "\n" not in text


def test_dataset_in_one_line(dataset: Dataset) -> None:
    text = repr(dataset)
    assert text.startswith(f"Dataset('tiny', {len(dataset.background):,} background facts, unseen entities: ")
    assert f"{len(dataset.test.entities)} test" in text
    assert len(text) < 200
    assert "\n" not in text


def test_notebook_shows_groups_of_dataset(dataset: Dataset) -> None:
    shown = dataset._repr_html_()
    for split in ("train", "valid", "test"):
        group = dataset.meta(split)
        row = shown.partition(f">meta-{split}<")[2].partition("</tr>")[0]
        assert f">{len(group.entities):,}<" in row
        assert f">{len(group):,}<" in row
    assert "chronological" not in shown


def test_notebook_shows_that_split_is_chronological() -> None:
    assert "chronological" in split_facts(FACTS, chronological=True)._repr_html_()


def test_notebook_shows_first_facts_with_escaped_names() -> None:
    count = 7
    frame = pl.DataFrame(
        {
            "subject": [HOSTILE] * count,
            "relation": ["a & b"] * count,
            "object": [f"o{number}" for number in range(count)],
            "time": ["2024-05-01"] * count,
        }
    )
    facts = fitcarl.read_facts(frame)
    shown = facts._repr_html_()
    assert shown.count(ESCAPED) == 5
    assert "<script" not in shown
    assert "the first 5 of 7 facts" in shown
    assert shown.count("a &amp; b") == 5


def test_notebook_escapes_name_of_dataset(dataset: Dataset) -> None:
    shown = replace(dataset, name=HOSTILE)._repr_html_()
    assert ESCAPED in shown
    assert "<script" not in shown
