"""Near names come in an order people expect."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fitcarl.data.vocabulary import Vocabulary
from fitcarl.errors import InputError
from fitcarl.predict.entities import EntityIndex, NameSearch
from fitcarl.predict.fact import Fact, fact_of

NAMES = ("Police (Norway)", "Norway", "Ministry of Norwegian Trade", "Barack Obama", "Northern League", "Polio Fund")


@pytest.mark.parametrize(
    ("typed", "found"),
    [
        ("nor", ["Norway", "Northern League", "Police (Norway)", "Ministry of Norwegian Trade"]),
        ("pol nor", ["Police (Norway)"]),
        ("Barck Obma", ["Barack Obama"]),
        ("egian", ["Ministry of Norwegian Trade"]),
        ("zzzz", []),
        ("  ", []),
    ],
)
def test_beginnings_come_before_words_before_what_is_spelt_alike(typed: str, found: list[str]) -> None:
    assert NameSearch(NAMES).near(typed, 8) == found


@given(st.lists(st.text(min_size=1, max_size=12), unique=True, max_size=20), st.text(max_size=8), st.integers(0, 5))
def test_suggestions_are_distinct_known_names(names: list[str], typed: str, most: int) -> None:
    found = NameSearch(names).near(typed, most)
    assert len(found) <= most
    assert len(set(found)) == len(found)
    assert set(found) <= set(names)


def test_newcomers_are_numbered_after_the_known_in_order_of_appearance() -> None:
    known = Vocabulary(("Ann", "Bob"), ("meets",))
    roster = EntityIndex.of(known, [Fact("Bob", "meets", "Zoe", "1"), Fact("Yan", "meets", "Zoe", "2")])
    assert [roster.find(name) for name in ("Ann", "Bob", "Zoe", "Yan", "Xi")] == [0, 1, 2, 3, None]
    assert roster.vocabulary.entities == ("Ann", "Bob", "Zoe", "Yan")
    assert EntityIndex.of(known, []).vocabulary is known


def test_facts_may_be_given_in_several_ways() -> None:
    fact = Fact("Ann", "meets", "Bob", "2024-01-01")
    assert fact_of(tuple(fact)) == fact_of(list(fact)) == fact_of(fact.to_json()) == fact


@pytest.mark.parametrize(
    "given",
    [("Ann", "meets", "Bob"), "Ann", {"subject": "Ann"}, ("Ann", "meets", " ", "1"), ("Ann", "meets", 3, "1"), 7],
)
def test_what_is_no_fact_is_refused(given: object) -> None:
    with pytest.raises(InputError):
        fact_of(given)  # type: ignore[arg-type]
