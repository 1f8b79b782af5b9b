"""Names that look like others."""

from __future__ import annotations

import pytest

from fitcarl.data.look_alikes import find_look_alikes, skeleton
from fitcarl.data.vocabulary import Vocabulary


@pytest.mark.parametrize(
    "other",
    [
        *("\u0410lice", "Al\u0456ce", "\u0391lice", "Al\u200bice", "Ali\ufeffce", "Ali\ufe0fce", "Alic\u00e9"),
        *("Alice\u0301", "Al\u00adice", "\uff21lice", "\U0001d400lice"),
    ],
)
def test_names_that_look_alike_have_one_skeleton(other: str) -> None:
    assert skeleton(other) == skeleton("Alice")


@pytest.mark.parametrize("other", ["Alica", "A1ice", "Lice", "Олег", "алисе", "A-lice"])
def test_other_names_have_another_skeleton(other: str) -> None:
    assert skeleton(other) != skeleton("Alice")


def test_groups_of_look_alikes_and_mixed_words_are_found() -> None:
    names = Vocabulary(("Alice", "\u0410lice", "Bob", "BOB", "Москва", "IFN-\u03b3"), ("Consult", "\u0421onsult"))
    found = find_look_alikes(names)
    assert found.entities == (("Alice", "\u0410lice"),)
    assert found.relations == (("Consult", "\u0421onsult"),)
    assert found.mixed_scripts == ("\u0410lice", "\u0421onsult")
    assert found.count == 4


def test_names_of_one_script_are_no_look_alikes() -> None:
    names = Vocabulary(("Москва", "Київ", "Αθήνα", "中国", "कि", "कु", "Zürich"), ("r",))
    assert find_look_alikes(names).count == 0


def test_similar_names_are_not_repeated_as_look_alikes() -> None:
    assert find_look_alikes(Vocabulary(("Bob", "\uff22ob", "BOB"), ("r",))).count == 0
