"""Indexing of many facts: seconds, memory, and the speed of action spaces compared with a small graph."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

import numpy as np

from fitcarl.bench.actions import States, time_actions
from fitcarl.bench.own_process import in_own_process
from fitcarl.core.memory import peak_mb
from fitcarl.core.progress import OnProgress, Progress
from fitcarl.data.quadruples import Quadruples
from fitcarl.data.relations import RelationIds
from fitcarl.graph.temporal import Adjacency, TemporalGraph
from fitcarl.synthetic import generate_world

_COLUMNS = ("subject", "relation", "object", "time")
_STATES = 20_000
_DEGREES = (500, 2_000)  # as in ICEWS, where the mean degree of a visited node is about 1,000
_NODES_IN_CACHE = 16


@dataclass(frozen=True)
class IndexTimes:
    facts: int
    edges: int
    entities: int
    seconds: float
    """From columns of facts in memory to an indexed graph."""
    peak_mb: float
    """Of this process, which holds facts and graph; the facts are generated in another process."""
    microseconds_per_state: float
    """Action spaces of 50 edges at nodes of 500 to 2,000 edges in the large graph."""
    small_graph_microseconds_per_state: float
    """The same at a few of those nodes in a graph without other nodes: equal degrees, but all in the CPU caches."""
    large_graph_ratio: float
    mean_degree: float
    small_graph_mean_degree: float


def time_index(facts: int, on_progress: OnProgress = lambda _: None) -> IndexTimes:
    """Generates a demo world in another process and indexes its facts in this one."""
    on_progress(Progress("generating facts", 0, 0))
    quadruples = _generated(facts)
    entities = int(max(quadruples.subject.max(), quadruples.object.max())) + 1
    relations = RelationIds(int(quadruples.relation.max()) + 1)
    TemporalGraph.from_facts(quadruples.take(slice(0, 10)), entities, relations)  # compile or load from the cache

    on_progress(Progress("indexing", 0, 0))
    began = perf_counter()
    graph = TemporalGraph.from_facts(quadruples, entities, relations)
    seconds = perf_counter() - began
    peak = peak_mb()

    on_progress(Progress("action spaces", 0, 0))
    busy = np.flatnonzero((np.diff(graph.base.offsets) >= _DEGREES[0]) & (np.diff(graph.base.offsets) < _DEGREES[1]))
    if not len(busy):
        busy = np.argsort(-np.diff(graph.base.offsets), kind="stable")[:1_000]
    large = time_actions(graph, _states_at(graph, busy))
    # Nodes of about the mean degree, so that both sets of states cost about the same.
    typical = busy[np.argsort(np.abs(np.diff(graph.base.offsets)[busy] - large.mean_degree), kind="stable")]
    small_graph = _only(graph, typical[:_NODES_IN_CACHE])
    small = time_actions(small_graph, _states_at(small_graph, np.arange(small_graph.entities)))
    return IndexTimes(
        facts=len(quadruples),
        edges=graph.edges,
        entities=entities,
        seconds=seconds,
        peak_mb=peak,
        microseconds_per_state=large.microseconds_per_state,
        small_graph_microseconds_per_state=small.microseconds_per_state,
        large_graph_ratio=large.microseconds_per_state / small.microseconds_per_state,
        mean_degree=large.mean_degree,
        small_graph_mean_degree=small.mean_degree,
    )


def _generated(facts: int) -> Quadruples:
    with tempfile.TemporaryDirectory(prefix="fitcarl-") as folder:
        in_own_process(_generate, facts, folder)
        return Quadruples(*(np.load(Path(folder) / f"{column}.npy", allow_pickle=False) for column in _COLUMNS))


def _generate(facts: int, folder: str) -> None:
    quadruples = generate_world(facts).facts.quadruples
    for column in _COLUMNS:
        np.save(Path(folder) / f"{column}.npy", getattr(quadruples, column))


def _states_at(graph: TemporalGraph, nodes: np.ndarray[tuple[int], np.dtype[np.int64]]) -> States:
    rng = np.random.default_rng(0)
    first, last = graph.time_range
    times = rng.integers(first, last + 1, (2, _STATES)).astype(np.int32)
    return States(rng.choice(nodes, _STATES).astype(np.int32), times[0], times[1])


def _only(graph: TemporalGraph, nodes: np.ndarray[tuple[int], np.dtype[np.int64]]) -> TemporalGraph:
    """A graph of the out-edges of these nodes only, with renumbered nodes."""
    base = graph.base
    segments = [slice(base.offsets[node], base.offsets[node + 1]) for node in nodes]
    counts = [segment.stop - segment.start for segment in segments]
    small_graph = Adjacency(
        np.concatenate(([0], np.cumsum(counts))).astype(np.int64),
        *(
            np.concatenate([column[segment] for segment in segments])
            for column in (base.relation, base.target, base.time)
        ),
    )
    return TemporalGraph.from_adjacency(small_graph, graph.relations)
