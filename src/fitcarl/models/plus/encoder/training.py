"""Training of the support encoder on the background: facts become queries as if their subjects were unseen.

A few other facts of the subject are its support; no other fact of it is used. Answers that are already in the support
are left out, because other features cover repeated facts.
"""

from __future__ import annotations

import json
import logging
import math
from contextlib import closing
from functools import partial
from pathlib import Path
from time import perf_counter

import numpy as np
import torch

from fitcarl.config.base import Setting
from fitcarl.config.schema import EncoderConfig
from fitcarl.core.arrays import sha256_of_arrays
from fitcarl.core.cache import cache_dir
from fitcarl.core.device import CPU, seeded_devices
from fitcarl.core.parallel import computed_ahead
from fitcarl.core.process_group import ONE_PROCESS, ProcessGroup
from fitcarl.core.progress import OnProgress, Progress
from fitcarl.core.stages import stage
from fitcarl.core.storage import read_tensors, write_tensors
from fitcarl.core.thread_shards import thread_shards
from fitcarl.errors import FitcarlError, InputError
from fitcarl.graph.temporal import TemporalGraph
from fitcarl.models.plus.encoder.batches import EncoderBatches
from fitcarl.models.plus.encoder.network import SupportEncoder
from fitcarl.models.plus.encoder.optimizer import EncoderOptimizer
from fitcarl.models.plus.names import Names

_METHOD = 6
"""Version of the training method, part of the cache key: a change invalidates cached encoders."""
_MIN_SHOTS = 3
"""Minimum number of support facts in training, so that one encoder can be used for all smaller K."""
_WARM_UP = 0.1
"""The share of the updates during which the learning rate rises."""
_INITIAL_RATE = 0.04
"""The learning rate of the first update, as a share of the highest."""

_log = logging.getLogger(__name__)


def load_or_train_encoder(
    graph: TemporalGraph,
    units_per_tick: float,
    names: Names,
    config: EncoderConfig,
    seed: int,
    shots: int,
    cache: Path | None = None,
    on_progress: OnProgress | None = None,
    setting: Setting = "completion",
    device: torch.device = CPU,
    processes: ProcessGroup = ONE_PROCESS,
) -> tuple[SupportEncoder, float] | None:
    """The encoder of a background, from the cache or trained now and cached.

    A damaged cache file is replaced, and a cache that cannot be written is skipped; both are logged as warnings.

    Args:
        graph: The background.
        units_per_tick: Time units per tick.
        names: Names of the entities.
        config: Settings of the encoder.
        seed: Seed of all random choices.
        shots: K, the largest number of support facts.
        cache: The folder of cached encoders; by default in the cache directory.
        on_progress: Called after every update.
        setting: In the setting ``forecast``, support facts and events are earlier than the query.
        device: Where the encoder is trained; no part of the cache key.
        processes: The processes that train it together; the first one alone reads and writes the cache.

    Returns:
        The encoder, on the CPU, and the seconds that its training took when it was trained; on other processes than the
        first one None if it was in the cache.
    """
    file = (
        cache or cache_dir() / "encoders"
    ) / f"{_encoder_key(graph, units_per_tick, names, config, seed, shots, setting)}.safetensors"
    cached = _read_cached(file) if processes.is_first else None
    if processes.decide(cached is not None):
        return cached
    began = perf_counter()
    where = device, processes
    encoder = train_encoder(graph, units_per_tick, names, config, seed, shots, on_progress, setting, *where)
    seconds = perf_counter() - began
    if not processes.is_first:
        return encoder, seconds
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        write_tensors(file, encoder.state_dict(), {"seconds": seconds})
    except OSError as error:
        _log.warning("%s: the encoder cannot be cached (%s)", file, error.strerror or error)
    return encoder, seconds


def _read_cached(file: Path) -> tuple[SupportEncoder, float] | None:
    """A cached encoder with the seconds of its training; None if there is none or it is damaged."""
    if not file.exists():
        return None
    try:
        weights, metadata = read_tensors(file)
        return SupportEncoder.from_state(weights), float(metadata["seconds"])
    except (InputError, KeyError, ValueError, RuntimeError):
        _log.warning("%s: is damaged; training the encoder again", file)
        return None


def train_encoder(
    graph: TemporalGraph,
    units_per_tick: float,
    names: Names,
    config: EncoderConfig,
    seed: int,
    shots: int = _MIN_SHOTS,
    on_progress: OnProgress | None = None,
    setting: Setting = "completion",
    device: torch.device = CPU,
    processes: ProcessGroup = ONE_PROCESS,
) -> SupportEncoder:
    """Trains an encoder for unseen entities with at most ``shots`` support facts; see ``load_or_train_encoder``.

    Raises:
        FitcarlError: If the loss is not finite.
    """
    batches = EncoderBatches(graph, units_per_tick, names, config, max(shots, _MIN_SHOTS), setting)
    updates = config.updates(len(graph.base))
    rng = np.random.default_rng([seed, len(graph.base)])
    with torch.random.fork_rng(devices=seeded_devices(device)):
        torch.manual_seed(seed)
        word_weight = torch.from_numpy(batches.word_weight)
        encoder = SupportEncoder(config, graph.entities, graph.relations.directed, word_weight).to(device)
        optimizer = EncoderOptimizer(encoder)
        drawing = (batches.draw(rng) for _ in range(0 if batches.empty else updates))
        with stage("encoder"), closing(computed_ahead(drawing)) as drawn:
            for update, batch in enumerate(drawn):
                if batch is not None:
                    batch.select_rows(encoder)
                    shards = thread_shards(processes.shard(len(batch.edge)), device)
                    loss = optimizer.differentiate(shards, partial(batches.loss, encoder, batch))
                    if not torch.isfinite(processes.sum(loss)):
                        raise FitcarlError(
                            f"the encoder's loss at update {update + 1} is not finite; "
                            "try a smaller encoder.learning_rate"
                        )
                    optimizer.step(config.learning_rate * _lr_factor(update, updates), processes)
                if on_progress is not None:
                    on_progress(Progress("encoder", update + 1, updates, "updates"))
    encoder.selected = None
    encoder.freeze(np.diff(graph.base.offsets) > 0)
    return encoder.to(CPU)


def _lr_factor(update: int, updates: int) -> float:
    """The learning rate as a share of the highest: rises along a cosine, then falls along a longer one.

    This is the shape of torch's ``OneCycleLR``, written out because that rejects schedules of one or two updates.
    """
    up = max(1.0, _WARM_UP * updates)
    if update < up:
        return _INITIAL_RATE + (1 - _INITIAL_RATE) * (1 - math.cos(math.pi * update / up)) / 2
    return (1 + math.cos(math.pi * (update - up) / max(updates - up, 1.0))) / 2


def _encoder_key(
    graph: TemporalGraph,
    units_per_tick: float,
    names: Names,
    config: EncoderConfig,
    seed: int,
    shots: int,
    setting: Setting,
) -> str:
    """sha256 over everything that the encoder depends on."""
    parts: list[float | str] = [
        _METHOD,
        graph.entities,
        graph.relations.count,
        units_per_tick,
        seed,
        max(shots, _MIN_SHOTS),
    ]
    parts += [] if setting == "completion" else [setting]
    settings = config.model_dump(exclude={"contexts"})  # ``setting`` says which contexts are used
    header = json.dumps([*parts, settings, names.texts], sort_keys=True).encode()
    base = graph.base
    return sha256_of_arrays(base.offsets, base.relation, base.target, base.time, header=header, separator=b"\0")
