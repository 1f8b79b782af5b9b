"""Indexing many facts: seconds, memory, and whether action spaces stay as fast as on a small graph."""

from __future__ import annotations

import multiprocessing
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

import numpy as np

from fitcarl.bench.actions import States, time_actions
from fitcarl.core.memory import peak_mb
from fitcarl.data.quadruples import Quadruples
from fitcarl.data.relations import RelationIds
from fitcarl.graph.temporal import Adjacency, TemporalGraph
from fitcarl.synthetic import generate_world

_COLUMNS = ("subject", "relation", "object", "time")
_STATES = 20_000
_DEGREES = (500, 2_000)  # busy nodes as ICEWS has them: a walker's mean degree there is about 1,000
_NODES_IN_CACHE = 16


@dataclass(frozen=True)
class IndexTimes:
    facts: int
    edges: int
    entities: int
    seconds: float
    """From columns of facts in memory to a graph that can be walked."""
    peak_mb: float
    """Of this process, which holds the facts and the graph; the facts were generated in another one."""
    microseconds_per_state: float
    """Action spaces of 50 edges at many nodes of 500 to 2,000 edges, all over the large graph."""
    small_graph_microseconds_per_state: float
    """The same at a few of those nodes on a graph that has no others: equal degrees, but all of it in the caches."""
    large_graph_ratio: float
    mean_degree: float
    small_graph_mean_degree: float


def time_index(facts: int, progress: Callable[[str], None] = lambda _: None) -> IndexTimes:
    """Generates a demo world in a process of its own, then indexes its facts here."""
    progress("generating facts")
    quadruples = _generated(facts)
    entities = int(max(quadruples.subject.max(), quadruples.object.max())) + 1
    relations = RelationIds(int(quadruples.relation.max()) + 1)
    TemporalGraph.from_facts(quadruples.take(slice(0, 10)), entities, relations)  # compiles, or loads what was compiled

    progress("indexing")
    began = perf_counter()
    graph = TemporalGraph.from_facts(quadruples, entities, relations)
    seconds = perf_counter() - began
    peak = peak_mb()

    progress("action spaces")
    busy = np.flatnonzero((np.diff(graph.base.offsets) >= _DEGREES[0]) & (np.diff(graph.base.offsets) < _DEGREES[1]))
    if not len(busy):
        busy = np.argsort(-np.diff(graph.base.offsets), kind="stable")[:1_000]
    large = time_actions(graph, _states_at(graph, busy))
    # Nodes of middling degree, so that both sets of states have about the same work to do.
    middling = busy[np.argsort(np.abs(np.diff(graph.base.offsets)[busy] - large.mean_degree), kind="stable")]
    corner = _only(graph, middling[:_NODES_IN_CACHE])
    small = time_actions(corner, _states_at(corner, np.arange(corner.entities)))
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
        generator = multiprocessing.get_context("spawn").Process(target=_generate, args=(facts, folder))
        generator.start()
        generator.join()
        if generator.exitcode != 0:
            raise RuntimeError("the generator of facts ended early")
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
    """A graph of these nodes' out-edges alone, the nodes numbered anew."""
    base = graph.base
    segments = [slice(base.offsets[node], base.offsets[node + 1]) for node in nodes]
    counts = [segment.stop - segment.start for segment in segments]
    corner = Adjacency(
        np.concatenate(([0], np.cumsum(counts))).astype(np.int64),
        *(
            np.concatenate([column[segment] for segment in segments])
            for column in (base.relation, base.target, base.time)
        ),
    )
    return TemporalGraph.from_adjacency(corner, graph.relations)
