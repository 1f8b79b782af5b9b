"""Stored statistics are compared with the graph before compiled loops follow them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from fitcarl.data.concepts import Concepts
from fitcarl.data.quadruples import Quadruples
from fitcarl.data.relations import RelationIds
from fitcarl.graph.temporal import TemporalGraph
from fitcarl.models.plus.event_index import EVENT_INDEX, MAX_OBJECTS
from fitcarl.models.plus.statistics import compute_statistics, rule_table_size
from fitcarl.models.plus.stored_checks import check_index, check_layout, check_rates, layout_of

ENTITIES, FACTS = MAX_OBJECTS + 500, 3 * MAX_OBJECTS

Arrays = dict[str, NDArray[Any]]


@pytest.fixture(scope="module")
def graph() -> TemporalGraph:
    """Relation 0 has more objects than a query visits, so its events are indexed; relation 1 has few."""
    rng = np.random.default_rng(0)
    object = np.concatenate([np.arange(ENTITIES), rng.integers(0, ENTITIES, FACTS - ENTITIES)])
    relation = np.where(np.arange(FACTS) < FACTS - 300, 0, 1)
    columns = rng.integers(0, 50, FACTS), relation, object, rng.integers(0, 200, FACTS)
    facts = Quadruples(*(column.astype(np.int32) for column in columns)).distinct()
    return TemporalGraph.from_facts(facts, ENTITIES, RelationIds(2))


@pytest.fixture(scope="module")
def arrays(graph: TemporalGraph) -> Arrays:
    concepts = Concepts.none(graph.entities)
    found = compute_statistics(graph.background_facts(), graph, concepts).arrays()
    assert len(found["relation_event_pair"]) > 0
    assert len(found["frequent_objects"]) > 0
    return {name: np.array(array) for name, array in found.items()}


def check(arrays: Arrays, graph: TemporalGraph) -> None:
    check_layout(layout_of(arrays), graph.relations.directed, graph.entities, 0, len(graph.base))
    check_rates(arrays, graph.entities)
    check_index(arrays, graph)


def test_computed_statistics_are_accepted(
    arrays: Arrays, graph: TemporalGraph, monkeypatch: pytest.MonkeyPatch
) -> None:
    check(arrays, graph)
    monkeypatch.setattr("fitcarl.models.plus.stored_checks._MIN_ITEMS", 10)
    monkeypatch.setenv("FITCARL_THREADS", "3")
    check(arrays, graph)


@pytest.mark.parametrize("name", EVENT_INDEX)
@pytest.mark.parametrize("place", [0, 0.5, 1])
@pytest.mark.parametrize("value", ["other", "swapped", "low", "high"])
def test_every_change_of_the_index_is_refused(
    arrays: Arrays, graph: TemporalGraph, name: str, place: float, value: str
) -> None:
    changed = arrays[name].copy()
    position = int(place * (len(changed) - 1))
    if value == "swapped":
        # Events of a relation at the same time may have any order.
        other_time = arrays["relation_event_time"] if name == "relation_event_pair" else changed
        others = np.flatnonzero((changed != changed[position]) & (other_time != other_time[position]))
        changed[[position, others[0]]] = changed[[others[0], position]]
    else:
        limits = np.iinfo(changed.dtype)
        changed[position] = {"other": changed[position] ^ 1, "low": limits.min, "high": limits.max}[value]
    if np.array_equal(changed, arrays[name]):  # NO_LIMIT is the highest number
        return
    with pytest.raises(ValueError, match="has o"):
        check({**arrays, name: changed}, graph)


@pytest.mark.parametrize("name", ["frequent_objects", "frequent_offsets", "rule_slots"])
@pytest.mark.parametrize("value", [-1, 2**30])
def test_ids_out_of_range_are_refused(arrays: Arrays, graph: TemporalGraph, name: str, value: int) -> None:
    changed = arrays[name].copy()
    changed[len(changed) // 2] = value
    with pytest.raises(ValueError, match=name):
        check({**arrays, name: changed}, graph)


def test_other_types_shapes_and_numbers_are_refused(arrays: Arrays, graph: TemporalGraph) -> None:
    for name, array in arrays.items():
        for changed in (array.astype(np.complex128), array[None], array[:-1]):
            with pytest.raises(ValueError, match="has "):
                check({**arrays, name: changed}, graph)
        if array.dtype.kind == "f" and array.size:
            changed = array.copy()
            changed.reshape(-1)[-1] = np.nan
            with pytest.raises(ValueError, match="not finite"):
                check({**arrays, name: changed}, graph)
        if name == "rule_table_size":  # older runs do not have it
            continue
        with pytest.raises(KeyError):
            check_layout(
                layout_of({other: array for other, array in arrays.items() if other != name})
                if not name.startswith("frequent")
                else {},
                *(graph.relations.directed, graph.entities, 0, len(graph.base)),
            )


def test_index_of_another_graph_is_refused(arrays: Arrays, graph: TemporalGraph) -> None:
    facts = graph.background_facts()
    time = facts.time.copy()
    time[7] += 1
    other = TemporalGraph.from_facts(
        Quadruples(facts.subject, facts.relation, facts.object, time), graph.entities, graph.relations
    )
    with pytest.raises(ValueError, match="than the graph"):
        check_index(arrays, other)


@pytest.mark.parametrize("size", [0, 1, 1 << 30])
def test_rule_tables_of_a_wrong_size_are_refused(arrays: Arrays, size: int) -> None:
    with pytest.raises(ValueError, match="wrong size"):
        rule_table_size({**arrays, "rule_table_size": np.array([size])})
