"""Explanation paths as an SVG image without scripts.

Nodes and edges are placed on lanes by hand: a graph layout library would not keep the query entity left and the answer
right.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from textwrap import wrap

from fitcarl.predict.explanation import Explanation
from fitcarl.predict.prediction import Answer
from fitcarl.predict.query import Query
from fitcarl.scoring.path import AFTER_QUESTION, ExplanationPath, PathStep

_INK, _SOFT, _LINE, _TINT, _BLUE, _RED = "#1d2430", "#5d6878", "#8a94a6", "#f2f4f8", "#2f6fd0", "#c62f33"
_FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif"
_MARGIN, _GAP = 28, 250
_NODE, _LETTERS = 176, 22
"""Width of a node, and characters per line in it."""
_EDGE_LETTERS, _LABEL_LINES = 34, 2
_LANE, _HEAD, _PANEL_GAP, _TITLE = 112, 84, 36, 40
_LINE_HEIGHT = 16


def draw_paths(query: Query, answers: Sequence[Answer | Explanation]) -> str:
    """Draws one panel per answer: the query entity on the left, the answer in red on the right, its paths in between.

    Arrows have the direction of the facts, not of the path; facts that the search does not follow (context and peers)
    are dashed. The red arrow above the paths is the query; facts that are later than it have a red label. The paths of
    an explanation are in the order of their measured effects, and a line tells what is left without each of them.

    Args:
        query: The query.
        answers: Answers with their paths.

    Returns:
        The SVG document.
    """
    return draw_explanations(query, [("", answers)])


def draw_explanations(query: Query, columns: Sequence[tuple[str, Sequence[Answer | Explanation]]]) -> str:
    """Draws the explanations of several models for one query side by side, each as in ``draw_paths``.

    Args:
        query: The query.
        columns: Title and answers of each model; an empty title takes no room.

    Returns:
        The SVG document.
    """
    parts, words, left, height = [], [], 0, 2 * _MARGIN
    for title, answers in columns:
        panels = [_Panel(query, answer) for answer in answers]
        width = max((panel.width for panel in panels), default=600)
        top = _MARGIN
        if title:
            parts.append(
                f'<text x="{left + _MARGIN}" y="{top + 4}" font-size="20" font-weight="700" fill="{_BLUE}">'
                f"{_text(title)}</text>"
            )
            top += _TITLE
        for panel in panels:
            parts.append(f'<g transform="translate({left} {top})">{panel.svg(width)}</g>')
            top += panel.height + _PANEL_GAP
        if panels:
            height = max(height, top - _PANEL_GAP + _MARGIN)
        words += [answer.paths[0].text for answer in answers if answer.paths]
        left += width
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {left} {height}" width="{left}" height="{height}" '
        f'role="img" font-family="{_FONT}" font-size="13">'
        f"<title>{_text(str(query))}</title><desc>{_text(' '.join(words))}</desc>"
        f"<defs>{_marker('fact', _LINE)}{_marker('query', _RED)}</defs>"
        f'<rect width="{left}" height="{height}" fill="#ffffff"/>{"".join(parts)}</svg>\n'
    )


@dataclass(frozen=True)
class _Panel:
    """The paths of one answer, one lane each."""

    query: Query
    answer: Answer | Explanation

    @property
    def _columns(self) -> int:
        """Steps of the longest path, at least two."""
        return max([2, *(len(path.steps) for path in self.answer.paths)])

    @property
    def width(self) -> int:
        return 2 * _MARGIN + _NODE + self._columns * (_NODE + _GAP)

    @property
    def height(self) -> int:
        return _HEAD + max(1, len(self.answer.paths)) * _LANE

    def svg(self, width: int) -> str:
        left, right = _MARGIN + _NODE / 2, width - _MARGIN - _NODE / 2
        lanes = max(1, len(self.answer.paths))
        middle = _HEAD + lanes * _LANE / 2
        start, end = (left, middle), (right, middle)
        entity = self.query.entity
        head = f"{self.answer.rank}. {self.answer.entity} · {self.answer.share:.1%}"
        edges, nodes = [self._query_arc(start, end)], []
        for lane, path in enumerate(self.answer.paths):
            height = _HEAD + (lane + 0.5) * _LANE
            drawn = self._lane(path, height, start, end)
            edges += drawn[0]
            nodes += [*drawn[1], self._note(path, height, (left + right) / 2)]
        nodes += [_node(start, entity, "query"), _node(end, self.answer.entity, "answer")]
        title = f'<text x="{_MARGIN}" y="16" font-size="17" font-weight="600" fill="{_INK}">{_text(head)}</text>'
        if not self.answer.paths:
            nodes.append(_label((width / 2, middle), ["no path requested or found"], _SOFT))
        return title + "".join(edges) + "".join(nodes)

    def _query_arc(self, start: tuple[float, float], end: tuple[float, float]) -> str:
        """The query as an arc above the paths."""
        (x1, _), (x2, _) = start, end
        y, apex = start[1] - 38, 50.0
        top = y - (y - apex) * 4 / 3  # a cubic with both handles there has its maximum at ``apex``
        begin, stop = ((x1, y), (x2, y)) if self.answer.direction == "out" else ((x2, y), (x1, y))
        arc = (
            f'<path d="M {begin[0]:.0f} {y:.0f} C {begin[0]:.0f} {top:.0f}, {stop[0]:.0f} {top:.0f}, '
            f'{stop[0]:.0f} {y:.0f}" fill="none" stroke="{_RED}" stroke-width="1.8" stroke-dasharray="6 5" '
            f'marker-end="url(#query)"/>'
        )
        return arc + _label(((x1 + x2) / 2, apex), [*_folded(f"{self.answer.relation}?"), self.query.at], _RED)

    def _lane(
        self, path: ExplanationPath, height: float, start: tuple[float, float], end: tuple[float, float]
    ) -> tuple[list[str], list[str]]:
        """Edges and inner nodes of a path; a context path begins at another entity instead of the query entity."""
        inner = path.nodes[:-1] if path.is_context else path.nodes[1:-1]
        stride = (end[0] - start[0]) / (len(inner) + 1)
        places = [(start[0] + stride * (number + 1), height) for number in range(len(inner))]
        nodes = [_node(position, name, "between") for position, name in zip(places, inner, strict=True)]
        stops = [*([] if path.is_context else [start]), *places, end]
        if len(path.steps) == 1 and not path.is_context:
            return [_curve(start, end, height, path.steps[0])], nodes
        edges = []
        for number, step in enumerate(path.steps):
            # Edges of all lanes meet at both ends, so labels are moved towards the inner nodes of the lane.
            part = 0.5 + 0.08 * (stops[number] == start) - 0.08 * (stops[number + 1] == end)
            edges.append(_edge(stops[number], stops[number + 1], step, part, dashed=path.kind != "path"))
        return edges, nodes

    @staticmethod
    def _note(path: ExplanationPath, height: float, middle: float) -> str:
        """What is left of the answer without the path, and how often its facts were repeated, under its lane."""
        parts = [f"{len(path.also) + 1} times"] if path.also else []
        if path.share_without is not None:
            rank = "no answer" if path.rank_without is None else f"{path.share_without:.1%}, rank {path.rank_without}"
            parts.append(f"without it: {rank}")
        if not parts:
            return ""
        return (
            f'<text x="{middle:.0f}" y="{height + _LANE / 2 - 8:.0f}" text-anchor="middle" font-size="11.5" '
            f'fill="{_SOFT}" stroke="#ffffff" stroke-width="4" paint-order="stroke">{_text(" · ".join(parts))}</text>'
        )


def _edge(here: tuple[float, float], there: tuple[float, float], step: PathStep, part: float, dashed: bool) -> str:
    """A straight edge between two nodes, with its label at fraction ``part`` of its length."""
    (x1, y1), (x2, y2) = here, there
    first, last = (x1 + _NODE / 2, y1), (x2 - _NODE / 2 - 4, y2)
    begin, stop = (first, last) if step.forward else ((last[0] + 4, last[1]), (first[0] + 4, first[1]))
    dash = ' stroke-dasharray="3 4"' if dashed else ""
    line = (
        f'<path d="M {begin[0]:.0f} {begin[1]:.0f} L {stop[0]:.0f} {stop[1]:.0f}" stroke="{_LINE}" '
        f'stroke-width="1.6"{dash} fill="none" marker-end="url(#fact)"/>'
    )
    return line + _step_label((first[0] + part * (last[0] - first[0]), y1 + part * (y2 - y1)), step)


def _curve(start: tuple[float, float], end: tuple[float, float], height: float, step: PathStep) -> str:
    """A direct link, curved into its lane."""
    (x1, y), (x2, _) = start, end
    first, last = (x1 + _NODE / 2, y), (x2 - _NODE / 2, y)
    begin, stop = (first, (last[0] - 4, y)) if step.forward else (last, (first[0] + 4, y))
    bend = y + (height - y) * 4 / 3  # a cubic with both handles there passes through ``height`` in the middle
    third = (last[0] - first[0]) / 3
    handles = (begin[0] + third, stop[0] - third) if step.forward else (begin[0] - third, stop[0] + third)
    line = (
        f'<path d="M {begin[0]:.0f} {y:.0f} C {handles[0]:.0f} {bend:.0f}, {handles[1]:.0f} {bend:.0f}, '
        f'{stop[0]:.0f} {y:.0f}" stroke="{_LINE}" stroke-width="1.6" fill="none" marker-end="url(#fact)"/>'
    )
    return line + _step_label(((x1 + x2) / 2, height), step)


def _step_label(position: tuple[float, float], step: PathStep) -> str:
    time = f"{step.time} {AFTER_QUESTION}" if step.after_question else step.time
    return _label(position, [*_folded(step.relation), time], _RED if step.after_question else _INK)


def _node(position: tuple[float, float], name: str, kind: str) -> str:
    fill, edge, ink = {
        "query": ("#ffffff", _BLUE, _INK),
        "answer": (_RED, _RED, "#ffffff"),
        "between": (_TINT, _LINE, _INK),
    }[kind]
    lines = _folded(name, _LETTERS, 3)
    height = 22 + _LINE_HEIGHT * len(lines)
    x, y = position
    first = y - (len(lines) - 1) * _LINE_HEIGHT / 2 + 4.5
    rows = "".join(
        f'<text x="{x:.0f}" y="{first + number * _LINE_HEIGHT:.1f}" text-anchor="middle" fill="{ink}" '
        f'font-weight="600">{_text(line)}</text>'
        for number, line in enumerate(lines)
    )
    return (
        f'<g><title>{_text(name)}</title><rect x="{x - _NODE / 2:.0f}" y="{y - height / 2:.0f}" width="{_NODE}" '
        f'height="{height}" rx="10" fill="{fill}" stroke="{edge}" stroke-width="1.6"/>{rows}</g>'
    )


def _label(position: tuple[float, float], lines: Sequence[str], ink: str) -> str:
    """Lines of text around a point, the last one (a date) lighter; a white outline keeps them legible on edges."""
    x, y = position
    first = y - (len(lines) - 1) * _LINE_HEIGHT / 2 + 4
    rows = []
    for number, line in enumerate(lines):
        last = number == len(lines) - 1 and number > 0
        colour = _SOFT if last and ink == _INK else ink
        rows.append(
            f'<text x="{x:.0f}" y="{first + number * _LINE_HEIGHT:.1f}" text-anchor="middle" fill="{colour}" '
            f'font-size="12.5" stroke="#ffffff" stroke-width="5" stroke-linejoin="round" paint-order="stroke">'
            f"{_text(line)}</text>"
        )
    return "".join(rows)


def _folded(text: str, letters: int = _EDGE_LETTERS, lines: int = _LABEL_LINES) -> list[str]:
    return wrap(text, letters, max_lines=lines, placeholder=" …") or [text]


def _marker(name: str, colour: str) -> str:
    return (
        f'<marker id="{name}" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="8" markerHeight="8" orient="auto">'
        f'<path d="M 0 1 L 10 5 L 0 9 z" fill="{colour}"/></marker>'
    )


def _text(text: str) -> str:
    """Escaped text without characters that XML forbids."""
    return escape("".join(mark for mark in text if mark.isprintable() or mark == " "))
