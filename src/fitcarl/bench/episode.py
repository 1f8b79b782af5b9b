"""Seconds and memory of training episodes and of beam search, compared with the reference implementation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter, process_time

import numpy as np
import torch

from fitcarl.bench.own_process import in_own_process
from fitcarl.bench.reference import reference_episode, reference_paths
from fitcarl.config.schema import FitcarlConfig
from fitcarl.core.memory import peak_mb
from fitcarl.core.subnormals import subnormals
from fitcarl.data.dataset import Dataset
from fitcarl.data.io.registry import load_dataset
from fitcarl.graph.temporal import TemporalGraph
from fitcarl.models.base import EpisodeResult, GraphContext
from fitcarl.models.factorization.embeddings import Embeddings, trained_entities
from fitcarl.models.fitcarl.episode import run_episode
from fitcarl.models.fitcarl.network import Fitcarl
from fitcarl.models.fitcarl.scorer import FitcarlScorer
from fitcarl.models.fitcarl.trainable import concept_prior
from fitcarl.tasks.task import Task, official_task, sampled_task

EpisodeFunction = Callable[..., EpisodeResult]

_REFERENCE_QUERIES = 64  # enough for timing; all queries would take minutes


@dataclass(frozen=True)
class EpisodeTimes:
    cpu_seconds_per_episode: float
    """Of all threads: forward, backward and optimizer step; the minimum over several episodes."""
    wall_seconds_per_episode: float
    reference_cpu_seconds_per_episode: float
    """The reference implementation on the same task, in its own process."""
    reference_ratio: float
    peak_mb: float
    """Peak memory of a process that loads the data and trains."""
    reference_peak_mb: float
    memory_ratio: float
    """Memory beyond the loaded data and libraries, divided by that of the reference."""
    queries: int
    loss_difference: float
    """Relative difference of the losses on the same task; both compute the same function."""


@dataclass(frozen=True)
class AnswerTimes:
    cpu_seconds_per_pass: float
    wall_seconds_per_pass: float
    """All test queries of the official task with the beam of the preset; the minimum over several passes."""
    reference_cpu_seconds_per_pass: float
    """The reference implementation on some of the queries, scaled to all."""
    reference_ratio: float
    peak_mb: float
    queries: int
    beam: int


@dataclass(frozen=True)
class _Measured:
    cpu: float
    wall: float
    peak: float
    grown: float
    queries: int
    loss: float


def time_episode(data: str, shots: int, episodes: int = 5, reference: bool = True) -> EpisodeTimes:
    """Times training episodes of preset ``paper`` on a dataset, each implementation in its own process."""
    fast = in_own_process(_train, data, shots, episodes, False)
    slow = in_own_process(_train, data, shots, max(1, episodes // 2), True) if reference else fast
    return EpisodeTimes(
        cpu_seconds_per_episode=fast.cpu,
        wall_seconds_per_episode=fast.wall,
        reference_cpu_seconds_per_episode=slow.cpu,
        reference_ratio=slow.cpu / fast.cpu,
        peak_mb=fast.peak,
        reference_peak_mb=slow.peak,
        memory_ratio=fast.grown / slow.grown,
        queries=fast.queries,
        loss_difference=abs(fast.loss - slow.loss) / abs(slow.loss),
    )


def time_answers(data: str, shots: int, passes: int = 3) -> AnswerTimes:
    """Times beam search over all test queries with untrained weights of preset ``paper``."""
    measured = in_own_process(_answer, data, shots, passes)
    reference_run = in_own_process(_answer_with_reference, data, shots)
    reference = reference_run.cpu * measured.queries / reference_run.queries
    beam = FitcarlConfig(shots=shots).search.beam
    return AnswerTimes(
        measured.cpu, measured.wall, reference, reference / measured.cpu, measured.peak, measured.queries, beam
    )


def setting(data: str, shots: int) -> tuple[Dataset, FitcarlConfig, Fitcarl, TemporalGraph]:
    """A dataset, the settings of preset ``paper``, an untrained network and the background graph."""
    dataset = load_dataset(data)
    config = FitcarlConfig(shots=shots)
    entities, relations = len(dataset.vocabulary.entities), dataset.vocabulary.relation_ids
    # Subnormal numbers are taken as 0, so speed does not depend on the values, and random rows replace trained ones.
    rng = np.random.default_rng(0)
    trained = trained_entities(dataset.background, entities)
    rows, relation_rows = (rng.normal(size=(n, 100)).astype(np.float32) * 0.5 for n in (entities, relations.directed))
    torch.manual_seed(0)
    model = Fitcarl(config.network, Embeddings(rows * trained[:, None], relation_rows, trained), relations)
    return dataset, config, model, TemporalGraph.from_facts(dataset.background, entities, relations)


def _train(data: str, shots: int, episodes: int, use_reference: bool) -> _Measured:
    dataset, config, model, background = setting(data, shots)
    episode_of: EpisodeFunction = reference_episode if use_reference else run_episode
    prior, max_delta = concept_prior(GraphContext.from_dataset(dataset)), dataset.calendar.span - 1
    optimizer = torch.optim.Adam(model.parameters(), lr=config.training.learning_rate, fused=True)
    small = sampled_task(
        dataset.train, shots, dataset.vocabulary.relation_ids, np.random.default_rng(0), queries_per_entity=1
    )
    episode_of(model, background, small, config, prior, max_delta, 0).loss.backward()  # compile or load from the cache
    before = peak_mb()
    times, first_loss, queries = [], 0.0, 0
    for number in range(episodes):
        rng = np.random.default_rng([0, number])
        task = sampled_task(dataset.train, shots, dataset.vocabulary.relation_ids, rng, config.queries_per_entity)
        wall, cpu = perf_counter(), process_time()
        with subnormals(as_zero=True):  # as in training
            episode = episode_of(model, background, task, config, prior, max_delta, number)
            optimizer.zero_grad(set_to_none=True)
            episode.loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), config.training.grad_clip)
            optimizer.step()
        times.append((process_time() - cpu, perf_counter() - wall))
        if number == 0:
            first_loss, queries = float(episode.loss.detach()), len(task.queries)
    cpu, wall = min(times)
    return _Measured(cpu, wall, peak_mb(), peak_mb() - before, queries, first_loss)


def _answer(data: str, shots: int, passes: int) -> _Measured:
    dataset, config, model, background = setting(data, shots)
    task = official_task(dataset.test, shots, dataset.vocabulary.relation_ids)
    times = []
    for _ in range(passes + 1):  # the first compiles
        scorer = FitcarlScorer(model, background, config, dataset.calendar.span - 1)
        wall, cpu = perf_counter(), process_time()
        scorer.score(task, task.queries)
        times.append((process_time() - cpu, perf_counter() - wall))
    cpu, wall = min(times[1:])
    return _Measured(cpu, wall, peak_mb(), 0.0, len(task.queries), 0.0)


def _answer_with_reference(data: str, shots: int) -> _Measured:
    dataset, config, model, background = setting(data, shots)
    full_task = official_task(dataset.test, shots, dataset.vocabulary.relation_ids)
    task = Task(full_task.support, full_task.queries.take(slice(0, _REFERENCE_QUERIES)))
    wall, cpu = perf_counter(), process_time()
    for _ in reference_paths(model, background, task, dataset.calendar.span - 1, config.search.beam):
        pass
    return _Measured(process_time() - cpu, perf_counter() - wall, peak_mb(), 0.0, len(task.queries), 0.0)
