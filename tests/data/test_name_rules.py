"""Valid names."""

from __future__ import annotations

import sys
import unicodedata

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fitcarl.data.name_rules import MAX_NAME_LENGTH, SUSPECT_NAME, name_problem
from fitcarl.errors import InputError
from fitcarl.predict.fact import make_fact


@pytest.mark.parametrize(
    "name", ["a", "São Paulo", "Citizen (Lao)\xa0", "中国", "می‌خواهم", "👩‍👩‍👧", "x\u200b", "שלום\u200f", "-", "é", "0"]
)
def test_usual_names_are_valid(name: str) -> None:
    assert name_problem(name) is None


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        *((name, "an empty name") for name in ("", " ", "\u3000\xa0", "\n")),
        *((f"a{mark}b", "a name with a tab or a line break") for mark in "\t\n\r\0"),
        *((f"a{mark}b", "a name with a control character") for mark in "\x01\x1b\x7f\x80\x85\x9b\u2028\u2029"),
        *((f"a{mark}b", "a name that changes the direction of text") for mark in "\u202a\u202e\u2066\u2069"),
        *(
            (name, "a name without a visible character")
            for name in ("\u200b", "\ufeff", "\u2060 \u200d", "\u3164", "\u2800", "\u0301", "\ufe0f", "\u00ad")
        ),
        ("\ud800", "a name with an unpaired surrogate"),
        ("a" * (MAX_NAME_LENGTH + 1), "a name of more than 10,000 characters"),
    ],
)
def test_invalid_names_are_refused(name: str, problem: str) -> None:
    assert name_problem(name) == problem


def test_quick_check_of_columns_finds_every_invalid_character() -> None:
    marks = [chr(code) for code in range(sys.maxunicode + 1) if unicodedata.category(chr(code)) != "Cs"]
    for form in ("{}", "a{}b"):
        names = pl.Series([form.format(mark) for mark in marks])
        suspect = names.str.contains(SUSPECT_NAME).to_list()
        missed = [
            name for name, found in zip(names.to_list(), suspect, strict=True) if name_problem(name) and not found
        ]
        assert not missed


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=6))
def test_quick_check_of_columns_finds_every_invalid_name(name: str) -> None:
    if name_problem(name):
        assert pl.Series([name]).str.contains(SUSPECT_NAME).all()


def test_rule_holds_for_facts_given_in_python() -> None:
    with pytest.raises(InputError, match="a name with a control character"):
        make_fact(("\x1b[31m", "r", "b", "2024-01-01"))
