"""HTML tables for notebooks."""

from __future__ import annotations

import pytest

from fitcarl.core.display import display_block, display_table

HOSTILE = "<script>alert('x')</script>"
ESCAPED = "&lt;script&gt;alert(&#x27;x&#x27;)&lt;/script&gt;"


def test_title_head_cells_and_notes_are_escaped() -> None:
    shown = display_block(HOSTILE, display_table([HOSTILE], [[HOSTILE]], "l"), notes=[HOSTILE])
    assert shown.count(ESCAPED) == 4
    assert "<script" not in shown


def test_integers_have_separators_and_missing_values_are_dashes() -> None:
    shown = display_table(["a", "b"], [[12345, None]], "rl")
    assert "<td style='text-align:right'>12,345</td><td style='text-align:left'>–</td>" in shown


def test_only_strong_rows_are_bold() -> None:
    rows = display_table(["a"], [["first"], ["second"]], "l", strong=[1]).split("<tr>")
    assert ["bold" in row for row in rows[-2:]] == [False, True]


def test_rows_must_fit_the_columns() -> None:
    with pytest.raises(ValueError, match="shorter"):
        display_table(["a", "b"], [["x"]], "ll")
