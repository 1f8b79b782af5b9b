"""The look of all figures, and how they are created and saved."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fitcarl.core.files import replacing
from fitcarl.errors import require_extra

COLOURS = ("#1f5fa8", "#d1662c", "#2f8f5b", "#8b4fa3", "#b8902a", "#5f6b77")
BARS = "#e8ebef"
INK = "#333a42"
FAINT = "#8a939d"
GRID = "#d5dae0"


def new_figure(width: float, height: float) -> Any:
    """A figure without pyplot: no global state, no window."""
    require_extra("plot", "matplotlib", needed_by="a figure")
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), dpi=160, layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def save_figure(figure: Any, path: str | Path) -> None:
    """Writes the figure without date and random ids, so that equal contents give equal files."""
    from matplotlib import rc_context

    file = Path(path)
    suffix = file.suffix.lower()
    metadata: dict[str, Any] = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}.get(suffix, {})
    with rc_context({"svg.hashsalt": "fitcarl"}), replacing(file) as sibling:
        figure.savefig(sibling, format=suffix[1:], metadata=metadata)
