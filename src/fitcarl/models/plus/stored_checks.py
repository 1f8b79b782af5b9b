"""Checks of stored statistics: compiled loops follow their offsets and ids without checking bounds.

The event index is a function of the graph. It is compared with the graph without sorting again: a list that is sorted
and has the same edges as the graph is the sorted list of its edges, and two lists have the same edges if the sums of a
hash over them are equal. The key of the hash is random in every process, so no file can be made to fit by design.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fitcarl.core.arrays import read_only
from fitcarl.core.compiled import array_function
from fitcarl.core.parallel import parallel_for, split_range
from fitcarl.graph.edge_hash import Key, edge_hash, random_key
from fitcarl.graph.temporal import TemporalGraph
from fitcarl.models.plus.event_index import FREQUENT_OBJECTS, MAX_OBJECTS, entity_columns
from fitcarl.models.plus.gaps import BUCKETS
from fitcarl.models.plus.statistics import RULE_SLOTS, rule_table_size

Layout = Mapping[str, tuple[np.dtype[Any], tuple[int, ...]]]
"""Name → type and shape of arrays."""

_MAX_DIM = 4096
"""Columns of stored embeddings, at most; those that are made have 64 or fewer."""
_MIN_ITEMS = 100_000
"""Edges for which another thread is started."""

_FLOAT, _DOUBLE, _INT, _LONG = (np.dtype(kind) for kind in (np.float32, np.float64, np.int32, np.int64))
_OK, _RANGE, _ORDER = 0, 1, 2

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]


def layout_of(arrays: Mapping[str, NDArray[Any]]) -> Layout:
    """Type and shape of each array."""
    return {name: (array.dtype, array.shape) for name, array in arrays.items()}


def check_layout(layout: Layout, relations: int, entities: int, concepts: int, edges: int | None) -> None:
    """Raises a ValueError unless stored statistics have the types and shapes that belong to a graph.

    Args:
        layout: Type and shape of each stored array.
        relations: Number of directed relations, 2R.
        entities: Number of entities.
        concepts: Number of concepts.
        edges: Number of edges; None for a snapshot, which has no event index and may have fewer entities.

    Raises:
        KeyError: If an array is missing.
    """
    n, rows = relations, entities
    if edges is None:
        rows = min(_length(layout, "embedding"), entities)
    slots, dim, factors = (_length(layout, name, axis) for name, axis in _FREE)
    if slots > RULE_SLOTS or max(dim, factors) > _MAX_DIM:
        raise ValueError("has too many columns or rules")
    expected: dict[str, tuple[np.dtype[Any], tuple[int, ...]]] = {
        "cooccurrence_rate": (_FLOAT, (BUCKETS, n, n)),
        "excitation": (_FLOAT, (BUCKETS, n, n)),
        "pair_rate": (_FLOAT, (n, n)),
        "second_hop_rate": (_FLOAT, (n, n)),
        "concept_probability": (_DOUBLE, (n, concepts)),
        "embedding": (_FLOAT, (rows, dim)),
        "entity_factors": (_FLOAT, (rows, factors)),
        "relation_factors": (_FLOAT, (n, factors)),
        "rule_slots": (_LONG, (slots,)),
        "rule_tries": (_FLOAT, (slots,)),
        "rule_rates": (_FLOAT, (slots + 1,)),
    }
    if "rule_table_size" in layout:  # older runs do not have it
        expected["rule_table_size"] = (_LONG, (1,))
    if "frequent_offsets" in layout or "frequent_objects" in layout:  # nor these
        expected["frequent_offsets"] = (_LONG, (n + 1,))
        expected["frequent_objects"] = (_INT, (min(_length(layout, "frequent_objects"), n * FREQUENT_OBJECTS),))
    if edges is not None:
        pairs, events = (_length(layout, name) for name in ("object_entity", "relation_event_pair"))
        if pairs > edges or events > edges:
            raise ValueError("has more events than the graph has edges")
        expected |= dict.fromkeys(("object_times", *_EVENTS), (_INT, (edges,)))
        expected |= dict.fromkeys(("object_entity", "object_first"), (_INT, (pairs,)))
        expected |= dict.fromkeys(("relation_offsets", "relation_event_offsets"), (_LONG, (n + 1,)))
        expected |= dict.fromkeys(("relation_event_pair", "relation_event_time"), (_INT, (events,)))
        expected |= dict.fromkeys(("degree", "first_time"), (_INT, (entities,)))
        expected["object_offsets"] = (_LONG, (pairs + 1,))
    wrong = [name for name, kind in expected.items() if layout[name] != kind]
    if wrong:
        kind, shape = layout[wrong[0]]
        raise ValueError(f"has an array {wrong[0]} of type {kind} {list(shape)}")


def check_rates(arrays: Mapping[str, NDArray[Any]], entities: int) -> None:
    """Raises a ValueError unless rates are finite, and rule slots and frequent objects exist.

    Args:
        arrays: Stored arrays whose layout was checked.
        entities: Number of entities.
    """
    for name, array in arrays.items():
        if array.dtype.kind == "f" and array.size and not (np.isfinite(array.min()) and np.isfinite(array.max())):
            raise ValueError(f"has numbers in {name} that are not finite")
    slots = arrays["rule_slots"]
    _require("rule_slots", _in_range(slots, rule_table_size(arrays)) and (np.diff(slots) > 0).all())
    if "frequent_offsets" in arrays:
        offsets, objects = arrays["frequent_offsets"], arrays["frequent_objects"]
        _require_offsets("frequent_offsets", offsets, len(objects))
        _require("frequent_offsets", np.diff(offsets).max(initial=0) <= FREQUENT_OBJECTS)
        _require("frequent_objects", _in_range(objects, entities))


def check_index(arrays: Mapping[str, NDArray[Any]], graph: TemporalGraph) -> None:
    """Raises a ValueError unless the event index is that of the background of a graph.

    Args:
        arrays: Stored arrays whose layout was checked.
        graph: The graph, whose columns were checked.
    """
    n, entities, edges, pairs = graph.relations.directed, graph.entities, len(graph.base), len(arrays["object_entity"])
    _require_offsets("relation_offsets", arrays["relation_offsets"], pairs)
    _require_offsets("object_offsets", arrays["object_offsets"], edges)
    _require_offsets("relation_event_offsets", arrays["relation_event_offsets"], len(arrays["relation_event_pair"]))
    per_relation = np.diff(arrays["object_offsets"][arrays["relation_offsets"]])
    large = np.diff(arrays["relation_offsets"]) > MAX_OBJECTS
    _require("relation_event_offsets", (np.diff(arrays["relation_event_offsets"]) == per_relation * large).all())
    for name, column in entity_columns(graph).items():
        _require(name, np.array_equal(arrays[name], column))

    at: dict[str, Any] = {name: read_only(array) for name, array in arrays.items()}
    base, key = graph.base.columns, random_key()
    time, source, relation, target = (at[name] for name in _EVENTS)
    edge_sums: list[tuple[Any, Any]] = []
    event_sums: list[tuple[int, Any]] = []

    def add_edges(_: int, low: int, high: int) -> None:
        edge_sums.append(_edge_sums(base.offsets, base.relation, base.target, base.time, key, low, high))

    def add_events(_: int, low: int, high: int) -> None:
        event_sums.append(_event_sum(time, source, relation, target, key, low, high, entities, n))

    parallel_for(split_range(entities, max(1, _MIN_ITEMS * entities // max(edges, 1))), add_edges)
    parallel_for(split_range(edges, _MIN_ITEMS), add_events)
    whole, without_source = (_total(part[place] for part in edge_sums) for place in (0, 1))
    in_order = all(problem == _OK for problem, _ in event_sums)
    same = in_order and whole == _total(part for _, part in event_sums)
    _require("event_time and the columns beside it", same)
    sums = np.zeros((n, 3), dtype=np.uint64)
    relations, pair_entity, offsets, times = (
        at[name] for name in ("relation_offsets", "object_entity", "object_offsets", "object_times")
    )
    problem = _pair_sums(relations, pair_entity, offsets, times, at["object_first"], key, entities, sums)
    _require("object_entity and the columns beside it", problem == _OK and _total(sums[:, 0]) == without_source)
    _require("object_first", np.array_equal(sums[:, 1], sums[:, 2]))
    starts, pair, when = (at[f"relation_event_{name}"] for name in ("offsets", "pair", "time"))
    _require("relation_event_pair", _relation_events_fit(starts, pair, when, relations, pair_entity, key, sums))


_EVENTS = ("event_time", "event_source", "event_relation", "event_target")
_FREE = (("rule_slots", 0), ("embedding", 1), ("relation_factors", 1))
"""Arrays whose lengths are not those of the graph."""


def _length(layout: Layout, name: str, axis: int = 0) -> int:
    shape = layout[name][1]
    if len(shape) <= axis:
        raise ValueError(f"has an array {name} with {len(shape)} axes")
    return int(shape[axis])


def _require(name: str, condition: Any) -> None:
    if not condition:
        raise ValueError(f"has other values in {name} than the graph")


def _require_offsets(name: str, offsets: Longs, end: int) -> None:
    ascending = len(offsets) > 0 and offsets[0] == 0 and offsets[-1] == end and (offsets[1:] >= offsets[:-1]).all()
    if not ascending:
        raise ValueError(f"has offsets in {name} that do not ascend from 0 to {end}")


def _total(sums: Iterable[Any]) -> int:
    return sum(int(part) for part in sums) % 2**64


def _in_range(ids: NDArray[Any], count: int) -> bool:
    return not len(ids) or bool(0 <= ids.min() <= ids.max() < count)


@array_function()
def _edge_sums(
    offsets: Longs, relation: Ints, target: Ints, time: Ints, key: Key, low: int, high: int
) -> tuple[np.uint64, np.uint64]:
    """Sums over the edges of some entities: of (source, relation, target, time) and of (relation, target, time)."""
    four, three = np.uint64(0), np.uint64(0)
    for source in range(low, high):
        for i in range(offsets[source], offsets[source + 1]):
            four += edge_hash(source, relation[i], target[i], time[i], key)
            three += edge_hash(0, relation[i], target[i], time[i], key)
    return four, three


@array_function()
def _event_sum(
    time: Ints, source: Ints, relation: Ints, target: Ints, key: Key, low: int, high: int, entities: int, relations: int
) -> tuple[int, np.uint64]:
    """The sum over some events, sorted by time, source, relation and target; the event before the first is read too."""
    total = np.uint64(0)
    for i in range(low, high):
        y, r, x = source[i], relation[i], target[i]
        if y < 0 or y >= entities or x < 0 or x >= entities or r < 0 or r >= relations:
            return _RANGE, total
        if i > 0 and time[i] <= time[i - 1]:
            if time[i] < time[i - 1] or y < source[i - 1]:
                return _ORDER, total
            if y == source[i - 1] and (r < relation[i - 1] or (r == relation[i - 1] and x < target[i - 1])):
                return _ORDER, total
        total += edge_hash(y, r, x, time[i], key)
    return _OK, total


@array_function()
def _pair_sums(
    relation_offsets: Longs,
    entity: Ints,
    offsets: Longs,
    times: Ints,
    firsts: Ints,
    key: Key,
    entities: int,
    sums: NDArray[np.uint64],
) -> int:
    """Sums for each relation: over the times of its pairs, over their first times, and over the stored first times."""
    for r in range(len(relation_offsets) - 1):
        for pair in range(relation_offsets[r], relation_offsets[r + 1]):
            x, low, high = entity[pair], offsets[pair], offsets[pair + 1]
            if x < 0 or x >= entities or low >= high:
                return _RANGE
            if pair > relation_offsets[r] and (x <= entity[pair - 1] or firsts[pair] < firsts[pair - 1]):
                return _ORDER
            for i in range(low, high):
                if i > low and times[i] < times[i - 1]:
                    return _ORDER
                sums[r, 0] += edge_hash(0, r, x, times[i], key)
            sums[r, 1] += edge_hash(0, r, 0, times[low], key)
            sums[r, 2] += edge_hash(0, r, 0, firsts[pair], key)
    return _OK


@array_function()
def _relation_events_fit(
    event_offsets: Longs,
    pair: Ints,
    time: Ints,
    relation_offsets: Longs,
    entity: Ints,
    key: Key,
    sums: NDArray[np.uint64],
) -> bool:
    """Whether the events of every indexed relation are those of its pairs, sorted by time; ``sums`` of the pairs."""
    for r in range(len(event_offsets) - 1):
        low, high = event_offsets[r], event_offsets[r + 1]
        if low == high:
            continue
        first, last = relation_offsets[r], relation_offsets[r + 1]
        found = np.uint64(0)
        for i in range(low, high):
            if pair[i] < first or pair[i] >= last or (i > low and time[i] < time[i - 1]):
                return False
            found += edge_hash(0, r, entity[pair[i]], time[i], key)
        if found != sums[r, 0]:
            return False
    return True
