"""Small HTML tables that notebooks show for objects.

They contain no scripts, no external resources and no colours, so that they look right in light and dark themes. All
text is escaped here.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

_ALIGNMENTS = {"l": "left", "r": "right"}


def display_table(head: Sequence[str], rows: Sequence[Sequence[object]], align: str, strong: Sequence[int] = ()) -> str:
    """A table.

    Args:
        head: Names of the columns.
        rows: Cells of each row; integers get thousands separators, None becomes a dash.
        align: One letter per column: ``l`` for left, ``r`` for right.
        strong: Numbers of the rows in bold, from 0.
    """
    styles = [f"text-align:{_ALIGNMENTS[letter]}" for letter in align]
    top = "".join(f"<th style='{style}'>{escape(name)}</th>" for style, name in zip(styles, head, strict=True))
    lines = []
    for number, row in enumerate(rows):
        weight = ";font-weight:bold" if number in strong else ""
        cells = (f"<td style='{style}{weight}'>{_text(cell)}</td>" for style, cell in zip(styles, row, strict=True))
        lines.append(f"<tr>{''.join(cells)}</tr>")
    return f"<table><thead><tr>{top}</tr></thead><tbody>{''.join(lines)}</tbody></table>"


def display_block(title: str, *tables: str, notes: Sequence[str] = ()) -> str:
    """A title, tables and notes below them.

    Args:
        title: Text of the title.
        tables: HTML made by ``display_table``.
        notes: Lines of text.
    """
    lines = "".join(f"<div style='font-size:smaller'>{escape(note)}</div>" for note in notes)
    return f"<div><b>{escape(title)}</b>{''.join(tables)}{lines}</div>"


def _text(cell: object) -> str:
    if cell is None:
        return "–"
    return f"{cell:,}" if isinstance(cell, int) else escape(str(cell))
