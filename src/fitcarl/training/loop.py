"""The training loop: sample a task, walk, weigh, step; look at meta-validation now and then; keep the best."""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter

import numpy as np
import torch

from fitcarl.config.schema import Config, TrainingConfig
from fitcarl.core import progress as encoder_progress
from fitcarl.core.memory import peak_mb
from fitcarl.core.storage import write_json
from fitcarl.data.calendar import MAX_SPAN
from fitcarl.data.dataset import Dataset
from fitcarl.errors import FitcarlError, InputError
from fitcarl.evaluation.filtering import KnownAnswers
from fitcarl.evaluation.protocol import rank_task
from fitcarl.graph.temporal import TemporalGraph
from fitcarl.models.base import GraphContext, TrainableModel
from fitcarl.models.factorization.embeddings import Embeddings
from fitcarl.models.plus.encoder.network import SupportEncoder
from fitcarl.models.plus.encoder.training import load_or_train_encoder
from fitcarl.models.plus.trainable import PlusModel, names_for
from fitcarl.models.registry import build_model
from fitcarl.runs.evaluate import calibrate
from fitcarl.runs.layout import RunFolder
from fitcarl.runs.run import Run
from fitcarl.tasks.sampler import TaskSampler
from fitcarl.tasks.task import official_task
from fitcarl.training import trace
from fitcarl.training.state import TrainingState, load_state, save_state

_NOTE_EVERY = 15.0
"""Seconds between two words about the encoder."""


@dataclass(frozen=True)
class Progress:
    """What a watcher is told after every episode."""

    line: trace.TraceEntry
    episodes: int
    """Episodes at most."""
    best_mrr: float
    seconds_left: float


class TrainingInterrupted(Exception):  # noqa: N818
    """Learning was asked to stop; the run folder holds what is needed to go on."""


def make_task_sampler(dataset: Dataset, config: Config) -> TaskSampler[TrainableModel]:
    """What there is to learn from; a dataset that a run cannot be trained on is refused, and nothing is written."""
    if not len(official_task(dataset.valid, config.shots, dataset.vocabulary.relation_ids).queries):
        most = int(np.diff(dataset.valid.offsets).max(initial=0))
        raise InputError(
            f"no meta-validation entity has more than {config.shots} facts",
            file=dataset.name,
            found=f"{most} at most",
            expected="fewer --shots" if most > 1 else "entities with at least two facts there",
        )
    lessons: TaskSampler[TrainableModel] = TaskSampler(dataset, config)
    if dataset.calendar.span > MAX_SPAN:
        raise InputError(
            "too long a time for its granularity",
            file=dataset.name,
            found=f"{dataset.calendar.span} ticks",
            expected=f"at most {MAX_SPAN}: read the facts with a coarser --granularity",
        )
    return lessons


def train_run(
    dataset: Dataset,
    config: Config,
    lessons: TaskSampler[TrainableModel],
    out: str | Path,
    *,
    source: str | None = None,
    embeddings: Callable[[], Embeddings],
    watch: Callable[[Progress], None] | None = None,
    stop: Callable[[], bool] | None = None,
    note: Callable[[str], None] | None = None,
    whole: bool = False,
) -> Run:
    """Learns, or goes on learning, in the folder ``out`` and returns the run with the best weights.

    ``embeddings`` is called when the folder has none yet. ``note`` is told, line by line, which known actors play
    newcomers, how far the encoder is, and what trouble a cache gives. With ``whole`` the run, once trained, answers
    over all facts of the dataset, those of its unseen entities included; learning never sees them. ``stop`` is asked
    after every episode; when it says yes the state is saved and ``TrainingInterrupted`` is raised. The same seed
    gives the same weights, however often it was stopped.
    """
    folder = RunFolder(Path(out))
    if folder.result.exists() and not folder.state.exists():
        raise InputError("is missing", file=folder.state, expected="what learning goes on from, as it was written")
    folder.create(dataset, source or dataset.name, config, whole=whole)
    if note is not None and lessons.pseudo_unseen is not None:
        note(f"to learn from: {lessons.pseudo_unseen}, {_turns(config)}")
    context = GraphContext.from_dataset(dataset)
    agent = build_model(
        config,
        context,
        lambda: folder.keep_embeddings(embeddings),
        encoder=lambda: folder.keep_encoder(
            context, config, lambda: _encoder(dataset, config, lessons, note, stop, folder)
        ),
    )
    model = agent.module
    optimizer = torch.optim.Adam(model.parameters(), lr=config.training.learning_rate, fused=True)
    fresh = TrainingState(seconds=folder.encoder_seconds())
    standing = load_state(folder.state, model, optimizer) if folder.state.exists() else fresh
    if note is not None and folder.weights.exists() and not folder.state.exists():
        note(f"{folder.state}: is missing, so learning begins anew")
    trace.truncate(folder.trace, standing.episode)

    look = validation(dataset, agent, config.shots)
    training = config.training
    if standing.episode < training.episodes:
        folder.result.unlink(missing_ok=True)  # it is written again when this is finished
    before, began = standing.seconds, perf_counter()
    while standing.episode < training.episodes and standing.validations_since_best < training.patience:
        number = standing.episode + 1
        player, task = lessons.sample(agent, number)
        episode = player.training_step(task, _seed(config.seed, number))
        if not torch.isfinite(episode.loss):
            raise FitcarlError(
                f"the loss of episode {number} is not a number; a smaller training.learning_rate may help"
            )
        for group in optimizer.param_groups:
            group["lr"] = rate_at(number, training)
        optimizer.zero_grad(set_to_none=True)
        episode.loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), training.grad_clip)
        optimizer.step()

        standing = replace(standing, episode=number, seconds=before + perf_counter() - began)
        line = trace.TraceEntry(
            number, float(episode.loss.detach()), episode.reward, episode.hit_rate, standing.seconds
        )
        if number % training.validate_every == 0 or number == training.episodes:
            line = replace(line, valid_mrr=look())
            standing = standing.after_validation(line.valid_mrr or 0.0)
            if standing.best_episode == number:
                folder.save_weights(model)
        trace.append(folder.trace, line)
        asked_to_stop = stop is not None and stop()
        if line.valid_mrr is not None or asked_to_stop:
            standing = replace(standing, peak_mb=max(standing.peak_mb, peak_mb()))
            save_state(folder.state, model, optimizer, standing)
        if watch is not None:
            left = (training.episodes - number) * (standing.seconds - fresh.seconds) / number
            watch(Progress(line, training.episodes, standing.best_mrr, left))
        if asked_to_stop:
            raise TrainingInterrupted(f"stopped after episode {number}; `fitcarl train --resume {folder.path}` goes on")
    trace.plot_curve(trace.read(folder.trace), folder.curve)
    if isinstance(agent, PlusModel) and not whole:
        folder.save_statistics(agent.statistics)
    folder.load_weights(model)
    write_json(folder.calibration, calibrate(agent.scorer(), dataset, config.shots, seed=config.seed).to_json())
    write_json(
        folder.result,
        {
            "episodes": standing.episode,
            "best_episode": standing.best_episode,
            "best_valid_mrr": standing.best_mrr,
            "seconds": standing.seconds,
            "peak_mb": standing.peak_mb,
            "ended_by": "patience" if standing.validations_since_best >= training.patience else "episodes",
        },
    )
    run = Run.load(folder.path)
    if isinstance(run.model, PlusModel) and not folder.statistics.exists():
        folder.save_statistics(run.model.statistics)
    return run


def _encoder(
    dataset: Dataset,
    config: Config,
    lessons: TaskSampler[TrainableModel],
    note: Callable[[str], None] | None,
    stop: Callable[[], bool] | None,
    folder: RunFolder,
) -> tuple[SupportEncoder, float]:
    """An encoder that has never met those who will play newcomers."""
    names, seen = dataset.vocabulary, lessons.always_visible_facts
    graph = TemporalGraph.from_facts(seen, len(names.entities), names.relation_ids)
    context = GraphContext.from_graph(graph, dataset.concepts, dataset.calendar, names)

    told = -math.inf

    def on_progress(progress: encoder_progress.Progress) -> None:
        nonlocal told
        if stop is not None and stop():
            raise TrainingInterrupted(
                f"stopped before the first episode; `fitcarl train --resume {folder.path}` goes on"
            )
        if note is not None and perf_counter() - told > _NOTE_EVERY:
            told = perf_counter()
            step = f"step {progress.done} of {progress.total}"
            note(f"the encoder learns from {len(seen):,} background facts first: {step}")

    own = names_for(config, context)
    given = graph, context.days, own, config.encoder, config.seed, config.shots
    return load_or_train_encoder(*given, on_progress=on_progress)


def rate_at(episode: int, training: TrainingConfig) -> float:
    """The learning rate of an episode: constant, or up over the first ten and then down along a cosine."""
    if training.schedule == "constant":
        return training.learning_rate
    fading = (1 + math.cos(math.pi * min(1.0, (episode - 1) / training.episodes))) / 2
    return training.learning_rate * min(1.0, episode / 10) * max(fading, 0.02)


def validation(dataset: Dataset, agent: TrainableModel, shots: int) -> Callable[[], float]:
    """A function that gives the present meta-validation MRR: official draw, realistic ranks, time-aware filter."""
    task = official_task(dataset.valid, shots, dataset.vocabulary.relation_ids)
    known = KnownAnswers.of(dataset)

    def look() -> float:
        ranks = rank_task(agent.scorer(), task, known, len(dataset.vocabulary.entities)).ranks["time-aware"]
        return float((1 / ranks.of("realistic")).mean())

    return look


def _turns(config: Config) -> str:
    """How learning alternates between those it learns from."""
    hidden = "hidden in turn"
    return (
        hidden if config.training.tasks == "pseudo" else f"{hidden}; every other task, on average, is from meta-train"
    )


def _seed(seed: int, episode: int) -> int:
    """A seed for the random choices within an episode."""
    return zlib.crc32(f"{seed}/{episode}".encode())
