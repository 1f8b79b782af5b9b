"""Names that are equal but for case, spaces or Unicode form."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from fitcarl.data.calendar import Calendar
from fitcarl.data.concepts import Concepts
from fitcarl.data.facts import Facts
from fitcarl.data.quadruples import Quadruples
from fitcarl.data.similar_names import find_similar_names, merge_similar_names, normalise_name
from fitcarl.data.vocabulary import Vocabulary

NAMES = ("USA", "usa", "Bob", "U S  A", "U s a", "Caf\u00e9", "Cafe\u0301")


def facts_of(rows: list[tuple[int, int, int, int]], names: tuple[str, ...] = NAMES) -> Facts:
    return Facts(
        name="odd",
        quadruples=Quadruples.from_rows(rows),
        vocabulary=Vocabulary(names, ("meets", "Meets")),
        calendar=Calendar.of_granules("day", range(5)),
        concepts=Concepts.from_pairs(len(names), [(0, "state"), (1, "country")]),
        rows=len(rows) + 3,
        duplicates=3,
        self_loops=0,
    )


def test_normalised_form_ignores_case_spaces_and_unicode_form() -> None:
    assert normalise_name(" U\u00a0S  A ") == "u s a"
    assert normalise_name("Stra\u00dfe") == normalise_name("STRASSE")
    assert normalise_name("Caf\u00e9") == normalise_name("Cafe\u0301")
    assert normalise_name("\uff35SA") == "usa"


@given(st.text())
def test_normalising_twice_changes_nothing(name: str) -> None:
    assert normalise_name(normalise_name(name)) == normalise_name(name)


ROWS = [(1, 0, 2, 0), (0, 1, 2, 0), (1, 0, 2, 1), (2, 1, 0, 2), (0, 1, 5, 3), (3, 1, 4, 3), (6, 0, 2, 4), (6, 0, 2, 3)]
"""USA has three facts and usa two; of the two forms of Café the decomposed one is more frequent."""


def test_similar_names_are_found_most_frequent_first() -> None:
    found = find_similar_names(facts_of(ROWS))
    assert found.entities == (("USA", "usa"), ("U S  A", "U s a"), ("Cafe\u0301", "Caf\u00e9"))
    assert found.relations == (("meets", "Meets"),) or found.relations == (("Meets", "meets"),)
    assert found.superfluous == 4


def test_merged_facts_have_the_most_frequent_spellings() -> None:
    facts = facts_of(ROWS)
    merged = merge_similar_names(facts)
    names = merged.vocabulary.entities
    assert names == ("USA", "Bob", "U S  A", "Cafe\u0301")
    assert len(merged.vocabulary.relations) == 1
    rows = [(names[s], names[o], t) for s, _, o, t in merged.quadruples]
    assert rows == [
        ("USA", "Bob", 0),
        ("USA", "Bob", 1),
        ("Bob", "USA", 2),
        ("USA", "Cafe\u0301", 3),
        ("U S  A", "U S  A", 3),
        ("Cafe\u0301", "Bob", 4),
        ("Cafe\u0301", "Bob", 3),
    ]
    assert (merged.rows, merged.duplicates, merged.self_loops) == (11, 4, 1)
    assert merged.concepts.of(0) == ("country", "state")
    assert find_similar_names(merged).superfluous == 0


def test_facts_without_similar_names_are_unchanged() -> None:
    facts = replace(facts_of([(0, 0, 1, 0)], ("A", "B")), vocabulary=Vocabulary(("A", "B"), ("meets", "sues")))
    assert merge_similar_names(facts) is facts
