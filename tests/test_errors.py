"""Error messages: one line with place, value and expectation."""

from __future__ import annotations

from pathlib import Path

import pytest

from fitcarl.data.vocabulary import Vocabulary
from fitcarl.errors import FitcarlError, InputError, did_you_mean


def test_input_error_names_place_value_and_expectation() -> None:
    error = InputError("no such date", file=Path("a/b.tsv"), row=3, field="time", found="2014-02-30", expected="a date")
    assert str(error) == "a/b.tsv, row 3, field time: no such date; found '2014-02-30'; expected a date"
    assert (error.file, error.row, error.field, error.found) == ("a/b.tsv", 3, "time", "2014-02-30")
    assert isinstance(error, FitcarlError)


def test_unknown_parts_are_omitted() -> None:
    assert str(InputError("no times")) == "no times"
    assert str(InputError("too few", file="f", found=3)) == "f: too few; found 3"
    assert str(InputError("x", found=0)) == "x; found 0"


@pytest.mark.parametrize("found", ["a\nb", "a\r\nb", "x" * 500, "\u2028"])
def test_input_error_is_one_short_line(found: str) -> None:
    line = str(InputError("not\na name", found=found))
    assert len(line.splitlines()) == 1
    assert len(line) < 150


def test_similar_names_are_suggested() -> None:
    assert did_you_mean("consult", ["Consult", "Accuse"]) == "did you mean 'Consult'?"
    assert did_you_mean("xyz", ["Consult", "Accuse"]) == ""
    with pytest.raises(InputError, match=r"unknown entity; found 'Ana'; .*'Anna'"):
        Vocabulary(("Anna", "Bob"), ("Consult",)).entity_id("Ana")


def test_every_relation_id_has_a_name() -> None:
    vocabulary = Vocabulary(("a",), ("Consult", "Accuse"))
    assert [vocabulary.relation_name(r) for r in range(6)] == [
        "Consult",
        "Accuse",
        "Consult ⁻¹",
        "Accuse ⁻¹",
        "(stay)",
        "(start)",
    ]
