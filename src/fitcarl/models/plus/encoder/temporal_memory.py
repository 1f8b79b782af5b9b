"""The temporal memory of the encoder: events around t_q, weighted by learned similarities."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from fitcarl.core.arrays import read_only_arrays
from fitcarl.core.compiled import array_function, loop
from fitcarl.core.device import uses_compiled_loops
from fitcarl.core.parallel import parallel_for, split_range
from fitcarl.graph.kernels import NO_PATCHES, PatchColumns, lower_bounds
from fitcarl.models.plus.encoder.torch_memory import torch_event_mass
from fitcarl.models.plus.features.inputs import MAX_LOG_WEIGHT
from fitcarl.models.plus.gaps import ticks_within
from fitcarl.models.plus.kernels import Floats, Ints, Longs

TIME_BUCKETS = 5
"""Buckets of the gap to t_q, from before to after."""
WINDOW = 2.0
"""Time units before and after t_q whose events are read, or one tick if that is longer."""
_MAX_EVENTS = 30000
"""Events per query that are read one by one; of more, an evenly spaced sample represents all."""


class EventWindow(NamedTuple):
    """The events of the background by time, and those around each query."""

    entity: Longs
    """Query entities; their own events are excluded."""
    relation: Longs
    time: Longs
    first: Longs
    last: Longs
    """Events ``first[q]:last[q]`` are around t_q."""
    stride: Longs
    """If ``stride[q]`` is n, every n-th event represents n events."""
    buckets_per_tick: float
    event_time: Ints
    event_source: Ints
    event_relation: Ints
    event_target: Ints
    column: Longs
    """The column of an entity in the result; -1 for entities that are left out."""


class EventWeights(NamedTuple):
    """Terms of the log-weight of an event (y, r, x) at a gap to t_q."""

    query: Floats
    """[queries, dim]: the query vector; its product with ``key_embedding`` is the similarity of y."""
    key_embedding: Floats
    """[entities, dim], by y."""
    relation_affinity: Floats
    """[2R, 2R], by r_q and r."""
    time_decay: Floats
    """[TIME_BUCKETS], by the gap, from before to after."""


class KeptEvents(NamedTuple):
    """The events of each query that have a gradient."""

    used: Longs
    """int64 [queries]: the number of events of each."""
    event: Ints
    """int32 [queries, events]: their positions."""
    gap: NDArray[np.int8]
    """int8 [queries, events]: the buckets of their gaps."""
    mass: Floats
    """float32 [queries, events]: their weights."""

    @classmethod
    def empty(cls, window: EventWindow) -> KeptEvents:
        """Room for all events around the queries."""
        events = int((-((window.first - window.last) // window.stride)).max(initial=0))
        shape = len(window.first), events
        arrays = np.empty(shape, np.int32), np.empty(shape, np.int8), np.empty(shape, np.float32)
        return cls(np.zeros(shape[0], np.int64), *arrays)


def event_window(
    events: Mapping[str, Any],
    units_per_tick: float,
    entity: NDArray[np.integer[Any]],
    relation: NDArray[np.int64],
    time: NDArray[np.integer[Any]],
    column: NDArray[np.int64],
    max_events: int = _MAX_EVENTS,
    rng: np.random.Generator | None = None,
    visible_before: NDArray[np.int32] | None = None,
    patches: PatchColumns = NO_PATCHES,
) -> EventWindow:
    """The events around a batch of queries.

    Args:
        events: The ``EVENT_ARRAYS`` of GraphStatistics.
        units_per_tick: Time units per tick.
        entity: [queries], the query entities.
        relation: [queries], r_q.
        time: [queries], t_q in ticks.
        column: [entities], the column of each entity in the result, -1 to leave it out.
        max_events: Events per query beyond which a sample is read.
        rng: Draws the first event of a sample; without it the sample begins with the first event.
        visible_before: [queries], ticks; only events strictly before it are used. All events by default.
        patches: Ranges of events that the queries read instead of all events; empty, or one for each query.
    """
    reach, event_time = ticks_within(WINDOW, units_per_tick), events["event_time"]
    end = time.astype(np.int64) + reach + 1
    if visible_before is not None:
        end = np.minimum(end, visible_before)
    low = patches.low if len(patches.key) else np.zeros(len(time), dtype=np.int64)
    high = patches.high if len(patches.key) else np.full(len(time), len(event_time), dtype=np.int64)
    first, last = (lower_bounds(event_time, low, high, bound) for bound in (time.astype(np.int64) - reach, end))
    first = np.minimum(first, last)
    stride = np.maximum(1, -((first - last) // max_events))
    if rng is not None:
        first = first + rng.integers(0, stride)
    queries = entity.astype(np.int64), relation, time.astype(np.int64)
    buckets_per_tick = (TIME_BUCKETS - 1) / 2 / reach
    arrays = (event_time, events["event_source"], events["event_relation"], events["event_target"])
    return read_only_arrays(EventWindow(*queries, first, last, stride, buckets_per_tick, *arrays, column))


def event_mass(
    window: EventWindow, query: Tensor, key_embedding: Tensor, relation_affinity: Tensor, time_decay: Tensor
) -> Tensor:
    """[queries, columns]: the total weight of the events around t_q with each entity as object, differentiable.

    The sum of exp(query[q] · key_embedding[y] + relation_affinity[r_q, r] + time_decay[gap]) over events (y, r, x).
    """
    if not uses_compiled_loops(query):
        parts = query, key_embedding, relation_affinity, time_decay
        return torch_event_mass(window, *parts, max_log_weight=MAX_LOG_WEIGHT)
    mass: Tensor = _EventMass.apply(  # type: ignore[no-untyped-call]
        window, query, key_embedding, relation_affinity, time_decay
    )
    return mass


class _EventMass(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, window: EventWindow, *parts: Tensor) -> Tensor:
        weights = EventWeights(*(part.detach().contiguous().numpy() for part in parts))
        mass = np.zeros((len(weights.query), int(window.column.max(initial=-1)) + 1), dtype=np.float32)
        if any(ctx.needs_input_grad):
            kept = KeptEvents.empty(window)
            ctx.window, ctx.weights, ctx.kept = window, weights, kept
            work = lambda _, low, high: _accumulate_kept(low, high, window, weights, mass, kept)  # noqa: E731
        else:
            work = lambda _, low, high: _accumulate(low, high, window, weights, mass)  # noqa: E731
        parallel_for(split_range(len(mass)), work)
        return torch.from_numpy(mass)

    @staticmethod
    def backward(ctx: Any, slope: Tensor) -> tuple[None, Tensor, Tensor, Tensor, Tensor]:
        window, weights, kept = ctx.window, ctx.weights, ctx.kept
        queries, dim = weights.query.shape
        by_event = np.empty(kept.event.shape, dtype=np.float32)
        by_relation = np.zeros((queries, len(weights.relation_affinity)), dtype=np.float32)
        by_gap = np.zeros((queries, len(weights.time_decay)), dtype=np.float32)
        to_query, to_key = np.zeros_like(weights.query), np.zeros_like(weights.key_embedding)
        arguments = window, kept, slope.contiguous().numpy(), by_event, by_relation, by_gap
        parallel_for(split_range(queries), lambda _, low, high: _accumulate_backward(low, high, *arguments))
        # Several queries share a subject y: each thread takes some dimensions, so that the order of the sum is fixed.
        parallel_for(
            split_range(dim, min_items=8),
            lambda _, low, high: _product_backward(low, high, window, weights, kept, by_event, to_query, to_key),
        )
        to_affinity = torch.zeros(weights.relation_affinity.shape)
        to_affinity = to_affinity.index_add(0, torch.from_numpy(window.relation.copy()), torch.from_numpy(by_relation))
        return (
            None,
            torch.from_numpy(to_query),
            torch.from_numpy(to_key),
            to_affinity,
            torch.from_numpy(by_gap).sum(0),
        )


@loop(fastmath={"reassoc", "contract"})
def _product(q: int, y: int, query: Floats, key: Floats) -> np.float32:
    # Rows are not sliced: numba would count references to them, which costs more than the sum.
    total = np.float32(0)
    for z in range(query.shape[1]):
        total += query[q, z] * key[y, z]
    return total


@array_function(inline="always")  # a call would count references to every array of both tuples
def _log_weight(q: int, a: int, window: EventWindow, weights: EventWeights) -> tuple[float, int]:
    """The log-weight of event a for query q, and the bucket of its gap; -inf if the event is excluded."""
    y, x = window.event_source[a], window.event_target[a]
    if window.column[x] < 0 or window.entity[q] in (x, y):
        return -math.inf, 0
    gap = math.floor((window.event_time[a] - window.time[q]) * window.buckets_per_tick + TIME_BUCKETS / 2)
    similarity = _product(q, y, weights.query, weights.key_embedding)
    affinity = weights.relation_affinity[window.relation[q], window.event_relation[a]]
    return similarity + affinity + weights.time_decay[gap], gap


@loop()
def _accumulate(low: int, high: int, window: EventWindow, weights: EventWeights, out: Floats) -> None:
    """Adds up the weights of events by their object, for queries low to high."""
    for q in range(low, high):
        stride = window.stride[q]
        for a in range(window.first[q], window.last[q], stride):
            weight, _ = _log_weight(q, a, window, weights)
            if weight > -math.inf:
                out[q, window.column[window.event_target[a]]] += stride * math.exp(min(weight, MAX_LOG_WEIGHT))


@loop()
def _accumulate_kept(
    low: int, high: int, window: EventWindow, weights: EventWeights, out: Floats, kept: KeptEvents
) -> None:
    """``_accumulate``, which keeps what the gradient needs."""
    for q in range(low, high):
        stride, used = window.stride[q], 0
        for a in range(window.first[q], window.last[q], stride):
            weight, gap = _log_weight(q, a, window, weights)
            if weight > -math.inf:
                mass = stride * math.exp(min(weight, MAX_LOG_WEIGHT))
                out[q, window.column[window.event_target[a]]] += mass
                if weight < MAX_LOG_WEIGHT:
                    kept.event[q, used], kept.gap[q, used], kept.mass[q, used] = a, gap, mass
                    used += 1
        kept.used[q] = used


@loop()
def _accumulate_backward(
    low: int,
    high: int,
    window: EventWindow,
    kept: KeptEvents,
    slope: Floats,
    by_event: Floats,
    by_relation: Floats,
    by_gap: Floats,
) -> None:
    """The gradient of ``_accumulate``, given that of its result: by event, relation and gap of queries low to high."""
    for q in range(low, high):
        for n in range(kept.used[q]):
            a = kept.event[q, n]
            step = slope[q, window.column[window.event_target[a]]] * kept.mass[q, n]
            by_event[q, n] = step
            by_relation[q, window.event_relation[a]] += step
            by_gap[q, kept.gap[q, n]] += step


@loop()
def _product_backward(
    low: int,
    high: int,
    window: EventWindow,
    weights: EventWeights,
    kept: KeptEvents,
    by_event: Floats,
    to_query: Floats,
    to_key: Floats,
) -> None:
    """Adds up the gradients of query vectors and key embeddings, along dimensions low to high."""
    for q in range(len(by_event)):
        for n in range(kept.used[q]):
            y, step = window.event_source[kept.event[q, n]], by_event[q, n]
            for z in range(low, high):
                to_query[q, z] += step * weights.key_embedding[y, z]
                to_key[y, z] += step * weights.query[q, z]
