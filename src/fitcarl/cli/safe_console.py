"""The console for results; a module of its own, because rich takes time to import."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from fitcarl.errors import escape_controls


class SafeConsole(Console):
    """A console that escapes control characters in texts, so that no name from a file reaches the terminal as one."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """The segments of a renderable; those of rich itself, which move the cursor or set colours, are unchanged."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else Segment(escape_controls(segment.text), segment.style)
