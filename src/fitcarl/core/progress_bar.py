"""A progress bar for notebooks and terminals."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from html import escape
from importlib import import_module
from time import monotonic
from typing import Any, Protocol, TextIO

from fitcarl.core.progress import OnProgress, Progress, ignore_progress

_TERMINAL_SECONDS = 0.1
_NOTEBOOK_SECONDS = 0.2
_FILE_SECONDS = 30.0
_MINUTE = 60


class ProgressBar(AbstractContextManager["ProgressBar"]):
    """Shows the progress of a long-running function: ``fitcarl.train(…, on_progress=fitcarl.ProgressBar())``.

    In a notebook it is a bar below the cell, on a terminal a line on stderr that is rewritten. If stderr is a file,
    lines are written at the start and the end of each stage and every 30 seconds. Use a new bar for every call.
    """

    def __init__(self) -> None:
        self._view: _View = _NotebookView() if in_notebook() else _view_of(sys.stderr)
        self._shown_at = 0.0
        self._latest: Progress | None = None
        self._is_shown = True

    def __call__(self, update: Progress) -> None:
        """Shows an update, if it is time to.

        Args:
            update: The progress of the function.
        """
        if self._latest is not None and self._latest.stage != update.stage:
            self._end_stage()
        self._latest, self._is_shown = update, False
        if 0 < update.total <= update.done:
            self._end_stage()
        elif monotonic() - self._shown_at >= self._view.seconds:
            self._show(update)

    def close(self) -> None:
        """Shows the last update and ends the line; calls after the first have no effect."""
        self._end_stage()

    def __exit__(self, *_error: object) -> None:
        self.close()

    def _show(self, update: Progress) -> None:
        self._view.show(update)
        self._shown_at, self._is_shown = monotonic(), True

    def _end_stage(self) -> None:
        if self._latest is None:
            return
        if not self._is_shown or self._view.rewrites:
            self._show(replace(self._latest, seconds_left=None))
        self._view.end_stage()
        self._latest, self._shown_at = None, 0.0


def in_notebook() -> bool:
    """Whether this process is the kernel of a notebook."""
    ipython = sys.modules.get("IPython")  # a kernel has imported it
    if ipython is None:
        return False
    shell = ipython.get_ipython()
    return getattr(shell, "kernel", None) is not None


@contextmanager
def reporting(on_progress: OnProgress | None) -> Iterator[OnProgress]:
    """The callback for the progress of a function; a progress bar is closed when the function ends.

    Args:
        on_progress: The callback of the caller; None for a progress bar in notebooks and nothing elsewhere.
    """
    if on_progress is None and in_notebook():
        on_progress = ProgressBar()
    with on_progress if isinstance(on_progress, ProgressBar) else nullcontext():
        yield ignore_progress if on_progress is None else on_progress


def progress_text(update: Progress) -> str:
    """An update in one line: stage, units, metrics and the time that is left."""
    count = f"{update.done:,}/{update.total:,}" if update.total else f"{update.done:,}"
    parts = [f"{count} {update.unit}".rstrip()]
    parts += [f"{name} {value:.3f}" for name, value in update.metrics.items() if name != "seconds"]
    if update.seconds_left is not None:
        minutes, seconds = divmod(round(update.seconds_left), _MINUTE)
        parts.append(f"{minutes}:{seconds:02d} left")
    return " ".join(f"{update.stage}: {', '.join(parts)}".split())


class _View(Protocol):
    """Where progress is shown."""

    seconds: float
    """Minimum time between two updates."""
    rewrites: bool
    """Whether an update replaces the one before."""

    def show(self, update: Progress) -> None:
        """Shows an update."""
        ...

    def end_stage(self) -> None:
        """Called after the last update of a stage."""
        ...


class _NotebookView:
    """A bar below the cell; each stage replaces the one before."""

    seconds, rewrites = _NOTEBOOK_SECONDS, True

    def __init__(self) -> None:
        self._handle: Any = None

    def show(self, update: Progress) -> None:
        text = progress_text(update)
        value = f"value='{update.done}' max='{update.total}'" if update.total else ""
        data = {"text/plain": text, "text/html": f"<progress {value}></progress> {escape(text)}"}
        if self._handle is None:
            self._handle = import_module("IPython.display").display(data, raw=True, display_id=True)
        else:
            self._handle.update(data, raw=True)

    def end_stage(self) -> None:
        """The bar is used for the next stage too."""


class _TerminalView:
    """A line that is rewritten."""

    seconds, rewrites = _TERMINAL_SECONDS, True

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def show(self, update: Progress) -> None:
        from shutil import get_terminal_size

        width = get_terminal_size().columns - 1
        self._stream.write(f"\r\x1b[K{progress_text(update)[:width]}")
        self._stream.flush()

    def end_stage(self) -> None:
        self._stream.write("\n")
        self._stream.flush()


class _FileView:
    """A line per update."""

    seconds, rewrites = _FILE_SECONDS, False

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def show(self, update: Progress) -> None:
        self._stream.write(progress_text(update) + "\n")
        self._stream.flush()

    def end_stage(self) -> None:
        """The line has ended already."""


def _view_of(stream: TextIO) -> _TerminalView | _FileView:
    return _TerminalView(stream) if stream.isatty() else _FileView(stream)
