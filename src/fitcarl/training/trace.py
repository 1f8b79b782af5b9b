"""The trace of a training: one line of JSON per episode, and a plot of it."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from fitcarl.core.files import append_line, replacing, write_atomically
from fitcarl.errors import InputError

_MAX_INTEGER = 1 << 53
"""Larger integers are none of a training, and may have more digits than a float can hold."""
_MAX_BYTES = 1 << 32
"""Bytes of a trace: some ten million episodes."""
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class TraceEntry:
    """One episode."""

    episode: int
    loss: float
    metrics: Mapping[str, float]
    """Further values of the model, by name: for ``fitcarl`` the mean ``reward`` of the last step and the ``hit_rate``
    (share of queries whose path ends at the answer); for ``plus`` the mean ``answer_probability`` and the
    ``majority_rate`` (share of answers with a probability of about one half or more)."""
    seconds: float
    """Training time so far, over all sessions."""
    valid_mrr: float | None = None
    """Meta-validation MRR (realistic ranks, time-aware filter), if the episode was followed by a validation."""

    def values(self) -> dict[str, float]:
        """Everything but the number of the episode, by name."""
        valid = {} if self.valid_mrr is None else {"valid_mrr": self.valid_mrr}
        return {"loss": self.loss, **self.metrics, **valid, "seconds": self.seconds}


def append(file: Path, entry: TraceEntry) -> None:
    """Adds one entry."""
    append_line(file, json.dumps(asdict(entry)))


def read(file: Path) -> list[TraceEntry]:
    """All entries; a last line that was cut off by a kill is left out.

    Args:
        file: The trace; without one there are no entries.

    Raises:
        InputError: If it cannot be read, or has lines that no training writes.
    """
    if not file.exists():
        return []
    entries: list[TraceEntry] = []
    try:
        if not file.is_file():
            raise OSError("not a regular file")  # a pipe would block
        if file.stat().st_size > _MAX_BYTES:
            raise OSError("too large")
        for text in file.read_text(encoding="utf-8", errors="replace").splitlines():
            try:
                values = json.loads(text)
            except ValueError:
                break
            entries.append(_entry(values))
            if not entries[0].metrics.keys() <= entries[-1].metrics.keys():
                raise ValueError("other metrics than before")
    except (OSError, ValueError, TypeError, RecursionError, MemoryError) as error:
        reason = f"cannot be read after {len(entries)} lines ({error})"
        raise InputError(reason, file=file, expected="the trace that `fitcarl train` wrote") from None
    return entries


def _entry(values: dict[str, Any]) -> TraceEntry:
    entry = TraceEntry(**values)
    valid = () if entry.valid_mrr is None else (entry.valid_mrr,)
    if type(entry.episode) is not int or entry.episode < 1 or not isinstance(entry.metrics, dict):
        raise TypeError("not an episode")
    for value in (entry.episode, entry.loss, entry.seconds, *valid, *entry.metrics.values()):
        if type(value) is not float and not (type(value) is int and abs(value) <= _MAX_INTEGER):
            raise TypeError("not a number of a training")
    return entry


def truncate(file: Path, episode: int) -> None:
    """Drops the entries after an episode, because those episodes run again."""
    kept = [entry for entry in read(file) if entry.episode <= episode]
    write_atomically(file, "".join(json.dumps(asdict(entry)) + "\n" for entry in kept).encode())


def plot_curve(entries: list[TraceEntry], file: Path) -> None:
    """The learning curve: loss and metrics of every episode, and the meta-validation MRR."""
    try:
        from matplotlib.figure import Figure
    except ModuleNotFoundError:
        _log.info("the training curve is not drawn: install matplotlib with pip install 'fitcarl[plot]'")
        return

    figure = Figure(figsize=(9, 3.2), layout="constrained")
    panels = figure.subplots(1, 3)
    episodes = [entry.episode for entry in entries]
    panels[0].plot(episodes, [entry.loss for entry in entries], color="#8a8f98")
    panels[0].set_title("loss")
    for name, color in zip(entries[0].metrics if entries else (), ("#3b7dd8", "#d8873b", "#7d5fb2"), strict=False):
        panels[1].plot(episodes, [entry.metrics[name] for entry in entries], color=color, label=name.replace("_", " "))
    panels[1].set_title("training metrics")
    if entries and entries[0].metrics:
        panels[1].legend(frameon=False)
    validated = [(entry.episode, entry.valid_mrr) for entry in entries if entry.valid_mrr is not None]
    panels[2].plot([episode for episode, _ in validated], [mrr for _, mrr in validated], "o-", color="#2f9e67", ms=3)
    panels[2].set_title("meta-validation MRR")
    for panel in panels:
        panel.set_xlabel("episode")
        panel.spines[["top", "right"]].set_visible(False)
    with replacing(file) as sibling:
        figure.savefig(sibling, format=file.suffix[1:])
