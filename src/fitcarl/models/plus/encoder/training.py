"""Trains the encoder of preset ``plus`` on the background: facts are asked as if their subjects were newcomers.

A few other facts of the subject are its support; no other fact of it is used. Answers that the support already has are
left out: copying is not what the encoder is for.
"""

from __future__ import annotations

import hashlib
import json
import logging
import math
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from fitcarl.config.schema import EncoderConfig
from fitcarl.core.cache import cache_dir
from fitcarl.core.progress import OnProgress, Progress
from fitcarl.core.storage import read_tensors, write_tensors
from fitcarl.errors import FitcarlError, InputError
from fitcarl.graph.temporal import TemporalGraph
from fitcarl.models.plus.encoder.network import EncoderInput, SupportEncoder, Words, shared_word_weights
from fitcarl.models.plus.encoder.temporal_memory import around, happened
from fitcarl.models.plus.names import Names
from fitcarl.models.plus.statistics import event_index

_METHOD = 4
"""Counts changes that change what is learned, so that older files are not taken for new ones."""
_OTHERS = 1024
"""Entities that a batch's answers are compared with, besides one another."""
_REMEMBERED = 1200
"""Facts around t_q at most; of more only a part is taken."""
_LEAST_EDGES = 3
_EVENLY = 0.6
"""How much facts of busy subjects are held back: 0 asks every fact as often, 1 every subject."""
_PASSES = 6
_WEIGHT_DECAY = 1e-5
_WARM_UP = 0.1

_log = logging.getLogger(__name__)


def load_or_train_encoder(
    graph: TemporalGraph,
    days: float,
    names: Names,
    config: EncoderConfig,
    seed: int,
    shots: int,
    cache: Path | None = None,
    on_progress: OnProgress | None = None,
) -> tuple[SupportEncoder, float]:
    """The encoder of a background and its training time in seconds, from the cache or trained now and cached.

    A damaged cache file is replaced, and a cache that cannot be written is skipped; both are logged as warnings.
    """
    file = (cache or cache_dir() / "encoders") / f"{_key(graph, days, names, config, seed, shots)}.safetensors"
    if file.exists():
        try:
            weights, about = read_tensors(file)
            return SupportEncoder.from_state(weights), float(about["seconds"])
        except (InputError, KeyError, ValueError, RuntimeError):
            _log.warning("%s: is damaged; training the encoder again", file)
    began = perf_counter()
    encoder = train_encoder(graph, days, names, config, seed, shots, on_progress)
    seconds = perf_counter() - began
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        write_tensors(file, encoder.state_dict(), {"seconds": seconds})
    except OSError as trouble:
        _log.warning("%s: the encoder cannot be cached (%s)", file, trouble.strerror or trouble)
    return encoder, seconds


def train_encoder(
    graph: TemporalGraph,
    days: float,
    names: Names,
    config: EncoderConfig,
    seed: int,
    shots: int = 3,
    on_progress: OnProgress | None = None,
) -> SupportEncoder:
    """An encoder for newcomers with at most ``shots`` facts, or 3; ``on_progress`` is called after every update."""
    rehearsal = EncoderBatches(graph, days, names, config, max(shots, 3))
    steps = int(np.clip(_PASSES * len(graph.base) // config.batch_size, config.min_updates, config.max_updates))
    rng = np.random.default_rng([seed, len(graph.base)])
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        encoder = SupportEncoder(config, graph.entities, graph.relations.directed, torch.from_numpy(rehearsal.telling))
        optimizer = torch.optim.AdamW(
            encoder.parameters(), config.learning_rate, weight_decay=_WEIGHT_DECAY, fused=True
        )
        for step in range(steps if rehearsal.anything else 0):
            for group in optimizer.param_groups:
                group["lr"] = config.learning_rate * _fading(step, steps)
            loss = rehearsal.loss(encoder, rng)
            if loss is not None:
                if not torch.isfinite(loss):
                    raise FitcarlError(
                        f"the encoder's loss at step {step + 1} is not a number; try a smaller encoder.learning_rate"
                    )
                optimizer.zero_grad(set_to_none=True)
                loss.backward()
                optimizer.step()
            if on_progress is not None:
                on_progress(Progress("encoder", step + 1, steps, "updates"))
    encoder.freeze(np.diff(graph.base.offsets) > 0)
    return encoder


def _fading(step: int, steps: int) -> float:
    """The learning rate of a step as a share of the highest: up along a cosine, then down along a longer one."""
    up = max(1.0, _WARM_UP * steps)
    if step < up:
        return 0.04 + 0.96 * (1 - math.cos(math.pi * step / up)) / 2
    return (1 + math.cos(math.pi * (step - up) / max(steps - up, 1.0))) / 2


class EncoderBatches:
    """Batches of facts of a background, asked with a part of their subjects' other facts as support."""

    def __init__(self, graph: TemporalGraph, days: float, names: Names, config: EncoderConfig, shots: int) -> None:
        self._base, self._days, self._config, self._shots = graph.base, days, config, shots
        self._degree = np.diff(graph.base.offsets)
        self._subject = np.repeat(np.arange(graph.entities), self._degree)
        often = self._degree[self._subject].astype(np.float64)
        chance = np.where(often >= _LEAST_EDGES, np.maximum(often, 1) ** -_EVENLY, 0)
        self._cumulative = np.cumsum(chance)
        self._known = np.flatnonzero(self._degree > 0)
        self._day = event_index(graph)
        self.telling = shared_word_weights(names, self._degree > 0)
        self._words = Words.of(names, self.telling)
        self.anything = bool(chance.any())

    def loss(self, encoder: SupportEncoder, rng: np.random.Generator) -> Tensor | None:
        """-log p(answer), averaged over a batch; None where no fact of it can be asked."""
        edge, support, known = self._draw(rng)
        if not len(edge):
            return None
        base, subject = self._base, self._subject[edge]
        answer, time = base.target[edge].astype(np.int64), base.time[edge]
        asking = EncoderInput(
            relation=_long(base.relation[edge]),
            known=torch.from_numpy(known),
            support_entity=_long(base.target[support]),
            support_relation=_long(base.relation[support]),
            gap=torch.from_numpy(((time[:, None] - base.time[support]) * self._days).astype(np.float32)),
            name=self._name(encoder, subject, rng),
        )
        answers, kin = encoder(asking)
        listed, stands_for = self._compared(answer, rng)
        place = np.full(len(self._degree), -1)
        place[listed] = np.arange(len(listed))
        score = answers @ encoder.rows(self._words, listed).T + encoder.bias.index_select(0, _long(listed))
        days = around(self._day, self._days, subject, asking.relation.numpy(), time, place, _REMEMBERED, rng)
        mass = happened(days, kin, encoder.kin, encoder.between, encoder.fading)
        score = score + mass.log1p() + stands_for
        return torch.nn.functional.cross_entropy(score, _long(place[answer]))

    def _draw(self, rng: np.random.Generator) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.bool_]]:
        """Edges that are asked, and the edges of their supports, [batch, K]; a fact is no support of itself."""
        base, size = self._base, (self._config.batch_size, self._shots)
        edge = np.searchsorted(self._cumulative, rng.random(size[0]) * self._cumulative[-1], side="right")
        subject = self._subject[edge]
        support = rng.integers(0, self._degree[subject][:, None], size) + base.offsets[subject][:, None]
        known = np.arange(self._shots) < rng.integers(1, self._shots + 1, size[0])[:, None]
        known &= (support != edge[:, None]) & (base.target[support] != subject[:, None])  # itself tells who is asking
        novel = ~((base.target[support] == base.target[edge][:, None]) & known).any(1)
        fine = novel & known.any(1) & (base.target[edge] != subject)
        return edge[fine], support[fine], known[fine]

    def _name(self, encoder: SupportEncoder, subject: NDArray[np.int64], rng: np.random.Generator) -> Tensor:
        said = encoder.name_of(self._words, subject)
        told = rng.random(len(subject)) >= self._config.name_dropout
        return said * torch.from_numpy(told.astype(np.float32))[:, None]

    def _compared(self, answer: NDArray[np.int64], rng: np.random.Generator) -> tuple[NDArray[np.int64], Tensor]:
        """Entities to tell the answers from: the batch's answers, and others drawn to stand for all the rest."""
        own = np.unique(answer)
        rest = np.setdiff1d(self._known, own, assume_unique=True)
        drawn = rng.choice(rest, min(_OTHERS, len(rest)), replace=False)
        stands_for = np.concatenate(
            [np.zeros(len(own)), np.full(len(drawn), np.log(max(len(rest), 1) / max(len(drawn), 1)))]
        )
        return np.concatenate([own, drawn]), torch.from_numpy(stands_for.astype(np.float32))


def _long(values: NDArray[Any]) -> Tensor:
    return torch.from_numpy(values.astype(np.int64))


def _key(graph: TemporalGraph, days: float, names: Names, config: EncoderConfig, seed: int, shots: int) -> str:
    sha = hashlib.sha256()
    about = [_METHOD, graph.entities, graph.relations.count, days, seed, max(shots, 3), config.model_dump()]
    sha.update(json.dumps([*about, names.texts], sort_keys=True).encode())
    base = graph.base
    for column in (base.offsets, base.relation, base.target, base.time):
        sha.update(np.ascontiguousarray(column).tobytes() + b"\0")
    return sha.hexdigest()
