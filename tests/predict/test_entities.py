"""Search for names, ids of new entities, and conversion of facts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fitcarl.data.name_search import NameSearch
from fitcarl.data.vocabulary import Vocabulary
from fitcarl.errors import InputError
from fitcarl.predict.entities import EntityIndex
from fitcarl.predict.fact import CheckedFact, Fact, make_fact

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
def test_prefix_matches_come_before_word_and_fuzzy_matches(typed: str, found: list[str]) -> None:
    assert NameSearch(NAMES).near(typed, 8) == found


@given(st.lists(st.text(min_size=1, max_size=12), unique=True, max_size=20), st.text(max_size=8), st.integers(0, 5))
def test_suggestions_are_distinct_known_names(names: list[str], typed: str, limit: int) -> None:
    found = NameSearch(names).near(typed, limit)
    assert len(found) <= limit
    assert len(set(found)) == len(found)
    assert set(found) <= set(names)


def test_new_entities_are_numbered_in_order_of_appearance() -> None:
    known = Vocabulary(("Ann", "Bob"), ("meets",))
    index = EntityIndex.from_facts(
        known, [CheckedFact("Bob", "meets", "Zoe", 1), CheckedFact("Yan", "meets", "Zoe", 2)]
    )
    assert [index.find(name) for name in ("Ann", "Bob", "Zoe", "Yan", "Xi")] == [0, 1, 2, 3, None]
    assert index.vocabulary.entities == ("Ann", "Bob", "Zoe", "Yan")
    assert EntityIndex.from_facts(known, []).vocabulary is known


def test_facts_may_be_tuples_lists_or_mappings() -> None:
    fact = Fact("Ann", "meets", "Bob", "2024-01-01")
    assert make_fact(tuple(fact)) == make_fact(list(fact)) == make_fact(fact.to_json()) == fact


@pytest.mark.parametrize(
    "given",
    [("Ann", "meets", "Bob"), "Ann", {"subject": "Ann"}, ("Ann", "meets", " ", "1"), ("Ann", "meets", 3, "1"), 7],
)
def test_invalid_facts_are_rejected(given: object) -> None:
    with pytest.raises(InputError):
        make_fact(given)  # type: ignore[arg-type]
