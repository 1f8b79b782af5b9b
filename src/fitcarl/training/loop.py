"""The training loop: sample a task, take a step, validate, checkpoint. Independent of the model."""

from __future__ import annotations

import math
import zlib
from dataclasses import replace
from time import perf_counter, process_time

import torch

from fitcarl.core.memory import peak_mb
from fitcarl.core.process_group import ONE_PROCESS, ProcessGroup
from fitcarl.core.progress import Interrupted, Progress
from fitcarl.core.stages import stage
from fitcarl.core.subnormals import subnormals
from fitcarl.errors import FitcarlError
from fitcarl.models.base import Episode, EpisodeResult, TrainableModel
from fitcarl.runs.layout import RunFolder
from fitcarl.scoring.scores import NotFiniteError
from fitcarl.training import trace
from fitcarl.training.folds import FoldModels
from fitcarl.training.schedule import learning_rate
from fitcarl.training.setup import Callbacks, TrainingSetup
from fitcarl.training.state import TrainingState, load_state, save_state
from fitcarl.training.validation import Validation


def run_episodes(
    setup: TrainingSetup,
    model: TrainableModel,
    folder: RunFolder,
    calls: Callbacks,
    preparation_cpu: float = 0.0,
    validated: TrainableModel | None = None,
    processes: ProcessGroup = ONE_PROCESS,
) -> TrainingState:
    """Trains until the last episode or until patience runs out; the folder holds the best weights and the state.

    Args:
        setup: Dataset, settings and tasks.
        model: The prepared model.
        folder: The run folder.
        calls: Callbacks of the caller.
        preparation_cpu: Processor time that the preparation took, in seconds.
        validated: The same weights on the whole background, if the model is trained on a part of it.
        processes: The processes that train together; the first one writes the folder and calls ``on_progress``.

    Raises:
        Interrupted: If ``should_stop`` returned True after an episode, on any process; the state is saved.
    """
    config, module = setup.config.training, model.module
    optimizer = model.make_optimizer(config.learning_rate)
    state = TrainingState(seconds=model.preparation_seconds, cpu_seconds=preparation_cpu)
    earlier_cpu = preparation_cpu
    if folder.state.exists():
        state = load_state(folder.state, module, optimizer)
        earlier_cpu = state.cpu_seconds if processes.is_first else 0.0
    processes.copy_from_first(module)
    if processes.is_first:
        trace.truncate(folder.trace, state.episode)
        if state.episode < config.episodes:
            folder.result.unlink(missing_ok=True)  # written again at the end
    models, validated = FoldModels(model, setup.sampler), validated or model
    with stage("preparation"):
        validation = Validation.of(setup.dataset, setup.config.shots, setup.config.setting)
    start, cpu_start = perf_counter() - state.seconds, process_time() - earlier_cpu
    while state.episode < config.episodes and not config.ran_out(state.validations_since_best, state.episode):
        episode = state.episode + 1
        with stage("episodes"), subnormals(as_zero=True):
            sampled = setup.sampler.sample(episode)
            step = Episode(sampled.task, episode_seed(setup.config.seed, episode), episode, processes)
            result = models.model_for(sampled.fold).training_step(step)
            loss, metrics = _totals(result, processes)
            if not math.isfinite(loss):
                raise FitcarlError(f"the loss of episode {episode} is not finite; try a smaller training.learning_rate")
            _update(optimizer, result, learning_rate(episode, config), config.grad_clip, processes)
        state = replace(state, episode=episode, seconds=perf_counter() - start)
        entry = trace.TraceEntry(episode, loss, metrics, state.seconds)
        if episode % config.validate_every == 0 or episode == config.episodes:
            with stage("validation"):
                mrr = _validation_mrr(validation, validated, episode, processes)
            entry = replace(entry, valid_mrr=mrr)
            state = state.after_validation(mrr)
            if state.best_episode == episode and processes.is_first:
                folder.save_weights(module)
        if processes.is_first:
            trace.append(folder.trace, entry)
        stop = processes.any(calls.should_stop())
        if entry.valid_mrr is not None or stop:
            cpu_seconds = float(processes.sum(torch.tensor(process_time() - cpu_start, dtype=torch.float64)))
            memory = processes.maximum(max(state.peak_mb, peak_mb()))
            state = replace(state, peak_mb=memory, cpu_seconds=cpu_seconds)
            if processes.is_first:
                save_state(folder.state, module, optimizer, state)
        left = (config.episodes - episode) * (state.seconds - model.preparation_seconds) / episode
        values = entry.values() | ({"best_mrr": state.best_mrr} if state.best_episode else {})
        calls.on_progress(Progress("training", episode, config.episodes, "episodes", values, left))
        if stop:
            raise Interrupted(f"stopped after episode {episode}")
    return state


def episode_seed(seed: int, episode: int) -> int:
    """The seed of the random choices within an episode."""
    return zlib.crc32(f"{seed}/{episode}".encode())


def _validation_mrr(validation: Validation, model: TrainableModel, episode: int, processes: ProcessGroup) -> float:
    try:
        return validation.mrr(model.scorer(), processes)
    except NotFiniteError:
        problem = f"the scores after episode {episode} are not finite; try a smaller training.learning_rate"
        raise FitcarlError(problem) from None


def _totals(result: EpisodeResult, processes: ProcessGroup) -> tuple[float, dict[str, float]]:
    """The loss and the metrics of an episode, over all processes."""
    values = torch.tensor([float(result.loss.detach()), *result.metrics.values()], dtype=torch.float64)
    loss, *metrics = processes.sum(values * result.share).tolist()
    return loss, dict(zip(result.metrics, metrics, strict=True))


def _update(
    optimizer: torch.optim.Optimizer, result: EpisodeResult, rate: float, clip: float, processes: ProcessGroup
) -> None:
    optimizer.zero_grad(set_to_none=True)
    (result.loss * result.share).backward()
    processes.sum_gradients(parameter for group in optimizer.param_groups for parameter in group["params"])
    for group in optimizer.param_groups:
        group["lr"] = rate
        if clip:
            torch.nn.utils.clip_grad_norm_(group["params"], clip)
    optimizer.step()
