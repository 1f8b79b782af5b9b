"""The temporal memory as PyTorch operations, for tensors that are not on the CPU.

Results and gradients are those of the compiled loops of ``temporal_memory`` up to rounding. Queries are processed in
chunks: their events are listed on the CPU, and gathered embeddings are computed again in the backward pass, so that
memory does not grow with the number of events.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from fitcarl.core.arrays import Positions, batches, spans
from fitcarl.core.tensors import long_tensor

if TYPE_CHECKING:
    from fitcarl.models.plus.encoder.temporal_memory import EventWindow

_PAIRS = 1 << 18
"""Pairs of a query and an event per chunk, each of which gathers two key embeddings; a chunk has at least a query."""


def torch_event_mass(
    window: EventWindow,
    query: Tensor,
    key_embedding: Tensor,
    relation_affinity: Tensor,
    time_decay: Tensor,
    max_log_weight: float,
) -> Tensor:
    """``event_mass`` as PyTorch operations, on the device of its tensors.

    Args:
        window: The events around each query.
        query: [queries, dim].
        key_embedding: [entities, dim].
        relation_affinity: [2R, 2R].
        time_decay: [buckets of the gap].
        max_log_weight: The highest log-weight of an event.
    """
    columns = int(window.column.max(initial=-1)) + 1
    events = np.maximum(0, -((window.first - window.last) // window.stride))
    parts = query, key_embedding, relation_affinity, time_decay
    found = []
    for rows in batches(events, _PAIRS):
        owner, event = _pairs(window, rows, events[rows])
        offset = (window.event_time[event] - window.time[owner]) * window.buckets_per_tick
        gap = np.floor(offset + len(time_decay) / 2)
        relations = window.relation[owner] * len(relation_affinity) + window.event_relation[event]
        cell = (owner - rows.start) * columns + window.column[window.event_target[event]]
        arrays = owner, window.event_source[event], relations, gap, window.stride[owner], cell
        *indices, target = (long_tensor(array, query.device) for array in arrays)
        weight = checkpoint(_weights, *parts, *indices, max_log_weight, use_reentrant=False, preserve_rng_state=False)
        mass = query.new_zeros((rows.stop - rows.start) * columns).index_add(0, target, weight)
        found.append(mass.view(-1, columns))
    return torch.cat(found) if found else query.new_zeros(0, columns)


def _pairs(window: EventWindow, rows: slice, events: Positions) -> tuple[Positions, Positions]:
    """Queries and events [pairs] of some queries, which have these numbers of events; without excluded events."""
    row, position = spans(np.zeros_like(events), events)
    owner = row + rows.start
    event = window.first[owner] + position * window.stride[owner]
    source, target = window.event_source[event], window.event_target[event]
    asked = window.entity[owner]
    kept = np.flatnonzero((window.column[target] >= 0) & (asked != source) & (asked != target))
    return owner[kept], event[kept]


def _weights(
    query: Tensor,
    key_embedding: Tensor,
    relation_affinity: Tensor,
    time_decay: Tensor,
    owner: Tensor,
    source: Tensor,
    relations: Tensor,
    gap: Tensor,
    stride: Tensor,
    max_log_weight: float,
) -> Tensor:
    """[pairs]: the weight of each event for its query, times the number of events that it represents."""
    similarity = (query.index_select(0, owner) * key_embedding.index_select(0, source)).sum(1)
    affinity = relation_affinity.flatten().index_select(0, relations)
    total = similarity + affinity + time_decay.index_select(0, gap)
    return stride * total.clamp_max(max_log_weight).exp()
