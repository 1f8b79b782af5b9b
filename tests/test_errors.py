"""Error messages: one line with place, value and expectation."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fitcarl.data.vocabulary import Vocabulary
from fitcarl.errors import FitcarlError, InputError, did_you_mean, escape_controls, escape_json_controls, listed


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


@pytest.mark.parametrize("mark", ["\x1b", "\x07", "\x00", "\x7f", "\x9b", "\u2028", "\u202e", "\u2066", "\udcff"])
def test_control_characters_of_a_file_are_escaped(mark: str) -> None:
    line = str(InputError(f"p{mark}", file=f"f{mark}", field=f"c{mark}", found=mark, expected=mark, hint=mark))
    assert mark not in line
    assert ascii(mark)[1:-1] in line


def test_escaped_text_keeps_lines_and_other_scripts() -> None:
    assert escape_controls("a\tб\n中\u200f") == "a\tб\n中\u200f"


def test_escaped_json_has_the_same_value() -> None:
    value = {"name": "a\x1b\x9b\u2028\u202e\udcffб"}
    text = escape_json_controls(json.dumps(value, ensure_ascii=False))
    assert json.loads(text) == value
    assert not set("\x1b\x9b\u2028\u202e\udcff") & set(text)


def test_message_is_bounded() -> None:
    long = "x" * 100_000
    line = str(InputError(long, field=long, found=long, expected=long, hint=long))
    assert len(line) < 2_000
    assert len(str(InputError("p", found=[long]))) < 200


def test_long_list_of_names_is_cut() -> None:
    assert listed(["a", "b"]) == "a, b"
    assert listed([str(number) for number in range(1, 1009)]) == "1, 2, 3, 4, 5, 6, 7, 8 and 1,000 more"
