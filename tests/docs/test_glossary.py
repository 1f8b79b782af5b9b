"""The glossary defines each term once (tests/test_vocabulary.py checks that retired words are not used)."""

from __future__ import annotations

import re

from tests.docs.markdown import DOCS


def test_glossary_defines_each_term_once() -> None:
    rows = re.findall(r"^\| ([^|]+) \|", (DOCS / "glossary.md").read_text(encoding="utf-8"), re.MULTILINE)
    terms = [term.strip() for row in rows if row not in ("term", "---") for term in row.split(", ")]
    assert len(terms) > 50
    assert len(terms) == len(set(terms))
