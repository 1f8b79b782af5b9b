"""A self-contained HTML page: no network, no scripts.

Four small functions over ``html.escape``; a template engine such as jinja2 would be a dependency for one page.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Sequence
from html import escape
from pathlib import Path

_STYLE = """
:root { color-scheme: light dark; --ink: #1d2430; --soft: #667085; --paper: #ffffff; --line: #e3e7ee; --accent: #2f6fd0;
  --hit: #d13438; --tint: #f5f7fb; }
@media (prefers-color-scheme: dark) { :root { --ink: #e8ecf3; --soft: #9aa4b5; --paper: #14181f; --line: #2a313d;
  --accent: #7fb0ff; --hit: #ff7b7f; --tint: #1b212b; } }
body { margin: 0; background: var(--paper); color: var(--ink); font: 16px/1.55 system-ui, sans-serif; }
main { max-width: 60rem; margin: 0 auto; padding: 2.5rem 1.25rem 4rem; }
h1 { font-size: 1.9rem; line-height: 1.2; margin: 0 0 .4rem; }
h2 { font-size: 1.2rem; margin: 2.6rem 0 .8rem; padding-top: 1.2rem; border-top: 1px solid var(--line); }
p.lead { color: var(--soft); margin: 0 0 1rem; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { text-align: left; padding: .4rem .7rem; border-bottom: 1px solid var(--line); }
th { color: var(--soft); font-weight: 600; font-size: .85rem; }
td.number, th.number { text-align: right; }
tr.strong td { font-weight: 650; }
figure { margin: 1rem 0; background: #fff; border: 1px solid var(--line); border-radius: .5rem; padding: .6rem; }
figure img { width: 100%; height: auto; display: block; }
.case { background: var(--tint); border: 1px solid var(--line); border-radius: .6rem; padding: .9rem 1.1rem;
  margin: .9rem 0; }
.case ol { margin: .4rem 0 0; padding-left: 1.3rem; }
.answer { color: var(--hit); font-weight: 650; }
code { background: var(--tint); border-radius: .3rem; padding: .1rem .35rem; font-size: .88em;
  overflow-wrap: anywhere; }
"""


def html_page(title: str, lead: str, sections: Sequence[tuple[str, str]]) -> str:
    """A document with sections (heading, HTML); headings are escaped, bodies must be HTML made by this module."""
    body = "".join(f"<section><h2>{escape(heading)}</h2>{html}</section>" for heading, html in sections)
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><style>{_STYLE}</style></head>'
        f'<body><main><h1>{escape(title)}</h1><p class="lead">{escape(lead)}</p>{body}</main></body></html>\n'
    )


def html_table(head: Sequence[str], rows: Sequence[Sequence[object]], strong: Sequence[int] = ()) -> str:
    """A table; numeric columns are right-aligned, rows in ``strong`` are bold."""
    numeric = [all(_is_number(row[i]) for row in rows) for i in range(len(head))]
    kind = [' class="number"' if right else "" for right in numeric]
    top = "".join(f"<th{kind[i]}>{escape(cell)}</th>" for i, cell in enumerate(head))
    lines = []
    for number, row in enumerate(rows):
        cells = "".join(f"<td{kind[i]}>{escape(_format_cell(cell))}</td>" for i, cell in enumerate(row))
        lines.append(f'<tr class="strong">{cells}</tr>' if number in strong else f"<tr>{cells}</tr>")
    return f"<table><thead><tr>{top}</tr></thead><tbody>{''.join(lines)}</tbody></table>"


def inline_svg(file: Path, alt: str) -> str:
    """An embedded SVG file with an alternative text."""
    return inline_svg_text(file.read_text(encoding="utf-8"), alt)


def inline_svg_text(svg: str, alt: str) -> str:
    """An embedded SVG document with an alternative text."""
    data = base64.b64encode(svg.encode()).decode("ascii")
    return f'<figure><img alt="{escape(alt, quote=True)}" src="data:image/svg+xml;base64,{data}"></figure>'


def html_paragraph(text: str) -> str:
    """A paragraph of text with ``code`` in backticks."""
    marked = re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text))
    return f"<p>{marked}</p>"


def _is_number(cell: object) -> bool:
    return isinstance(cell, (int, float))


def _format_cell(cell: object) -> str:
    if isinstance(cell, float):
        return f"{cell:.3f}"
    return f"{cell:,}" if isinstance(cell, int) else str(cell)
