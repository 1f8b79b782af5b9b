"""Training of the support encoder on the background: facts become queries as if their subjects were unseen.

A few other facts of the subject are its support; no other fact of it is used. Answers that are already in the support
are left out, because other features cover repeated facts.
"""

from __future__ import annotations

import json
import logging
import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from time import perf_counter

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from fitcarl.config.base import Setting
from fitcarl.config.schema import EncoderConfig
from fitcarl.core.arrays import sha256_of_arrays
from fitcarl.core.cache import cache_dir
from fitcarl.core.device import CPU, seeded_devices
from fitcarl.core.parallel import computed_ahead
from fitcarl.core.process_group import ONE_PROCESS, BatchShard, ProcessGroup, ShardDropout, SharedNumbers
from fitcarl.core.progress import OnProgress, Progress
from fitcarl.core.stages import stage
from fitcarl.core.storage import read_tensors, write_tensors
from fitcarl.core.tensors import long_tensor, tensor_of
from fitcarl.core.thread_shards import parallel_gradients, thread_shards
from fitcarl.data.quadruples import Ids
from fitcarl.errors import FitcarlError, InputError
from fitcarl.graph.temporal import TemporalGraph
from fitcarl.models.plus.encoder.candidate_events import candidate_events
from fitcarl.models.plus.encoder.network import EncoderInput, SupportEncoder, Words, shared_word_weights
from fitcarl.models.plus.encoder.row_updates import ROW_WISE_FROM, RowAdam
from fitcarl.models.plus.encoder.temporal_memory import EventWindow, event_mass, event_window
from fitcarl.models.plus.event_index import events_by_time
from fitcarl.models.plus.names import Names

_METHOD = 6
"""Version of the training method, part of the cache key: a change invalidates cached encoders."""
_MIN_SHOTS = 3
"""Minimum number of support facts in training, so that one encoder can be used for all smaller K."""
_NEGATIVES = 1024
"""Sampled entities that the answers of a batch are compared with, besides each other."""
_MANY_NEGATIVES = 32 * _NEGATIVES
_MAX_EVENTS, _MAX_CANDIDATE_EVENTS = 1200, 600
"""Events around t_q per query, and events whose objects are candidates; of more, a sample is read."""
_COPIED_EVENTS = 1_000_000
"""Events up to which those of the candidates are copied for every batch."""
_MIN_DEGREE = 3
"""Minimum number of edges of a subject: one is the query, and at least one other is its support."""
_DEGREE_EXPONENT = 0.6
"""How much facts of frequent subjects are down-weighted: 0 samples facts uniformly, 1 samples subjects uniformly."""
_WEIGHT_DECAY = 1e-5
_WARM_UP = 0.1
"""The share of the updates during which the learning rate rises."""
_INITIAL_RATE = 0.04
"""The learning rate of the first update, as a share of the highest."""
_QUERY_COLUMNS = ("entity", "relation", "time", "first", "last", "stride")
"""Fields of ``EventWindow`` with one value per query."""

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


class EncoderOptimizer:
    """AdamW; in a large encoder, only the rows of the entity table that a batch reads are updated.

    Gradients of the entity table are computed for the rows of the batch. In a small encoder they are copied to one
    table of zeros that is kept: a new one for every use of the table costs more than the update itself.
    """

    def __init__(self, encoder: SupportEncoder) -> None:
        self._encoder = encoder
        table = encoder.entity.detach()
        self._rows = RowAdam(table, _WEIGHT_DECAY) if len(table) >= ROW_WISE_FROM else None
        self._gradient = None if self._rows else torch.zeros_like(table)
        encoder.entity.requires_grad = self._rows is None
        parameters = [part for part in encoder.parameters() if part.requires_grad]
        self._shared = [part for part in parameters if part is not encoder.entity]
        self._adam = torch.optim.AdamW(parameters, weight_decay=_WEIGHT_DECAY, fused=True)

    def differentiate(self, shards: Sequence[BatchShard], loss: Callable[[BatchShard], Tensor]) -> Tensor:
        """The loss of a batch; its gradients are kept for ``step``.

        Args:
            shards: The rows of this process, by threads.
            loss: The loss of a shard.
        """
        selected = self._encoder.selected
        assert selected is not None, "EncoderBatch.select_rows was called"
        return parallel_gradients(shards, loss, [*self._shared, selected.rows])

    def step(self, learning_rate: float, processes: ProcessGroup = ONE_PROCESS) -> None:
        """Updates all weights along the gradients of the last loss.

        Args:
            learning_rate: The learning rate of this update.
            processes: The processes that train together.
        """
        for group in self._adam.param_groups:
            group["lr"] = learning_rate
        selected = self._encoder.selected
        assert selected is not None, "differentiate was called"
        processes.sum_gradients([*self._shared, selected.rows])
        gradient = selected.rows.grad
        assert gradient is not None
        if self._gradient is None:
            self._adam.step()
        else:
            self._encoder.entity.grad = self._gradient.index_copy_(0, selected.ids, gradient)
            self._adam.step()
            self._gradient.index_fill_(0, selected.ids, 0.0)
        if self._rows is not None:
            self._rows.step(selected.ids, gradient, learning_rate)


def _lr_factor(update: int, updates: int) -> float:
    """The learning rate as a share of the highest: rises along a cosine, then falls along a longer one.

    This is the shape of torch's ``OneCycleLR``, written out because that rejects schedules of one or two updates.
    """
    up = max(1.0, _WARM_UP * updates)
    if update < up:
        return _INITIAL_RATE + (1 - _INITIAL_RATE) * (1 - math.cos(math.pi * update / up)) / 2
    return (1 + math.cos(math.pi * (update - up) / max(updates - up, 1.0))) / 2


@dataclass(frozen=True, eq=False)
class EncoderBatch:
    """Background facts as queries, with everything that is random; the same in every process."""

    edge: NDArray[np.int64]
    """[batch], the facts."""
    support: NDArray[np.int64]
    """[batch, K], facts of the same subjects."""
    known: NDArray[np.bool_]
    """[batch, K], false for support facts that are not used."""
    subject: NDArray[np.int64]
    """[batch], the entities that are treated as unseen."""
    answer: NDArray[np.int64]
    """[batch], entities."""
    named: NDArray[np.bool_]
    """[batch], whether the name of the subject is used."""
    listed: NDArray[np.int64]
    """[candidates], the entities of the softmax."""
    log_weight: NDArray[np.float32]
    """[candidates], the log of how many entities each represents."""
    window: EventWindow
    """The events around the queries; its columns are the candidates."""
    rows: NDArray[np.int64]
    """Entities whose rows are read, ascending."""
    numbers: SharedNumbers
    """Random numbers of dropout."""

    def select_rows(self, encoder: SupportEncoder) -> None:
        """Lets the encoder read the rows of these entities only, as they are now."""
        encoder.select_rows(long_tensor(self.rows, encoder.entity.device))


class EncoderBatches:
    """Batches of background facts as queries, with some of the subject's other facts as support."""

    def __init__(
        self,
        graph: TemporalGraph,
        units_per_tick: float,
        names: Names,
        config: EncoderConfig,
        shots: int,
        setting: Setting = "completion",
    ) -> None:
        self._past_only = setting == "forecast"
        self._base, self._units_per_tick, self._config, self._shots = graph.base, units_per_tick, config, shots
        self._degree = np.diff(graph.base.offsets)
        self._subject = np.repeat(np.arange(graph.entities), self._degree)
        degree = self._degree[self._subject].astype(np.float64)
        probability = np.where(degree >= _MIN_DEGREE, np.maximum(degree, 1) ** -_DEGREE_EXPONENT, 0)
        self._cumulative = np.cumsum(probability)
        self._known = np.flatnonzero(self._degree > 0)
        self._events = events_by_time(graph)
        self.word_weight = shared_word_weights(names, self._degree > 0)
        self._words = Words.from_names(names, self.word_weight)
        self.empty = not probability.any()

    def draw(self, rng: np.random.Generator) -> EncoderBatch | None:
        """The next batch; None if no fact of it is a valid query. It depends on no weight."""
        edge, support, known = self._draw(rng)
        if not len(edge):
            return None
        base, subject, answers = self._base, self._subject[edge], self._base.target[edge].astype(np.int64)
        named = self._draw_named(len(edge), rng)
        listed, log_weight = self._sample_candidates(answers, rng)
        column = np.full(len(self._degree), -1)
        column[listed] = np.arange(len(listed))
        queries = subject, base.relation[edge].astype(np.int64), base.time[edge]
        before = base.time[edge] if self._past_only else None
        events, most = self._events_of(column)
        window = event_window(events, self._units_per_tick, *queries, column, most, rng, before)
        rows = np.union1d(base.target[support], listed)
        facts = edge, support, known, subject, answers, named
        return EncoderBatch(*facts, listed, log_weight, window, rows, SharedNumbers())

    def loss(self, encoder: SupportEncoder, batch: EncoderBatch, shard: BatchShard) -> Tensor:
        """-log p(answer), averaged over the batch, or the part of a shard; the parts of all shards add up to it."""
        base, device, rows = self._base, encoder.entity.device, shard.rows
        window = batch.window._replace(**{name: getattr(batch.window, name)[rows] for name in _QUERY_COLUMNS})
        edge, support = batch.edge[rows], batch.support[rows]
        gap = (base.time[edge][:, None] - base.time[support]) * self._units_per_tick
        name = encoder.name_embedding(self._words, batch.subject[rows])
        inputs = EncoderInput(
            relation=long_tensor(base.relation[edge], device),
            known=tensor_of(batch.known[rows], device),
            support_entity=long_tensor(base.target[support], device),
            support_relation=long_tensor(base.relation[support], device),
            gap=tensor_of(gap.astype(np.float32), device),
            name=name * tensor_of(batch.named[rows].astype(np.float32), device)[:, None],
        )
        with ShardDropout(shard, batch.numbers):
            vector, key = encoder(inputs)
        bias = encoder.bias.index_select(0, long_tensor(batch.listed, device))
        score = vector @ encoder.answer_rows(self._words, batch.listed).T + bias
        mass = event_mass(window, key, encoder.key_embedding, encoder.relation_affinity, encoder.time_decay)
        score = score + mass.log1p() + tensor_of(batch.log_weight, device)
        answer = long_tensor(window.column[batch.answer[rows]], device)
        return torch.nn.functional.cross_entropy(score, answer) * shard.share

    def _events_of(self, column: NDArray[np.int64]) -> tuple[Mapping[str, Ids], int]:
        """Events whose objects are candidates, and how many of them are read per query.

        Of a large graph these are all events: others are skipped when they are read, which costs less than a copy.
        """
        if len(self._events["event_target"]) > _COPIED_EVENTS:
            return self._events, _MAX_EVENTS
        return candidate_events(self._events, column), _MAX_CANDIDATE_EVENTS

    def _draw(self, rng: np.random.Generator) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.bool_]]:
        """Edges used as queries, and edges of their supports, [batch, K]; an edge is never its own support."""
        base, size = self._base, (self._config.batch_size, self._shots)
        edge = np.searchsorted(self._cumulative, rng.random(size[0]) * self._cumulative[-1], side="right")
        subject = self._subject[edge]
        degree = self._degree[subject]
        if self._past_only:  # edges of a subject are sorted by time
            degree = np.maximum(base.count_before(subject.astype(np.int32), base.time[edge]), 1)
        support = rng.integers(0, degree[:, None], size) + base.offsets[subject][:, None]
        known = np.arange(self._shots) < rng.integers(1, self._shots + 1, size[0])[:, None]
        known &= (support != edge[:, None]) & (
            base.target[support] != subject[:, None]
        )  # a self-loop reveals the subject
        if self._past_only:
            known &= base.time[support] < base.time[edge][:, None]
        novel = ~((base.target[support] == base.target[edge][:, None]) & known).any(1)
        valid = novel & known.any(1) & (base.target[edge] != subject)
        return edge[valid], support[valid], known[valid]

    def _draw_named(self, queries: int, rng: np.random.Generator) -> NDArray[np.bool_]:
        """bool [queries]: whether the name of the subject is used."""
        return rng.random(queries) >= self._config.name_dropout

    def _sample_candidates(
        self, answer: NDArray[np.int64], rng: np.random.Generator
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Entities of the softmax, and the log of how many each represents: all answers, and a sample of the rest."""
        answers = np.unique(answer)
        rest = len(self._known) - len(answers)
        if rest > _MANY_NEGATIVES:  # no copy of all entities; a few fewer are drawn
            drawn = np.setdiff1d(self._known[rng.integers(0, len(self._known), _NEGATIVES)], answers)
        else:
            others = np.setdiff1d(self._known, answers, assume_unique=True)
            drawn = rng.choice(others, min(_NEGATIVES, rest), replace=False)
        log_weight = np.concatenate(
            [np.zeros(len(answers)), np.full(len(drawn), np.log(max(rest, 1) / max(len(drawn), 1)))]
        )
        return np.concatenate([answers, drawn]), log_weight.astype(np.float32)


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
