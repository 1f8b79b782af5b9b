"""The training loop: sample a task, walk, weigh, step; look at meta-validation now and then; keep the best."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter

import numpy as np
import torch

from fitcarl.config import Config
from fitcarl.data.dataset import Dataset
from fitcarl.embed.embeddings import Embeddings
from fitcarl.errors import FitcarlError, InputError
from fitcarl.evaluation.filter import KnownAnswers
from fitcarl.evaluation.protocol import judge
from fitcarl.learn import trace
from fitcarl.learn.agent import Agent, Surroundings, agent_for
from fitcarl.learn.files import write_json
from fitcarl.learn.run import Run, RunFolder
from fitcarl.learn.state import Standing, load_state, save_state
from fitcarl.memory import peak_mb
from fitcarl.tasks import official_task, sampled_task

_LONGEST = 2_000_000
"""Ticks from the first time to the last: every time difference has a row in a table."""


@dataclass(frozen=True)
class Progress:
    """What a watcher is told after every episode."""

    line: trace.Line
    episodes: int
    """Episodes at most."""
    best_mrr: float
    seconds_left: float


class Stopped(Exception):  # noqa: N818 - not an error
    """Learning was asked to stop; the run folder holds what is needed to go on."""


def train_run(
    dataset: Dataset,
    config: Config,
    out: str | Path,
    *,
    source: str | None = None,
    embeddings: Callable[[], Embeddings],
    watch: Callable[[Progress], None] | None = None,
    stop: Callable[[], bool] | None = None,
) -> Run:
    """Learns, or goes on learning, in the folder ``out`` and returns the run with the best weights.

    ``embeddings`` is called when the folder has none yet. ``stop`` is asked after every episode; when it says yes the
    state is saved and ``Stopped`` is raised. The same seed gives the same weights, however often it was stopped.
    """
    relations = dataset.vocabulary.relation_ids
    if not len(official_task(dataset.train, config.shots, relations).queries):
        raise InputError(f"no meta-train entity has more than {config.shots} facts", file=dataset.name)
    if not len(official_task(dataset.valid, config.shots, relations).queries):
        raise InputError(f"no meta-validation entity has more than {config.shots} facts", file=dataset.name)
    if dataset.calendar.span > _LONGEST:
        raise InputError(
            "too long a time for its granularity",
            file=dataset.name,
            found=f"{dataset.calendar.span} ticks",
            expected=f"at most {_LONGEST}: read the facts with a coarser --granularity",
        )
    folder = RunFolder(Path(out))
    folder.create(dataset, source or dataset.name, config)
    surroundings = Surroundings.of(dataset)
    agent = agent_for(config, surroundings, lambda: folder.keep_embeddings(embeddings))
    model = agent.module
    optimizer = torch.optim.Adam(model.parameters(), lr=config.learn.rate, fused=True)
    standing = load_state(folder.state, model, optimizer) if folder.state.exists() else Standing()
    trace.cut(folder.trace, standing.episode)

    look = validation(dataset, agent, config.shots)
    learn = config.learn
    if standing.episode < learn.episodes:
        folder.result.unlink(missing_ok=True)  # it is written again when this is finished
    before, began = standing.seconds, perf_counter()
    while standing.episode < learn.episodes and standing.looks_since_best < learn.patience:
        number = standing.episode + 1
        rng = np.random.default_rng([config.seed, number])
        task = sampled_task(dataset.train, config.shots, relations, rng, learn.queries_per_entity)
        episode = agent.play(task, _seed(config.seed, number))
        if not torch.isfinite(episode.loss):
            raise FitcarlError(f"the loss of episode {number} is not a number; a smaller learn.rate may help")
        optimizer.zero_grad(set_to_none=True)
        episode.loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), learn.clip)
        optimizer.step()

        standing = replace(standing, episode=number, seconds=before + perf_counter() - began)
        line = trace.Line(number, float(episode.loss.detach()), episode.reward, episode.arrived, standing.seconds)
        if number % learn.validate_every == 0 or number == learn.episodes:
            line = replace(line, valid_mrr=look())
            standing = standing.after_look(line.valid_mrr or 0.0)
            if standing.best_episode == number:
                folder.save_weights(model)
        trace.append(folder.trace, line)
        asked_to_stop = stop is not None and stop()
        if line.valid_mrr is not None or asked_to_stop:
            standing = replace(standing, peak_mb=max(standing.peak_mb, peak_mb()))
            save_state(folder.state, model, optimizer, standing)
        if watch is not None:
            left = (learn.episodes - number) * standing.seconds / number
            watch(Progress(line, learn.episodes, standing.best_mrr, left))
        if asked_to_stop:
            raise Stopped(f"stopped after episode {number}; `fitcarl train --resume {folder.path}` goes on")
    trace.draw(trace.read(folder.trace), folder.curve)
    write_json(
        folder.result,
        {
            "episodes": standing.episode,
            "best_episode": standing.best_episode,
            "best_valid_mrr": standing.best_mrr,
            "seconds": standing.seconds,
            "peak_mb": standing.peak_mb,
            "ended_by": "patience" if standing.looks_since_best >= learn.patience else "episodes",
        },
    )
    return Run.load(folder.path)


def validation(dataset: Dataset, agent: Agent, shots: int) -> Callable[[], float]:
    """A function that gives the present meta-validation MRR: official draw, realistic ranks, time-aware filter."""
    task = official_task(dataset.valid, shots, dataset.vocabulary.relation_ids)
    known = KnownAnswers.of(dataset)

    def look() -> float:
        ranks = judge(agent.scorer(), task, known, len(dataset.vocabulary.entities)).ranks["time-aware"]
        return float((1 / ranks.of("realistic")).mean())

    return look


def _seed(seed: int, episode: int) -> int:
    """A seed for the random choices within an episode."""
    return zlib.crc32(f"{seed}/{episode}".encode())
