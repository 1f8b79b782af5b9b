"""Markdown tables."""

from __future__ import annotations

from collections.abc import Sequence


def markdown_table(lines: Sequence[Sequence[str]], left: Sequence[int]) -> str:
    """A Markdown table with padded columns, so that it is readable as plain text.

    Args:
        lines: Cells; the first line is the header.
        left: Left-aligned columns; the others are right-aligned.
    """
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    right = [i for i in range(len(widths)) if i not in left]
    table = ["| " + " | ".join(_padded(line, widths, right)) + " |" for line in lines]
    rule = "|" + "|".join("-" * (width + 1) + (":" if i in right else "-") for i, width in enumerate(widths)) + "|"
    return "\n".join([table[0], rule, *table[1:]])


def _padded(line: Sequence[str], widths: Sequence[int], right: Sequence[int]) -> list[str]:
    return [cell.rjust(widths[i]) if i in right else cell.ljust(widths[i]) for i, cell in enumerate(line)]
