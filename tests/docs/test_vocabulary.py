"""The documentation uses the terms of the glossary, not those that earlier versions used for the same concepts."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.docs.markdown import DOCS, PAGES, name_of

REPLACED = {
    "newcomer": "new entity, unseen entity",
    "old hand": "known entity",
    "whom": "which entity",
    "whoever": "the user",
    "nobody": "no entity",
    "somebody": "an entity",
    "befalls": "events involving the entity",
    "crowd": "relation popularity, candidates",
    "kin": "similar entities",
    "excitement": "excitation",
    "habits": "relation profile",
    "trivial": "heuristic",
    "honest": "realistic",
    "honestly": "realistic",
    "agent": "model",
    "tally": "graph statistics",
    "lessons": "task sampler",
}
"""Word → the terms of the glossary to use instead."""


@pytest.mark.parametrize("page", [page for page in PAGES if page.name != "CHANGELOG.md"], ids=name_of)
def test_page_uses_glossary_terms(page: Path) -> None:
    words = "|".join(REPLACED)
    assert re.findall(rf"\b(?:{words})s?\b", page.read_text(encoding="utf-8"), re.IGNORECASE) == []


def test_glossary_defines_each_term_once() -> None:
    rows = re.findall(r"^\| ([^|]+) \|", (DOCS / "glossary.md").read_text(encoding="utf-8"), re.MULTILINE)
    terms = [term.strip() for row in rows if row not in ("term", "---") for term in row.split(", ")]
    assert len(terms) == len(set(terms))
