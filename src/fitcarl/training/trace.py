"""The story of a run: one line of JSON an episode, and a picture of it."""

from __future__ import annotations

import json
import logging
from dataclasses import asdict, dataclass
from pathlib import Path

from fitcarl.core.storage import write_atomically

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class TraceEntry:
    """What is known after an episode."""

    episode: int
    loss: float
    reward: float
    """Mean reward of the walks' last steps; for preset ``plus`` the mean probability given to the answer."""
    hit_rate: float
    """Share of walks that ended at the answer; for ``plus`` the share of answers given about half or more."""
    seconds: float
    """Since learning began, over all sittings."""
    valid_mrr: float | None = None
    """Meta-validation MRR (realistic ranks, time-aware filter), where this episode was followed by a look at it."""


def append(file: Path, line: TraceEntry) -> None:
    with file.open("a", encoding="utf-8") as out:
        out.write(json.dumps(asdict(line)) + "\n")


def read(file: Path) -> list[TraceEntry]:
    """The lines of a trace; a last line that was cut off by a kill is left out."""
    if not file.exists():
        return []
    lines = []
    for text in file.read_text(encoding="utf-8").splitlines():
        try:
            lines.append(TraceEntry(**json.loads(text)))
        except (ValueError, TypeError):
            break
    return lines


def truncate(file: Path, episode: int) -> None:
    """Drops the lines after an episode: those episodes are played again."""
    kept = [line for line in read(file) if line.episode <= episode]
    write_atomically(file, "".join(json.dumps(asdict(line)) + "\n" for line in kept).encode())


def plot_curve(lines: list[TraceEntry], file: Path) -> None:
    """The learning curve: loss and reward of every episode, and meta-validation MRR where it was looked at."""
    try:
        from matplotlib.figure import Figure
    except ModuleNotFoundError:
        _log.info("the training curve is not drawn: install matplotlib with pip install 'fitcarl[plot]'")
        return

    figure = Figure(figsize=(9, 3.2), layout="constrained")
    panels = figure.subplots(1, 3)
    episodes = [line.episode for line in lines]
    looks = [(line.episode, line.valid_mrr) for line in lines if line.valid_mrr is not None]
    panels[0].plot(episodes, [line.loss for line in lines], color="#8a8f98")
    panels[0].set_title("loss")
    panels[1].plot(episodes, [line.reward for line in lines], color="#3b7dd8", label="reward")
    panels[1].plot(episodes, [line.hit_rate for line in lines], color="#d8873b", label="walks that arrive")
    panels[1].set_title("walks")
    panels[1].legend(frameon=False)
    panels[2].plot([episode for episode, _ in looks], [mrr for _, mrr in looks], "o-", color="#2f9e67", markersize=3)
    panels[2].set_title("meta-validation MRR (honest)")
    for panel in panels:
        panel.set_xlabel("episode")
        panel.spines[["top", "right"]].set_visible(False)
    figure.savefig(file)
