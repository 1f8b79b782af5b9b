"""The trace of a training: one line of JSON per episode, and a plot of it."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from fitcarl.core.files import append_line, replacing, write_atomically

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
    """All entries; a last line that was cut off by a kill is left out."""
    if not file.exists():
        return []
    entries = []
    for text in file.read_text(encoding="utf-8").splitlines():
        try:
            entries.append(TraceEntry(**json.loads(text)))
        except (ValueError, TypeError):
            break
    return entries


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
